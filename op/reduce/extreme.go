package reduce

import (
	"math"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/internal/strided"
	"github.com/bivouac-ml/bivouac/tensor"
)

// extreme is the kernel of min and max.
type extreme struct {
	frame
	largest bool
}

// registerExtreme registers min or max.
func registerExtreme(name, doc, none string, largest bool) {
	op.Register(op.Schema{
		Name:    name,
		Module:  []string{"reductions"},
		Doc:     doc + " NaN is ignored. If there is no other element, the result is the " + none + " finite number of the type.",
		Inputs:  []op.Port{{Name: "input", Doc: foldable}},
		Outputs: []op.Port{{Name: "output", Doc: "one element, of the type of the input, for all elements that are folded together"}},
		Params:  params(),
		New: func(c *op.Config) (op.Kernel, error) {
			f, err := newFrame(c)
			return op.Each(&extreme{frame: f, largest: largest}), err
		},
	})
}

func (k *extreme) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if !summable(in[0].DType) {
		return nil, unsupportedInput(k.config, in[0].DType, foldable)
	}
	return k.infer(in[0], in[0].DType)
}

func (k *extreme) Sample(b *op.Block, s int) error {
	axes, _, out, err := k.sample(b, s)
	if err != nil {
		return err
	}
	switch in := b.In(0, s); in.DType {
	case tensor.Uint8:
		fold(k, out, in, axes, 0, uint8(math.MaxUint8))
	case tensor.Uint16:
		fold(k, out, in, axes, 0, uint16(math.MaxUint16))
	case tensor.Uint32:
		fold(k, out, in, axes, 0, uint32(math.MaxUint32))
	case tensor.Uint64:
		fold(k, out, in, axes, 0, uint64(math.MaxUint64))
	case tensor.Int8:
		fold(k, out, in, axes, math.MinInt8, int8(math.MaxInt8))
	case tensor.Int16:
		fold(k, out, in, axes, math.MinInt16, int16(math.MaxInt16))
	case tensor.Int32:
		fold(k, out, in, axes, math.MinInt32, int32(math.MaxInt32))
	case tensor.Int64:
		fold(k, out, in, axes, math.MinInt64, int64(math.MaxInt64))
	case tensor.Float32:
		fold(k, out, in, axes, -math.MaxFloat32, float32(math.MaxFloat32))
	}
	return nil
}

// fold writes the extremes of the elements. least and most are the extremes of the type.
func fold[T number](k *extreme, out, in tensor.Tensor, axes []int, least, most T) {
	to, from := element.View[T](out.Data), element.View[T](in.Data)
	start := most
	if k.largest {
		start = least
	}
	for i := range to {
		to[i] = start
	}
	strided.Fold(in.Shape, axes, func(r strided.Run) {
		for i := range r.Rows {
			row := from[r.In+i*r.N:][:r.N]
			switch {
			case r.Along && k.largest:
				to[r.Out+i] = largest(to[r.Out+i], row)
			case r.Along:
				to[r.Out+i] = smallest(to[r.Out+i], row)
			default:
				each(to[r.Out:][:r.N], row, k.largest)
			}
		}
	})
}

func largest[T number](v T, row []T) T {
	a, b := v, v // two, so that comparisons do not wait for each other
	for ; len(row) >= 2; row = row[2:] {
		if x := row[0]; x > a {
			a = x
		}
		if x := row[1]; x > b {
			b = x
		}
	}
	if len(row) > 0 && row[0] > a {
		a = row[0]
	}
	if b > a {
		return b
	}
	return a
}

func smallest[T number](v T, row []T) T {
	a, b := v, v
	for ; len(row) >= 2; row = row[2:] {
		if x := row[0]; x < a {
			a = x
		}
		if x := row[1]; x < b {
			b = x
		}
	}
	if len(row) > 0 && row[0] < a {
		a = row[0]
	}
	if b < a {
		return b
	}
	return a
}

// each folds the elements of a row into the elements of to.
func each[T number](to, row []T, largest bool) {
	for j, x := range row {
		if largest && x > to[j] || !largest && x < to[j] {
			to[j] = x
		}
	}
}

func init() {
	registerExtreme("max", "Returns the largest element.", "smallest", true)
	registerExtreme("min", "Returns the smallest element.", "largest", false)
}
