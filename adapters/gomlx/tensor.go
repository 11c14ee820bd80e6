package gomlx

import (
	"strconv"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// dtypesOf pairs the element types that both libraries have.
var dtypesOf = map[dtypes.DType]tensor.DType{
	dtypes.Bool: tensor.Bool, dtypes.Int8: tensor.Int8, dtypes.Int16: tensor.Int16, dtypes.Int32: tensor.Int32,
	dtypes.Int64: tensor.Int64, dtypes.Uint8: tensor.Uint8, dtypes.Uint16: tensor.Uint16, dtypes.Uint32: tensor.Uint32,
	dtypes.Uint64: tensor.Uint64, dtypes.Float16: tensor.Float16, dtypes.BFloat16: tensor.BFloat16,
	dtypes.Float32: tensor.Float32, dtypes.Float64: tensor.Float64, dtypes.Complex64: tensor.Complex64,
	dtypes.Complex128: tensor.Complex128,
}

// FromTensor copies a tensor of Bivouac into a new one of GoMLX, with the same element type and
// shape. It fails with errs.Unsupported for an element type that GoMLX does not have.
func FromTensor(t tensor.Tensor) (*tensors.Tensor, error) {
	for there, here := range dtypesOf {
		if here == t.DType {
			out := tensors.FromShape(shapes.Make(there, t.Shape...))
			if len(t.Data) == 0 {
				return out, nil
			}
			return out, out.MutableBytes(func(b []byte) { copy(b, t.Data) })
		}
	}
	return nil, &errs.Error{Kind: errs.Unsupported, Op: "gomlx.FromTensor", Subject: "element type",
		Want: "a type that GoMLX has", Got: t.DType.String(), Remedy: "cast the tensor first: see tensor.Cast"}
}

// FromBatch copies a batch whose samples have one shape into a tensor with the axes (sample, …). It
// fails with errs.Invalid if the samples have different shapes.
func FromBatch(b *tensor.Batch) (*tensors.Tensor, error) {
	t, err := b.Tensor()
	if err != nil {
		return nil, errs.Wrap("gomlx.FromBatch", "", err)
	}
	return FromTensor(t)
}

// ToTensor copies a tensor of GoMLX into a new one of Bivouac. A tensor on a device is copied from
// there. It fails with errs.Unsupported for an element type that Bivouac does not have.
func ToTensor(t *tensors.Tensor) (tensor.Tensor, error) { return toTensor(t, nil) }

// toTensor copies a tensor into memory, which is used if it has the right size.
func toTensor(t *tensors.Tensor, memory []byte) (tensor.Tensor, error) {
	if err := t.CheckValid(); err != nil {
		return tensor.Tensor{}, &errs.Error{Kind: errs.Invalid, Op: "gomlx.ToTensor", Want: "a tensor with a value", Err: err}
	}
	shape := t.Shape()
	d, ok := dtypesOf[shape.DType]
	if !ok {
		return tensor.Tensor{}, &errs.Error{Kind: errs.Unsupported, Op: "gomlx.ToTensor", Subject: "element type",
			Want: "a type that Bivouac has", Got: shape.DType.String()}
	}
	out := tensor.Tensor{DType: d, Shape: append(tensor.Shape{}, shape.Dimensions...), Data: memory}
	size := int(shape.Memory())
	if len(memory) != size {
		out.Data = make([]byte, size)
	}
	if size == 0 {
		return out, nil
	}
	got := 0
	if err := t.ConstBytes(func(b []byte) { got = copy(out.Data, b) }); err != nil {
		return tensor.Tensor{}, &errs.Error{Kind: errs.IO, Op: "gomlx.ToTensor", Subject: "copy from the device", Err: err}
	}
	if got != size {
		return tensor.Tensor{}, &errs.Error{Kind: errs.Invalid, Op: "gomlx.ToTensor", Want: strconv.Itoa(size) + " bytes",
			Got: strconv.Itoa(got)}
	}
	return out, nil
}
