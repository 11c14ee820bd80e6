package writer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// series saves one checkpoint after the other, each with the newest before it
// as its base.
type series struct {
	fsys  vfs.FS
	root  string
	state map[string]tensor.Tensor
	every int // VerifyEvery
	how   Mode
	form  Options // its layout and compression
	// budget of memory; below the state it is not copied.
	budget int
	saved  []string // and not removed
	kept   map[string]map[string]tensor.Tensor
}

func newSeries(fsys vfs.FS, root string) *series {
	return &series{fsys: fsys, root: root, state: map[string]tensor.Tensor{}, kept: map[string]map[string]tensor.Tensor{},
		how: Copy}
}

func (s *series) store() store.Store { return local.New(s.fsys, s.root, direct) }

// save saves the state as the next checkpoint.
func (s *series) save(ctx context.Context) (Stats, error) {
	root, copied := tree.NewDict(), map[string]tensor.Tensor{}
	for _, name := range slices.Sorted(maps.Keys(s.state)) {
		x := s.state[name]
		root.Set(name, tree.NewLeaf(x))
		copied[name] = tensor.Tensor{DType: x.DType, Shape: x.Shape, Data: slices.Clone(x.Data)}
	}
	items, err := testItems(map[string]any{"state": root})
	if err != nil {
		return Stats{}, err
	}
	memory, err := arena.Open(0, arena.Options{Limit: s.budget})
	if err != nil {
		return Stats{}, err
	}
	defer memory.Close() //nolint:errcheck // nothing is lost
	st := s.store()
	bases := slices.Clone(s.saved)
	slices.Reverse(bases)
	o := s.form
	o.Memory, o.Budget, o.FileBytes, o.Dedup = memory, int64(s.budget), 2000,
		&Dedup{Store: st, Bases: bases, VerifyEvery: s.every}
	w, err := snapshot(items, s.how, o)
	if err != nil {
		return Stats{}, err
	}
	if w.Stats().Copied {
		for _, x := range s.state {
			clear(x.Data) // it is the copy that is saved
		}
	}
	name := fmt.Sprint(len(s.kept))
	txn, err := st.Begin(ctx, name, store.TxnOptions{LinksOnly: true})
	if err == nil {
		_, err = w.Write(ctx, txn)
	}
	w.Close()
	for n, x := range s.state {
		copy(x.Data, copied[n].Data)
	}
	s.kept[name] = copied
	if err == nil {
		s.saved = append(s.saved, name)
	}
	return w.Stats(), err
}

// check reads a checkpoint and compares every file and leaf.
func (s *series) check(ctx context.Context, name string) error {
	st := s.store()
	c, err := layout.Open(ctx, st, name)
	if err != nil {
		return err
	}
	for _, f := range c.Manifest.Files {
		b, err := store.ReadAll(ctx, st, name+"/"+f.Name)
		if err == nil {
			err = c.Manifest.CheckFile(f.Name, b)
		}
		if err != nil {
			return err
		}
	}
	t, err := c.Tree(ctx, "state")
	if err != nil {
		return err
	}
	defer t.Close() //nolint:errcheck // nothing was written
	want := s.kept[name]
	if len(t.Leaves) != len(want) {
		return fmt.Errorf("%s: %d leaves, want %d", name, len(t.Leaves), len(want))
	}
	for i := range t.Leaves {
		l := &t.Leaves[i]
		dst := make([]byte, l.Bytes())
		if err := l.Read(ctx, dst); err != nil {
			return err
		}
		if string(dst) != string(want[l.Param].Data) {
			return fmt.Errorf("%s: leaf %s has other bytes", name, l.Param)
		}
	}
	return nil
}

// fill makes an array of n bytes that follow from seed.
func fill(n int, seed byte) tensor.Tensor {
	x := tensor.New(tensor.Uint8, n)
	for i := range x.Data {
		x.Data[i] = byte(i>>3) + seed
	}
	return x
}

