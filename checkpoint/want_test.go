package checkpoint_test

import (
	"bytes"
	"context"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
)

// countingStore counts the bytes that are read of data files.
type countingStore struct {
	store.Store
	read *atomic.Int64
}

type countingReader struct {
	store.Reader
	read *atomic.Int64
}

func (s countingStore) Open(ctx context.Context, name string) (store.Reader, error) {
	r, err := s.Store.Open(ctx, name)
	return countingReader{r, s.read}, err
}

func (r countingReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	r.read.Add(int64(len(p)))
	return r.Reader.ReadAt(ctx, p, off)
}

// grid is an array whose elements are all different.
func grid(rows, columns int) tensor.Tensor {
	v := make([]int32, rows*columns)
	for i := range v {
		v[i] = int32(i)
	}
	return tensor.FromSlice(v, rows, columns)
}

// saved saves a state to a store that counts what is read.
func saved(t *testing.T, state any) countingStore {
	t.Helper()
	st, err := local.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Save(t.Context(), "c", state, &checkpoint.SaveOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	return countingStore{st, &atomic.Int64{}}
}

// split cuts rows × columns into n boxes along an axis.
func split(rows, columns, n, axis int) []checkpoint.Box {
	var out []checkpoint.Box
	shape := []int{rows, columns}
	for i := range n {
		from, to := shape[axis]*i/n, shape[axis]*(i+1)/n
		b := checkpoint.Box{Origin: []int{0, 0}, Shape: slices.Clone(shape)}
		b.Origin[axis], b.Shape[axis] = from, to-from
		out = append(out, b)
	}
	return out
}

// What is saved in rows is loaded in columns, or in other rows, at the price of
// one load: each byte is read once, whatever the boxes.
func TestReshardReadsOnce(t *testing.T) {
	const rows, columns = 3000, 2000
	whole := grid(rows, columns)
	st := saved(t, map[string]any{"w": whole})
	for _, c := range []struct {
		name string
		axis int
		n    int
	}{{"columns", 1, 8}, {"uneven columns", 1, 7}, {"rows", 0, 5}} {
		st.read.Store(0)
		boxes := split(rows, columns, c.n, c.axis)
		n, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st,
			Want: func(checkpoint.LeafInfo) checkpoint.Want {
				return checkpoint.Want{Boxes: boxes}
			}})
		if err != nil {
			t.Fatal(err)
		}
		parts := n.Get("w").Value.(checkpoint.Parts)
		for i, b := range boxes {
			checkPart(t, parts[i], b, columns)
		}
		if amplification := float64(st.read.Load()) / float64(len(whole.Data)); amplification > 1.05 {
			t.Errorf("%s: %.3f bytes read for each wanted, at most 1.05", c.name, amplification)
		}
	}
}

// checkPart compares a box of a grid with what its elements must be.
func checkPart(t *testing.T, got tensor.Tensor, b checkpoint.Box, columns int) {
	t.Helper()
	v, err := tensor.Of[int32](got)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Shape.Equal(b.Shape) {
		t.Fatalf("shape %v, want %v", got.Shape, b.Shape)
	}
	for i, x := range v {
		row, column := b.Origin[0]+i/b.Shape[1], b.Origin[1]+i%b.Shape[1]
		if int(x) != row*columns+column {
			t.Fatalf("element %d of %v is %d", i, b, x)
		}
	}
}

// One box along the axis that the array is cut along reads little else.
func TestOneBoxReadsItsPart(t *testing.T) {
	const rows, columns = 8192, 2048 // 64 MiB in sub-chunks of 4 MiB
	st := saved(t, map[string]any{"w": grid(rows, columns), "other": grid(512, 1024)})
	for _, box := range split(rows, columns, 4, 0) {
		st.read.Store(0)
		n, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st,
			Want: func(l checkpoint.LeafInfo) checkpoint.Want {
				return checkpoint.Want{Skip: l.Param != "w", Boxes: []checkpoint.Box{box}}
			}})
		if err != nil {
			t.Fatal(err)
		}
		if n.Get("other").Value != any(checkpoint.Placeholder{}) {
			t.Errorf("what was skipped is %v", n.Get("other").Value)
		}
		w, _ := n.Get("w").Tensor()
		checkPart(t, w, box, columns)
		if amplification := float64(st.read.Load()) / float64(len(w.Data)); amplification > 1.3 {
			t.Errorf("%.3f bytes read for each wanted, at most 1.3", amplification)
		}
	}
}

