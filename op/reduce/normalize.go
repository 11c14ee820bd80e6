package reduce

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/axis"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

const normalizable = "integers of up to 32 bits or float32"

func init() {
	op.Register(op.Schema{
		Name: "normalize",
		Doc: "Subtracts the mean from elements and divides the result by the standard deviation: scale * (in - mean) / sqrt(stddev^2 + epsilon) + shift. " +
			"A mean or deviation that is not given is computed from the sample, or from the batch. If a computed deviation and epsilon are 0, the quotient is 0. " +
			"Means and deviations that are given per sample have the shape of the input, with extents of 1 in the folded axes.",
		Inputs:  []op.Port{{Name: "input", Doc: normalizable}},
		Outputs: []op.Port{{Name: "output", Doc: "the normalized data"}},
		Params: append(axis.Params(false, "Axes whose elements share one mean and deviation, by default all"),
			op.Parameter{Name: "batch", Type: op.Bool, Default: false, Doc: "Whether mean and deviation are computed from all samples of the batch."},
			op.Parameter{Name: "ddof", Type: op.Int, Default: 0, Doc: "Number that is subtracted from the number of elements before the division, for a computed deviation."},
			op.Parameter{Name: "dtype", Type: op.DType, Default: tensor.Float32, Doc: "Type of the output."},
			op.Parameter{Name: "epsilon", Type: op.Float, Default: 0.0, Doc: "Number that is added to the square of the deviation."},
			op.Parameter{Name: "mean", Type: op.Float, PerSample: true, AnyShape: true, Doc: "The mean, in place of the computed one."},
			op.Parameter{Name: "scale", Type: op.Float, Default: 1.0, Doc: "Factor for the results."},
			op.Parameter{Name: "shift", Type: op.Float, Default: 0.0, Doc: "Number that is added to the results."},
			op.Parameter{Name: "stddev", Type: op.Float, PerSample: true, AnyShape: true, Doc: "The standard deviation, in place of the computed one."},
		),
		Precision: op.Tolerance,
		New:       newNormalize,
	})
}

// given is mean or stddev: computed, one number, or one tensor per sample.
type given struct {
	set   bool
	value float32
	input int // argument input, or -1
}

// scalar reports whether g is one number for all samples.
func (g given) scalar() bool { return g.set && g.input < 0 }

func readGiven(c *op.Config, name string) given {
	g := given{set: c.Given(name), value: float32(op.Get[float64](c, name)), input: -1}
	if i, ok := c.ArgumentInput(name); ok {
		g.input = i
	}
	return g
}

type normalize struct {
	config                *op.Config
	axes                  axis.Set
	mean, stddev          given
	batch                 bool
	ddof                  int
	dtype                 tensor.DType
	epsilon, scale, shift float32
}

func newNormalize(c *op.Config) (op.Kernel, error) {
	axes, err := axis.Read(c)
	if err != nil {
		return nil, err
	}
	k := &normalize{
		config: c, axes: axes, mean: readGiven(c, "mean"), stddev: readGiven(c, "stddev"),
		batch: op.Get[bool](c, "batch"), ddof: op.Get[int](c, "ddof"), dtype: op.Get[tensor.DType](c, "dtype"),
		epsilon: float32(op.Get[float64](c, "epsilon")), scale: float32(op.Get[float64](c, "scale")), shift: float32(op.Get[float64](c, "shift")),
	}
	numbers := op.Get[[]int](c, "axes")
	switch {
	case !normal(k.dtype):
		return nil, c.Unsupported("dtype", normalizable, k.dtype.String())
	case c.Given("axes") && (len(numbers) == 0 || slices.Min(numbers) < 0):
		return nil, c.Invalid("axes", "at least one axis, and no negative axis", fmt.Sprint(numbers), "")
	case c.Given("axis_names") && op.Get[string](c, "axis_names") == "":
		return nil, c.Invalid("axis_names", "at least one axis", "no axis", "")
	case (c.Given("axes") || c.Given("axis_names")) && k.mean.scalar() && k.stddev.scalar():
		return nil, c.Invalid("axes", "a mean or a stddev to compute along the axes", "both as numbers", "leave axes out")
	case k.batch && (k.mean.input >= 0 || k.stddev.input >= 0):
		return nil, c.Invalid("batch", "a mean and a deviation that do not differ per sample", "a value per sample", "leave batch out")
	}
	return k, nil
}

