package generic

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/axis"
	"github.com/bivouac-ml/bivouac/op/internal/strided"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "pad",
		Doc: "Makes samples larger at the ends of axes. The new extent is the given one, or the largest in the batch, " +
			"rounded up to a multiple of the alignment. No extent becomes smaller.",
		Inputs:  []op.Port{{Name: "input", Doc: "data of any kind with at least one axis"}},
		Outputs: []op.Port{{Name: "output", Doc: "the padded data"}},
		Params: append(axis.Params(true, "Axes to pad, by default all"),
			op.Parameter{Name: "align", Type: op.Ints, PerSample: true, Doc: "Alignments, one for all axes or one for each axis. Extents become multiples of them."},
			op.Parameter{Name: "fill_value", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Value of the padding; truncated for integer types."},
			op.Parameter{Name: "shape", Type: op.Ints, PerSample: true,
				Doc: "Extents, one for all axes or one for each axis. A negative or omitted extent means the largest in the batch."},
		),
		New: newPad,
	})
}

type pad struct {
	config *op.Config
	axes   axis.Set
	shape  op.Vector[int]
	align  op.Vector[int]
	fill   op.Scalar[float64]
	alone  bool // no extent depends on other samples
}

func newPad(c *op.Config) (op.Kernel, error) {
	axes, err := axis.Read(c)
	if err != nil {
		return nil, err
	}
	k := &pad{config: c, axes: axes, shape: op.GetVector[int](c, "shape"), align: op.GetVector[int](c, "align"), fill: op.GetScalar[float64](c, "fill_value")}
	shape, constant := k.shape.Const()
	k.alone = constant && len(shape) > 0
	for _, d := range shape {
		k.alone = k.alone && d > 0
		if d > math.MaxInt32 {
			return nil, c.Invalid("shape", "extents below 2^31", fmt.Sprint(d), "")
		}
	}
	align, _ := k.align.Const()
	for _, a := range align {
		if a <= 0 || a > math.MaxInt32 {
			return nil, c.Invalid("align", "alignments of 1 or more", fmt.Sprint(a), "")
		}
	}
	return k, nil
}

func (k *pad) Batched() bool { return !k.alone }

func (k *pad) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := numbers(k.config, 0, in[0]); err != nil {
		return nil, err
	}
	out := in[0]
	if in[0].Shape == nil {
		return []tensor.Spec{out}, nil
	}
	rank := len(in[0].Shape)
	if rank == 0 {
		return nil, k.config.InvalidInput(0, "data with at least one axis", "a scalar", "")
	}
	out.Shape = unknown(rank)
	if !k.axes.Const() {
		return []tensor.Spec{out}, nil
	}
	axes, err := k.axesOf(nil, 0, in[0], nil)
	if err != nil {
		return nil, k.config.InvalidInput(0, "the axes to pad", err.Error(), "")
	}
	for _, list := range []struct {
		name   string
		vector op.Vector[int]
	}{{"shape", k.shape}, {"align", k.align}} {
		if v, ok := list.vector.Const(); ok && len(v) > 1 && len(v) != len(axes) {
			return nil, k.config.Invalid(list.name, fmt.Sprintf("1 or %d values", len(axes)), fmt.Sprint(v), "")
		}
	}
	k.inferShape(out.Shape, in[0].Shape, axes)
	return []tensor.Spec{out}, nil
}

// inferShape sets the extents that do not depend on other samples.
func (k *pad) inferShape(out, in tensor.Shape, axes []int) {
	copy(out, in)
	shape, ok1 := k.shape.Const()
	align, ok2 := k.align.Const()
	for j, i := range axes {
		switch {
		case !ok1 || !ok2 || !k.alone || in[i] < 0:
			out[i] = -1
		default:
			out[i] = aligned(max(in[i], pick(shape, j, -1)), pick(align, j, 1))
		}
	}
}

// pick returns value i of a list that has one value for all, or one for each. If the list is empty,
// it returns none.
func pick(list []int, i, none int) int {
	switch {
	case len(list) == 0:
		return none
	case len(list) == 1:
		return list[0]
	}
	return list[i]
}

func aligned(n, align int) int {
	if r := n % align; r > 0 {
		return n + align - r
	}
	return n
}

// axesOf returns the axes of a sample to pad. An empty list means all axes.
func (k *pad) axesOf(b *op.Block, s int, in tensor.Spec, buf []int) ([]int, error) {
	axes, err := k.axes.Of(b, s, len(in.Shape), in.Layout, buf)
	if err == nil && len(axes) == 0 {
		for i := range in.Shape {
			axes = append(axes, i)
		}
	}
	return axes, err
}

func (k *pad) Run(b *op.Block) error {
	var largest []int
	if !k.alone && b.Len() > 0 {
		rank := len(b.In(0, 0).Shape)
		largest = make([]int, rank)
		for s := range b.Len() {
			in := b.In(0, s).Shape
			if len(in) != rank {
				return mismatch(fmt.Sprintf("samples of %d axes", rank), in.String())
			}
			for i, d := range in {
				largest[i] = max(largest[i], d)
			}
		}
	}
	return b.Each(func(s int) error { return k.sample(b, s, largest) })
}

func (k *pad) sample(b *op.Block, s int, largest []int) error {
	in := b.In(0, s)
	var buf [5][8]int
	axes, err := k.axesOf(b, s, in.Spec(), buf[0][:0])
	if err != nil {
		return err
	}
	shape, err := k.values(b, s, k.shape, "shape", len(axes), buf[1][:0])
	if err != nil {
		return err
	}
	align, err := k.values(b, s, k.align, "align", len(axes), buf[2][:0])
	if err != nil {
		return err
	}
	out := append(tensor.Shape(buf[3][:0]), in.Shape...)
	for j, i := range axes {
		want, step := pick(shape, j, -1), pick(align, j, 1)
		if step <= 0 || max(want, step) > math.MaxInt32 {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument align", Want: "extents below 2^31, alignments of 1 or more", Got: fmt.Sprintf("%d, %d", want, step)}
		}
		if want <= 0 {
			want = largest[i]
		}
		out[i] = aligned(max(in.Shape[i], want), step)
	}
	return k.fillAround(b, s, in, out, buf[4][:0])
}

// values returns the values of a list parameter for a sample.
func (k *pad) values(b *op.Block, s int, v op.Vector[int], name string, axes int, buf []int) ([]int, error) {
	list, err := v.At(b, s, buf)
	if err == nil && len(list) > 1 && len(list) != axes {
		err = &errs.Error{Kind: errs.Invalid, Subject: "argument " + name, Want: fmt.Sprintf("1 or %d values", axes), Got: tensor.Shape(list).String()}
	}
	return list, err
}

// fillAround writes the input into an output of the given shape, and the fill value around it.
func (k *pad) fillAround(b *op.Block, s int, in tensor.Tensor, shape tensor.Shape, buf []int) error {
	if shape.Equal(in.Shape) {
		b.Alias(0, s, in)
		return nil
	}
	if err := size(shape, in.DType); err != nil {
		return err
	}
	v, err := k.fill.At(b, s)
	if err != nil {
		return err
	}
	out := b.Out(0, s, shape...)
	var one [8]byte
	value := one[:in.DType.Size()]
	if err := truncate(in.DType, value, v); err != nil {
		return err
	}
	repeat(out.Data, value)
	var inner [8]int
	strided.Copy(out.Data, strided.Contiguous(buf, shape), in.Data, strided.Contiguous(inner[:0], in.Shape), in.Shape, in.DType.Size())
	return nil
}
