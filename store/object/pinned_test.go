package object_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// fresh returns a server on which prepare was done, and a store on it.
func fresh(t *testing.T, prepare func(context.Context, *simulated.Server) error) (*simulated.Server, *object.Store) {
	t.Helper()
	server := simulated.NewServer(0, simulated.Lies{})
	if err := prepare(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	st, _ := process(server)
	return server, st
}

func pin(t *testing.T, st store.Pinner, name string) store.Pinned {
	t.Helper()
	p, err := st.Pin(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() }) //nolint:errcheck // of a test
	return p
}

func kind(t *testing.T, what string, err error, want errs.Kind) {
	t.Helper()
	if errs.KindOf(err) != want || want != errs.Other && err == nil {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// A pinned directory passes on what lies outside of it, and keeps what lies inside when its name
// belongs to another directory.
func TestPinnedDirectory(t *testing.T) {
	ctx := t.Context()
	_, st := fresh(t, later)
	p := pin(t, st, "run/a")
	for name, want := range map[string]string{"run/a/d/0": "run/a 0", "run/a/later": "later", "run/loose": "loose"} {
		if b, err := store.ReadAll(ctx, p, name); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if info, err := p.Stat(ctx, name); err != nil || info.Dir || info.Size != int64(len(want)) {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	for dir, want := range map[string][]string{
		"run": {"a", "loose"}, "run/a": {"d", "later", "manifest", "marker"}, "run/a/d": {"0", "1"},
	} {
		if got, err := list(p.List(ctx, dir)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
	}
	for info := range p.List(ctx, "run/a") { // it may end early
		if info.Name != "d" {
			t.Error(info)
		}
		break
	}
	_, err := p.Open(ctx, "run/a/d")
	kind(t, "a directory", err, errs.Invalid)
	_, err = p.Open(ctx, "run/a/none")
	kind(t, "nothing", err, errs.NotFound)
	_, err = p.Open(ctx, "run/none")
	kind(t, "nothing outside", err, errs.NotFound)
	_, err = list(p.List(ctx, "run/a/manifest"))
	kind(t, "the list of an object", err, errs.Invalid)
	_, err = list(p.List(ctx, "run/a/none"))
	kind(t, "the list of nothing", err, errs.NotFound)
	_, err = p.Open(ctx, "run/a/../loose")
	kind(t, "a bad name", err, errs.Invalid)
	again := pin(t, p.(store.Pinner), "run/a") //nolint:forcetypeassert // the store's directories are pinners
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if err := write(ctx, st, "run/a", store.TxnOptions{Overwrite: true}, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Fate(ctx, "run/a"); !errors.Is(err, store.ErrReplaced) {
		t.Error(err)
	}
	for _, name := range []string{"run/a/later", "run/a/none"} {
		_, err := p.Open(ctx, name)
		kind(t, name, err, errs.NotFound)
		_, err = p.Stat(ctx, name)
		kind(t, name, err, errs.NotFound)
	}
	if got, err := list(p.List(ctx, "run/a")); err != nil || slices.Contains(got, "later") {
		t.Errorf("%q, %v", got, err)
	}
	other := pin(t, p.(store.Pinner), "run") //nolint:forcetypeassert // as above
	kind(t, "the lease of a directory that no transaction made", other.Lease(ctx), errs.Unsupported)
	if err := other.Fate(ctx, "run"); err != nil {
		t.Error(err)
	}
	kind(t, "the fate of nothing", other.Fate(ctx, "none"), errs.NotFound)
	root := pin(t, st, "")
	if got, err := list(root.List(ctx, "")); err != nil || !slices.Equal(got, []string{"run"}) {
		t.Errorf("%q, %v", got, err)
	}
	if err := st.RemoveTree(ctx, "run/a"); err != nil {
		t.Fatal(err)
	}
	if err := p.Fate(ctx, "run/a"); !errors.Is(err, store.ErrRemoved) {
		t.Error(err)
	}
}

// A lease of a reader is one lease, others see it, and it ends with its process.
func TestLeasesOfReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		server, st := fresh(t, saved("run/a"))
		p, q := pin(t, st, "run/a"), pin(t, st, "run/a")
		leased := func(of store.Pinned, want bool) {
			t.Helper()
			if got, err := of.Leased(ctx); err != nil || got != want {
				t.Errorf("%v, %v, want %v", got, err, want)
			}
		}
		notes := func() (n int) {
			for _, key := range server.Keys() {
				if strings.Contains(key, "/users/reader-") {
					n++
				}
			}
			return n
		}
		leased(p, false)
		for range 2 { // the second changes nothing
			if err := p.Lease(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if notes() != 1 {
			t.Errorf("%d notes", notes())
		}
		leased(p, false) // it is its own
		leased(q, true)
		time.Sleep(5 * quick.Lease) // it gives signs of life
		leased(q, true)
		if err := errors.Join(p.Close(), p.Close()); err != nil || notes() != 0 {
			t.Errorf("%v, %d notes", err, notes())
		}
		leased(q, false)
		dying, end := process(server)
		d := pin(t, dying, "run/a")
		if err := d.Lease(ctx); err != nil {
			t.Fatal(err)
		}
		end()
		d.Close() //nolint:errcheck // the note stays
		leased(q, true)
		time.Sleep(2 * quick.Lease)
		leased(q, false)
	})
}

// A directory that is read keeps its objects until the lease ends; the note does not outlive it.
func TestLeasedDirectoryKeepsItsObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		server, st := fresh(t, saved("run/a"))
		p := pin(t, st, "run/a")
		if err := p.Lease(ctx); err != nil {
			t.Fatal(err)
		}
		if err := st.RemoveTree(ctx, "run/a"); err != nil {
			t.Fatal(err)
		}
		if b, err := store.ReadAll(ctx, p, "run/a/d/0"); err != nil || string(b) != "run/a 0" {
			t.Errorf("%q, %v", b, err)
		}
		kind(t, "a lease of what was removed", pinOfRemoved(ctx, t, st), errs.NotFound)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := st.CleanStaging(ctx, "run", nil); err != nil {
			t.Fatal(err)
		}
		for _, key := range server.Keys() {
			if strings.Contains(key, "/data/") {
				t.Errorf("%s is left", key)
			}
		}
	})
}

// pinOfRemoved pins a directory, removes it, and takes a lease.
func pinOfRemoved(ctx context.Context, t *testing.T, st *object.Store) error {
	t.Helper()
	if err := saveDir(ctx, st, "run/b", "b"); err != nil {
		t.Fatal(err)
	}
	p := pin(t, st, "run/b")
	if err := st.RemoveTree(ctx, "run/b"); err != nil {
		t.Fatal(err)
	}
	return p.Lease(ctx)
}

// Callers of a shared transaction do not take each other's names, and write only while it goes on.
func TestSharedTransactions(t *testing.T) {
	ctx := t.Context()
	_, st := fresh(t, none)
	begin := func(name string, o store.TxnOptions) store.Txn {
		t.Helper()
		txn, err := st.Begin(ctx, name, o)
		if err != nil {
			t.Fatal(err)
		}
		return txn
	}
	for what, names := range map[string][2]string{
		"one name":               {"d/0", "d/0"},
		"an object above":        {"d", "d/0"},
		"an object below":        {"d/0/x", "d/0"},
		"different names":        {"d/0", "d/1"},
		"names that begin alike": {"d/0", "d/0.b"},
	} {
		host := begin("run/a", store.TxnOptions{Shared: true})
		guest := begin("run/a", store.TxnOptions{Join: host.Staging()})
		err := errors.Join(host.Put(ctx, names[0], []byte("x")), guest.Put(ctx, names[1], []byte("y")),
			guest.Commit(ctx, store.Blob{}))
		if err == nil {
			err = host.Commit(ctx, store.Blob{Name: "manifest"})
		}
		clash := strings.HasPrefix(what, "an object") || what == "one name"
		if (errs.KindOf(err) == errs.Exists || errors.Is(err, errs.Exists)) != clash || !clash && err != nil {
			t.Errorf("%s: %v", what, err)
		}
		host.Abort() //nolint:errcheck // of a test
		if !clash {
			if err := st.RemoveTree(ctx, "run/a"); err != nil {
				t.Fatal(err)
			}
		}
	}
	host := begin("run/a", store.TxnOptions{Shared: true})
	guest := begin("run/a", store.TxnOptions{Join: host.Staging()})
	_, err := st.Begin(ctx, "run/b", store.TxnOptions{Join: host.Staging()})
	kind(t, "the transaction of another name", err, errs.NotFound)
	_, err = st.Begin(ctx, "other/a", store.TxnOptions{Join: host.Staging()})
	kind(t, "a transaction of another directory", err, errs.Invalid)
	_, err = st.Begin(ctx, "run/a", store.TxnOptions{Join: "run/a"})
	kind(t, "no staging name", err, errs.Invalid)
	alone := begin("run/b", store.TxnOptions{})
	_, err = st.Begin(ctx, "run/b", store.TxnOptions{Join: alone.Staging()})
	kind(t, "a transaction that is not shared", err, errs.NotFound)
	if err := guest.Abort(); err != nil {
		t.Fatal(err)
	}
	guest = begin("run/a", store.TxnOptions{Join: host.Staging()})
	if err := host.Commit(ctx, store.Blob{Name: "manifest"}); err != nil {
		t.Fatal(err)
	}
	kind(t, "a write after the commit", guest.Put(ctx, "x", nil), errs.NotFound)
	if err := errors.Join(alone.Abort(), guest.Abort()); err != nil {
		t.Fatal(err)
	}
}

// One more byte, one byte twice, or too few bytes make no object.
func TestWritersRefuse(t *testing.T) {
	ctx := t.Context()
	_, st := fresh(t, none)
	for what, c := range map[string]func(w store.Writer) error{
		"a byte after the end": func(w store.Writer) error { return w.WriteAt(ctx, []byte("x"), 200) },
		"bytes over the end":   func(w store.Writer) error { return w.WriteAt(ctx, []byte("xy"), 199) },
		"a negative offset":    func(w store.Writer) error { return w.WriteAt(ctx, []byte("x"), -1) },
		"an offset far behind": func(w store.Writer) error { return w.WriteAt(ctx, nil, 1000) },
		"too few":              func(w store.Writer) error { return w.Seal(ctx) },
		"the same twice": func(w store.Writer) error {
			return errors.Join(w.WriteAt(ctx, []byte("xy"), 70), w.WriteAt(ctx, []byte("xy"), 70))
		},
		"the end of one twice": func(w store.Writer) error {
			return errors.Join(w.WriteAt(ctx, []byte("xy"), 70), w.WriteAt(ctx, []byte("xy"), 71))
		},
		"the start of one twice": func(w store.Writer) error {
			return errors.Join(w.WriteAt(ctx, []byte("xy"), 70), w.WriteAt(ctx, []byte("xy"), 69))
		},
		"around another": func(w store.Writer) error {
			return errors.Join(w.WriteAt(ctx, []byte("xy"), 70), w.WriteAt(ctx, []byte("xyz"), 80), w.WriteAt(ctx, bytes.Repeat([]byte("x"), 15), 66))
		},
	} {
		txn, err := st.Begin(ctx, "run/a", store.TxnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := txn.Create(ctx, "x", 200)
		if err != nil {
			t.Fatal(err)
		}
		if err := c(w); errs.KindOf(err) != errs.Invalid && !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", what, err)
		}
		kind(t, what+", and then a commit", txn.Commit(ctx, store.Blob{Name: "manifest"}), errs.Invalid)
	}
}
