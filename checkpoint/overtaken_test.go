package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// overtaker is a store in which somebody else acts once, when a transaction begins or a
// name changes.
type overtaker struct {
	*local.Store
	other func()
}

func (o *overtaker) act() {
	if other := o.other; other != nil {
		o.other = nil
		other()
	}
}

func (o *overtaker) Rename(ctx context.Context, from, to string) error {
	o.act()
	return o.Store.Rename(ctx, from, to)
}

func (o *overtaker) Begin(ctx context.Context, final string, opt store.TxnOptions) (store.Txn, error) {
	o.act()
	return o.Store.Begin(ctx, final, opt)
}

// Pin has what is begun through the directory be overtaken as well.
func (o *overtaker) Pin(ctx context.Context, name string) (store.Pinned, error) {
	p, err := o.Store.Pin(ctx, name)
	return overtakenPin{p, o}, err
}

type overtakenPin struct {
	store.Pinned
	o *overtaker
}

func (p overtakenPin) Begin(ctx context.Context, final string, opt store.TxnOptions) (store.Txn, error) {
	return p.o.Begin(ctx, final, opt)
}

// update adds leaves to checkpoint c, replacing those that are there.
func update(ctx context.Context, st store.Store, leaves map[string]any) error {
	return checkpoint.Save(ctx, "c", leaves, &checkpoint.SaveOptions{Store: st, PartialUpdate: true, Overwrite: true})
}

// What reads a checkpoint and puts another one in its place never undoes what a second
// writer did in between: it fails, changes nothing, and does it when it is run again.
func TestOvertakenChangesNothing(t *testing.T) {
	a, b, c := count(600, 1), count(500, 2), count(400, 3)
	for _, l := range []struct {
		name   string
		before map[string]any // nil is no checkpoint
		do     func(ctx context.Context, st store.Store) error
		after  map[string]any // when it was run again
	}{
		{"partial update", map[string]any{"a": a}, func(ctx context.Context, st store.Store) error {
			return update(ctx, st, map[string]any{"b": b})
		}, map[string]any{"a": a, "b": b, "c": c}},
		{"first part", nil, func(ctx context.Context, st store.Store) error {
			return update(ctx, st, map[string]any{"b": b})
		}, map[string]any{"b": b, "c": c}},
		{"conversion in place", map[string]any{"a": a}, func(ctx context.Context, st store.Store) error {
			return checkpoint.Convert(ctx, "c", "c", &checkpoint.ConvertOptions{Store: st, Overwrite: true})
		}, map[string]any{"a": a, "c": c}},
		{"surgery in place", map[string]any{"a": a}, func(ctx context.Context, st store.Store) error {
			return checkpoint.ConvertAndTransform(ctx, []string{"c"}, "c", func(_ context.Context, in []*tree.Node) (*tree.Node, error) {
				return in[0], nil
			}, &checkpoint.ConvertOptions{Store: st, Overwrite: true})
		}, map[string]any{"a": a, "c": c}},
	} {
		t.Run(l.name, func(t *testing.T) {
			ctx, st := t.Context(), local.New(vfstest.NewMem(), "/", nil)
			want := map[string]any{"c": c}
			if l.before != nil {
				if err := checkpoint.Save(ctx, "c", l.before, &checkpoint.SaveOptions{Store: st}); err != nil {
					t.Fatal(err)
				}
				want["a"] = l.before["a"]
			}
			err := l.do(ctx, &overtaker{st, func() {
				if err := update(ctx, st, map[string]any{"c": c}); err != nil {
					t.Error(err)
				}
			}})
			if errs.KindOf(err) != errs.Busy || !errors.Is(err, store.ErrReplaced) {
				t.Errorf("want errs.Busy with store.ErrReplaced, got %v", err)
			}
			o := &checkpoint.LoadOptions{Store: st}
			if err := holds(ctx, "c", want, o); err != nil {
				t.Error("after it was overtaken: ", err)
			}
			if err := l.do(ctx, st); err != nil {
				t.Fatal(err)
			}
			if err := holds(ctx, "c", l.after, o); err != nil {
				t.Error("run again: ", err)
			}
			for e, err := range st.List(ctx, "") {
				if err != nil || e.Name != "c" {
					t.Error("left: ", e.Name, err)
				}
			}
		})
	}
}

// halfRemoved is a store in which a checkpoint is replaced right after it was pinned for the nth
// time, and its directory loses files.
type halfRemoved struct {
	*local.Store
	nth     int
	replace func()
}

func (h *halfRemoved) Pin(ctx context.Context, name string) (store.Pinned, error) {
	p, err := h.Store.Pin(ctx, name)
	if h.nth--; h.nth == 0 {
		h.replace()
	}
	return p, err
}

