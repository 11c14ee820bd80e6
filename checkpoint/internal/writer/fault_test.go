package writer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// several is a state that goes to four data files.
func several() map[string]any {
	root := tree.NewDict()
	for i := range 8 {
		x := tensor.New(tensor.Uint8, 1500+i)
		for k := range x.Data {
			x.Data[k] = byte(i + k)
		}
		root.Set(fmt.Sprint("a", i), tree.NewLeaf(x))
	}
	return map[string]any{"state": root}
}

var direct = &local.Options{DirectFrom: 1}

// saveSeveral saves in four files by direct writes, without a snapshot.
func saveSeveral(fsys vfs.FS, ack func(string)) error {
	ctx := context.Background()
	items, err := testItems(several())
	if err != nil {
		return err
	}
	released := 0
	w, err := snapshot(items, HandOver, Options{FileBytes: 2000, OnRelease: func() { released++ }})
	if err != nil {
		return err
	}
	txn, err := local.New(fsys, "/", direct).Begin(ctx, "c", store.TxnOptions{})
	if err == nil {
		_, err = w.Write(ctx, txn)
	}
	w.Close()
	if released != 1 {
		panic(fmt.Sprintf("released %d times", released))
	}
	if s := w.Stats(); err == nil && (s.Files < 6 || s.Copied) {
		panic(fmt.Sprintf("%+v", s))
	}
	if err == nil {
		ack("c")
	}
	return err
}

// whole demands that the checkpoint is there if it was promised, and agrees
// with its manifest if it is there.
func whole(fsys vfs.FS, acked []string) error {
	ctx := context.Background()
	st := local.New(fsys, "/", direct)
	if _, err := st.Stat(ctx, "c"); errors.Is(err, errs.NotFound) {
		if len(acked) > 0 {
			return errors.New("lost")
		}
		return nil
	}
	b, err := store.ReadAll(ctx, st, "c/"+manifest.Name)
	if err != nil {
		return err
	}
	m, err := manifest.Parse(b)
	if err != nil {
		return err
	}
	for _, f := range m.Files {
		b, err := store.ReadAll(ctx, st, "c/"+f.Name)
		if err != nil {
			return err
		}
		if err := m.CheckFile(f.Name, b); err != nil {
			return err
		}
	}
	return nil
}

func TestSeveralFilesPowerLoss(t *testing.T) {
	limit := 256
	if testing.Short() {
		limit = 16
	}
	report, err := crash.Run(saveSeveral, whole, &crash.Options{Limit: limit, Samples: limit})
	t.Log(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []vfstest.Op{vfstest.OpSync, vfstest.OpTruncate} {
		_, err := crash.Run(saveSeveral, whole, &crash.Options{
			Limit: 16, Samples: 16, Wrap: func(fsys vfs.FS) vfs.FS { return crash.Without(fsys, op) },
		})
		if !crash.IsFailure(err) {
			t.Errorf("without any %v: %v", op, err)
		}
	}
}

func TestSeveralFilesFaults(t *testing.T) {
	runs, err := crash.Faults(func(vfs.FS) error { return nil }, saveSeveral, func(o crash.Outcome) error {
		if o.Err == nil && len(o.Acked) == 0 {
			return errors.New("neither an error nor a checkpoint")
		}
		return whole(o.FS, o.Acked)
	})
	t.Logf("%d faults", runs)
	if err != nil {
		t.Fatal(err)
	}
}

// A budget below the state is kept: nothing is copied, the caller waits until
// all was read; below one unit nothing can be written.
func TestBudget(t *testing.T) {
	ctx := t.Context()
	const state = 40 << 20
	x := tensor.New(tensor.Uint8, 10, state/10)
	for i := range x.Data {
		x.Data[i] = byte(i * i >> 7)
	}
	for _, c := range []struct {
		budget int
		copied bool
		kind   errs.Kind
	}{{0, true, errs.Other}, {64 << 20, true, errs.Other}, {12 << 20, false, errs.Other},
		{1 << 20, false, errs.Exhausted}} {
		items, err := testItems(map[string]any{"state": map[string]any{"x": x, "y": x}})
		if err != nil {
			t.Fatal(err)
		}
		if c.budget > 0 {
			items, err = testItems(map[string]any{"state": map[string]any{"x": x}})
		}
		if err != nil {
			t.Fatal(err)
		}
		memory, err := arena.Open(0, arena.Options{Limit: c.budget})
		if err != nil {
			t.Fatal(err)
		}
		w, err := snapshot(items, Copy, Options{Memory: memory, Budget: int64(c.budget)})
		if err != nil {
			t.Fatal(err)
		}
		if c.copied {
			w.WaitCopied()
			x.Data[7]++
		}
		fsys := vfstest.NewMem()
		txn, err := local.New(fsys, "/", nil).Begin(ctx, "c", store.TxnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(ctx, txn)
		w.WaitCopied()
		if errs.KindOf(err) != c.kind || w.Stats().Copied != c.copied {
			t.Errorf("budget %d: %v, %+v", c.budget, err, w.Stats())
		}
		if m := memory.Stats().Mapped; c.budget > 0 && m > c.budget {
			t.Errorf("budget %d: %d bytes mapped", c.budget, m)
		}
		if err := whole(fsys, nil); err != nil {
			t.Error(err)
		}
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Memory that was handed over and changed too early is noticed, where that is
// asked for; else progress reaches the total.
func TestHandOver(t *testing.T) {
	ctx := t.Context()
	for _, change := range []bool{false, true} {
		x := tensor.New(tensor.Float32, 1000)
		items, err := testItems(map[string]any{"state": map[string]any{"x": x}})
		if err != nil {
			t.Fatal(err)
		}
		var last [2]int64
		w, err := snapshot(items, HandOver, Options{
			Watch: true, Now: func() time.Time { return time.Unix(9, 0) }, Progress: func(done, total int64) { last = [2]int64{done, total} },
		})
		if err != nil {
			t.Fatal(err)
		}
		if change {
			x.Data[100]++
		}
		txn, err := local.New(vfstest.NewMem(), "/", nil).Begin(ctx, "c", store.TxnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(ctx, txn)
		if errors.Is(err, errs.Mismatch) != change || (err != nil) != change {
			t.Errorf("changed %v: %v", change, err)
		}
		if last[0] == 0 || last[0] != last[1] {
			t.Errorf("progress ended at %v", last)
		}
	}
}

// What cannot be read of a leaf that is written before the others fails the save,
// as what is written after them does.
func TestFirstLeafFails(t *testing.T) {
	ctx := t.Context()
	bad := errors.New("bad")
	for _, name := range []string{"a", "b"} {
		lazy := func(n string) *tree.Node {
			return tree.NewLeaf(Lazy{DType: tensor.Int32, Shape: tensor.Shape{1 << 16},
				Read: func(context.Context, zarr.Box, []byte) error {
					if n == name {
						return bad
					}
					return nil
				}})
		}
		items := []Item{{Name: "state", Tree: tree.NewDict().Set("a", lazy("a")).Set("b", lazy("b"))}}
		w, err := snapshot(items, HandOver, Options{
			Storage: Storage{Compression: options.Zstd}, Copied: func(p tree.Path) bool { return p.String() == "a" }, Now: func() time.Time { return time.Unix(9, 0) },
		})
		if err != nil {
			t.Fatal(err)
		}
		txn, err := local.New(vfstest.NewMem(), "/", nil).Begin(ctx, "c", store.TxnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(ctx, txn); !errors.Is(err, bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
