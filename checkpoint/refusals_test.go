package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	sessions "github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

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
			return sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st})
		}, errs.NotFound},
		"finalize what has no name": {nil, func(st store.Store) error {
			return sessions.Finalize(ctx, "", &sessions.FinalizeOptions{Store: st})
		}, errs.Invalid},
		"finalize unsigned parts with a key": {sessionCase("partial-two/pending.partial_save", "/c.partial_save"), func(st store.Store) error {
			return sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st, Options: checkpoint.Options{Bivouac: options.Bivouac{Signing: key}}})
		}, errs.Invalid},
		"finalize what another has signed": {signedSession, func(st store.Store) error {
			return sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st, Options: checkpoint.Options{Bivouac: options.Bivouac{Signing: key}}})
		}, errs.Corrupt},
		"finalize signed parts without the key": {signedSession, func(st store.Store) error {
			return sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st})
		}, errs.Invalid},
		"finalize one string in two parts": {func(fsys vfs.FS) error { return errors.Join(edited()(fsys), again(fsys, "/c.partial_save")) }, func(st store.Store) error {
			return sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st})
		}, errs.Mismatch},
		"finalize keys of no kind": {edited(`"key_type": 2`, `"key_type": 99`), func(st store.Store) error {
			return sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st})
		}, errs.Corrupt},
		"finalize a leaf below a leaf": {edited(`'t',`, `'s', 'u'`, `{"key": "t", "key_type": 2}`, `{"key": "s", "key_type": 2}, {"key": "u", "key_type": 2}`), func(st store.Store) error {
			return sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st})
		}, errs.Mismatch},
		"finalize two files of one name": {twoFiles, func(st store.Store) error {
			return sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st})
		}, errs.Mismatch},
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
			return checkpoint.Convert(ctx, "a", "b", &checkpoint.ConvertOptions{Options: options.Options{Bivouac: options.Bivouac{MemoryBudget: -8}}, Store: st})
		}, errs.Invalid},
		"convert signed by half a key": {savedFrom("a", 1, ""), func(st store.Store) error {
			o := &checkpoint.ConvertOptions{Store: st}
			o.Signing = key[:20]
			return checkpoint.Convert(ctx, "a", "b", o)
		}, errs.Invalid},
		"finalize parts of no name": {nil, func(st store.Store) error {
			return sessions.Finalize(ctx, "", &sessions.FinalizeOptions{Store: st})
		}, errs.Invalid},
		"abort no name": {nil, func(st store.Store) error {
			return sessions.Abort(ctx, "", &sessions.AbortOptions{Store: st})
		}, errs.Invalid},
		"update in another layout": {savedFrom("a", 1, ""), func(st store.Store) error {
			return checkpoint.Save(ctx, "a", map[string]any{"x": 1}, &checkpoint.SaveOptions{
				Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr2}}, Store: st, PartialUpdate: true})
		}, errs.Mismatch},
		"update in another layout of the same format": {func(fsys vfs.FS) error {
			o := &checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.OCDBTZarr2}}, Store: local.New(fsys, "/", nil)}
			return checkpoint.Save(ctx, "a", partOf(1), o)
		}, func(st store.Store) error {
			return checkpoint.Save(ctx, "a", map[string]any{"x": 1}, &checkpoint.SaveOptions{
				Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr2}}, Store: st, PartialUpdate: true})
		}, errs.Mismatch},
		"finalize a file that its part does not list": {func(fsys vfs.FS) error {
			err := sessions.Save(ctx, "c", partOf(1), &sessions.SaveOptions{SaveOptions: checkpoint.SaveOptions{Store: local.New(fsys, "/", nil)}})
			list, lerr := fsys.ReadDir("/c.partial_save")
			for _, p := range list {
				if !strings.Contains(p.Name(), "_0_") {
					err = errors.Join(err, putFile(fsys, "/c.partial_save/"+p.Name()+"/state/more", []byte("more")))
				}
			}
			return errors.Join(err, lerr)
		}, func(st store.Store) error {
			return sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st})
		}, errs.Corrupt},
		"replace in a part that is no tree": {func(fsys vfs.FS) error {
			err := putTree(fsys, "/c.partial_save", orbaxCases+"/partial-strings-collide/pending.partial_save", func(name string) bool {
				return strings.HasSuffix(name, "46a6d") // the other part
			})
			list, lerr := fsys.ReadDir("/c.partial_save")
			for _, p := range list {
				name := "/c.partial_save/" + p.Name() + "/state/_METADATA"
				if fsys.Remove(name) == nil {
					err = errors.Join(err, putFile(fsys, name, []byte("{")))
				}
			}
			return errors.Join(err, lerr)
		}, func(st store.Store) error {
			return sessions.Save(ctx, "c", map[string]any{"x": 1}, &sessions.SaveOptions{SaveOptions: checkpoint.SaveOptions{Store: st}, Replace: true})
		}, errs.Corrupt},
		"update with a base": {savedFrom("a", 1, ""), func(st store.Store) error {
			return checkpoint.Save(ctx, "a", 1, &checkpoint.SaveOptions{Store: st, PartialUpdate: true, Base: "a"})
		}, errs.Invalid},
	} {
		mem := vfstest.NewMem()
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

// signedSession is a session of one part that another key signed.
func signedSession(fsys vfs.FS) error {
	_, other := signingKey(2)
	o := &sessions.SaveOptions{SaveOptions: checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Signing: other}}, Store: local.New(fsys, "/", nil)}}
	return sessions.Save(context.Background(), "c", partOf(1), o)
}

