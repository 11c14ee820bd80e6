package audio

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	registerMask("time_mask", 't', "times")
	registerMask("freq_mask", 'f', "frequencies")
}

func registerMask(name string, letter byte, what string) {
	op.Register(op.Schema{
		Name: name,
		Doc: "Sets random ranges of " + what + " of a spectrogram to a number (SpecAugment). The width of a range is drawn first: any number from 0 to " +
			"the limit is as likely. Then its start is drawn. Without a layout the axes are frequency, then time.",
		Inputs:  floatsOnly("spectrogram", `a spectrogram of layout "ft" or "tf", float32`),
		Outputs: []op.Port{{Name: "masked", Doc: "a spectrogram of the same shape"}},
		Params: []op.Parameter{
			{Name: "fill_value", Type: op.Float, Default: 0.0, PerSample: true, Doc: "The number that masked elements become."},
			{Name: "masks", Type: op.Int, Default: 1, PerSample: true, Doc: "Number of ranges. They can overlap."},
			{Name: "max_fraction", Type: op.Float, Default: 1.0, PerSample: true,
				Doc: "The largest width of a range, as a fraction of the axis."},
			{Name: "max_width", Type: op.Int, Required: true, PerSample: true, Doc: "The largest width of a range."},
			{Name: "seed", Type: op.Int, Default: -1, Doc: "Seed of this operator; -1: the pipeline's seed."},
		},
		Random: true,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &mask{config: c, letter: letter, fill: op.GetScalar[float64](c, "fill_value"), masks: op.GetScalar[int](c,
				"masks"),
				fraction: op.GetScalar[float64](c, "max_fraction"), width: op.GetScalar[int](c, "max_width")}
			for _, p := range []op.Scalar[int]{k.masks, k.width} {
				if v, ok := p.Const(); ok && v < 0 {
					return nil, c.Invalid("max_width", "max_width and masks of at least 0", fmt.Sprint(v), "")
				}
			}
			if v, ok := k.fraction.Const(); ok && !(v >= 0 && v <= 1) {
				return nil, c.Invalid("max_fraction", "a number from 0 to 1", fmt.Sprint(v), "")
			}
			return op.Each(k), nil
		},
	})
}

type mask struct {
	config         *op.Config
	letter         byte
	fill, fraction op.Scalar[float64]
	masks, width   op.Scalar[int]
}

func (k *mask) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0].Shape != nil {
		if _, err := k.axis(in[0]); err != nil {
			return nil, err
		}
	}
	return in[:1:1], wantFloat(k.config, in[0])
}

func (k *mask) axis(in tensor.Spec) (int, error) {
	axis := strings.IndexByte(in.Layout, k.letter)
	if in.Layout == "" && len(in.Shape) >= 2 {
		axis = len(in.Shape) - 2
		if k.letter == 't' {
			axis++
		}
	}
	if axis < 0 || axis >= len(in.Shape) {
		return 0, k.config.InvalidInput(0, fmt.Sprintf("a layout with an axis %c", k.letter),
			fmt.Sprintf("%s of layout %q", in.Shape, in.Layout), "set the layout")
	}
	return axis, nil
}

func (k *mask) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	axis, err := k.axis(in.Spec())
	if err != nil {
		return err
	}
	fill, err := k.fill.At(b, s)
	if err != nil {
		return err
	}
	masks, err := k.masks.At(b, s)
	if err != nil {
		return err
	}
	fraction, err := k.fraction.At(b, s)
	if err != nil {
		return err
	}
	width, err := k.width.At(b, s)
	if err != nil {
		return err
	}
	outer, n, inner := around(in.Shape, axis)
	if masks < 0 || masks > maxMasks || width < 0 || !(fraction >= 0 && fraction <= 1) {
		return badSample(fmt.Sprintf("masks from 0 to %d, max_width of at least 0, and max_fraction from 0 to 1", maxMasks),
			fmt.Sprintf("masks %d, max_width %d, max_fraction %v", masks, width, fraction), "")
	}
	from, err := element.Floats(b, in)
	if err != nil {
		return err
	}
	to, err := tensor.Of[float32](b.Out(0, s, in.Shape...))
	if err != nil {
		return err
	}
	copy(to, from)
	stream := b.RNG(s)
	limit := min(width, int(fraction*float64(n)))
	for range masks {
		size := int(rng.Index(&stream, uint32(limit+1)))
		start := int(rng.Index(&stream, uint32(n-size+1)))
		for o := range outer {
			part := to[(o*n+start)*inner : (o*n+start+size)*inner]
			for i := range part {
				part[i] = float32(fill)
			}
		}
	}
	return nil
}

// maxMasks is the most ranges of a sample.
const maxMasks = 1 << 16
