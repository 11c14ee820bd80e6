package audio

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/internal/fft"
	"github.com/bivouac-ml/bivouac/internal/sound"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func vocoderParams(more ...op.Parameter) []op.Parameter {
	return append(more,
		op.Parameter{Name: "nfft", Type: op.Int, Default: 2048,
			Doc: "Elements of a window, a multiple of 4. Windows are nfft/4 elements apart."})
}

func init() {
	op.Register(op.Schema{
		Name:    "time_stretch",
		Doc:     "Makes a signal slower or faster and keeps its pitch, with a phase vocoder. ",
		Inputs:  floatsOnly("signal", "a signal of one channel, float32"),
		Outputs: []op.Port{{Name: "stretched", Doc: "the signal, of its length divided by rate, rounded up"}},
		Params: vocoderParams(op.Parameter{Name: "rate", Type: op.Float, Required: true, PerSample: true,
			Doc: "The speed: 2 is twice as fast, and half as long."}),
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			k, err := newVocoder(c)
			k.rate = op.GetScalar[float64](c, "rate")
			return op.Each(&stretch{k}), err
		},
	})
	op.Register(op.Schema{
		Name: "pitch_shift",
		Doc: "Makes a signal higher or lower and keeps its length: it is stretched like in time_stretch, and then resampled. Frequencies that would be above half " +
			"of the rate are left out.",
		Inputs:  floatsOnly("signal", "a signal of one channel, float32"),
		Outputs: []op.Port{{Name: "shifted", Doc: "a signal of the same shape"}},
		Params: vocoderParams(
			op.Parameter{Name: "quality", Type: op.Float, Default: 50.0,
				Doc: "Quality of resampling, 0 to 100; see audio_resample."},
			op.Parameter{Name: "steps", Type: op.Float, Required: true, PerSample: true,
				Doc: "Half tones by which the signal becomes higher. Twelve are an octave."}),
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			k, err := newVocoder(c)
			if err != nil {
				return nil, err
			}
			p := &pitch{vocoder: k, steps: op.GetScalar[float64](c, "steps")}
			quality := op.Get[float64](c, "quality")
			if p.filter, err = sound.NewFilter(quality); err != nil {
				return nil, c.Invalid("quality", "a number from 0 to 100", fmt.Sprint(quality), "")
			}
			return op.Each(p), nil
		},
	})
}

// vocoder stretches signals.
type vocoder struct {
	config *op.Config
	rate   op.Scalar[float64]
	w      *windows
}

func newVocoder(c *op.Config) (*vocoder, error) {
	n := op.Get[int](c, "nfft")
	if n < 4 || n%4 != 0 || n > maxTransform {
		return &vocoder{}, c.Invalid("nfft", fmt.Sprintf("a multiple of 4, at most %d", maxTransform), fmt.Sprint(n), "")
	}
	w := &windows{plan: fft.Of(n), step: n / 4, length: n, center: true, reflect: true}
	for i := range n {
		v := math.Sin(math.Pi * float64(i) / float64(n))
		w.weights = append(w.weights, float32(v*v))
	}
	return &vocoder{config: c, w: w}, nil
}

// The rates that a signal can be stretched by.
const (
	leastRate = 1.0 / 64
	mostRate  = 64
)

type stretch struct{ *vocoder }

func (k *stretch) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: tensor.Float32, Layout: "", Shape: tensor.Shape{-1}}}, wantFloat(k.config, in[0])
}

func (k *stretch) Sample(b *op.Block, s int) error {
	rate, err := k.rate.At(b, s)
	if err != nil {
		return err
	}
	if !(rate >= leastRate && rate <= mostRate) {
		return k.config.Invalid("rate", fmt.Sprintf("a number from 1/%d to %d", mostRate, mostRate), fmt.Sprint(rate), "")
	}
	signal, err := oneAxis(b, b.In(0, s))
	if err != nil {
		return err
	}
	to, err := tensor.Of[float32](b.Out(0, s, int(math.Ceil(float64(len(signal))/rate))))
	if err != nil {
		return err
	}
	k.run(b, to, signal, rate, k.w.plan.Bins())
	return nil
}

type pitch struct {
	*vocoder
	steps  op.Scalar[float64]
	filter *sound.Filter
}

func (k *pitch) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return in[:1:1], wantFloat(k.config, in[0])
}

func (k *pitch) Sample(b *op.Block, s int) error {
	steps, err := k.steps.At(b, s)
	if err != nil {
		return err
	}
	rate := math.Exp2(-steps / 12)
	if !(rate >= leastRate && rate <= mostRate) {
		return k.config.Invalid("steps", "a number from -72 to 72", fmt.Sprint(steps), "")
	}
	in := b.In(0, s)
	signal, err := oneAxis(b, in)
	if err != nil {
		return err
	}
	to, err := tensor.Of[float32](b.Out(0, s, in.Shape...))
	if err != nil {
		return err
	}
	stretched := op.Scratch[float32](b, int(math.Ceil(float64(len(signal))/rate)))
	kept := min(k.w.plan.Bins(), int(math.Ceil(rate*float64(k.w.plan.Bins()))))
	k.run(b, stretched, signal, rate, kept)
	k.filter.Resample(to, stretched, 1, 1/rate)
	return nil
}

