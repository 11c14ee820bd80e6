package checkpoint_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestBoxesAreTheArray reads arrays of several layouts by their boxes: each element is in one box,
// and no box is larger than asked for.
func TestBoxesAreTheArray(t *testing.T) {
	array := tensor.New(tensor.Int16, 40, 3, 50)
	for i := range array.Data {
		array.Data[i] = byte(i * 7)
	}
	empty, one := tensor.New(tensor.Float64, 3, 0), tensor.New(tensor.Float64)
	for _, layout := range []options.Layout{options.DefaultLayout, options.SafetensorsLayout} {
		path := filepath.Join(t.TempDir(), "c")
		var o checkpoint.SaveOptions
		o.Bivouac.Layout = layout
		tree := map[string]any{"array": array, "empty": empty, "one": one}
		if err := checkpoint.Save(t.Context(), path, tree, &o); err != nil {
			t.Fatal(err)
		}
		r, err := checkpoint.OpenReader(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close() //nolint:errcheck // only read
		for _, most := range []int{1, 100, 301, 5000, 1 << 20} {
			for name, want := range map[string]tensor.Tensor{"array": array, "empty": empty, "one": one} {
				l, err := r.Leaf(name)
				if err != nil {
					t.Fatal(err)
				}
				got, seen := make([]byte, len(want.Data)), 0
				for box := range r.Boxes(l, most) {
					n := tensor.Shape(box.Shape).Len() * l.DType.Size()
					if n > max(most, l.DType.Size()) {
						t.Fatalf("%v: %s: a box of %d bytes, want at most %d", layout, name, n, most)
					}
					b := make([]byte, n)
					if err := r.ReadBox(t.Context(), l, box.Origin, box.Shape, b); err != nil {
						t.Fatal(err)
					}
					seen += n
					put(got, l, box, b)
				}
				if seen != len(want.Data) || !bytes.Equal(got, want.Data) {
					t.Errorf("%v: %s with boxes of %d bytes: %d bytes, want %d", layout, name, most, seen, len(want.Data))
				}
			}
		}
		for range r.Boxes(checkpoint.LeafInfo{Param: "nothing"}, 100) {
			t.Errorf("%v: a leaf that is not there has a box", layout)
		}
	}
}

// put copies a box of elements to its place in an array of at most three axes.
func put(dst []byte, l checkpoint.LeafInfo, box checkpoint.Box, src []byte) {
	size, at := l.DType.Size(), make([]int, len(l.Shape))
	for i := 0; i < len(src); i += size {
		rest, place := i/size, 0
		for k := len(at) - 1; k >= 0; k-- {
			at[k] = box.Origin[k] + rest%box.Shape[k]
			rest /= box.Shape[k]
		}
		for k := range at {
			place = place*l.Shape[k] + at[k]
		}
		copy(dst[place*size:], src[i:i+size])
	}
}
