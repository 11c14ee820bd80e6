package generic

import (
	"encoding/binary"
	"math"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/internal/strided"
	"github.com/bivouac-ml/bivouac/tensor"
)

// shapeParam is the parameter shape of operators that make data.
func shapeParam() op.Parameter {
	return op.Parameter{Name: "shape", Type: op.Ints, PerSample: true, Doc: "Shape of the output; by default a scalar."}
}

// fill is the kernel of zeros and ones: it repeats one number to a given shape.
type fill struct {
	config *op.Config
	shape  op.Vector[int]
	layout string
	dtype  tensor.DType
	value  tensor.Tensor // a scalar
}

// registerFill registers zeros or ones.
func registerFill(name string, value float32) {
	op.Register(op.Schema{
		Name:    name,
		Doc:     "Returns " + name + ".",
		Outputs: []op.Port{{Name: "output", Doc: name}},
		Params: []op.Parameter{
			{Name: "dtype", Type: op.DType, Default: tensor.Int32, Doc: "Type of the output."},
			layoutParam("Layout of the output."),
			shapeParam(),
		},
		New: func(c *op.Config) (op.Kernel, error) {
			dtype, err := elementType(c, "dtype")
			if err != nil {
				return nil, err
			}
			k := &fill{config: c, shape: op.GetVector[int](c, "shape"), layout: op.Get[string](c, "layout"), dtype: dtype, value: tensor.New(dtype)}
			if err := constantShape(c, k.shape, k.layout, dtype); err != nil {
				return nil, err
			}
			return op.Each(k), element.Convert(k.value, tensor.ScalarOf(value))
		},
	})
}

// constantShape checks a shape that is the same for all samples.
func constantShape(c *op.Config, v op.Vector[int], layout string, d tensor.DType) error {
	shape, ok := v.Const()
	if !ok {
		return nil
	}
	if err := size(shape, d); err != nil {
		return c.Invalid("shape", "extents of 0 or more", tensor.Shape(shape).String(), "")
	}
	return fits(c, "layout", layout, len(shape))
}

func (k *fill) Infer([]tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: k.dtype, Shape: inferredShape(k.shape, k.layout), Layout: k.layout}}, nil
}

// inferredShape returns the part of a shape that is known before the data.
func inferredShape(v op.Vector[int], layout string) tensor.Shape {
	shape, ok := v.Const()
	switch {
	case ok:
		return append(tensor.Shape{}, shape...)
	case layout != "":
		return unknown(len(layout))
	}
	return nil
}

func (k *fill) Sample(b *op.Block, s int) error {
	var buf [8]int
	shape, err := shapeAt(k.config, b, s, k.shape, k.layout, k.dtype, buf[:0])
	if err == nil {
		repeat(b.Out(0, s, shape...).Data, k.value.Data)
	}
	return err
}

// shapeAt returns the shape of a sample, checked.
func shapeAt(c *op.Config, b *op.Block, s int, v op.Vector[int], layout string, d tensor.DType, buf []int) (tensor.Shape, error) {
	shape, err := v.At(b, s, buf)
	if err == nil {
		err = size(shape, d)
	}
	if err == nil {
		err = fits(c, "layout", layout, len(shape))
	}
	return shape, err
}

func init() {
	registerFill("zeros", 0)
	registerFill("ones", 1)
}

func init() {
	op.Register(op.Schema{
		Name:    "full",
		Doc:     "Repeats data to a shape, with the broadcasting rules of numpy.",
		Inputs:  []op.Port{{Name: "fill_value", Doc: "the data to repeat: a scalar, or data whose shape fits the end of the new shape"}},
		Outputs: []op.Port{{Name: "output", Doc: "the repeated data"}},
		Params:  []op.Parameter{layoutParam("Layout of the output."), shapeParam()},
		New: func(c *op.Config) (op.Kernel, error) {
			k := &full{config: c, shape: op.GetVector[int](c, "shape"), layout: op.Get[string](c, "layout")}
			return op.Each(k), constantShape(c, k.shape, k.layout, tensor.Float64)
		},
	})
}

type full struct {
	config *op.Config
	shape  op.Vector[int]
	layout string
}

func (k *full) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := tensor.Spec{DType: in[0].DType, Shape: inferredShape(k.shape, k.layout), Layout: k.layout}
	if op.Static(in[0]) && op.Static(out) {
		if err := broadcasts(in[0].Shape, out.Shape); err != nil {
			return nil, k.config.InvalidInput(0, "data that can be repeated to the shape "+out.Shape.String(),
				in[0].Shape.String(), "")
		}
	}
	return []tensor.Spec{out}, nil
}

func (k *full) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	var buf [8]int
	shape, err := shapeAt(k.config, b, s, k.shape, k.layout, in.DType, buf[:0])
	if err == nil {
		err = broadcasts(in.Shape, shape)
	}
	if err == nil {
		broadcast(b.Out(0, s, shape...), in)
	}
	return err
}