// edited is a session of Orbax in whose documents something else stands.
func edited(pairs ...string) func(vfs.FS) error {
	return func(fsys vfs.FS) error {
		const session = "/c.partial_save"
		if err := sessionCase("partial-strings-collide/pending.partial_save", session)(fsys); err != nil {
			return err
		}
		parts, err := fsys.ReadDir(session)
		for _, p := range parts {
			name := session + "/" + p.Name() + "/state/_METADATA"
			b, rerr := store.ReadAll(context.Background(), local.New(fsys, "/", nil), strings.TrimPrefix(name, "/"))
			err = errors.Join(err, rerr, fsys.Remove(name),
				putFile(fsys, name, []byte(strings.NewReplacer(pairs...).Replace(string(b)))))
		}
		return err
	}
}

// twoFiles is a session of which two parts have a file that nobody can join.
func twoFiles(fsys vfs.FS) error {
	const session = "/c.partial_save"
	if err := sessionCase("partial-strings-collide/pending.partial_save", session)(fsys); err != nil {
		return err
	}
	parts, err := fsys.ReadDir(session)
	for _, p := range parts {
		err = errors.Join(err, putFile(fsys, session+"/"+p.Name()+"/state/notes", []byte(p.Name())))
	}
	return err
}

// Whichever file of a session is damaged, Finalize says so, or what it makes does
// not depend on that file; of ours every byte counts.
func TestDamagedSessions(t *testing.T) {
	ctx := t.Context()
	ours := func(fsys vfs.FS) error {
		st := local.New(fsys, "/", nil)
		var err error
		for v := 1; v <= 2; v++ {
			o := &sessions.SaveOptions{SaveOptions: checkpoint.SaveOptions{Store: st}, Replace: true}
			err = errors.Join(err, sessions.Save(ctx, "c", map[string]any{"w": partOf(v)["w"], "n": v, "s": "text"}, o))
		}
		return err
	}
	whole := func(fsys vfs.FS) error {
		return loads("c", map[string]any{"w": partOf(2)["w"], "n": 2, "s": "text"})(fsys)
	}
	for name, c := range map[string]struct {
		setup, after func(vfs.FS) error
	}{
		"ours": {ours, whole},
		"strings, which have no manifest": {func(fsys vfs.FS) error {
			o := &sessions.SaveOptions{SaveOptions: checkpoint.SaveOptions{Store: local.New(fsys, "/", nil)}}
			return sessions.Save(ctx, "c", map[string]any{"s": "text"}, o)
		}, nil},
		"Orbax's": {sessionCase("partial-strings-collide/pending.partial_save", "/c.partial_save"), nil},
	} {
		mem := vfstest.NewMem()
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
				err = sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st})
				switch {
				case err == nil && c.after != nil && !strings.Contains(file, "0_guard") &&
					(how != "not there" || path.Base(file) != manifest.Name):
					err = errors.New("it was not noticed")
				case err == nil && c.after != nil: // without a manifest they are as Orbax's
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

// failing is a handler whose items do what its function does.
type failing struct {
	write func(context.Context, handler.Writer) error
}

func (failing) TypeString() string                  { return "test.Failing" }
func (failing) Handles(v any) bool                  { _, ok := v.(error); return ok }
func (failing) HandlesAbstract(any) handler.Verdict { return handler.No }

func (h failing) Save(context.Context, any) (handler.Commit, error) { return h.write, nil }

func (failing) Load(context.Context, handler.Reader, any) (any, error) {
	return nil, errors.ErrUnsupported
}

func (failing) Metadata(context.Context, handler.Reader) (any, error) { return nil, nil }

// A handler that fails, or writes what is not its own, fails the save, of which
// nothing is left.
func TestFailingHandlers(t *testing.T) {
	own := errors.New("of the handler")
	for what, c := range map[string]struct {
		write func(context.Context, handler.Writer) error
		want  func(error) bool
	}{
		"fails": {func(context.Context, handler.Writer) error { return own }, func(err error) bool { return errors.Is(err, own) }},
		"writes a mark": {func(ctx context.Context, w handler.Writer) error { return w.Put(ctx, "commit_success.txt", nil) },
			func(err error) bool { return errs.KindOf(err) == errs.Invalid }},
		"writes the metadata of a tree": {func(ctx context.Context, w handler.Writer) error { return w.Put(ctx, "_METADATA", []byte("{}")) },
			func(err error) bool { return errs.KindOf(err) == errs.Invalid }},
		"writes metadata in small letters": {func(ctx context.Context, w handler.Writer) error { return w.Put(ctx, "_metadata", []byte("{}")) },
			func(err error) bool { return errs.KindOf(err) == errs.Invalid }},
		"writes names that differ in case": {func(ctx context.Context, w handler.Writer) error {
			return errors.Join(w.Put(ctx, "weights", []byte("1")), w.Put(ctx, "Weights", []byte("2")))
		}, func(err error) bool { return errs.KindOf(err) == errs.Invalid }},
		"swallows an error": {func(ctx context.Context, w handler.Writer) error {
			w.Put(ctx, "../x", nil) //nolint:errcheck // the mistake
			return nil
		}, func(err error) bool { return errs.KindOf(err) == errs.Invalid }},
		"writes the manifest": {func(ctx context.Context, w handler.Writer) error { return w.Put(ctx, manifest.Name, nil) },
			func(err error) bool { return errs.KindOf(err) == errs.Invalid }},
	} {
		r, err := handler.Local(nil, true)
		if err == nil {
			err = r.Add(failing{c.write}, "")
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx := options.With(t.Context(), options.Options{Checkpointables: options.Checkpointables{Registry: r}})
		mem := vfstest.NewMem()
		items := map[string]any{"x": 1, "y": own}
		if err := checkpoint.SaveCheckpointables(ctx, "c", items,
			&checkpoint.SaveOptions{Store: local.New(mem, "/", nil)}); !c.want(err) {
			t.Errorf("%s: %v", what, err)
		}
		if err := absent("c")(mem); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Options of the context that contradict each other are refused by what takes
// them, before anything is done.
func TestRefusedContext(t *testing.T) {
	ctx := options.With(t.Context(), options.Options{Multiprocessing: options.Multiprocessing{ProcessCount: -1}})
	mem := vfstest.NewMem()
	if err := savedFrom("a", 1, "")(mem); err != nil {
		t.Fatal(err)
	}
	st := local.New(mem, "/", nil)
	before := mem.Hash()
	so, lo := &checkpoint.SaveOptions{Store: st}, &checkpoint.LoadOptions{Store: st}
	part := &sessions.SaveOptions{SaveOptions: *so}
	items := map[string]any{"a": 1}
	same := func(_ context.Context, in []*tree.Node) (*tree.Node, error) { return in[0], nil }
	of := func(_ any, err error) error { return err }
	for what, err := range map[string]error{
		"save":                          checkpoint.Save(ctx, "c", 1, so),
		"save in the background":        of(checkpoint.SaveAsync(ctx, "c", 1, so)),
		"save of items":                 checkpoint.SaveCheckpointables(ctx, "c", items, so),
		"part":                          sessions.Save(ctx, "c", 1, part),
		"part in the background":        of(sessions.SaveAsync(ctx, "c", 1, part)),
		"part of items":                 sessions.SaveCheckpointables(ctx, "c", items, part),
		"finalize":                      sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st}),
		"finalize parts":                sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: st}),
		"abort":                         sessions.Abort(ctx, "c", &sessions.AbortOptions{Store: st}),
		"load":                          of(checkpoint.Load(ctx, "a", lo)),
		"load of items":                 of(checkpoint.LoadCheckpointables(ctx, "a", lo)),
		"convert":                       checkpoint.Convert(ctx, "a", "c", &checkpoint.ConvertOptions{Store: st}),
		"convert and transform":         checkpoint.ConvertAndTransform(ctx, []string{"a"}, "c", same, &checkpoint.ConvertOptions{Store: st}),
		"delete":                        of(checkpoint.Delete(ctx, "a", &checkpoint.DeleteOptions{Store: st})),
		"delete in the background":      of(checkpoint.DeleteAsync(ctx, "a", &checkpoint.DeleteOptions{Store: st})),
		"delete what need not be there": of(checkpoint.Delete(ctx, "a", &checkpoint.DeleteOptions{Store: st, MissingOK: true})),
	} {
		if errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	if mem.Hash() != before {
		t.Error("something changed")
	}
}

// A session that does not make a sound checkpoint stays as it is; what was made of
// it goes, or it is told that it could not.
func TestUnsoundSession(t *testing.T) {
	ctx := t.Context()
	mem := vfstest.NewMem()
	if err := sessionCase("partial-two/pending.partial_save", "/c.partial_save")(mem); err != nil {
		t.Fatal(err)
	}
	unsound := 0
	for _, file := range allNames(t, mem, "/c.partial_save") {
		if !strings.Contains(file, "/d/") {
			continue
		}
		fsys := mem.Clone()
		b, err := store.ReadAll(ctx, local.New(fsys, "/", nil), strings.TrimPrefix(file, "/"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(fsys.Remove(file), putFile(fsys, file, flippedAt(b, 8))); err != nil {
			t.Fatal(err)
		}
		f := vfstest.NewFault(fsys, vfstest.Plan{N: 1, Err: syscall.EIO,
			Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpRename && c.Name == "/c" }})
		err = sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: local.New(f, "/", nil)})
		if _, hits := f.Hit(); hits == 0 {
			continue // it was noticed before, or is nobody's
		}
		unsound++
		if !errors.Is(err, syscall.EIO) || there("/c")(fsys) != nil || there(file)(fsys) != nil {
			t.Errorf("%s: what was made of it could not be removed: %v", file, err)
		}
		if err := fsys.Remove("/c/_CHECKPOINT_METADATA"); err != nil {
			t.Fatal(err)
		}
	}
	if unsound == 0 {
		t.Error("nothing that was damaged was noticed at the end")
	}
}

