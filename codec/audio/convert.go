package audio

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/sound"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Converter mixes and resamples the sound of files. Several goroutines may use it.
type Converter struct {
	downmix bool
	filter  *sound.Filter
}

// NewConverter returns a Converter. With downmix it takes the mean of the channels. quality is the
// quality of resampling, from 0 to 100.
func NewConverter(downmix bool, quality float64) (*Converter, error) {
	f, err := sound.NewFilter(quality)
	return &Converter{downmix, f}, err
}

// Shape returns the shape of a file's sound at a rate: [frames, channels], or with downmix
// [frames]. The rate 0 means the rate of the file.
func (c *Converter) Shape(file Sound, rate float64) (tensor.Shape, error) {
	frames := file.Frames()
	if c.resamples(file, rate) {
		n := math.Ceil(float64(frames) * (rate / float64(file.Rate())))
		if !(n <= math.MaxInt32) {
			return nil, &errs.Error{Kind: errs.Exhausted, Subject: "argument sample_rate",
				Want: fmt.Sprintf("an output of at most %d frames", math.MaxInt32),
				Got:  fmt.Sprint(n), Remedy: "choose a smaller rate"}
		}
		frames = int(n)
	}
	if c.downmix {
		return tensor.Shape{frames}, nil
	}
	return tensor.Shape{frames, file.Channels()}, nil
}

func (c *Converter) resamples(file Sound, rate float64) bool {
	return rate != 0 && rate != float64(file.Rate())
}

// Convert writes the sound of a file at a rate to a tensor of the type float32, int16 or int32 that
// has the shape from Shape. Floats of a file become integers as they are, unless the sound is mixed
// or resampled; then the numbers from -1 to 1 fill the type. scratch returns memory for n numbers.
func (c *Converter) Convert(to tensor.Tensor, file Sound, rate float64, scratch func(n int) []float32) error {
	channels := file.Channels()
	mixed, resampled := c.downmix && channels > 1, c.resamples(file, rate)
	if !mixed && !resampled {
		return plain(to, file)
	}
	floats := scratch(file.Frames() * channels)
	file.Float32(floats)
	if mixed {
		Mono(floats, floats, channels)
		floats, channels = floats[:file.Frames()], 1
	}
	if !resampled {
		return narrow(to, floats)
	}
	step := float64(file.Rate()) / rate
	if to.DType == tensor.Float32 {
		list, err := tensor.Of[float32](to)
		c.filter.Resample(list, floats, channels, step)
		return err
	}
	list := scratch(to.Len())
	c.filter.Resample(list, floats, channels, step)
	return narrow(to, list)
}

// plain writes the samples as they are.
func plain(to tensor.Tensor, file Sound) error {
	switch to.DType {
	case tensor.Int16:
		list, err := tensor.Of[int16](to)
		file.Int16(list)
		return err
	case tensor.Int32:
		list, err := tensor.Of[int32](to)
		file.Int32(list)
		return err
	}
	list, err := tensor.Of[float32](to)
	file.Float32(list)
	return err
}

// narrow writes numbers from -1 to 1 as float32, int16 or int32.
func narrow(to tensor.Tensor, from []float32) error {
	switch to.DType {
	case tensor.Int16:
		list, err := tensor.Of[int16](to)
		if err == nil {
			sound.Narrow(list, from)
		}
		return err
	case tensor.Int32:
		list, err := tensor.Of[int32](to)
		if err == nil {
			sound.Narrow(list, from)
		}
		return err
	}
	list, err := tensor.Of[float32](to)
	copy(list, from)
	return err
}
