package generic

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "constant",
		Doc:     "Returns the same numbers for every sample.",
		Outputs: []op.Port{{Name: "output", Doc: "the numbers"}},
		Params: []op.Parameter{
			{Name: "dtype", Type: op.DType, Doc: "Type of the output: by default float32 for fdata, int32 for idata."},
			{Name: "fdata", Type: op.Floats, Doc: "The numbers, as float32: one for each element of the shape, or one for all."},
			{Name: "idata", Type: op.Ints, Doc: "The numbers, as integers."},
			{Name: "layout", Type: op.String, Default: "", Doc: "Layout of the output."},
			{Name: "shape", Type: op.Ints, Doc: "Shape of the output; by default one axis with all numbers."},
		},
		New: newConstant,
	})
}

// constant returns the same tensor for every sample.
type constant struct{ value tensor.Tensor }

func newConstant(c *op.Config) (op.Kernel, error) {
	if c.Given("fdata") == c.Given("idata") {
		return nil, c.Invalid("fdata", "one of fdata and idata", "both or neither", "")
	}
	var from tensor.Tensor
	if c.Given("fdata") {
		list := op.Get[[]float64](c, "fdata")
		floats := make([]float32, len(list))
		for i, v := range list {
			floats[i] = float32(v)
		}
		from = tensor.FromSlice(floats)
	} else {
		list := op.Get[[]int](c, "idata")
		ints := make([]int64, len(list))
		for i, v := range list {
			ints[i] = int64(v)
		}
		from = tensor.FromSlice(ints)
	}
	dtype, err := elementType(c, "dtype")
	switch {
	case err != nil:
		return nil, err
	case dtype == tensor.Float64:
		return nil, c.Unsupported("dtype", "any other type, as in DALI", dtype.String())
	case dtype == tensor.Invalid && from.DType == tensor.Float32:
		dtype = tensor.Float32
	case dtype == tensor.Invalid:
		dtype = tensor.Int32
	}
	shape := from.Shape
	if c.Given("shape") {
		shape = op.Get[[]int](c, "shape")
	}
	return makeConstant(c, from, dtype, shape)
}

func makeConstant(c *op.Config, from tensor.Tensor, dtype tensor.DType, shape tensor.Shape) (op.Kernel, error) {
	if err := size(shape, dtype); err != nil {
		return nil, c.Invalid("shape", "extents of 0 or more", shape.String(), "")
	}
	if from.Len() != 1 && from.Len() != shape.Len() {
		return nil, c.Invalid("shape", fmt.Sprintf("a shape of the %d numbers given, or one number", from.Len()), shape.String(), "")
	}
	layout := op.Get[string](c, "layout")
	if err := fits(c, "layout", layout, len(shape)); err != nil {
		return nil, err
	}
	value := tensor.New(dtype, from.Len())
	if err := element.Convert(value, from); err != nil {
		return nil, err
	}
	value.Shape, value.Layout = shape, layout
	return &constant{value: value}, nil
}

func (k *constant) Infer([]tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{k.value.Spec()}, nil
}

func (k *constant) Run(b *op.Block) error {
	for s := range b.Len() {
		repeat(b.Out(0, s, k.value.Shape...).Data, k.value.Data)
	}
	return nil
}
