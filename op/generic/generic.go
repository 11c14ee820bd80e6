// Package generic holds the operators that work on any data. They convert, move, join and repeat
// elements, change shapes, and describe data. Results are exact.
//
// An operator that does not change elements copies nothing. Its output is a view of its input.
package generic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// numbers checks that input i has a dtype that DALI's tensors can have.
func numbers(c *op.Config, i int, in tensor.Spec) error {
	if element.Known(in.DType) {
		return nil
	}
	err := c.InvalidInput(i, "integers of 8 to 64 bits, float16, float32, float64 or bool", in.DType.String(), "").(*errs.Error)
	err.Kind = errs.Unsupported
	return err
}

// unknown returns a shape of the given rank with unknown extents.
func unknown(rank int) tensor.Shape {
	s := make(tensor.Shape, rank)
	for i := range s {
		s[i] = -1
	}
	return s
}

// same is the Infer of kernels whose output has the spec of their input.
func same(in []tensor.Spec) ([]tensor.Spec, error) { return in[:1:1], nil }

// mismatch returns the error for a sample that differs from what is wanted.
func mismatch(want, got string) error {
	return &errs.Error{Kind: errs.Mismatch, Want: want, Got: got}
}

// layoutParam is the parameter layout.
func layoutParam(doc string) op.Parameter {
	return op.Parameter{Name: "layout", Type: op.String, Doc: doc}
}

// fits returns an error if a layout is given that does not name every axis.
func fits(c *op.Config, param, layout string, rank int) error {
	if layout == "" || len(layout) == rank {
		return nil
	}
	return c.Invalid(param, fmt.Sprintf("a letter for each of %d axes", rank), fmt.Sprintf("%q", layout), "")
}

// without returns the layout without the given axes, which are sorted.
func without(layout string, axes []int) string {
	if layout == "" {
		return ""
	}
	var b strings.Builder
	for i := range len(layout) {
		if !slices.Contains(axes, i) {
			b.WriteByte(layout[i])
		}
	}
	return b.String()
}

// workspace is a worker's memory for shapes of views. They outlive the call that makes them.
type workspace struct {
	shape     tensor.Shape
	axes      []int
	arguments [2][]int
	parts     []float64
}

// size checks that an output of the given shape can be addressed.
func size(shape tensor.Shape, d tensor.DType) error {
	_, err := shape.Bytes(d)
	return err
}
