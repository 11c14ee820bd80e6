package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// lesserTurns are those that turns leaves out, as nothing new can become of them.
func lesserTurns(t *testing.T) []turn {
	named := withLines(t)
	loud := words{"a", strings.Repeat("b", 3<<19)} // one that goes to the store as a file of its own
	compressed := func(base string, o checkpoint.SaveOptions) checkpoint.SaveOptions {
		o.Compression, o.Base, o.VerifyEvery = checkpoint.Zstd, base, 1
		return o
	}
	part := func(version int) func(context.Context, store.Store) error {
		return func(ctx context.Context, st store.Store) error {
			o := &partial.SaveOptions{SaveOptions: checkpoint.SaveOptions{Store: st}, Replace: version > 1}
			return partial.Save(ctx, "c", partOf(version), o)
		}
	}
	finalized := func(fsys vfs.FS) error {
		err := checkpoint.Finalize(context.Background(), "c", &checkpoint.FinalizeOptions{Store: local.New(fsys, "/", nil)})
		return errors.Join(err, loads("c", partOf(2))(fsys))
	}
	return []turn{
		{
			name:  "part",
			setup: func(fsys vfs.FS) error { return part(1)(context.Background(), local.New(fsys, "/", nil)) },
			do:    part(2),
			after: finalized,
		},
		{
			name: "parts of which one takes away",
			setup: func(fsys vfs.FS) error {
				st := local.New(fsys, "/", nil)
				return errors.Join(part(1)(context.Background(), st), part(2)(context.Background(), st))
			},
			do: func(ctx context.Context, st store.Store) error {
				return checkpoint.Finalize(ctx, "c", &checkpoint.FinalizeOptions{Store: st})
			},
			after: loads("c", partOf(2)),
		},
		{
			name:  "update",
			setup: savedFrom("c", 1, ""),
			do: func(ctx context.Context, st store.Store) error {
				return checkpoint.Save(ctx, "c", partOf(2), &checkpoint.SaveOptions{Store: st, PartialUpdate: true, Overwrite: true})
			},
			after: loads("c", partOf(2)),
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
	}
}

// told has each call of a turn fail once: then either the error is what the system
// said, or all was done in spite of it.
func (u turn) told() error {
	mem := vfs.NewMem()
	if err := u.setup(mem); err != nil {
		return err
	}
	mem.SyncAll()
	for n := 1; ; n++ {
		fsys := mem.Clone()
		f := vfs.NewFault(fsys, vfs.Plan{N: n, Err: syscall.EIO})
		err := u.do(context.Background(), local.New(f, "/", nil))
		call, hits := f.Hit()
		if err == nil {
			err = u.after(fsys)
		} else if errors.Is(err, syscall.EIO) && hits > 0 {
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
	for _, u := range append(lesserTurns(t), turns...) {
		t.Run(u.name, func(t *testing.T) {
			if err := u.told(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What cannot be finalized or converted says why, before anything is touched.
func TestRefusedTurns(t *testing.T) {
	ctx := t.Context()
	_, key := signingKey(1)
	for name, c := range map[string]struct {
		setup func(vfs.FS) error
		do    func(st store.Store) error
		want  errs.Kind
	}{
		"finalize nothing": {nil, func(st store.Store) error {
			return checkpoint.Finalize(ctx, "c", &checkpoint.FinalizeOptions{Store: st})
		}, errs.NotFound},
		"finalize what has no name": {nil, func(st store.Store) error {
			return checkpoint.Finalize(ctx, "", &checkpoint.FinalizeOptions{Store: st})
		}, errs.Invalid},
		"finalize unsigned parts with a key": {sessionCase("partial-two/pending.partial_save", "/c.partial_save"), func(st store.Store) error {
			return checkpoint.Finalize(ctx, "c", &checkpoint.FinalizeOptions{Store: st, Signing: key})
		}, errs.Invalid},
		"convert nothing": {nil, func(st store.Store) error {
			return checkpoint.Convert(ctx, "a", "b", &checkpoint.ConvertOptions{Store: st})
		}, errs.NotFound},
		"convert to what has no name": {savedFrom("a", 1, ""), func(st store.Store) error {
			return checkpoint.Convert(ctx, "a", "", &checkpoint.ConvertOptions{Store: st})
		}, errs.Invalid},
		"convert to a taken name": {savedFrom("a", 1, ""), func(st store.Store) error {
			return checkpoint.Convert(ctx, "a", "a", &checkpoint.ConvertOptions{Store: st})
		}, errs.Exists},
		"convert an item that is not there": {savedFrom("a", 1, ""), func(st store.Store) error {
			return checkpoint.Convert(ctx, "a", "b", &checkpoint.ConvertOptions{Store: st, Item: "z"})
		}, errs.NotFound},
		"convert within less than nothing": {savedFrom("a", 1, ""), func(st store.Store) error {
			return checkpoint.Convert(ctx, "a", "b", &checkpoint.ConvertOptions{Store: st, MemoryBudget: -8})
		}, errs.Invalid},
		"update with a base": {savedFrom("a", 1, ""), func(st store.Store) error {
			return checkpoint.Save(ctx, "a", 1, &checkpoint.SaveOptions{Store: st, PartialUpdate: true, Base: "a"})
		}, errs.Invalid},
	} {
		mem := vfs.NewMem()
		if c.setup != nil {
			if err := c.setup(mem); err != nil {
				t.Fatal(err)
			}
		}
		before := mem.Hash()
		if err := c.do(local.New(mem, "/", nil)); errs.KindOf(err) != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if mem.Hash() != before {
			t.Errorf("%s: something changed", name)
		}
	}
}

// Whichever file of a session is damaged, Finalize says so, or what it makes does
// not depend on that file; of ours every byte counts.
func TestDamagedSessions(t *testing.T) {
	ctx := t.Context()
	ours := func(fsys vfs.FS) error {
		st := local.New(fsys, "/", nil)
		var err error
		for v := 1; v <= 2; v++ {
			o := &partial.SaveOptions{SaveOptions: checkpoint.SaveOptions{Store: st}, Replace: true}
			err = errors.Join(err, partial.Save(ctx, "c", map[string]any{"w": partOf(v)["w"], "n": v, "s": "text"}, o))
		}
		return err
	}
	whole := func(fsys vfs.FS) error {
		return loads("c", map[string]any{"w": partOf(2)["w"], "n": 2, "s": "text"})(fsys)
	}
	for name, c := range map[string]struct {
		setup, after func(vfs.FS) error
	}{
		"ours":    {ours, whole},
		"Orbax's": {sessionCase("partial-strings-collide/pending.partial_save", "/c.partial_save"), twoStrings},
	} {
		mem := vfs.NewMem()
		if err := c.setup(mem); err != nil {
			t.Fatal(err)
		}
		for _, file := range allNames(t, mem, "/c.partial_save") {
			for how, damage := range map[string]func([]byte) []byte{
				"cut off":   func(b []byte) []byte { return b[:len(b)/2] },
				"other":     func(b []byte) []byte { return []byte(`{"x": [`) },
				"another":   func(b []byte) []byte { return []byte(`[3]`) },
				"a bit":     func(b []byte) []byte { b = bytes.Clone(b); b[len(b)/2] ^= 1; return b },
				"not there": func([]byte) []byte { return nil },
			} {
				fsys := mem.Clone()
				st := local.New(fsys, "/", nil)
				b, err := store.ReadAll(ctx, st, strings.TrimPrefix(file, "/"))
				if err != nil {
					t.Fatal(err)
				}
				if len(b) == 0 {
					continue
				}
				if err := fsys.Remove(file); err != nil {
					t.Fatal(err)
				}
				if b = damage(b); b != nil {
					if err := putFile(fsys, file, b); err != nil {
						t.Fatal(err)
					}
				}
				err = checkpoint.Finalize(ctx, "c", &checkpoint.FinalizeOptions{Store: st})
				switch {
				case err == nil && name == "ours":
					err = c.after(fsys)
				case errs.KindOf(err) == errs.Mismatch:
					err = nil // of one part with the other
				case err != nil:
					err = refusal(err)
				}
				if err != nil {
					t.Errorf("%s: %s %s: %v", name, file, how, err)
				}
			}
		}
	}
}

// allNames lists the files below dir.
func allNames(t *testing.T, fsys vfs.FS, dir string) (out []string) {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if at := dir + "/" + e.Name(); e.IsDir() {
			out = append(out, allNames(t, fsys, at)...)
		} else {
			out = append(out, at)
		}
	}
	return out
}
