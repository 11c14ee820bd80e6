// Package random holds the operators that draw numbers. Every sample has its own stream. Only the
// seed, the stream position and the node's name decide its numbers. Element e of a sample draws
// from word 257*e of the stream on. Operators that draw one result for the whole sample, such as
// windows and choices of tensors, take the words one after the other.
//
// Numbers and their arithmetic follow DALI: with DALI's streams the operators return DALI's values
// (docs/numerics.md).
package random

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
	"github.com/bivouac-ml/bivouac/tensor"
)

var seedParam = op.Parameter{Name: "seed", Type: op.Int, Default: -1, Doc: "Seed of this operator; -1: the pipeline's seed."}

// distributionParams returns more, followed by the parameters of all operators that fill a shape.
func distributionParams(more ...op.Parameter) []op.Parameter {
	return append(more,
		op.Parameter{Name: "shape", Type: op.Ints, PerSample: true, Doc: "Shape of a sample; by default a scalar. Not together with an input."},
		seedParam,
	)
}

// registerTwice registers an operator under its name, and under the name old that DALI deprecates.
// Both draw the same numbers from the same stream.
func registerTwice(old string, s op.Schema) {
	op.Register(s)
	s.Deprecated, s.Same = "use "+s.FullName(), s.FullName()
	s.Module, s.Name = nil, old
	op.Register(s)
}

// shapeLike is the input from which samples take their shape.
func shapeLike() op.Port {
	return op.Port{Name: "shape_like", Doc: "tensors whose shape the samples take", Optional: true}
}

// extent gives the shape of samples: from an input, from the argument, or a scalar.
type extent struct {
	input int // or -1
	list  op.Vector[int]
	given bool
}

// newExtent reads the argument. If the input at the given index exists, it gives the shape instead.
func newExtent(c *op.Config, input int) (extent, error) {
	e := extent{input: -1, list: op.GetVector[int](c, "shape"), given: c.Has("shape")}
	if c.Inputs > input {
		e.input = input
	}
	if e.given && e.input >= 0 {
		return e, c.Invalid("shape", "a shape or an input with one", "both", "")
	}
	if shape, constant := e.list.Const(); constant {
		if _, err := tensor.Shape(shape).Bytes(tensor.Float64); err != nil {
			return e, c.Invalid("shape", "extents of 0 or more", fmt.Sprint(shape), "")
		}
	}
	return e, nil
}

// infer returns the known part of the shape before the data, or nil if not even its rank is known.
func (e *extent) infer(in []tensor.Spec) tensor.Shape {
	if e.input >= 0 {
		return in[e.input].Shape
	}
	if shape, constant := e.list.Const(); constant {
		return append(tensor.Shape{}, shape...) // not nil: the rank is known
	}
	return nil
}

// at returns the shape of a sample, in memory of buf or of its input.
func (e *extent) at(b *op.Block, s int, buf *[]int) (tensor.Shape, error) {
	if e.input >= 0 {
		return b.In(e.input, s).Shape, nil
	}
	shape, err := e.list.At(b, s, *buf)
	if _, constant := e.list.Const(); constant || err != nil {
		return shape, err
	}
	*buf = shape
	_, err = tensor.Shape(shape).Bytes(tensor.Float64)
	return shape, err
}

// drawing makes the output of a sample with the given shape.
type drawing func(b *op.Block, s int, shape tensor.Shape, w *worker) error

// distribution is the kernel of operators that fill a shape with numbers of one type.
type distribution struct {
	dtype  tensor.DType
	extent extent
	draw   drawing
}

// newDistribution returns a kernel whose samples draw makes. The dtype is one of the allowed types,
// or def if none was given.
func newDistribution(c *op.Config, draw drawing, def tensor.DType, allowed ...tensor.DType) (op.Kernel, error) {
	k := &distribution{draw: draw}
	var err error
	if k.dtype, err = dtypeOf(c, def, allowed...); err != nil {
		return nil, err
	}
	k.extent, err = newExtent(c, 0)
	return k, err
}