// like is the kernel of zeros_like and ones_like.
type like struct {
	config *op.Config
	dtype  tensor.DType // Invalid: the input's
	value  tensor.Tensor
}

// registerLike registers zeros_like or ones_like.
func registerLike(name, what string, value float32) {
	op.Register(op.Schema{
		Name:    name,
		Doc:     "Returns " + what + " in the shape of other data.",
		Inputs:  []op.Port{{Name: "data_like", Doc: "data with the shape, layout and type of the output; the contents are not read"}},
		Outputs: []op.Port{{Name: "output", Doc: what}},
		Params:  []op.Parameter{{Name: "dtype", Type: op.DType, Doc: "Type of the output; by default the input's type."}},
		New: func(c *op.Config) (op.Kernel, error) {
			dtype, err := elementType(c, "dtype")
			return op.Each(&like{config: c, dtype: dtype, value: tensor.ScalarOf(value)}), err
		},
	})
}

func (k *like) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := in[0]
	if k.dtype != tensor.Invalid {
		out.DType = k.dtype
	}
	return []tensor.Spec{out}, numbers(k.config, 0, out)
}

func (k *like) Sample(b *op.Block, s int) error {
	in := b.In(0, s).Spec()
	if k.dtype != tensor.Invalid {
		in.DType = k.dtype
	}
	if err := size(in.Shape, in.DType); err != nil {
		return err
	}
	out := b.Out(0, s, in.Shape...)
	var one [8]byte
	value := tensor.Tensor{DType: out.DType, Data: one[:out.DType.Size()]}
	if err := element.Convert(value, k.value); err != nil {
		return err
	}
	repeat(out.Data, value.Data)
	return nil
}

func init() {
	registerLike("zeros_like", "zeros", 0)
	registerLike("ones_like", "ones", 1)
}

func init() {
	op.Register(op.Schema{
		Name: "full_like",
		Doc:  "Repeats data to the shape of other data, with the broadcasting rules of numpy, and converts it to its type like cast. The output has the layout of the other data.",
		Inputs: []op.Port{
			{Name: "data_like", Doc: "data with the shape, layout and type of the output; the contents are not read"},
			{Name: "fill_value", Doc: "the data to repeat"},
		},
		Outputs: []op.Port{{Name: "output", Doc: "the repeated data"}},
		New:     func(c *op.Config) (op.Kernel, error) { return op.Each(&fullLike{config: c}), nil },
	})
}

type fullLike struct{ config *op.Config }

func (k *fullLike) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	for i := range in {
		if err := numbers(k.config, i, in[i]); err != nil {
			return nil, err
		}
	}
	return same(in)
}

func (k *fullLike) Sample(b *op.Block, s int) error {
	like, in := b.In(0, s), b.In(1, s)
	if err := broadcasts(in.Shape, like.Shape); err != nil {
		return err
	}
	value := tensor.Tensor{DType: like.DType, Shape: in.Shape, Data: op.Scratch[uint8](b, in.Len()*like.DType.Size())}
	if err := element.Convert(value, in); err != nil {
		return err
	}
	broadcast(b.Out(0, s, like.Shape...), value)
	return nil
}

// truncate writes v, as a float32, as an element of type d the way C converts it: towards zero, and
// the low bits if it does not fit. DALI treats fill values in this way.
func truncate(d tensor.DType, out []byte, v float64) error {
	var in [4]byte
	binary.LittleEndian.PutUint32(in[:], math.Float32bits(float32(v)))
	return tensor.CastInto(d, out, tensor.Float32, in[:])
}

// repeat fills dst with copies of value.
func repeat(dst, value []byte) {
	n := copy(dst, value)
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}

// broadcasts returns an error unless data of shape in can be repeated to shape out.
func broadcasts(in, out tensor.Shape) error {
	for i := range in {
		d := 1
		if j := len(out) - len(in) + i; j >= 0 {
			d = out[j]
		}
		if in[i] != d && in[i] != 1 {
			return mismatch("data that can be repeated to the shape "+out.String(), in.String())
		}
	}
	return nil
}

// broadcast repeats in to out. The shapes must fit.
func broadcast(out, in tensor.Tensor) {
	if in.Len() == 1 {
		repeat(out.Data, in.Data)
		return
	}
	var buf [3][8]int
	inner, steps := strided.Contiguous(buf[0][:0], in.Shape), buf[1][:0]
	for i := range out.Shape {
		step := 0
		if j := i - len(out.Shape) + len(in.Shape); j >= 0 && in.Shape[j] > 1 {
			step = inner[j]
		}
		steps = append(steps, step)
	}
	strided.Copy(out.Data, strided.Contiguous(buf[2][:0], out.Shape), in.Data, steps, out.Shape, in.DType.Size())
}
