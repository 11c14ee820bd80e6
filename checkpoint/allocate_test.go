package checkpoint_test

import (
	"errors"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestAllocate checks that a load reads every array and box into the memory that the caller gives,
// and numbers elsewhere.
func TestAllocate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ckpt")
	state := map[string]any{"w": []float32{1, 2, 3, 4}, "b": []int8{5, 6}, "n": 7, "k": checkpoint.Key{
		Impl: "threefry2x32", Data: tensor.FromSlice([]uint32{8, 9})}}
	if err := checkpoint.Save(t.Context(), path, state, nil); err != nil {
		t.Fatal(err)
	}
	var given []int
	slab := make([]byte, 1<<12)
	own := func(b []byte) bool {
		at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(slab)))
		return at < uintptr(len(slab))
	}
	o := &checkpoint.LoadOptions{Allocate: func(n int) ([]byte, error) {
		given = append(given, n)
		at := 64 * len(given)
		return slab[at : at+n : at+n], nil
	}}
	n, err := checkpoint.Load(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	w, _ := n.Get("w").Tensor()
	if k := n.Get("k").Value.(checkpoint.Key); len(given) != 3 || !own(w.Data) || !own(k.Data.Data) ||
		n.Get("n").Value != int64(7) {
		t.Errorf("%v: %v", given, n)
	}
	o.Abstract = map[string]any{"w": checkpoint.Abstract{DType: tensor.Float64,
		Boxes: []checkpoint.Box{{Origin: []int{0}, Shape: []int{1}}, {Origin: []int{1}, Shape: []int{3}}}}, "b": nil,
		"n": checkpoint.Placeholder{}, "k": checkpoint.Placeholder{}}
	given = nil
	if n, err = checkpoint.Load(t.Context(), path, o); err != nil {
		t.Fatal(err)
	}
	if p := n.Get("w").Value.(checkpoint.Parts); len(given) != 3 || !own(p[0].Data) || !own(p[1].Data) ||
		len(p[1].Data) != 24 {
		t.Errorf("%v: %v", given, p)
	}
	// LoadInto uses the memory of its destination first.
	dst := struct {
		W []float32 `bivouac:"w"`
		B []int8    `bivouac:"b"`
		N int       `bivouac:"n"`
		K any       `bivouac:"k"`
	}{W: make([]float32, 4)}
	given, o.Abstract = nil, nil
	if err := checkpoint.LoadInto(t.Context(), path, &dst, o); err != nil || len(given) != 2 || dst.W[3] != 4 ||
		dst.B[1] != 6 {
		t.Errorf("%v: %+v %v", given, dst, err)
	}
}

// TestAllocateFails checks that the error of Allocate is the error of the load, and that memory of
// another size is refused.
func TestAllocateFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ckpt")
	if err := checkpoint.Save(t.Context(), path, map[string]any{"w": []float32{1, 2}}, nil); err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	_, err := checkpoint.Load(t.Context(), path, &checkpoint.LoadOptions{
		Allocate: func(int) ([]byte, error) { return nil, full }})
	if !errors.Is(err, full) {
		t.Error(err)
	}
	_, err = checkpoint.Load(t.Context(), path, &checkpoint.LoadOptions{
		Allocate: func(n int) ([]byte, error) { return make([]byte, n-1), nil }})
	if errs.KindOf(err) != errs.Invalid {
		t.Error(err)
	}
}
