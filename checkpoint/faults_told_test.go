package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	sessions "github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// lesserTurns are those that turns leaves out, as nothing new can become of them.
func lesserTurns(t *testing.T) []turn {
	named := withLines(t)
	loud := words{"a", strings.Repeat("b", 3<<19)} // one that goes to the store as a file of its own
	compressed := func(base string, o checkpoint.SaveOptions) checkpoint.SaveOptions {
		o.Compression, o.Base, o.VerifyEvery = options.Zstd, base, 1
		return o
	}
	added := map[string]any{"n": 2, "x": partOf(1)["w"]}
	part := func(version int) func(context.Context, store.Store) error {
		return func(ctx context.Context, st store.Store) error {
			o := &sessions.SaveOptions{SaveOptions: checkpoint.SaveOptions{Store: st}, Replace: version > 1}
			return sessions.Save(ctx, "c", partOf(version), o)
		}
	}
	finalized := func(fsys vfs.FS) error {
		err := sessions.Finalize(context.Background(), "c", &sessions.FinalizeOptions{Store: local.New(fsys, "/", nil)})
		return errors.Join(err, loads("c", partOf(2))(fsys))
	}
	// protected is of so little data that there is one parity file.
	protected := checkpoint.SaveOptions{Options: withParity(5, options.Bivouac{})}
	return []turn{
		{
			name:  "adopt",
			setup: func(fsys vfs.FS) error { return putTree(fsys, "/c", adoptable, nil) },
			do:    adopts,
			after: adopted,
		},
		{
			name:  "save with parity",
			setup: func(vfs.FS) error { return nil },
			do: func(ctx context.Context, st store.Store) error {
				o := protected
				o.Store = st
				return checkpoint.Save(ctx, "c", partOf(1), &o)
			},
			after: both(loads("c", partOf(1)), mendable("c")),
		},
		{
			name: "delete of an item with parity, overwriting",
			setup: func(fsys vfs.FS) error {
				o := protected
				o.Store = local.New(fsys, "/", nil)
				return checkpoint.SaveCheckpointables(context.Background(), "c", map[string]any{"state": partOf(1), "x": partOf(2)}, &o)
			},
			do:    deletes(checkpoint.DeleteOptions{Name: "x"}),
			after: both(loads("c", partOf(1)), absent("c/x"), mendable("c")),
		},
		{
			name: "convert with parity",
			setup: func(fsys vfs.FS) error {
				o := protected
				o.Store = local.New(fsys, "/", nil)
				return checkpoint.Save(context.Background(), "a", partOf(1), &o)
			},
			do: func(ctx context.Context, st store.Store) error {
				return checkpoint.Convert(ctx, "a", "b", &checkpoint.ConvertOptions{Store: st})
			},
			after: both(loads("b", partOf(1)), mendable("b")),
		},
		{
			name:  "part",
			setup: func(fsys vfs.FS) error { return part(1)(context.Background(), local.New(fsys, "/", nil)) },
			do:    part(2),
			after: finalized,
		},
		{
			name:  "abort of parts",
			setup: func(fsys vfs.FS) error { return part(1)(context.Background(), local.New(fsys, "/", nil)) },
			do: func(ctx context.Context, st store.Store) error {
				return sessions.Abort(ctx, "c", &sessions.AbortOptions{Store: st})
			},
			after: absent("c.partial_save"),
		},
		{
			name: "parts of which one takes away",
			setup: func(fsys vfs.FS) error {
				st := local.New(fsys, "/", nil)
				return errors.Join(part(1)(context.Background(), st), part(2)(context.Background(), st))
			},
			do: func(ctx context.Context, st store.Store) error {
				return sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st})
			},
			after: loads("c", partOf(2)),
		},
		{
			name:  "update",
			setup: savedFrom("c", 1, ""),
			do: func(ctx context.Context, st store.Store) error {
				return checkpoint.Save(ctx, "c", added, &checkpoint.SaveOptions{Store: st, PartialUpdate: true, Overwrite: true})
			},
			after: loads("c", map[string]any{"w": partOf(1)["w"], "n": 2, "x": added["x"]}),
		},
		{
			name: "finalize again",
			setup: func(fsys vfs.FS) error {
				if err := sessionCase("partial-strings-collide/pending.partial_save", "/c.partial_save")(fsys); err != nil {
					return err
				}
				return halfFinalized(fsys)
			},
			do: func(ctx context.Context, st store.Store) error {
				return sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st})
			},
			after: both(twoStrings, absent("c.partial_save")),
		},
		{
			name: "finalize with arrays again",
			setup: func(fsys vfs.FS) error {
				const session = "partial-two/pending.partial_save"
				st := local.New(fsys, "/", nil)
				if err := sessionCase(session, "/c.partial_save")(fsys); err != nil {
					return err
				}
				if err := sessions.Finalize(context.Background(), "c", &sessions.FinalizeOptions{Store: st}); err != nil {
					return err
				}
				return sessionCase(session, "/c.partial_save")(fsys) // as if it had not been removed
			},
			do: func(ctx context.Context, st store.Store) error {
				return sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st})
			},
			after: both(func(fsys vfs.FS) error { return sameAs(fsys, "c", orbaxCases+"/partial-two/checkpoint") }, absent("c.partial_save")),
		},
		{
			name: "convert of files",
			setup: func(fsys vfs.FS) error {
				o := &checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr2}}, Store: local.New(fsys, "/", nil)}
				return checkpoint.Save(context.Background(), "a", partOf(1), o)
			},
			do: func(ctx context.Context, st store.Store) error {
				return checkpoint.Convert(ctx, "a", "b", &checkpoint.ConvertOptions{Store: st})
			},
			after: loads("b", partOf(1)),
		},
		{
			name: "convert of two",
			setup: func(fsys vfs.FS) error {
				o := &checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr2}}, Store: local.New(fsys, "/", nil)}
				return errors.Join(checkpoint.Save(context.Background(), "a", partOf(1), o), checkpoint.Save(context.Background(), "b", partOf(2), o))
			},
			do: func(ctx context.Context, st store.Store) error {
				both := func(_ context.Context, in []*tree.Node) (*tree.Node, error) {
					return tree.NewDict().Set("a", in[0]).Set("b", in[1]), nil
				}
				return checkpoint.ConvertAndTransform(ctx, []string{"a", "b"}, "c", both, &checkpoint.ConvertOptions{Store: st})
			},
			after: loads("c", map[string]any{"a": partOf(1), "b": partOf(2)}),
		},
		{
			name: "convert of an archive",
			setup: func(fsys vfs.FS) error {
				b, err := os.ReadFile(writeNpz(t, t.TempDir(), false))
				return errors.Join(err, putFile(fsys, "/a.npz", b))
			},
			do: func(ctx context.Context, st store.Store) error {
				return checkpoint.Convert(ctx, "a.npz", "b", &checkpoint.ConvertOptions{Store: st})
			},
			after: there("/b/state/_METADATA"),
		},
		{
			name: "compressed save that links",
			setup: func(fsys vfs.FS) error {
				o := compressed("a", checkpoint.SaveOptions{Store: local.New(fsys, "/", nil)})
				return checkpoint.Save(context.Background(), "a", partOf(1), &o)
			},
			do: func(ctx context.Context, st store.Store) error {
				o := compressed("a", checkpoint.SaveOptions{Store: st})
				return checkpoint.Save(ctx, "b", partOf(2), &o)
			},
			after: loads("b", partOf(2)),
		},
		{
			name:  "items of handlers",
			setup: func(vfs.FS) error { return nil },
			do: func(_ context.Context, st store.Store) error {
				return checkpoint.SaveCheckpointables(named, "c", map[string]any{"w": loud, "x": partOf(1)}, &checkpoint.SaveOptions{Store: st})
			},
			after: func(fsys vfs.FS) error {
				got, err := checkpoint.LoadCheckpointables(named, "c", &checkpoint.LoadOptions{Store: local.New(fsys, "/", nil)})
				if w, ok := got["w"].(words); err == nil && (!ok || !slices.Equal(w, loud)) {
					err = errors.New("other words")
				}
				return err
			},
		},
		{
			name: "load of items of handlers",
			setup: func(fsys vfs.FS) error {
				o := &checkpoint.SaveOptions{Store: local.New(fsys, "/", nil)}
				return checkpoint.SaveCheckpointables(named, "c", map[string]any{"w": loud, "x": partOf(1)}, o)
			},
			do: func(_ context.Context, st store.Store) error {
				got, err := checkpoint.LoadCheckpointables(named, "c", &checkpoint.LoadOptions{Store: st})
				if w, ok := got["w"].(words); err == nil && (!ok || !slices.Equal(w, loud) || got["x"] == nil) {
					err = errWrong
				}
				return err
			},
			after: func(vfs.FS) error { return nil },
		},
		{
			name: "convert of items of handlers",
			setup: func(fsys vfs.FS) error {
				o := &checkpoint.SaveOptions{Store: local.New(fsys, "/", nil)}
				return checkpoint.SaveCheckpointables(named, "c", map[string]any{"w": words{"a", "b"}, "state": partOf(1)}, o)
			},
			do: func(_ context.Context, st store.Store) error {
				return checkpoint.Convert(named, "c", "b", &checkpoint.ConvertOptions{Store: st})
			},
			after: func(fsys vfs.FS) error {
				got, err := checkpoint.LoadCheckpointables(named, "b", &checkpoint.LoadOptions{Store: local.New(fsys, "/", nil)})
				if w, ok := got["w"].(words); err == nil && (!ok || !slices.Equal(w, words{"a", "b"})) {
					err = errWrong
				}
				return err
			},
		},
		{
			name:  "delete",
			setup: savedFrom("c", 1, ""),
			do:    deletes(checkpoint.DeleteOptions{}),
			after: absent("c"),
		},
		{
			name:  "delete that moves",
			setup: savedFrom("c", 1, ""),
			do: deletes(checkpoint.DeleteOptions{Options: options.Options{
				Deletion: options.Deletion{GCS: options.GCSDeletion{TodeleteFullPath: "trash"}},
			}}),
			after: both(absent("c"), movedTo("trash")),
		},
		{
			name: "delete of an item, overwriting",
			setup: func(fsys vfs.FS) error {
				o := &checkpoint.SaveOptions{Store: local.New(fsys, "/", nil)}
				return checkpoint.SaveCheckpointables(context.Background(), "c", map[string]any{"state": partOf(1), "x": partOf(2)}, o)
			},
			do:    deletes(checkpoint.DeleteOptions{Name: "x"}),
			after: both(loads("c", partOf(1)), absent("c/x")),
		},
	}
}