// A box along an axis that ShardAxes named, or along which the array was given in
// Shards, reads little else, in every layout.
func TestOneColumnReadsItsPart(t *testing.T) {
	const rows, columns = 2048, 4096 // 32 MiB
	whole := grid(rows, columns)
	shards := checkpoint.Shards{DType: whole.DType, Shape: whole.Shape}
	for _, b := range split(rows, columns, 4, 1) {
		part := tensor.New(tensor.Int32, b.Shape...)
		for r := range rows {
			n := 4 * b.Shape[1]
			copy(part.Data[r*n:(r+1)*n], whole.Data[4*(r*columns+b.Origin[1]):])
		}
		shards.Parts = append(shards.Parts, checkpoint.Shard{Origin: b.Origin, Data: part})
	}
	for _, l := range []options.Layout{options.DefaultLayout, options.OCDBTZarr2, options.PlainZarr3, options.PlainZarr2} {
		for name, c := range map[string]struct {
			leaf any
			axes []int
		}{"axes": {whole, []int{1}}, "shards": {shards, nil}} {
			st, err := local.Open(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			err = checkpoint.Save(t.Context(), "c", map[string]any{"w": c.leaf},
				&checkpoint.SaveOptions{Options: options.Options{Array: options.Array{Saving: options.ArraySaving{Storage: options.Storage{ShardAxes: c.axes}}}, Bivouac: options.Bivouac{Layout: l}}, Store: st})
			if err != nil {
				t.Fatal(err)
			}
			counting := countingStore{st, &atomic.Int64{}}
			for _, box := range split(rows, columns, 4, 1)[1:3] {
				counting.read.Store(0)
				n, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: counting,
					Want: func(checkpoint.LeafInfo) checkpoint.Want {
						return checkpoint.Want{Boxes: []checkpoint.Box{box}}
					}})
				if err != nil {
					t.Fatalf("%v, %s: %v", l, name, err)
				}
				w, _ := n.Get("w").Tensor()
				checkPart(t, w, box, columns)
				if a := float64(counting.read.Load()) / float64(len(w.Data)); a > 1.3 {
					t.Errorf("%v, %s: %.3f bytes read for each wanted, at most 1.3", l, name, a)
				}
			}
		}
	}
}

// LoadInto reads a box to where it fits, and leaves alone what is skipped.
func TestLoadIntoBox(t *testing.T) {
	st := saved(t, map[string]any{"w": grid(100, 50), "kept": []float32{1, 2}})
	box := checkpoint.Box{Origin: []int{10, 5}, Shape: []int{20, 30}}
	dst := struct {
		W    tensor.Tensor `bivouac:"w"`
		Kept []float32     `bivouac:"kept"`
	}{tensor.New(tensor.Int32, 20, 30), []float32{7, 8}}
	memory := &dst.W.Data[0]
	err := checkpoint.LoadInto(t.Context(), "c", &dst,
		&checkpoint.LoadOptions{Store: st, Want: func(l checkpoint.LeafInfo) checkpoint.Want {
			if l.Param == "kept" {
				return checkpoint.Want{Skip: true}
			}
			return checkpoint.Want{Boxes: []checkpoint.Box{box}}
		}})
	if err != nil {
		t.Fatal(err)
	}
	checkPart(t, dst.W, box, 50)
	if &dst.W.Data[0] != memory || !slices.Equal(dst.Kept, []float32{7, 8}) {
		t.Errorf("kept %v; in place: %t", dst.Kept, &dst.W.Data[0] == memory)
	}
}

