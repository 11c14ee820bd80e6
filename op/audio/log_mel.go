package audio

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/internal/fft"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	params := append(windowParams(), powerParam(),
		op.Parameter{Name: "border", Type: op.String, Default: "clamp",
			Doc: "The element before the first; see preemphasis_filter."},
		op.Parameter{Name: "preemph_coeff", Type: op.Float, Default: 0.0, PerSample: true,
			Doc: "Coefficient of preemphasis_filter; 0 means that the signal stays."})
	op.Register(op.Schema{
		Name: "log_mel",
		Doc: "Computes mel spectrograms in decibels in one pass. The result equals the chain of preemphasis_filter, spectrogram, mel_filter_bank and " +
			"to_decibels with the same arguments to the bit.",
		Inputs:    floatsOnly("signal", "a signal of one channel, float32"),
		Outputs:   []op.Port{{Name: "mels", Doc: `nfilter numbers of every window, of layout "ft"`}},
		Params:    slices.Concat(params, melParams(), decibelParams()),
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &logMel{border: op.Get[string](c, "border"), coefficient: op.GetScalar[float64](c, "preemph_coeff")}
			k.config = c
			if err := checkBorder(c, k.border); err != nil {
				return nil, err
			}
			var err error
			if k.magnitude, err = power(c); err != nil {
				return nil, err
			}
			if k.windows, err = newWindows(c); err != nil {
				return nil, err
			}
			if k.bank, err = newMelBank(c); err != nil {
				return nil, err
			}
			k.scale, err = newDecibels(c)
			return op.Each(k), err
		},
	})
}

type logMel struct {
	spectrogram
	border      string
	coefficient op.Scalar[float64]
	bank        *melBank
	scale       decibels
}

func (k *logMel) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	k.layout = layoutFT
	out, err := k.spectrogram.Infer(in)
	if err == nil {
		out[0].Shape[0] = k.bank.filters
	}
	return out, err
}

func (k *logMel) Sample(b *op.Block, s int) error {
	signal, err := oneAxis(b, b.In(0, s))
	if err != nil {
		return err
	}
	c, err := k.coefficient.At(b, s)
	if err != nil {
		return err
	}
	count, bins := k.count(len(signal)), k.plan.Bins()
	if count < 1 {
		return k.tooShort(len(signal))
	}
	to, err := tensor.Of[float32](b.Out(0, s, k.bank.filters, count))
	if err != nil {
		return err
	}
	if c != 0 {
		filtered := op.Scratch[float32](b, len(signal))
		emphasize(filtered, signal, float32(c), k.border)
		signal = filtered
	}
	blockSize, workSize := k.room()
	block, work := op.Scratch[float32](b, blockSize), op.Scratch[float32](b, workSize)
	power := op.Scratch[float32](b, fft.Lanes*bins)
	t := op.PerWorker[melTable](b)
	if t.ends == nil {
		k.bank.make(t, bins)
	}
	for first := 0; first < count; first += fft.Lanes {
		k.load(block, signal, first, count)
		k.plan.Power(power, block, work)
		if k.magnitude {
			root(power)
		}
		t.rowsOf(to[first:], count, power, fft.Lanes, min(fft.Lanes, count-first))
	}
	k.scale.convert(to, to)
	return nil
}

// tooShort returns the error for a signal of n elements that has no window.
func (w *windows) tooShort(n int) error {
	return badSample(fmt.Sprintf("at least %d elements", w.length-w.step+1), fmt.Sprint(n),
		"set center_windows, or leave short signals out")
}