// A partial update that reads a checkpoint while another writer, which has replaced it, removes its
// files says that it was overtaken: whichever files are gone, and whether they are needed to tell
// what the checkpoint was.
func TestOvertakenByRemoval(t *testing.T) {
	overtaken := 0
	try := func(nth int, gone uint) (replaced bool, files []string) {
		ctx, mem := t.Context(), vfstest.NewMem()
		st := local.New(mem, "/", nil)
		save := func() {
			if err := checkpoint.Save(ctx, "c", map[string]any{"a": count(300, 1)},
				&checkpoint.SaveOptions{Store: st}); err != nil {
				t.Fatal(err)
			}
		}
		save()
		err := checkpoint.Save(ctx, "c", map[string]any{"b": count(300, 2)},
			&checkpoint.SaveOptions{PartialUpdate: true, Store: &halfRemoved{st, nth, func() {
				replaced = true
				if err := mem.Rename("/c", "/old"); err != nil {
					t.Fatal(err)
				}
				files = filesBelow(t, st, "old")
				for i, f := range files {
					if gone>>i&1 == 0 {
						continue
					}
					if err := mem.Remove("/" + f); err != nil {
						t.Fatal(err)
					}
				}
				save()
			}}})
		want := map[string]any{"a": count(300, 1)}
		if errs.KindOf(err) == errs.Busy && errors.Is(err, store.ErrReplaced) {
			overtaken++
		} else if err != nil {
			t.Errorf("pin %d, without %b of %q: want errs.Busy with store.ErrReplaced, got %v", nth, gone, files, err)
		} else { // it read the new checkpoint
			want["b"] = count(300, 2)
		}
		if err := holds(ctx, "c", want, &checkpoint.LoadOptions{Store: st}); err != nil {
			t.Error(err)
		}
		return replaced, files
	}
	for nth := 1; ; nth++ {
		replaced, files := try(nth, 0)
		if !replaced {
			break
		}
		for gone := range uint(1) << len(files) { // every set of files
			try(nth, gone)
		}
	}
	if overtaken == 0 {
		t.Error("nothing was overtaken")
	}
}

// filesBelow returns the paths of all files in a directory.
func filesBelow(t *testing.T, st store.Store, dir string) (files []string) {
	t.Helper()
	for e, err := range st.List(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		name := dir + "/" + path.Base(e.Name)
		if e.Dir {
			files = append(files, filesBelow(t, st, name)...)
		} else {
			files = append(files, name)
		}
	}
	return files
}

// An item is not deleted from a checkpoint that was replaced meanwhile, and one that was
// removed does not come back.
func TestOvertakenDelete(t *testing.T) {
	ctx := t.Context()
	for _, removed := range []bool{false, true} {
		st := local.New(vfstest.NewMem(), "/", nil)
		items := map[string]any{"x": map[string]any{"w": count(600, 1)}, "y": map[string]any{"w": count(600, 1)}}
		if err := checkpoint.SaveCheckpointables(ctx, "c", items, &checkpoint.SaveOptions{Store: st}); err != nil {
			t.Fatal(err)
		}
		_, err := checkpoint.Delete(ctx, "c", &checkpoint.DeleteOptions{Name: "x", Store: &overtaker{st, func() {
			var err error
			if removed {
				_, err = checkpoint.Delete(ctx, "c", &checkpoint.DeleteOptions{Store: st})
			} else {
				err = checkpoint.SaveCheckpointables(ctx, "c", items, &checkpoint.SaveOptions{Store: st, Overwrite: true})
			}
			if err != nil {
				t.Error(err)
			}
		}}})
		if errs.KindOf(err) != errs.Busy {
			t.Errorf("removed %v: want errs.Busy, got %v", removed, err)
		}
		got, err := checkpoint.LoadCheckpointables(ctx, "c", &checkpoint.LoadOptions{Store: st})
		if removed != (errs.KindOf(err) == errs.NotFound) || !removed && len(got) != 2 {
			t.Errorf("removed %v: %v, %v", removed, got, err)
		}
	}
}

