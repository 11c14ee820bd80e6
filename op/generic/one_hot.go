package generic

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "one_hot",
		Doc: "Makes a row of classes from each index, with on_value at the index and off_value elsewhere. An index outside the classes gives only off_value. " +
			"If every sample of the batch has one element and no axis is given, the output has only the axis of the classes.",
		Inputs:  []op.Port{{Name: "input", Doc: "indices; floats are truncated"}},
		Outputs: []op.Port{{Name: "output", Doc: "the data with the axis of the classes"}},
		Params: []op.Parameter{
			{Name: "axis", Type: op.Int, Default: -1, Doc: "Number of the new axis; -1 puts it after all others."},
			{Name: "axis_name", Type: op.String, Doc: "Letter of the new axis in the layout; without it there is no layout."},
			{Name: "dtype", Type: op.DType, Default: tensor.Float32, Doc: "Type of the output."},
			{Name: "num_classes", Type: op.Int, Default: 0, Doc: "Number of classes."},
			{Name: "off_value", Type: op.Float, Default: 0.0, Doc: "Value at all other places; truncated for integer types."},
			{Name: "on_value", Type: op.Float, Default: 1.0, Doc: "Value at the index; truncated for integer types."},
		},
		New: newOneHot,
	})
}

type oneHot struct {
	config  *op.Config
	axis    int
	alone   bool // samples of one element become a row: no axis is given
	name    string
	classes int
	dtype   tensor.DType
	on, off []byte
}

func newOneHot(c *op.Config) (op.Kernel, error) {
	k := &oneHot{config: c, axis: op.Get[int](c, "axis"), alone: !c.Given("axis"), name: op.Get[string](c, "axis_name"), classes: op.Get[int](c, "num_classes")}
	var err error
	if k.dtype, err = elementType(c, "dtype"); err != nil {
		return nil, err
	}
	switch {
	case k.classes < 0 || k.classes > math.MaxInt32:
		return nil, c.Invalid("num_classes", "a valid number of classes", fmt.Sprint(k.classes), "")
	case k.axis < -1:
		return nil, c.Invalid("axis", "-1 or more", fmt.Sprint(k.axis), "")
	case c.Given("axis_name") && len(k.name) != 1:
		return nil, c.Invalid("axis_name", "one letter", fmt.Sprintf("%q", k.name), "")
	case k.dtype == tensor.Float16 || k.dtype == tensor.Bool:
		return nil, c.Unsupported("dtype", "an integer type, float32 or float64, as in DALI", k.dtype.String())
	}
	k.on, k.off = make([]byte, k.dtype.Size()), make([]byte, k.dtype.Size())
	if err := truncate(k.dtype, k.on, op.Get[float64](c, "on_value")); err != nil {
		return nil, err
	}
	return k, truncate(k.dtype, k.off, op.Get[float64](c, "off_value"))
}

// Batched implements op.Batched: without an axis the rank of the output depends on all samples.
func (k *oneHot) Batched() bool { return k.alone }

func (k *oneHot) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if d := in[0].DType; !element.Known(d) || d == tensor.Float16 || d == tensor.Bool {
		return nil, k.config.InvalidInput(0, "integers of 8 to 64 bits, float32 or float64", d.String(), "cast it")
	}
	out := tensor.Spec{DType: k.dtype}
	shape := in[0].Shape
	if shape == nil {
		return []tensor.Spec{out}, nil
	}
	if k.axis > len(shape) {
		return nil, k.config.Invalid("axis", fmt.Sprintf("an axis of -1 to %d", len(shape)), fmt.Sprint(k.axis), "")
	}
	static := op.Static(in[0])
	if k.alone && !static { // one axis, or one more than the input
		if k.name != "" && len(in[0].Layout) != len(shape) {
			return []tensor.Spec{{DType: k.dtype}}, nil
		}
		return []tensor.Spec{out}, nil
	}
	out.Shape = k.expanded(nil, shape, k.alone && shape.Len() == 1)
	var err error
	out.Layout, err = k.layout(in[0].Layout, len(out.Shape))
	return []tensor.Spec{out}, err
}

// expanded appends the shape of the output to buf.
func (k *oneHot) expanded(buf, in tensor.Shape, scalar bool) tensor.Shape {
	if scalar {
		return append(buf, k.classes)
	}
	at := k.at(len(in))
	buf = append(append(buf, in[:at]...), k.classes)
	return append(buf, in[at:]...)
}

func (k *oneHot) at(rank int) int {
	if k.axis < 0 {
		return rank
	}
	return k.axis
}

// layout returns the layout of an output of the given rank.
func (k *oneHot) layout(in string, rank int) (string, error) {
	switch {
	case k.name == "":
		return "", nil
	case rank == 1:
		return k.name, nil
	case len(in) != rank-1:
		return "", k.config.Invalid("axis_name", fmt.Sprintf("an input with a layout of %d axes", rank-1), fmt.Sprintf("%q", in), "give the input a layout")
	}
	at := k.at(rank - 1)
	return in[:at] + k.name + in[at:], nil
}

func (k *oneHot) Run(b *op.Block) error {
	scalars := k.alone
	for s := range b.Len() {
		scalars = scalars && b.In(0, s).Len() == 1
	}
	return b.Each(func(s int) error { return k.sample(b, s, scalars) })
}

func (k *oneHot) sample(b *op.Block, s int, scalar bool) error {
	in := b.In(0, s)
	if k.axis > len(in.Shape) {
		return mismatch(fmt.Sprintf("data of %d axes or more", k.axis), in.String())
	}
	var buf [8]int
	shape := k.expanded(buf[:0], in.Shape, scalar)
	if err := size(shape, k.dtype); err != nil {
		return err
	}
	layout, err := k.layout(in.Layout, len(shape))
	if err != nil {
		return err
	}
	indices := tensor.Tensor{DType: tensor.Int32, Shape: in.Shape, Data: op.Scratch[uint8](b, 4*in.Len())}
	if err := tensor.CastInto(tensor.Int32, indices.Data, in.DType, in.Data); err != nil {
		return err
	}
	index, err := tensor.Of[int32](indices)
	if err != nil {
		return err
	}
	out := b.Out(0, s, shape...)
	if layout != "" {
		b.Binding().Out[0][s].Layout = layout
	}
	repeat(out.Data, k.off)
	inner := 1 // elements after the new axis
	if !scalar {
		inner = in.Shape[k.at(len(in.Shape)):].Len()
	}
	for i, class := range index {
		if class >= 0 && int(class) < k.classes {
			at := (i/inner*k.classes+int(class))*inner + i%inner
			copy(out.Data[at*len(k.on):], k.on)
		}
	}
	return nil
}
