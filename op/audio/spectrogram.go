package audio

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/internal/fft"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "spectrogram",
		Doc: "Computes the spectra of windows of a signal: the magnitudes, or their squares, at the frequencies 0 to half the rate. " +
			"The signal has one axis of more than one element.",
		Inputs:  floatsOnly("signal", "a signal of one channel, float32"),
		Outputs: []op.Port{{Name: "spectrogram", Doc: "nfft/2 + 1 frequencies of every window"}},
		Params: append(windowParams(), powerParam(),
			op.Parameter{Name: "layout", Type: op.String, Default: layoutFT, Doc: `Layout of the output: "ft" for frequency, then time; or "tf".`}),
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &spectrogram{config: c, layout: op.Get[string](c, "layout")}
			if k.layout != layoutFT && k.layout != layoutTF {
				return nil, c.Invalid("layout", `"ft" or "tf"`, fmt.Sprintf("%q", k.layout), "")
			}
			var err error
			if k.magnitude, err = power(c); err == nil {
				k.windows, err = newWindows(c)
			}
			return op.Each(k), err
		},
	})
}

type spectrogram struct {
	*windows
	config    *op.Config
	layout    string
	magnitude bool
}

func (k *spectrogram) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := wantFloat(k.config, in[0]); err != nil {
		return nil, err
	}
	times := -1
	if op.Static(in[0]) && in[0].Shape.Len() > 0 {
		times = max(-1, k.count(in[0].Shape.Len()))
	}
	shape := tensor.Shape{k.plan.Bins(), times}
	if k.layout == layoutTF {
		shape = tensor.Shape{times, k.plan.Bins()}
	}
	return []tensor.Spec{{DType: tensor.Float32, Layout: k.layout, Shape: shape}}, nil
}

// oneAxis returns the elements of a signal whose axes but one have the extent 1.
func oneAxis(b *op.Block, in tensor.Tensor) ([]float32, error) {
	long := 0
	for _, n := range in.Shape {
		if n != 1 {
			long++
		}
	}
	switch {
	case long > 1:
		return nil, badSample("a signal of one channel", in.String(), "choose a channel, or take the mean of all")
	case in.Len() == 0:
		return nil, badSample("at least one element", in.String(), "leave empty signals out")
	}
	return element.Floats(b, in)
}

func (k *spectrogram) Sample(b *op.Block, s int) error {
	signal, err := oneAxis(b, b.In(0, s))
	if err != nil {
		return err
	}
	count, bins := k.count(len(signal)), k.plan.Bins()
	if count < 1 {
		return k.tooShort(len(signal))
	}
	var out tensor.Tensor
	if k.layout == layoutFT {
		out = b.Out(0, s, bins, count)
	} else {
		out = b.Out(0, s, count, bins)
	}
	to, err := tensor.Of[float32](out)
	if err != nil {
		return err
	}
	blockSize, workSize := k.room()
	block, work := op.Scratch[float32](b, blockSize), op.Scratch[float32](b, workSize)
	power := op.Scratch[float32](b, fft.Lanes*bins)
	for first := 0; first < count; first += fft.Lanes {
		k.load(block, signal, first, count)
		k.plan.Power(power, block, work)
		if k.magnitude {
			root(power)
		}
		n := min(fft.Lanes, count-first)
		if k.layout == layoutFT {
			columns(to[first:], count, power, n)
		} else {
			rows(to[first*bins:], power, n)
		}
	}
	return nil
}

// columns writes n of the eight numbers of each element to rows that are stride apart.
func columns(to []float32, stride int, from []float32, n int) {
	if n == fft.Lanes {
		for i, at := 0, 0; i < len(from); i, at = i+fft.Lanes, at+stride {
			*(*[fft.Lanes]float32)(to[at:]) = *(*[fft.Lanes]float32)(from[i:])
		}
		return
	}
	for i, at := 0, 0; i < len(from); i, at = i+fft.Lanes, at+stride {
		copy(to[at:], from[i:i+n])
	}
}

// rows writes n of the eight numbers of each element, one after the other, to n rows.
func rows(to, from []float32, n int) {
	bins := len(from) / fft.Lanes
	for lane := range n {
		row := to[lane*bins : (lane+1)*bins]
		for i := range row {
			row[i] = from[fft.Lanes*i+lane]
		}
	}
}
