package audio

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/internal/libm"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

func decibelParams() []op.Parameter {
	return []op.Parameter{
		{Name: "cutoff_db", Type: op.Float, Default: -200.0,
			Doc: "The smallest result. Smaller ratios, and NaN, become this number."},
		{Name: "multiplier", Type: op.Float, Default: 10.0,
			Doc: "Factor of the logarithm: 10 for squares of magnitudes, and 20 for magnitudes."},
		{Name: "reference", Type: op.Float, Default: 0.0,
			Doc: "Number whose result is 0. If it is left out, the largest number of the sample."},
	}
}

func init() {
	op.Register(op.Schema{
		Name:      "to_decibels",
		Doc:       "Converts numbers to decibels: multiplier * log10(max(10^(cutoff_db / multiplier), in / reference)).",
		Inputs:    floatsOnly("input", "data of any shape, float32"),
		Outputs:   []op.Port{{Name: "decibels", Doc: "data of the same shape"}},
		Params:    decibelParams(),
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			scale, err := newDecibels(c)
			return op.Each(&toDecibels{config: c, scale: scale}), err
		},
	})
}

// decibels converts numbers.
type decibels struct {
	factor, least float32
	reference     float32 // 0: the largest number of a sample
}

func newDecibels(c *op.Config) (decibels, error) {
	multiplier, cutoff := float32(op.Get[float64](c, "multiplier")), float32(op.Get[float64](c, "cutoff_db"))
	d := decibels{
		factor:    multiplier * float32(math.Log10(2)),
		least:     float32(math.Pow(10, float64(cutoff/multiplier))),
		reference: float32(op.Get[float64](c, "reference")),
	}
	if d.least == 0 { // the logarithm of 0 is not a number of decibels
		d.least = math.SmallestNonzeroFloat32
	}
	if c.Given("reference") && d.reference == 0 {
		return d, c.Invalid("reference", "a number other than 0", fmt.Sprint(op.Get[float64](c, "reference")),
			"leave it out for the largest number of the sample")
	}
	return d, nil
}

// convert converts a sample. to and from may be the same.
func (d *decibels) convert(to, from []float32) {
	reference := d.reference
	if reference == 0 {
		for _, v := range from {
			if v > reference {
				reference = v
			}
		}
		if reference == 0 {
			reference = 1
		}
	}
	inverse := 1 / reference
	for i, v := range from {
		ratio := v * inverse
		if !(ratio > d.least) {
			ratio = d.least
		}
		to[i] = d.factor * libm.Log2(ratio)
	}
}

type toDecibels struct {
	config *op.Config
	scale  decibels
}

func (k *toDecibels) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return in[:1:1], wantFloat(k.config, in[0])
}

func (k *toDecibels) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	from, err := element.Floats(b, in)
	if err != nil {
		return err
	}
	to, err := tensor.Of[float32](b.Out(0, s, in.Shape...))
	k.scale.convert(to, from)
	return err
}
