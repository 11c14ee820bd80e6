package checkpoint_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
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

// TestFinal checks that the parts that a load calls final are final: they have the bytes of the
// array, do not overlap, and the load neither reads nor writes them afterwards. Arrays, boxes and
// casts in all layouts, an archive of numpy, which has one checksum for an array, and files of
// torch.
func TestFinal(t *testing.T) {
	row := 1 << 20
	if testing.Short() { // bytes are looked at one by one, which the race detector makes slow
		row = 1 << 16
	}
	state := map[string]any{
		"large":  tensor.FromSlice(counted[float32](3*row), 3, row),
		"narrow": tensor.FromSlice(counted[int16](row), row>>10, 1<<10),
		"tall":   tensor.FromSlice(counted[uint8](5*row), 5*row, 1),
		"small":  []float32{1, 2, 3}, "number": 7, "empty": tensor.FromSlice([]float32{}, 0, 4)}
	narrow := map[string]any{
		"large": checkpoint.Abstract{Boxes: []checkpoint.Box{
			{Origin: []int{0, 5}, Shape: []int{3, row / 2}}, {Origin: []int{1, 0}, Shape: []int{2, row}}}},
		"narrow": checkpoint.Abstract{DType: tensor.Int32}, "tall": nil, "small": nil, "number": nil, "empty": nil}
	for _, l := range allLayouts {
		path := filepath.Join(t.TempDir(), "ckpt")
		if err := checkpoint.Save(t.Context(), path, state, &checkpoint.SaveOptions{Options: options.Options{
			Bivouac: options.Bivouac{Layout: l}}}); err != nil {
			t.Fatal(l, err)
		}
		finalAsLoaded(t, l.String(), path, nil)
		finalAsLoaded(t, l.String()+" in parts", path, narrow)
	}
	archive := filepath.Join(t.TempDir(), "a.npz")
	w, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	z := npy.NewArchiveWriter(w, true)
	for _, name := range []string{"large", "narrow"} {
		if err := z.Write(name, state[name].(tensor.Tensor)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	finalAsLoaded(t, "npz", archive, nil)
	for _, transposed := range []bool{false, true} {
		path, _, _ := ptFile(t, row>>9, transposed)
		finalAsLoaded(t, fmt.Sprint("torch.save, transposed ", transposed), path, nil)
	}
	for _, dir := range []string{"flat", "fsdp"} { // with several files, and arrays in parts
		finalAsLoaded(t, "DCP "+dir, filepath.Join("../testdata/dcp", dir), nil)
	}
}

func counted[E int16 | uint8 | float32](n int) []E {
	s := make([]E, n)
	for i := range s {
		s[i] = E(i % 251)
	}
	return s
}

// finalAsLoaded loads with Final and without, and compares the arrays.
func finalAsLoaded(t *testing.T, name, path string, abstract any) {
	t.Helper()
	want, err := checkpoint.Load(t.Context(), path, &checkpoint.LoadOptions{Abstract: abstract})
	if err != nil {
		t.Fatal(name, err)
	}
	type room struct{ mem, copied, seen []byte }
	var mu sync.Mutex
	rooms := map[*byte]*room{}
	finals := 0
	got, err := checkpoint.Load(t.Context(), path, &checkpoint.LoadOptions{Abstract: abstract,
		Allocate: func(n int) ([]byte, error) {
			r := &room{make([]byte, n), make([]byte, n), make([]byte, n)}
			rooms[unsafe.SliceData(r.mem)] = r
			return r.mem, nil
		},
		Final: func(mem []byte) error {
			mu.Lock()
			defer mu.Unlock()
			finals += len(mem)
			for first, r := range rooms {
				at := uintptr(unsafe.Pointer(unsafe.SliceData(mem))) - uintptr(unsafe.Pointer(first))
				if at >= uintptr(len(r.mem)) {
					continue
				}
				copy(r.copied[at:], mem)
				for i := range mem {
					mem[i] = 0xa5
					r.seen[int(at)+i]++
				}
			}
			return nil
		}})
	if err != nil {
		t.Fatal(name, err)
	}
	if finals == 0 {
		t.Errorf("%s: nothing was final", name)
	}
	for _, r := range rooms {
		for i, n := range r.seen {
			if n > 1 || n == 1 && r.mem[i] != 0xa5 {
				t.Fatalf("%s: byte %d of an array of %d was final %d times, and is %#x now", name, i, len(r.mem), n, r.mem[i])
			}
			if n == 1 {
				r.mem[i] = r.copied[i]
			}
		}
	}
	for i := range want.Len() {
		key := want.Key(i).Name
		a, b := want.Get(key).Value, got.Get(key).Value
		x, y := tensorsOf(a), tensorsOf(b)
		if len(x) != len(y) || len(x) == 0 && a != b {
			t.Fatalf("%s: %s: %v, want %v", name, key, b, a)
		}
		for k := range x {
			if !x[k].Equal(y[k]) {
				t.Errorf("%s: %s differs", name, key)
			}
		}
	}
}

// tensorsOf returns the arrays of a leaf.
func tensorsOf(v any) []tensor.Tensor {
	switch v := v.(type) {
	case tensor.Tensor:
		return []tensor.Tensor{v}
	case checkpoint.Parts:
		return v
	}
	return nil
}
