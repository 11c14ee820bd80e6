package tensor

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/loan"
)

// Tensor is a view of memory as an array: row-major (C order), little-endian, without strides. It
// owns nothing and frees nothing. The code that made Data decides how long it lives.
//
// len(Data) is Shape.Len() * DType.Size(). Types narrower than a byte take one byte an element in
// memory (see DType), as in numpy's ml_dtypes and in zarr.
type Tensor struct {
	DType  DType
	Shape  Shape
	Layout string // axis letters such as "HWC", or empty
	Data   []byte
}

// Spec describes a tensor before it exists. A dimension of -1 is known only from the data. A nil
// Shape means that the rank is not known either.
type Spec struct {
	DType  DType
	Shape  Shape
	Layout string
}

// New allocates a tensor of zeros, aligned for its type. It panics if d is not valid or the shape
// does not pass Check. Check shapes from outside with Shape.Bytes first.
func New(d DType, shape ...int) Tensor {
	n, err := Shape(shape).Bytes(d)
	if err != nil {
		panic(err)
	}
	return Tensor{DType: d, Shape: slices.Clone(shape), Data: alloc(n)}
}

// alloc returns n zero bytes at an address that suits every element type.
func alloc(n int) []byte {
	if n == 0 {
		return []byte{}
	}
	words := make([]uint64, (n-1)/8+1)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

// Len returns the number of elements.
func (t Tensor) Len() int { return t.Shape.Len() }

// Bytes returns the memory of the tensor, not a copy.
func (t Tensor) Bytes() []byte { return t.Data }

// Check returns an error of kind errs.Invalid if dtype or shape is malformed. The error is of kind
// errs.Mismatch if Data has the wrong length, or if Layout is not empty and does not name every
// axis.
func (t Tensor) Check() error {
	if loan.Debug {
		if err := loan.Check(t.Data); err != nil {
			return errs.Wrap("tensor.Check", t.String(), err)
		}
	}
	n, err := t.Shape.Bytes(t.DType)
	if err != nil {
		return err
	}
	if n != len(t.Data) {
		return &errs.Error{Kind: errs.Mismatch, Op: "tensor.Check", Subject: t.String(),
			Want: strconv.Itoa(n) + " bytes", Got: strconv.Itoa(len(t.Data))}
	}
	if t.Layout != "" && len(t.Layout) != len(t.Shape) {
		return &errs.Error{Kind: errs.Mismatch, Op: "tensor.Check", Subject: t.String(),
			Want: fmt.Sprintf("a layout of %d axes", len(t.Shape)), Got: quote(t.Layout)}
	}
	return nil
}

// Clone returns a tensor with the same contents that shares no memory with t.
func (t Tensor) Clone() Tensor {
	c := t
	c.Shape = t.Shape.Clone()
	c.Data = alloc(len(t.Data))
	copy(c.Data, t.Data)
	return c
}

// Equal reports whether both tensors have the same type, shape, layout and
// bytes. Floats are compared as bits: a NaN equals itself, 0 and -0 differ.
func (t Tensor) Equal(o Tensor) bool {
	return t.DType == o.DType && t.Shape.Equal(o.Shape) && t.Layout == o.Layout && bytes.Equal(t.Data, o.Data)
}

// String describes type and shape, such as "float32[3,224,224]". It does not print the elements;
// Format does.
func (t Tensor) String() string { return t.DType.String() + t.Shape.String() }

// Spec returns the description of t. Its Shape is never nil: the shape of a scalar is an empty
// Shape.
func (t Tensor) Spec() Spec {
	if t.Shape == nil {
		return Spec{DType: t.DType, Shape: Shape{}, Layout: t.Layout}
	}
	return Spec{DType: t.DType, Shape: t.Shape, Layout: t.Layout}
}

// Index returns a view of element i of the first axis: row i of a matrix, sample i of a batch. Like
// an index of a slice, it panics if t is a scalar or i is out of range.
func (t Tensor) Index(i int) Tensor {
	if i < 0 || i >= t.Shape[0] {
		panic(fmt.Sprintf("tensor: index %d out of range of %s", i, t))
	}
	n := t.Shape[1:].Len() * t.DType.Size()
	r := Tensor{DType: t.DType, Shape: t.Shape[1:], Data: t.Data[i*n : (i+1)*n : (i+1)*n]}
	if t.Layout != "" {
		r.Layout = t.Layout[1:]
	}
	return r
}

// Reshape returns a view with another shape and no layout. The error is of kind errs.Mismatch if
// the number of elements differs.
func (t Tensor) Reshape(shape ...int) (Tensor, error) {
	s := Shape(shape)
	if err := s.Check(); err != nil {
		return Tensor{}, err
	}
	if s.Len() != t.Len() {
		return Tensor{}, &errs.Error{Kind: errs.Mismatch, Op: "tensor.Reshape", Subject: t.String(),
			Want: strconv.Itoa(t.Len()) + " elements", Got: s.String()}
	}
	return Tensor{DType: t.DType, Shape: s.Clone(), Data: t.Data}, nil
}

// As returns a view of the same bytes as another type of the same size, such as uint16 bits as
// bfloat16. The error is of kind errs.Mismatch if the sizes differ.
func (t Tensor) As(d DType) (Tensor, error) {
	if d.Size() != t.DType.Size() || !d.Valid() {
		return Tensor{}, &errs.Error{Kind: errs.Mismatch, Op: "tensor.As", Subject: t.String(),
			Want: fmt.Sprintf("a type of %d bytes", t.DType.Size()), Got: d.String()}
	}
	t.DType = d
	return t, nil
}