// A repair does not set a healthy step aside that took the place of a damaged one.
func TestOvertakenRepair(t *testing.T) {
	ctx, st := t.Context(), local.New(vfstest.NewMem(), "/", nil)
	save := func() error {
		return checkpoint.Save(ctx, "run/1", map[string]any{"a": count(600, 1)},
			&checkpoint.SaveOptions{Store: st, Overwrite: true})
	}
	if err := save(); err != nil {
		t.Fatal(err)
	}
	if err := st.Put(ctx, "run/1/bivouac.manifest", []byte("damaged"), store.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	r, err := integrity.Repair(ctx, "run", &integrity.RepairOptions{Apply: true, Store: &overtaker{st, func() {
		if err := save(); err != nil {
			t.Error(err)
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Problems) != 1 || errs.KindOf(r.Problems[0]) != errs.Busy || len(r.Actions) > 0 {
		t.Errorf("want one problem, errs.Busy, and no action: %v, %v", r.Problems, r.Actions)
	}
	if err := holds(ctx, "run/1", map[string]any{"a": count(600, 1)}, &checkpoint.LoadOptions{Store: st}); err != nil {
		t.Error(err)
	}
}

// addLeaves tells the test binary to add leaves to this checkpoint.
const addLeaves = "BIVOUAC_ADD_LEAVES"

// leavesEach is how many leaves each writer of TestUpdatesAtOnce adds.
const leavesEach = 12

// replacing is a store in which a checkpoint is replaced right after it was pinned for the
// nth time.
type replacing struct {
	*local.Store
	nth   int
	again func()
}

func (r *replacing) Pin(ctx context.Context, name string) (store.Pinned, error) {
	p, err := r.Store.Pin(ctx, name)
	if r.nth--; r.nth == 0 {
		r.again()
	}
	return p, err
}

// A repair looks again at a whole checkpoint that is replaced while it is read, and has
// nothing to tell.
func TestRepairLooksAgain(t *testing.T) {
	for nth := 1; ; nth++ {
		ctx, st := t.Context(), local.New(vfstest.NewMem(), "/", nil)
		save := func() {
			if err := checkpoint.Save(ctx, "c", map[string]any{"a": count(600, 1)},
				&checkpoint.SaveOptions{Store: st, Overwrite: true}); err != nil {
				t.Fatal(err)
			}
		}
		save()
		other := &replacing{st, nth, save}
		r, err := integrity.Repair(ctx, "c", &integrity.RepairOptions{Apply: true, Quick: true, Store: other})
		if err != nil || len(r.Actions) > 0 || len(r.Problems) > 0 {
			t.Errorf("replaced at look %d: %+v, %v", nth, r, err)
		}
		if other.nth > 0 { // it was never replaced
			break
		}
	}
}

// A repair of a damaged checkpoint with parity, in whose place a whole one comes while it is
// read, does not tell the damage of the one before.
func TestRepairOfDamagedLooksAgain(t *testing.T) {
	for nth := 1; ; nth++ {
		ctx, mem := t.Context(), vfstest.NewMem()
		st := local.New(mem, "/", nil)
		save := func() {
			if err := checkpoint.Save(ctx, "c", map[string]any{"a": count(600, 1)},
				&checkpoint.SaveOptions{Store: st, Overwrite: true, Options: withParity(3, options.Bivouac{})}); err != nil {
				t.Fatal(err)
			}
		}
		save()
		if err := mem.Remove("/c/_CHECKPOINT_METADATA"); err != nil {
			t.Fatal(err)
		}
		other := &replacing{st, nth, save}
		r, err := integrity.Repair(ctx, "c", &integrity.RepairOptions{Apply: true, Store: other})
		for _, p := range r.Problems {
			if !errors.Is(p, errs.Busy) {
				t.Errorf("replaced at look %d: %v", nth, p)
			}
		}
		if err != nil {
			t.Errorf("replaced at look %d: %v", nth, err)
		}
		if v, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: st}); err != nil || !v.OK() {
			t.Errorf("replaced at look %d: %+v, %v", nth, v, err)
		}
		if other.nth > 0 { // it was never replaced
			break
		}
	}
}

// addAll adds the leaves of a writer one by one, again when another one was faster.
func addAll(ctx context.Context, path, who string) (overtaken int, err error) {
	for i := range leavesEach {
		for {
			err := checkpoint.Save(ctx, path, map[string]any{fmt.Sprint(who, i): count(300, float32(i))},
				&checkpoint.SaveOptions{PartialUpdate: true})
			if errs.KindOf(err) != errs.Busy {
				if err != nil {
					return overtaken, err
				}
				break
			}
			overtaken++
		}
	}
	return overtaken, nil
}

// TestAddLeaves is a child of TestUpdatesAtOnce.
func TestAddLeaves(t *testing.T) {
	path := os.Getenv(addLeaves)
	if path == "" {
		t.Skip("this is the child of TestUpdatesAtOnce")
	}
	n, err := addAll(t.Context(), path, "process")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(n, "times overtaken")
}

// Of partial updates at once, in one process and in two, none is lost that returned nil.
func TestUpdatesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	child := exec.Command(os.Args[0], "-test.run=^TestAddLeaves$", "-test.v")
	child.Env = append(os.Environ(), addLeaves+"="+path)
	var group sync.WaitGroup
	group.Go(func() {
		out, err := child.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	for _, who := range []string{"a", "b"} {
		group.Go(func() {
			n, err := addAll(t.Context(), path, who)
			if err != nil {
				t.Error(err)
			}
			t.Log(who, n, "times overtaken")
		})
	}
	group.Wait()
	want := map[string]any{}
	for _, who := range []string{"a", "b", "process"} {
		for i := range leavesEach {
			want[fmt.Sprint(who, i)] = count(300, float32(i))
		}
	}
	if err := holds(t.Context(), path, want, &checkpoint.LoadOptions{}); err != nil {
		t.Error(err)
	}
}