// normal reports whether normalize accepts and returns elements of type d.
func normal(d tensor.DType) bool { return summable(d) && d.Bits() <= 32 }

func (k *normalize) Batched() bool { return k.batch && !(k.mean.set && k.stddev.set) }

func (k *normalize) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if !normal(in[0].DType) {
		return nil, unsupportedInput(k.config, in[0].DType, normalizable)
	}
	if in[0].Shape != nil {
		if _, err := k.axes.Of(nil, 0, len(in[0].Shape), in[0].Layout, nil); err != nil {
			return nil, k.config.InvalidInput(0, "the axes to normalize", err.Error(), "")
		}
	}
	out := in[0]
	out.DType = k.dtype
	return []tensor.Spec{out}, nil
}

func (k *normalize) Run(b *op.Block) error {
	if k.Batched() {
		return k.whole(b)
	}
	return b.Each(func(s int) error {
		in := b.In(0, s)
		axes, err := k.axesOf(b, s)
		if err != nil {
			return err
		}
		p := newStatistics(b, in.Shape, axes)
		if err := p.take(b, s, k.mean, p.means, in.Shape, axes); err != nil {
			return err
		}
		if !k.mean.set {
			if !k.stddev.set {
				p.wantSquares(b, in.DType)
			}
			p.add(in, axes)
			p.finishMean()
		}
		if err := p.take(b, s, k.stddev, p.factors, in.Shape, axes); err != nil {
			return err
		}
		if !k.stddev.set {
			p.addDeviations(in, axes)
		}
		p.finishFactors(k)
		return k.apply(b, s, axes, p)
	})
}

// whole computes the missing statistics from all samples.
func (k *normalize) whole(b *op.Block) error {
	if b.Len() == 0 {
		return nil
	}
	axes, err := k.axesOf(b, 0)
	if err != nil {
		return err
	}
	first := b.In(0, 0).Shape
	p := newStatistics(b, first, axes)
	p.n = 0
	for s := range b.Len() {
		shape := b.In(0, s).Shape
		n := 1
		for i, d := range shape {
			if folds := slices.Contains(axes, i); folds {
				n *= d
			} else if len(shape) != len(first) || d != first[i] {
				return &errs.Error{Kind: errs.Mismatch, Want: "the same extents in all axes that are not folded, like " + first.String(), Got: shape.String()}
			}
		}
		p.n += n
	}
	p.fill(p.means, k.mean.value)
	if !k.mean.set {
		if !k.stddev.set {
			p.wantSquares(b, b.In(0, 0).DType)
		}
		for s := range b.Len() {
			p.add(b.In(0, s), axes)
		}
		p.finishMean()
	}
	p.fill(p.factors, k.stddev.value)
	if !k.stddev.set {
		for s := range b.Len() {
			p.addDeviations(b.In(0, s), axes)
		}
	}
	p.finishFactors(k)
	return b.Each(func(s int) error { return k.apply(b, s, axes, p) })
}

// axesOf returns the axes that are folded in a sample: the axes of the arguments, or the axes in
// which a given mean or deviation has the extent 1.
func (k *normalize) axesOf(b *op.Block, s int) ([]int, error) {
	in := b.In(0, s)
	axes, err := k.axes.Of(b, s, len(in.Shape), in.Layout, op.PerWorker[statistics](b).room[:0])
	if err != nil || k.axes.Given() {
		return axes, err
	}
	for _, g := range []given{k.mean, k.stddev} {
		if g.input < 0 {
			continue
		}
		if shape := b.Arg(g.input, s).Shape; shape.Len() > 1 && len(shape) == len(in.Shape) {
			axes = axes[:0]
			for i, d := range shape {
				if d == 1 {
					axes = append(axes, i)
				}
			}
			break
		}
	}
	return axes, nil
}

// apply writes the normalized sample.
func (k *normalize) apply(b *op.Block, s int, axes []int, p *statistics) error {
	in := b.In(0, s)
	if _, err := in.Shape.Bytes(tensor.Float32); err != nil {
		return err
	}
	out := b.Out(0, s, in.Shape...)
	if k.dtype == tensor.Float32 {
		p.apply(element.View[float32](out.Data), in, axes, k.shift)
		return nil
	}
	floats := op.Scratch[float32](b, in.Len())
	p.apply(floats, in, axes, k.shift)
	return element.Convert(out, tensor.Tensor{DType: tensor.Float32, Shape: in.Shape, Data: element.Bytes(floats)})
}