// A finalized checkpoint that cannot be looked at is not damaged: neither it nor its
// session goes, and the next Finalize ends what this one began.
func TestFinalizedButNotSeen(t *testing.T) {
	ctx := t.Context()
	mem := vfstest.NewMem()
	st := local.New(mem, "/", nil)
	for version := 1; version <= 2; version++ {
		o := &sessions.SaveOptions{SaveOptions: checkpoint.SaveOptions{Store: st}, Replace: version == 2}
		if err := sessions.Save(ctx, "c", partOf(version), o); err != nil {
			t.Fatal(err)
		}
	}
	for n := 1; ; n++ {
		fsys := mem.Clone()
		f := vfstest.NewFault(fsys, vfstest.Plan{N: n, Err: syscall.EACCES, Only: func(c vfstest.Call) bool {
			return c.Op == vfstest.OpReadAt && strings.HasPrefix(c.Name, "/c/")
		}})
		err := sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: local.New(f, "/", nil)})
		if _, hits := f.Hit(); hits == 0 {
			if n == 1 {
				t.Error("nothing of the checkpoint was read")
			}
			break
		}
		if !errors.Is(err, syscall.EACCES) || there("/c")(fsys) != nil || there("/c.partial_save")(fsys) != nil {
			t.Errorf("read %d: %v, checkpoint %v, session %v", n, err, there("/c")(fsys), there("/c.partial_save")(fsys))
		}
		if err := sessions.Finalize(ctx, "c", &sessions.FinalizeOptions{Store: local.New(fsys, "/", nil)}); err != nil {
			t.Errorf("read %d, again: %v", n, err)
		}
		if err := loads("c", partOf(2))(fsys); err != nil {
			t.Errorf("read %d: %v", n, err)
		}
	}
}

