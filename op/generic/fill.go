package generic

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// shapeParam is the parameter shape of what makes data.
func shapeParam() op.Parameter {
	return op.Parameter{Name: "shape", Type: op.Ints, PerSample: true, Doc: "Shape of the output; by default a scalar."}
}

// fill is the kernel of zeros and ones: one number, in a shape of its own.
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
		Doc:     "Gives " + name + ".",
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
			return k, element.Convert(k.value, tensor.ScalarOf(value))
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

func (k *fill) Grain() op.Grain { return op.PerSample }

func (k *fill) Infer([]tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: k.dtype, Shape: inferredShape(k.shape, k.layout), Layout: k.layout}}, nil
}

// inferredShape returns what is known of a shape before the data.
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

func (k *fill) Run(b *op.Block) error {
	return b.Each(func(s int) error {
		var buf [8]int
		shape, err := shapeAt(k.config, b, s, k.shape, k.layout, k.dtype, buf[:0])
		if err == nil {
			repeat(b.Out(0, s, shape...).Data, k.value.Data)
		}
		return err
	})
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