func (k *distribution) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: k.dtype, Shape: k.extent.infer(in)}}, nil
}

func (k *distribution) Run(b *op.Block) error {
	return perSample(b, func(b *op.Block, s int, w *worker) error {
		shape, err := k.extent.at(b, s, &w.shape)
		if err != nil {
			return err
		}
		return k.draw(b, s, shape, w)
	})
}

// numbers are the types that most operators give.
var numbers = []tensor.DType{tensor.Uint8, tensor.Int8, tensor.Uint16, tensor.Int16, tensor.Uint32, tensor.Int32, tensor.Uint64, tensor.Int64, tensor.Float32}

// dtypeOf returns the output type, or def if none was given.
func dtypeOf(c *op.Config, def tensor.DType, allowed ...tensor.DType) (tensor.DType, error) {
	d := op.Get[tensor.DType](c, "dtype")
	if d == tensor.Invalid {
		return def, nil
	}
	if !slices.Contains(allowed, d) {
		return d, c.Unsupported("dtype", fmt.Sprint(allowed), d.String())
	}
	return d, nil
}

// wide reports whether numbers of a type are drawn and computed in float64.
func wide(d tensor.DType) bool {
	switch d {
	case tensor.Float64, tensor.Uint32, tensor.Int32, tensor.Uint64, tensor.Int64:
		return true
	}
	return false
}

// worker is a worker's state for an operator.
type worker struct {
	philox  rng.Philox
	floats  []float64
	shape   []int
	poisson libstdcxx.Poisson
	source  libstdcxx.Source // of the words of philox
}

func workerOf(b *op.Block) *worker {
	w := op.PerWorker[worker](b)
	if w.source == nil {
		w.source = libstdcxx.Words{Philox: &w.philox}
	}
	return w
}

// perSample calls one for every sample, and fails each sample for which one returns an error.
func perSample(b *op.Block, one func(b *op.Block, s int, w *worker) error) error {
	w := workerOf(b)
	return b.Each(func(s int) error { return one(b, s, w) })
}

// fill sets the elements of out. For wide types it calls double, otherwise single, and rounds the
// result for integer types. Both functions draw from w.philox.
func fill(out tensor.Tensor, stream rng.Philox, w *worker, single func(element int) float32, double func(element int) float64) error {
	switch out.DType {
	case tensor.Float32:
		return fillWith(out, stream, w, single)
	case tensor.Float64:
		return fillWith(out, stream, w, double)
	case tensor.Uint8:
		return fillWith(out, stream, w, func(e int) uint8 { return op.Round[uint8](float64(single(e))) })
	case tensor.Int8:
		return fillWith(out, stream, w, func(e int) int8 { return op.Round[int8](float64(single(e))) })
	case tensor.Uint16:
		return fillWith(out, stream, w, func(e int) uint16 { return op.Round[uint16](float64(single(e))) })
	case tensor.Int16:
		return fillWith(out, stream, w, func(e int) int16 { return op.Round[int16](float64(single(e))) })
	case tensor.Uint32:
		return fillWith(out, stream, w, func(e int) uint32 { return op.Round[uint32](double(e)) })
	case tensor.Int32:
		return fillWith(out, stream, w, func(e int) int32 { return op.Round[int32](double(e)) })
	case tensor.Uint64:
		return fillWith(out, stream, w, func(e int) uint64 { return op.Round[uint64](double(e)) })
	}
	return fillWith(out, stream, w, func(e int) int64 { return op.Round[int64](double(e)) })
}

func fillWith[T tensor.Element](out tensor.Tensor, stream rng.Philox, w *worker, draw func(element int) T) error {
	values, err := tensor.Of[T](out)
	for e := range values {
		w.philox = rng.Element(stream, e)
		values[e] = draw(e)
	}
	return err
}

// invalid returns the error for an argument of one sample.
func invalid(arg, want string, got any) error {
	return &errs.Error{Kind: errs.Invalid, Subject: "argument " + arg, Want: want, Got: fmt.Sprint(got)}
}
