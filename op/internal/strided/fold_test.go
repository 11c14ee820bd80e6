package strided_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/op/internal/strided"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestFoldLaw sums an array and compares with the sum by definition.
func TestFoldLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 6).Draw(t, "shape")
		var folded []int
		kept := tensor.Shape{}
		for i, d := range shape {
			if rapid.Bool().Draw(t, "folded") {
				folded = append(folded, i)
			} else {
				kept = append(kept, d)
			}
		}
		want, got := make([]int, kept.Len()), make([]int, kept.Len())
		n := tensor.Shape(shape).Len()
		for e := range n {
			at, place, step := e, 0, 1
			for i := len(shape) - 1; i >= 0; i-- {
				if !slices.Contains(folded, i) {
					place += at % shape[i] * step
					step *= shape[i]
				}
				at /= shape[i]
			}
			want[place] += e*e + 1
		}
		next := 0
		strided.Fold(shape, folded, func(r strided.Run) {
			if r.In != next {
				t.Fatalf("element %d after %d", r.In, next)
			}
			next += r.Rows * r.N
			for row := range r.Rows {
				for i := range r.N {
					e, place := r.In+row*r.N+i, r.Out+i
					if r.Along {
						place = r.Out + row
					}
					got[place] += e*e + 1
				}
			}
		})
		if next != n || !slices.Equal(got, want) {
			t.Fatalf("shape %v without %v: %v, want %v", shape, folded, got, want)
		}
	})
}