func flippedAt(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[i] ^= 4
	return b
}

// What somebody else has made of a session, and not made durable, is made so
// before the session goes.
func TestFinalizedByOthers(t *testing.T) {
	mem := vfstest.NewMem()
	if err := sessionCase("partial-strings-collide/pending.partial_save", "/c.partial_save")(mem); err != nil {
		t.Fatal(err)
	}
	done := mem.Clone()
	if err := halfFinalized(done); err != nil {
		t.Fatal(err)
	}
	mem.SyncAll()
	report, err := crash.Run(func(fsys vfs.FS, ack func(string)) error {
		if err := copyTree(fsys, done, "/c"); err != nil {
			return err
		}
		err := sessions.Finalize(context.Background(), "c", &sessions.FinalizeOptions{Store: local.New(fsys, "/", nil)})
		if err == nil {
			ack("done")
		}
		return err
	}, func(fsys vfs.FS, acked []string) error {
		if len(acked) == 0 && there("/c.partial_save")(fsys) == nil {
			return nil // the session is there still
		}
		return twoStrings(fsys)
	}, &crash.Options{From: mem, Limit: 16, Samples: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
}

// copyTree copies a directory, and syncs nothing.
func copyTree(to, from vfs.FS, dir string) error {
	if err := to.Mkdir(dir, 0o777); err != nil {
		return err
	}
	entries, err := from.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := dir + "/" + e.Name()
		if e.IsDir() {
			err = copyTree(to, from, at)
		} else {
			var b []byte
			if b, err = store.ReadAll(context.Background(), local.New(from, "/", nil), strings.TrimPrefix(at, "/")); err == nil {
				err = putFile(to, at, b)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A key that signed a checkpoint without the document that says what it is has
// not signed that it is one.
func TestSignedWithoutDocument(t *testing.T) {
	public, private := signingKey(1)
	s := preserveAs(t, "signed", writer.Options{Signing: private}, 31, map[string]any{"state": values(31)})
	load := func(files content) error {
		_, err := checkpoint.LoadCheckpointables(t.Context(), "c",
			&checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Verification: public}},
				Store: contentStore{files: files}})
		return err
	}
	if err := load(s.files); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
	m, err := manifest.Parse(s.files[manifest.Name])
	if err != nil {
		t.Fatal(err)
	}
	fresh := &manifest.Manifest{Leaves: m.Leaves, Heads: m.Heads, Nodes: m.Nodes}
	for _, f := range m.Files {
		if f.Name != "_CHECKPOINT_METADATA" {
			fresh.Files = append(fresh.Files, f)
		}
	}
	if err := load(s.files.with(manifest.Name, manifest.Sign(fresh.Append(nil),
		private))); errs.KindOf(err) != errs.Corrupt {
		t.Error(err)
	}
}
