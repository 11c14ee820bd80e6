package tree_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

type rectangles struct {
	W [][]float32    `bivouac:"w,array"`
	K [][][][2]int16 `bivouac:",array,omitempty"`
}

// rows is the same as a list of rows.
type rows struct {
	W [][]float32 `bivouac:"w"`
}

// A slice of slices whose field says so is an array, which fills it again: made anew, or in
// place.
func TestRectangularSlicesAreArrays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.IntRange(0, 4).Draw(t, "a"), rapid.IntRange(0, 4).Draw(t, "b")
		v := rectangles{W: make([][]float32, a)}
		for i := range v.W {
			v.W[i] = rapid.SliceOfN(rapid.Float32(), b, b).Draw(t, "row")
		}
		for range a {
			v.K = append(v.K, [][][2]int16{{{1, 2}, {3, 4}}, {{5, 6}, {7, int16(b)}}, {{9, 10}, {11, 12}}})
		}
		n, err := tree.From(v)
		if err != nil {
			t.Fatal(err)
		}
		w, ok := n.Get("w").Tensor()
		want := tensor.Shape{a, b}
		if a == 0 {
			want[1] = 0
		}
		if !ok || w.DType != tensor.Float32 || !w.Shape.Equal(want) {
			t.Fatalf("%s, want float32%v", n.Get("w"), want)
		}
		if a > 0 {
			if k, ok := n.Get("K").Tensor(); !ok || !k.Shape.Equal(tensor.Shape{a, 3, 2, 2}) {
				t.Fatal(n.Get("K"))
			}
		}
		var got rectangles
		if err := tree.Into(n, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(v, got); diff != "" {
			t.Fatal(diff)
		}
		if a*b > 0 {
			row := got.W[a-1]
			clear(row)
			if err := tree.Into(n, &got); err != nil || row[b-1] != v.W[a-1][b-1] {
				t.Fatalf("not filled in place: %v, %v", row, err)
			}
			got.W = got.W[:a-1]
			if err := tree.Into(n, &got); a > 1 && !errors.Is(err, errs.Mismatch) {
				t.Fatalf("another number of rows: %v", err)
			}
		}
	})
}

// A list of rows, as saved without the option, still fills the field.
func TestRectangularSlicesTakeLists(t *testing.T) {
	n, err := tree.From(rows{W: [][]float32{{1, 2}, {3, 4}}})
	if err != nil || n.Get("w").Kind != tree.List {
		t.Fatal(n, err)
	}
	var got rectangles
	if err := tree.Into(n, &got); err != nil || !cmp.Equal(got.W, [][]float32{{1, 2}, {3, 4}}) {
		t.Fatal(got, err)
	}
	if n, err = tree.From(rows{W: [][]float32{{1, 2}, {3}}}); err != nil {
		t.Fatal(err)
	}
	if err := tree.Into(n, &rectangles{}); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "w[1]") {
		t.Error(err)
	}
}

// Fields that cannot be an array are refused: rows of different lengths, by name, and fields that
// are not slices of slices of numbers. If the option is missing, the error says so.
func TestRaggedSlicesAreRefused(t *testing.T) {
	for _, v := range []any{
		rectangles{W: [][]float32{{1, 2}, {3, 4}, {5}}},
		rectangles{W: [][]float32{{1, 2}, {3, 4}, nil}},
		&rectangles{W: [][]float32{{}, {}, {5}}},
	} {
		if _, err := tree.From(v); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "w[2]") {
			t.Errorf("%v: %v", v, err)
		}
	}
	if _, err := tree.From(rectangles{W: [][]float32{{1}}, K: [][][][2]int16{{{}, {}}, {{}, {{1, 2}}}}}); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "K[1][1]") {
		t.Error(err)
	}
	for _, v := range []any{
		struct {
			X []float32 `bivouac:",array"`
		}{},
		struct {
			X [][]string `bivouac:",array"`
		}{},
		struct {
			X map[string][][]int `bivouac:",array"`
		}{},
		struct {
			X [][]int8 `bivouac:",array,"`
		}{},
	} {
		if _, err := tree.From(v); !errors.Is(err, errs.Invalid) {
			t.Errorf("%T: %v", v, err)
		}
	}
	n, err := tree.From(rectangles{W: [][]float32{{1, 2}, {3, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Into(n, &rows{}); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), `bivouac:",array"`) {
		t.Error(err)
	}
	if err := tree.Into(n, &rectangles{W: [][]float32{{1, 2}, {3}}}); err == nil || !strings.Contains(err.Error(), "w[1]") {
		t.Error(err)
	}
	type other struct {
		W [][]float64 `bivouac:"w,array"`
	}
	if err := tree.Into(n, &other{}); !errors.Is(err, errs.Mismatch) {
		t.Error(err)
	}
}