func TestWantRefused(t *testing.T) {
	st := saved(t, map[string]any{"w": grid(4, 4), "step": 1})
	for name, w := range map[string]checkpoint.Want{
		"beyond": {Boxes: []checkpoint.Box{{Origin: []int{1, 0}, Shape: []int{4, 4}}}},
		"rank":   {Boxes: []checkpoint.Box{{Origin: []int{0}, Shape: []int{4}}}},
	} {
		_, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st,
			Want: func(checkpoint.LeafInfo) checkpoint.Want { return w }})
		if errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: %v, want Invalid", name, err)
		}
	}
}

// Slices that share memory are not both read into.
func TestLoadIntoSharedMemory(t *testing.T) {
	st := saved(t, map[string]any{"a": []float32{1, 2, 3}, "b": []float32{4, 5, 6}})
	one := make([]float32, 3)
	dst := map[string]any{"a": one, "b": one}
	if err := checkpoint.LoadInto(t.Context(), "c", dst, &checkpoint.LoadOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one, []float32{4, 5, 6}) {
		t.Errorf("got %v, want what is filled last", one)
	}
}

// A load takes little memory beyond the state, whether it is given or not.
func TestLoadMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("256 MiB")
	}
	const size = 256 << 20
	name := filepath.Join(t.TempDir(), "c")
	state := arrays(size, 4)
	if err := checkpoint.Save(t.Context(), name, state, nil); err != nil {
		t.Fatal(err)
	}
	if peak := peakOf(t, func() error { return checkpoint.LoadInto(t.Context(), name, state, nil) }); peak > 64<<20 {
		t.Errorf("LoadInto takes %d MiB beyond the state", peak>>20)
	}
	state = nil
	if peak := peakOf(t, func() error {
		_, err := checkpoint.Load(t.Context(), name, nil)
		return err
	}); peak > size+64<<20 {
		t.Errorf("Load takes %d MiB for a state of 256", peak>>20)
	}
}

// peakOf returns by how much the heap in use grew at most while f ran.
func peakOf(t *testing.T, f func() error) (peak int64) {
	t.Helper()
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before := int64(m.HeapInuse)
	done := make(chan error, 1)
	go func() { done <- f() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		runtime.ReadMemStats(&m)
		peak = max(peak, int64(m.HeapInuse)-before)
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return peak
		case <-tick.C:
		}
	}
}

// A damaged sub-chunk is found by the boxes that touch it, and by no others.
func TestBoxFindsDamage(t *testing.T) {
	const rows, columns = 4096, 1024 // 16 MiB
	files := content{}
	whole := grid(rows, columns)
	st := saved(t, map[string]any{"w": whole})
	contentOf(t, st, "c", files)
	bad := whole.Data[len(whole.Data)/2:][:64] // row 2048
	found := false
	for name, b := range files {
		if i := bytes.Index(b, bad); i >= 0 {
			b = bytes.Clone(b)
			b[i+5] ^= 0x10
			files[name], found = b, true
		}
	}
	if !found {
		t.Fatal("the bytes of the array were not found")
	}
	for row, damaged := range map[int]bool{0: false, 2040: false, 2050: true, 4000: false} {
		box := checkpoint.Box{Origin: []int{row, 3}, Shape: []int{4, 9}}
		n, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: contentStore{files: files},
			Want: func(checkpoint.LeafInfo) checkpoint.Want {
				return checkpoint.Want{Boxes: []checkpoint.Box{box}}
			}})
		if damaged != (errs.KindOf(err) == errs.Corrupt) || !damaged && err != nil {
			t.Errorf("row %d: %v, want damage: %t", row, err, damaged)
		}
		if err == nil {
			w, _ := n.Get("w").Tensor()
			checkPart(t, w, box, columns)
		}
	}
}

// contentOf reads the files below a directory of a store.
func contentOf(t *testing.T, st store.Store, dir string, into content) {
	t.Helper()
	for e, err := range st.List(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		name := path.Join(dir, e.Name)
		if e.Dir {
			contentOf(t, st, name, into)
			continue
		}
		b, err := store.ReadAll(t.Context(), st, name)
		if err != nil {
			t.Fatal(err)
		}
		into[below(name)] = b
	}
}
