package dynamic_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// axisIndex is an index as Python has it: an element, a range with what it says, or a new axis.
type axisIndex struct {
	kind            byte // 0 element, 1 range, 2 new axis
	has             byte // of a range: 1 start, 2 stop, 4 step
	lo, hi, by      int
	element, tensor int // tensor: the element is given as a Tensor where it is 1
}

// readIndices makes up to four indices from bytes, six for each.
func readIndices(b []byte) (list []axisIndex) {
	for len(b) >= 6 && len(list) < 4 {
		x := axisIndex{kind: b[0] % 3, has: b[1] & 7, lo: int(int8(b[2])), hi: int(int8(b[3])), by: int(int8(b[4])),
			element: int(int8(b[2])), tensor: int(b[5] & 1)}
		list, b = append(list, x), b[6:]
	}
	return list
}

func (x axisIndex) expression() any {
	switch x.kind {
	case 0:
		if x.tensor == 1 {
			return dynamic.TensorOf(x.element)
		}
		return x.element
	case 2:
		return dynamic.NewAxis{}
	}
	var r dynamic.Range
	if x.has&1 != 0 {
		r.Start = x.lo
	}
	if x.has&2 != 0 {
		r.Stop = x.hi
	}
	if x.has&4 != 0 {
		r.Step = x.by
	}
	return r
}

// positions returns which elements of an axis of n are taken; ok is false where an
// index or step cannot be.
func (x axisIndex) positions(n int) (list []int, ok bool) {
	if x.kind == 0 {
		i := x.element
		if i < 0 {
			i += n
		}
		return []int{i}, i >= 0 && i < n
	}
	by := 1
	if x.has&4 != 0 {
		by = x.by
	}
	if by == 0 {
		return nil, false
	}
	least, most := 0, n // between which start and stop are kept
	lo, hi := 0, n
	if by < 0 {
		least, most = -1, n-1
		lo, hi = n-1, -1
	}
	bound := func(v int) int {
		if v < 0 {
			v += n
		}
		return min(max(v, least), most)
	}
	if x.has&1 != 0 {
		lo = bound(x.lo)
	}
	if x.has&2 != 0 {
		hi = bound(x.hi)
	}
	for i := lo; by > 0 && i < hi || by < 0 && i > hi; i += by {
		list = append(list, i)
	}
	return list, true
}

// indexed is what numpy gives for an array of int32 of that shape; ok is false where it gives an
// error.
func indexed(values []int32, shape []int, list []axisIndex) (out []int32, outShape []int, ok bool) {
	var taken [][]int
	axis := 0
	for _, x := range list {
		if x.kind == 2 {
			outShape = append(outShape, 1)
			continue
		}
		if axis == len(shape) {
			return nil, nil, false
		}
		p, ok := x.positions(shape[axis])
		if !ok {
			return nil, nil, false
		}
		taken = append(taken, p)
		if x.kind == 1 {
			outShape = append(outShape, len(p))
		}
		axis++
	}
	for ; axis < len(shape); axis++ {
		p, _ := axisIndex{kind: 1}.positions(shape[axis])
		taken, outShape = append(taken, p), append(outShape, len(p))
	}
	var walk func(axis, at int)
	walk = func(axis, at int) {
		if axis == len(shape) {
			out = append(out, values[at])
			return
		}
		for _, p := range taken[axis] {
			walk(axis+1, at*shape[axis]+p)
		}
	}
	walk(0, 0)
	return out, outShape, true
}

// FuzzIndex compares indexing with what Python and numpy do, for one tensor and for each of a
// batch.
func FuzzIndex(f *testing.F) {
	f.Add([]byte{3, 2, 1, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 3 {
			return
		}
		shape := []int{int(b[0] % 5), int(b[1] % 4), int(b[2] % 3)}
		list := readIndices(b[3:])
		var expressions []any
		for _, x := range list {
			expressions = append(expressions, x.expression())
		}
		x := tensor.New(tensor.Int32, shape...)
		values, err := tensor.Of[int32](x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range values {
			values[i] = int32(i)
		}
		want, wantShape, ok := indexed(values, shape, list)
		ctx := dynamic.WithMode(context.Background(), dynamic.Sync)
		one := dynamic.Index(ctx, dynamic.TensorOf(x), expressions...)
		batch := dynamic.Index(ctx, dynamic.BatchOf([]tensor.Tensor{x, x}), expressions...)
		for _, got := range []*dynamic.Tensor{one, batch.At(1)} {
			v, err := got.Tensor(ctx)
			if !ok {
				if kind := errs.KindOf(err); kind != errs.Invalid && kind != errs.Mismatch {
					t.Fatalf("%v%+v of %v: %v, want an error", v, list, shape, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%+v of %v: %v", list, shape, err)
			}
			if !v.Shape.Equal(wantShape) {
				t.Fatalf("%+v of %v: %v, want %v", list, shape, v.Shape, wantShape)
			}
			for i, w := range want {
				if g := int32(binary.LittleEndian.Uint32(v.Data[4*i:])); g != w {
					t.Fatalf("%+v of %v: element %d is %d, want %d", list, shape, i, g, w)
				}
			}
		}
	})
}
