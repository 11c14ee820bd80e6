package layout

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// What is made on request is placed in the box, also where its rows are not one run,
// and fails as its maker does.
func TestMade(t *testing.T) {
	bad := errors.New("bad")
	for _, failure := range []error{nil, bad} {
		l := Leaf{Form: &Form{DType: tensor.Uint8, Shape: tensor.Shape{3, 3}}}
		l.Make(func(_ context.Context, box zarr.Box, dst []byte) error {
			for i := range dst {
				dst[i] = byte(10*box.Origin[1] + i)
			}
			return failure
		})
		w := worker{pool: newPool(budget)}
		dst := make([]byte, 9)
		column := zarr.Box{Origin: []int{0, 1}, Shape: []int{3, 1}}
		err := l.array.readRegion(t.Context(), column, zarr.WholeBox(l.Shape), dst, &w)
		w.release()
		if !errors.Is(err, failure) {
			t.Errorf("error %v, want %v", err, failure)
		}
		if want := []byte{0, 10, 0, 0, 11, 0, 0, 12, 0}; err == nil && !bytes.Equal(dst, want) {
			t.Errorf("placed as %v, want %v", dst, want)
		}
	}
}
