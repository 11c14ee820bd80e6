// Package geometry holds the operators that make affine transforms, and that apply transforms to
// coordinates and images.
//
// A transform of n dimensions is a float32 matrix of n rows and n+1 columns. The first n columns
// multiply a point, and the last column is the offset that is added. Its layout is "**", because
// its axes have no meaning.
package geometry

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

const (
	mostDims     = 6 // of a transform
	layoutMatrix = "**"
)

// affine is a transform of n dimensions: its matrix row by row, and its offset.
type affine struct {
	n      int
	matrix [mostDims * mostDims]float32
	offset [mostDims]float32
}

// identity returns the transform that changes nothing.
func identity(n int) affine {
	t := affine{n: n}
	for i := range n {
		t.matrix[i*n+i] = 1
	}
	return t
}

// then returns the transform that applies t first and then u.
func (t *affine) then(u *affine) affine {
	out := affine{n: t.n}
	n := t.n
	for i := range n {
		row := u.matrix[i*n : (i+1)*n]
		for j := range n {
			for k, m := range row {
				out.matrix[i*n+j] += float32(m * t.matrix[k*n+j])
			}
		}
		for k, m := range row {
			out.offset[i] += float32(m * t.offset[k])
		}
		out.offset[i] += u.offset[i]
	}
	return out
}

// around changes the offset of t so that t does not move center.
func (t *affine) around(center []float32) {
	n := t.n
	for i := range n {
		moved := float32(0)
		for k := range n {
			moved += float32(t.matrix[i*n+k] * center[k])
		}
		t.offset[i] = center[i] - moved
	}
}

// read reads a transform that is an input.
func read(in tensor.Tensor) (affine, error) {
	if err := isTransform(in.Spec()); err != nil {
		return affine{}, err
	}
	values, err := tensor.Of[float32](in)
	t := affine{n: in.Shape[0]}
	for i := range t.n {
		row := values[i*(t.n+1):]
		copy(t.matrix[i*t.n:(i+1)*t.n], row)
		t.offset[i] = row[t.n]
	}
	return t, err
}

// isTransform returns an error if the data are known not to be a transform.
func isTransform(s tensor.Spec) error {
	ok := s.DType == tensor.Float32
	if s.Shape != nil {
		ok = ok && len(s.Shape) == 2
		if ok && s.Shape[0] >= 0 {
			ok = s.Shape[0] >= 1 && s.Shape[0] <= mostDims && (s.Shape[1] < 0 || s.Shape[1] == s.Shape[0]+1)
		}
	}
	if ok {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Want: fmt.Sprintf("a transform: a float32 matrix of n rows and n+1 columns, n of 1 to %d", mostDims),
		Got: s.DType.String() + s.Shape.String()}
}

// write writes t as sample s of the output.
func (t *affine) write(b *op.Block, s int) error {
	out, err := tensor.Of[float32](b.Out(0, s, t.n, t.n+1))
	if err != nil {
		return err
	}
	for i := range t.n {
		row := out[i*(t.n+1):][:t.n+1]
		copy(row, t.matrix[i*t.n:(i+1)*t.n])
		row[t.n] = t.offset[i]
	}
	return nil
}