// mendable checks that a checkpoint that loses a document is mended.
func mendable(name string) func(vfs.FS) error {
	return func(fsys vfs.FS) error {
		if err := fsys.Remove("/" + name + "/_CHECKPOINT_METADATA"); err != nil {
			return err
		}
		st := local.New(fsys, "/", nil)
		r, err := integrity.Repair(context.Background(), name, &integrity.RepairOptions{Store: st, Apply: true})
		if err == nil && (len(r.Actions) != 1 || r.Actions[0].Kind != integrity.RepairMend) {
			err = errWrong
		}
		v, verr := integrity.Verify(context.Background(), name, &integrity.VerifyOptions{Store: st})
		if verr == nil && !v.OK() {
			verr = v.Problems[0]
		}
		return errors.Join(err, verr)
	}
}

// deletes deletes "c".
func deletes(o checkpoint.DeleteOptions) func(context.Context, store.Store) error {
	return func(ctx context.Context, st store.Store) error {
		o := o
		o.Store = st
		there, err := checkpoint.Delete(ctx, "c", &o)
		if err == nil && !there {
			err = errors.New("nothing was there")
		}
		return err
	}
}

// movedTo checks that the one checkpoint in dir is whole.
func movedTo(dir string) func(vfs.FS) error {
	return func(fsys vfs.FS) error {
		in, err := fsys.ReadDir("/" + dir)
		if err != nil || len(in) != 1 {
			return fmt.Errorf("%d in %s: %w", len(in), dir, err)
		}
		return loads(dir+"/"+in[0].Name(), partOf(1))(fsys)
	}
}

