// Package random holds the operators that draw numbers. They take no input;
// every sample has a stream of its own, keyed by seed, stream position and the
// node's name, so that nothing but these decides what is drawn.
package random

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// commonParams are those of all operators here.
func commonParams(more ...op.Parameter) []op.Parameter {
	return append(more,
		op.Parameter{Name: "shape", Type: op.Ints, Doc: "Shape of a sample; by default a scalar."},
		op.Parameter{Name: "seed", Type: op.Int, Default: -1, Doc: "Seed of this operator; -1: that of the pipeline."},
	)
}

// shapeOf returns the constant shape of a sample.
func shapeOf(c *op.Config) (tensor.Shape, error) {
	shape := append(tensor.Shape{}, op.Get[[]int](c, "shape")...) // not nil: the rank is known
	if _, err := shape.Bytes(tensor.Float64); err != nil {
		return nil, c.Invalid("shape", "extents of 0 or more", fmt.Sprint(shape), "")
	}
	return shape, nil
}

// dtypeOf returns the output type, def when none was given.
func dtypeOf(c *op.Config, def tensor.DType, also ...tensor.DType) (tensor.DType, error) {
	d := op.Get[tensor.DType](c, "dtype")
	if d == tensor.Invalid {
		return def, nil
	}
	if d != def && !slices.Contains(also, d) {
		return d, c.Unsupported("dtype", fmt.Sprint(append([]tensor.DType{def}, also...)), d.String())
	}
	return d, nil
}