// formats are the layouts and compressions.
var formats = []Options{
	{}, {}, {Layout: options.OCDBTZarr2}, {Layout: options.PlainZarr3}, {Layout: options.PlainZarr2}, {Layout: options.SafetensorsLayout},
	{Storage: Storage{Compression: options.Zstd}}, {Layout: options.OCDBTZarr2, Storage: Storage{Compression: options.ByteSplit}},
	{Layout: options.PlainZarr3, Storage: Storage{Compression: options.ByteSplit}},
}

// Whatever changes between saves, whichever checkpoints are removed, and
// however the bytes reach the store: every checkpoint that is left holds its own
// bytes, and a save writes no more than the files of changed arrays.
func TestDedupLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := t.Context()
		s := newSeries(vfstest.NewMem(), "/run")
		names := []string{"a", "b", "c", "d", "e", "f"}
		for i, n := range names[:5] {
			s.state[n] = fill(rapid.SampledFrom([]int{40, 1500, 1500, 1800, 5000, 70_000}).Draw(t, "size"), byte(i))
		}
		s.state["f"] = fill(rapid.SampledFrom([]int{40, 1500, 1500, 5 << 20}).Draw(t, "size"), 9)
		s.every = rapid.IntRange(0, 3).Draw(t, "every")
		s.form = rapid.SampledFrom(formats).Draw(t, "format")
		if l := s.form.Layout; InDatabase(l) || l == options.SafetensorsLayout {
			s.form.MaxFileBytes = rapid.SampledFrom([]int64{0, 2500, 20_000, 100_000}).Draw(t, "most")
		}
		s.budget = rapid.SampledFrom([]int{0, 60 << 20, 14 << 20}).Draw(t,
			"budget") // of all saves: shards are as large as it lets them be
		for range rapid.IntRange(2, 6).Draw(t, "steps") {
			s.how = rapid.SampledFrom([]Mode{Copy, InPlace, HandOver}).Draw(t, "mode")
			changed := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 2, rapid.ID[string]).Draw(t, "changed")
			for _, n := range changed {
				x := s.state[n].Data
				x[rapid.IntRange(0, len(x)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			}
			same, before := s.unchanged(), s.newest()
			stats, err := s.save(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if same && (stats.Linked == 0 && s.large() || stats.Bytes > 10_000) {
				t.Fatalf("unchanged, and %+v", stats)
			}
			if limit, ok := s.rewritten(before); ok && stats.Bytes > limit {
				t.Fatalf("%d bytes written, %d at most", stats.Bytes, limit)
			}
			if rapid.Bool().Draw(t, "remove") && len(s.saved) > 1 {
				i := rapid.IntRange(0, len(s.saved)-1).Draw(t, "which")
				if err := s.store().RemoveTree(ctx, s.saved[i]); err != nil {
					t.Fatal(err)
				}
				s.saved = slices.Delete(s.saved, i, i+1)
			}
			for _, name := range s.saved {
				if err := s.check(ctx, name); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// newest returns the arrays of the newest checkpoint, or nil if there is no checkpoint.
func (s *series) newest() map[string]tensor.Tensor {
	if len(s.saved) == 0 {
		return nil
	}
	return s.kept[s.saved[len(s.saved)-1]]
}

// rewritten is how many bytes a save may have written after the one that has the
// arrays of before: for each that changed what a file may hold, or the array
// where it is larger, and documents.
func (s *series) rewritten(before map[string]tensor.Tensor) (limit int64, ok bool) {
	limit = 15_000
	for name, x := range s.newest() {
		if string(before[name].Data) != string(x.Data) {
			limit += max(s.form.MaxFileBytes, int64(len(x.Data))) + alignment
		}
	}
	return limit, before != nil && (s.form.MaxFileBytes > 0 || !InDatabase(s.form.Layout) &&
		s.form.Layout != options.SafetensorsLayout)
}

// unchanged reports whether the state equals the newest checkpoint.
func (s *series) unchanged() bool {
	if len(s.saved) == 0 {
		return false
	}
	for name, x := range s.kept[s.saved[len(s.saved)-1]] {
		if string(x.Data) != string(s.state[name].Data) {
			return false
		}
	}
	return true
}

// large reports whether any array lies in a data file.
func (s *series) large() bool {
	for _, x := range s.state {
		if len(x.Data) > inlineBytes {
			return true
		}
	}
	return false
}

// ages returns the ages of the data files of a checkpoint, by its manifest.
func (s *series) ages(ctx context.Context, t *testing.T, name string) []int {
	t.Helper()
	b, err := store.ReadAll(ctx, s.store(), name+"/"+manifest.Name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	var ages []int
	for _, f := range m.Files {
		if f.Hash != (manifest.Hash{}) {
			ages = append(ages, f.Age)
		}
	}
	return ages
}

// A file is read back when it was linked often enough, and one that rotted is
// written anew then, though nothing has changed; the steps before keep what
// they have, and what comes after is whole.
func TestRottenBase(t *testing.T) {
	ctx := t.Context()
	for name, damage := range map[string]func(f *os.File) error{
		"a flipped bit": func(f *os.File) error {
			_, err := f.WriteAt([]byte{0xff}, 777)
			return err
		},
		"another leaf of a right checksum": func(f *os.File) error {
			// As long as the checksum follows its bytes, the file has the same checksum.
			a, err := newArray(nil, "a", source{Tensor: fill(1500, 9)}, Storage{}, newForms(&Options{}))
			if err != nil {
				return err
			}
			b := make([]byte, a.size)
			if _, err = a.chunks[0].encode(ctx, &piece{chunk: &a.chunks[0], sub: wholeShard, size: a.size}, b); err != nil {
				return err
			}
			_, err = f.WriteAt(b, 0)
			return err
		},
		"grown": func(f *os.File) error {
			_, err := f.WriteAt([]byte{1}, 1590)
			return err
		},
		"cut short": func(f *os.File) error { return f.Truncate(700) },
	} {
		s := newSeries(vfs.OS(), t.TempDir())
		s.every = 2
		s.state["a"], s.state["b"] = fill(1500, 1), fill(1600, 2)
		var linked, verified, damaged []int
		for range 4 {
			stats, err := s.save(ctx)
			if err != nil {
				t.Fatal(err)
			}
			linked, verified, damaged = append(linked, stats.Linked), append(verified, stats.Verified),
				append(damaged, stats.Damaged)
		}
		if !slices.Equal(linked, []int{0, 2, 2, 2}) || !slices.Equal(verified, []int{0, 0, 2, 0}) ||
			!slices.Equal(damaged, []int{0, 0, 0, 0}) {
			t.Errorf("linked %v, verified %v, damaged %v", linked, verified, damaged)
		}
		if a := s.ages(ctx, t, "3"); !slices.Equal(a, []int{1, 1}) {
			t.Errorf("ages %v", a)
		}
		if err := rot(s.root+"/3/state/d", 1500, damage); err != nil {
			t.Fatal(err)
		}
		stats, err := s.save(ctx)
		if err != nil || stats.Linked != 1 || stats.Verified != 1 || stats.Damaged != 1 {
			t.Errorf("%s: %+v, %v", name, stats, err)
		}
		if err := s.check(ctx, "4"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.check(ctx, "3"); err == nil {
			t.Errorf("%s: the file of the base was changed", name)
		}
		if a := s.ages(ctx, t, "4"); !slices.Equal(a, []int{0, 0}) {
			t.Errorf("%s: ages %v", name, a)
		}
	}
}

// rot damages the file that holds an array of size bytes.
func rot(dir string, size int64, damage func(*os.File) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Size() < size || info.Size() > size+100 {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(damage(f), f.Close())
	}
	return fmt.Errorf("no file for %d bytes in %s", size, dir)
}

// Where the file system links nothing, everything is written and that is said;
// any other failure to link fails the save.
func TestLinksRefused(t *testing.T) {
	ctx := t.Context()
	for err, kind := range map[syscall.Errno]errs.Kind{
		syscall.EXDEV: errs.Other, syscall.EMLINK: errs.Other, syscall.EPERM: errs.Other, syscall.ENOTSUP: errs.Other,
		syscall.EIO: errs.IO, syscall.ENOSPC: errs.Exhausted,
	} {
		mem := vfstest.NewMem()
		s := newSeries(vfstest.NewFault(mem, vfstest.Plan{N: 1, Forever: true, Err: err,
			Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpLink }}), "/run")
		s.state["a"] = fill(5000, 1)
		if _, err := s.save(ctx); err != nil {
			t.Fatal(err)
		}
		stats, got := s.save(ctx)
		if errs.KindOf(got) != kind || (got == nil) != (kind == errs.Other) {
			t.Errorf("%v: %v", err, got)
		}
		if got == nil && (stats.Refused != 1 || stats.Linked != 0 || stats.Bytes < 5000) {
			t.Errorf("%v: %+v", err, stats)
		}
		for _, name := range s.saved {
			if err := s.check(ctx, name); err != nil {
				t.Error(err)
			}
		}
	}
}

// What a base lacks is written: its manifest, a file of it, bytes of a file.
func TestPoorBases(t *testing.T) {
	ctx := t.Context()
	for name, spoil := range map[string]func(st store.Store, dir string) error{
		"no manifest":   func(_ store.Store, dir string) error { return os.Remove(dir + "/" + manifest.Name) },
		"no checkpoint": func(st store.Store, _ string) error { return st.RemoveTree(ctx, "0") },
		"a damaged manifest": func(st store.Store, _ string) error {
			return st.Put(ctx, "0/"+manifest.Name, []byte("x"), store.PutOptions{})
		},
		"a file that is short": func(_ store.Store, dir string) error {
			return rot(dir+"/state/d", 5000, func(f *os.File) error { return f.Truncate(5000) })
		},
		"no data files": func(_ store.Store, dir string) error { return os.RemoveAll(dir + "/state/d") },
	} {
		s := newSeries(vfs.OS(), t.TempDir())
		s.state["a"] = fill(5000, 1)
		if _, err := s.save(ctx); err != nil {
			t.Fatal(err)
		}
		if err := spoil(s.store(), s.root+"/0"); err != nil {
			t.Fatal(name, err)
		}
		stats, err := s.save(ctx)
		if err != nil || stats.Linked != 0 || stats.Bytes < 5000 {
			t.Errorf("%s: %+v, %v", name, stats, err)
		}
		if err := s.check(ctx, "1"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Files hold at most groupBytes, or one array; what a file holds follows from
// names, dtypes and shapes; the last is free for nodes.
func TestGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		known := newForms(&Options{})
		plan := func(sizes []int) (out []string) {
			var arrays []*array
			for i, n := range sizes {
				a, err := newArray(nil, fmt.Sprint(i), source{Tensor: tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{n},
					Data: make([]byte, min(n, inlineBytes))}}, Storage{}, known)
				if err != nil {
					t.Fatal(err)
				}
				arrays = append(arrays, a)
			}
			files := group(arrays, fileBytes, groupBytes)
			if last := files[len(files)-1]; last.size != 0 {
				t.Fatalf("the last file has %d bytes", last.size)
			}
			for _, f := range files[:len(files)-1] {
				held := map[string]bool{}
				for _, p := range f.pieces {
					held[p.chunk.array.param] = true
				}
				if f.size > groupBytes && len(held) != 1 {
					t.Fatalf("%d bytes of %d arrays", f.size, len(held))
				}
				if len(held) == 0 {
					t.Fatal("an empty file")
				}
			}
			for _, a := range arrays {
				if a.size > 0 {
					out = append(out, fmt.Sprint(slices.Index(files, a.file), " ", a.chunks[0].offset))
				}
			}
			return out
		}
		sizes := rapid.SliceOf(rapid.OneOf(rapid.IntRange(1, 5000), rapid.IntRange(1, 100<<20))).Draw(t, "sizes")
		if a, b := strings.Join(plan(sizes), ","), strings.Join(plan(sizes), ","); a != b {
			t.Fatalf("%s\n%s", a, b)
		}
	})
}