// halfFinalized finalizes the session of "c", and fails when nothing but the
// session is left to remove.
func halfFinalized(fsys vfs.FS) error {
	f := vfstest.NewFault(fsys, vfstest.Plan{N: 1, Err: syscall.EIO, Only: func(c vfstest.Call) bool {
		return c.Op == vfstest.OpRename && c.Name == "/c.partial_save"
	}})
	err := sessions.Finalize(context.Background(), "c", &sessions.FinalizeOptions{Store: local.New(f, "/", nil)})
	if !errors.Is(err, syscall.EIO) {
		return fmt.Errorf("the session could not be removed, and: %w", err)
	}
	return twoStrings(fsys)
}

// told has each call of a turn fail once: then the error is what the system said.
// What links may do without, what repairs or updates looks more than once, what
// overwrites has something to tidy up, what adopts asks for a free name twice: there all
// may have been done instead.
func (u turn) told() error {
	lenient := slices.ContainsFunc([]string{"adopt", "convert with parity", "links", "repair of a run", "update",
		"overwriting"}, func(s string) bool { return strings.Contains(u.name, s) })
	mem := vfstest.NewMem()
	if err := u.setup(mem); err != nil {
		return err
	}
	mem.SyncAll()
	for n := 1; ; n++ {
		fsys := mem.Clone()
		f := vfstest.NewFault(fsys, vfstest.Plan{N: n, Err: syscall.EIO})
		err := u.do(context.Background(), local.New(f, "/", nil))
		call, hits := f.Hit()
		switch {
		case err == nil && hits > 0 && !lenient && call.Op != vfstest.OpClose:
			err = errors.New("it was not told")
		case err == nil:
			err = u.after(fsys)
		case errors.Is(err, syscall.EIO) && hits > 0:
			err = nil
		}
		if err != nil {
			return fmt.Errorf("call %d, %v, failed %d times: %w", n, call, hits, err)
		}
		if hits == 0 {
			return nil
		}
	}
}

// Whichever call fails of what changes whole checkpoints, it is told, or nothing
// was lost by it. TestEveryTurnFails looks at what is left.
func TestEveryFailureIsTold(t *testing.T) {
	t.Parallel()
	for _, u := range append(lesserTurns(t), turns...) {
		ok := t.Run(u.name, func(t *testing.T) {
			if err := u.told(); err != nil {
				t.Error(err)
			}
		})
		if !ok {
			break // the others take their time
		}
	}
}
