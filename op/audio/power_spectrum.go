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
		Name:    "power_spectrum",
		Doc:     "Computes the spectrum along one axis: the magnitudes, or their squares, at the frequencies 0 to half the rate.",
		Inputs:  floatsOnly("input", "data of one to three axes, float32"),
		Outputs: []op.Port{{Name: "spectrum", Doc: "nfft/2 + 1 frequencies in place of the axis"}},
		Params: []op.Parameter{
			{Name: "axis", Type: op.Int, Default: -1, Doc: "The axis; a negative number is the last axis."},
			{Name: "nfft", Type: op.Int, Doc: "Size of the transform: longer data is cut, and shorter data is followed by zeros. By default, and if it is not positive, the extent of the axis."},
			powerParam(),
		},
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &powerSpectrum{config: c, axis: op.Get[int](c, "axis"), nfft: max(0, op.Get[int](c, "nfft"))}
			if k.nfft > maxTransform {
				return nil, c.Invalid("nfft", fmt.Sprintf("at most %d", maxTransform), fmt.Sprint(k.nfft), "")
			}
			var err error
			k.magnitude, err = power(c)
			return op.Each(k), err
		},
	})
}

type powerSpectrum struct {
	config     *op.Config
	axis, nfft int
	magnitude  bool
}

// of returns the axis for data of a rank.
func (k *powerSpectrum) of(rank int) (int, error) {
	axis := k.axis
	if axis < 0 {
		axis = rank - 1
	}
	switch {
	case rank < 1 || rank > 3:
		return 0, k.config.InvalidInput(0, "one to three axes", fmt.Sprintf("%d axes", rank), "")
	case axis >= rank:
		return 0, k.config.Invalid("axis", fmt.Sprintf("less than %d, the number of axes", rank), fmt.Sprint(axis), "")
	}
	return axis, nil
}

func (k *powerSpectrum) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := wantFloat(k.config, in[0]); err != nil {
		return nil, err
	}
	if in[0].Shape == nil {
		return like(in[0], 0, 0), nil
	}
	axis, err := k.of(len(in[0].Shape))
	if err != nil {
		return nil, err
	}
	n := k.nfft
	if n == 0 {
		n = in[0].Shape[axis]
	}
	if n >= 0 {
		n = n/2 + 1
	}
	return like(in[0], axis, n), nil
}

func (k *powerSpectrum) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	axis, err := k.of(len(in.Shape))
	if err != nil {
		return err
	}
	outer, n, inner := around(in.Shape, axis)
	nfft := k.nfft
	if nfft == 0 {
		nfft = n
	}
	if nfft == 0 {
		return badSample("at least one element on the axis", in.String(), "set nfft, or leave empty samples out")
	}
	if nfft > maxTransform {
		return badSample(fmt.Sprintf("at most %d elements on the axis", maxTransform), in.String(), "set nfft")
	}
	from, err := element.Floats(b, in)
	if err != nil {
		return err
	}
	plan := fft.Of(nfft)
	bins := plan.Bins()
	var buf [maxRank]int
	to, err := tensor.Of[float32](b.Out(0, s, reshaped(buf[:], in.Shape, axis, bins)...))
	if err != nil {
		return err
	}
	block, work := op.Scratch[float32](b, fft.Lanes*nfft), op.Scratch[float32](b, plan.Room())
	power := op.Scratch[float32](b, fft.Lanes*bins)
	used := min(n, nfft)
	for first, all := 0, outer*inner; first < all; first += fft.Lanes {
		clear(block)
		lanes := min(fft.Lanes, all-first)
		for lane := range lanes {
			o, i := (first+lane)/inner, (first+lane)%inner
			for t := range used {
				block[fft.Lanes*t+lane] = from[(o*n+t)*inner+i]
			}
		}
		plan.Power(power, block, work)
		if k.magnitude {
			root(power)
		}
		for lane := range lanes {
			o, i := (first+lane)/inner, (first+lane)%inner
			for f := range bins {
				to[(o*bins+f)*inner+i] = power[fft.Lanes*f+lane]
			}
		}
	}
	return nil
}