// run writes the stretched signal, of the kept lowest bins.
func (k *vocoder) run(b *op.Block, to, signal []float32, rate float64, kept int) {
	w, bins := k.w, k.w.plan.Bins()
	frames := w.count(len(signal))
	blockSize, _ := w.room()
	block := op.Scratch[float32](b, blockSize)
	work := op.Scratch[float32](b, max(w.plan.Room(), w.plan.InverseRoom()))
	spectrum := op.Scratch[float32](b, 2*fft.Lanes*bins)
	// Magnitudes and phases of every frame, and of one more that is silent.
	magnitudes, phases := op.Scratch[float32](b, (frames+1)*bins), op.Scratch[float32](b, (frames+1)*bins)
	clear(magnitudes[frames*bins:])
	clear(phases[frames*bins:])
	for first := 0; first < frames; first += fft.Lanes {
		w.load(block, signal, first, frames)
		w.plan.Spectrum(spectrum, block, work)
		for lane := range min(fft.Lanes, frames-first) {
			row := (first + lane) * bins
			for i := range bins {
				re, im := float64(spectrum[2*fft.Lanes*i+lane]), float64(spectrum[2*fft.Lanes*i+fft.Lanes+lane])
				magnitudes[row+i] = float32(math.Sqrt(float64(re*re) + float64(im*im)))
				phases[row+i] = float32(math.Atan2(im, re))
			}
		}
	}
	k.synthesize(to, block, spectrum, work, op.Scratch[float64](b, bins), op.Scratch[float32](b, len(to)), magnitudes,
		phases, rate, kept)
}

// synthesize adds the frames of the stretched signal. norm is memory for the sum of all windows.
func (k *vocoder) synthesize(to, block, spectrum, work []float32, phase []float64, norm, magnitudes,
	phases []float32, rate float64, kept int) {
	w, bins := k.w, k.w.plan.Bins()
	frames := len(magnitudes)/bins - 1
	clear(to)
	clear(norm)
	for i := range phase {
		phase[i] = float64(phases[i])
	}
	count := int(math.Ceil(float64(frames) / rate))
	for first := 0; first < count; first += fft.Lanes {
		lanes := min(fft.Lanes, count-first)
		clear(spectrum)
		for lane := range lanes {
			at := float64(first+lane) * rate
			frame := min(int(at), frames-1)
			part := float32(at - float64(frame))
			m0, m1 := magnitudes[frame*bins:(frame+1)*bins], magnitudes[(frame+1)*bins:(frame+2)*bins]
			p0, p1 := phases[frame*bins:(frame+1)*bins], phases[(frame+1)*bins:(frame+2)*bins]
			lock(phase[:kept], m0[:kept], p0[:kept])
			for i := range kept {
				m := float64(float32((1-part)*m0[i]) + float32(part*m1[i]))
				sin, cos := math.Sincos(phase[i])
				spectrum[2*fft.Lanes*i+lane], spectrum[2*fft.Lanes*i+fft.Lanes+lane] = float32(m*cos), float32(m*sin)
				// The phase advances by what the bin's frequency gives, and the rest of the difference.
				natural := math.Pi / 2 * float64(i%4)
				rest := float64(p1[i]) - float64(p0[i]) - natural
				rest -= 2 * math.Pi * math.RoundToEven(rest/(2*math.Pi))
				phase[i] = math.Remainder(phase[i]+natural+rest, 2*math.Pi)
			}
		}
		w.plan.Inverse(block, spectrum, work)
		for lane := range lanes {
			start := (first+lane)*w.step - w.length/2
			for i, v := range w.weights {
				if at := start + i; at >= 0 && at < len(to) {
					to[at] += float32(block[fft.Lanes*i+lane] * v)
					norm[at] += float32(v * v)
				}
			}
		}
	}
	for i, v := range norm {
		if v > 1e-8 {
			to[i] /= v
		}
	}
}

// lock gives the elements around every peak of a frame the differences of phase that they have in
// the signal. Else the elements of one tone drift apart, and it becomes silent.
func lock(phase []float64, magnitudes, phases []float32) {
	last, start := -1, 0 // the last peak, and where its elements begin
	set := func(end int) {
		for i := start; i < end; i++ {
			phase[i] = phase[last] + float64(phases[i]) - float64(phases[last])
		}
	}
	for i, m := range magnitudes {
		if i > 0 && magnitudes[i-1] >= m || i > 1 && magnitudes[i-2] >= m ||
			i+1 < len(magnitudes) && magnitudes[i+1] > m || i+2 < len(magnitudes) && magnitudes[i+2] > m {
			continue
		}
		if last >= 0 {
			middle := (last + i + 1) / 2
			set(middle)
			start = middle
		}
		last = i
	}
	if last >= 0 {
		set(len(phase))
	}
}
