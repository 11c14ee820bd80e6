// Package storetest is the conformance suite of store.Store: it tests what every implementation
// must do.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Run runs the suite. open returns a new, empty store for each test.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range []struct {
		name string
		run  func(s *suite)
	}{
		{"visibility", visibility},
		{"objects", objects},
		{"large objects", large},
		{"reading", reading},
		{"reading before the commit", rereading},
		{"put", put},
		{"no replacing", noReplacing},
		{"overwrite", overwrite},
		{"abort", abort},
		{"abort of a writer", abortWriter},
		{"incomplete objects", incomplete},
		{"links", links},
		{"remove", remove},
		{"listing", listing},
		{"names", names},
		{"cancellation", cancellation},
		{"sharing", sharing},
		{"cleaning", cleaning},
		{"settling", settling},
		{"locks", locks},
		{"pinning", pinning},
		{"replacing", replacing},
		{"permissions", permissions},
		{"concurrent objects", concurrentObjects},
		{"concurrent transactions", concurrentTransactions},
		{"concurrent put", concurrentPut},
		{"after the end", afterTheEnd},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(&suite{t, open(t), t.Context()}) })
	}
}

type suite struct {
	*testing.T
	store.Store
	ctx context.Context
}

func (s *suite) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) is(err error, kind errs.Kind) {
	s.Helper()
	var e *errs.Error
	if !errors.Is(err, kind) || !errors.As(err, &e) {
		s.Fatalf("got error %v, want an *errs.Error of kind %v", err, kind)
	}
}

func (s *suite) begin(final string, o store.TxnOptions) store.Txn {
	s.Helper()
	t, err := s.Begin(s.ctx, final, o)
	s.ok(err)
	return t
}

var manifest = store.Blob{Name: "manifest", Data: []byte("all there")}

// commit commits a directory with objects, given as name, content, ….
func (s *suite) commit(final string, objects ...string) {
	s.Helper()
	t := s.begin(final, store.TxnOptions{})
	for i := 0; i < len(objects); i += 2 {
		s.write(t, objects[i], objects[i+1])
	}
	s.ok(t.Commit(s.ctx, manifest))
}

func (s *suite) write(t store.Txn, name, content string) {
	s.Helper()
	w, err := t.Create(s.ctx, name, int64(len(content)))
	s.ok(err)
	s.ok(w.WriteAt(s.ctx, []byte(content), 0))
	s.ok(w.Seal(s.ctx))
}

func (s *suite) read(name string) string {
	s.Helper()
	r, err := s.Open(s.ctx, name)
	s.ok(err)
	p := make([]byte, r.Size())
	s.ok(r.ReadAt(s.ctx, p, 0))
	s.ok(r.Close())
	return string(p)
}

func (s *suite) want(name, content string) {
	s.Helper()
	if got := s.read(name); got != content {
		s.Fatalf("%s holds %q, want %q", name, got, content)
	}
}

func (s *suite) missing(name string) {
	s.Helper()
	_, err := s.Open(s.ctx, name)
	s.is(err, errs.NotFound)
	_, err = s.Stat(s.ctx, name)
	s.is(err, errs.NotFound)
}

func (s *suite) list(dir string) (names []string) {
	s.Helper()
	for info, err := range s.List(s.ctx, dir) {
		s.ok(err)
		names = append(names, info.Name)
	}
	return names
}

func (s *suite) wantList(dir string, names ...string) {
	s.Helper()
	if got := s.list(dir); !slices.Equal(got, names) {
		s.Fatalf("%q holds %q, want %q", dir, got, names)
	}
}

func visibility(s *suite) {
	s.wantList("")
	t := s.begin("run/100", store.TxnOptions{})
	s.write(t, "state/d/0", "bytes")
	s.ok(t.Put(s.ctx, "note", []byte("small")))
	s.missing("run/100")
	s.missing("run/100/note")
	if !store.IsStaging(t.Staging()) || !store.IsLeftover(t.Staging()) {
		s.Fatalf("%q is no staging name", t.Staging())
	}
	for _, name := range s.list("run") {
		if !store.IsStaging(name) {
			s.Fatalf("%q is visible before Commit", name)
		}
	}
	s.ok(t.Commit(s.ctx, manifest, store.Blob{Name: "ok.txt", Data: []byte("ok")}, store.Blob{Name: "state/ok.txt"}))
	s.want("run/100/state/d/0", "bytes")
	s.want("run/100/note", "small")
	s.want("run/100/ok.txt", "ok")
	s.want("run/100/state/ok.txt", "")
	s.want("run/100/manifest", "all there")
	s.wantList("run", "100")
	s.ok(t.Abort())
	s.wantList("run", "100")
}

func objects(s *suite) {
	t := s.begin("a", store.TxnOptions{})
	defer t.Abort()
	w, err := t.Create(s.ctx, "d/x", 10)
	s.ok(err)
	_, err = t.Create(s.ctx, "d/x", 10)
	s.is(err, errs.Exists)
	s.is(t.Put(s.ctx, "d/x", nil), errs.Exists)
	s.is(t.Put(s.ctx, "d", nil), errs.Exists)
	s.is(t.Put(s.ctx, "d/x/y", nil), errs.Exists)
	_, err = t.Create(s.ctx, "n", -1)
	s.is(err, errs.Invalid)
	s.write(t, "empty", "")
	s.ok(w.WriteAt(s.ctx, []byte("56789"), 5))
	s.ok(w.WriteAt(s.ctx, nil, 10))
	s.ok(w.WriteAt(s.ctx, []byte("01234"), 0))
	s.ok(w.Seal(s.ctx))
	s.is(w.WriteAt(s.ctx, []byte("x"), 0), errs.Closed)
	s.is(w.Seal(s.ctx), errs.Closed)
	s.ok(w.Abort())
	s.ok(t.Commit(s.ctx, store.Blob{Name: "m/n/manifest"}))
	s.want("a/d/x", "0123456789")
	s.want("a/empty", "")
	s.wantList("a", "d", "empty", "m")
}

// large writes an object of a size at which stores may work differently. It writes from the end, in
// pieces of whole blocks, from memory with any alignment.
func large(s *suite) {
	block := s.Properties().Block
	if block < 1 {
		s.Fatalf("block of %d", block)
	}
	content := bytes.Repeat([]byte("seventeen bytes. "), 200_000)
	t := s.begin("a", store.TxnOptions{})
	defer t.Abort()
	w, err := t.Create(s.ctx, "x", int64(len(content)))
	s.ok(err)
	piece := (300_000 + block - 1) / block * block
	memory := make([]byte, piece+3)
	for off := (len(content) - 1) / piece * piece; off >= 0; off -= piece {
		n := copy(memory[3:], content[off:min(off+piece, len(content))])
		s.ok(w.WriteAt(s.ctx, memory[3:3+n], int64(off)))
	}
	s.ok(w.Seal(s.ctx))
	if got := t.Stats(); got.Files != 1 || got.Bytes != int64(len(content)) || got.Direct > got.Bytes {
		s.Fatalf("%+v", got)
	}
	s.ok(t.Commit(s.ctx, manifest))
	s.want("a/x", string(content))
}

func reading(s *suite) {
	s.commit("a", "x", "0123456789")
	r, err := s.Open(s.ctx, "a/x")
	s.ok(err)
	if r.Size() != 10 {
		s.Fatalf("size %d", r.Size())
	}
	p := make([]byte, 4)
	s.ok(r.ReadAt(s.ctx, p, 6))
	if string(p) != "6789" {
		s.Fatalf("read %q", p)
	}
	s.ok(r.ReadAt(s.ctx, nil, 10))
	s.is(r.ReadAt(s.ctx, p, 7), errs.Corrupt)
	s.is(r.ReadAt(s.ctx, p, 100), errs.Corrupt)
	s.is(r.ReadAt(s.ctx, p, -1), errs.Invalid)
	s.ok(r.Close())
	s.is(r.ReadAt(s.ctx, p, 0), errs.Closed)
	_, err = s.Open(s.ctx, "a")
	s.is(err, errs.Invalid)
	info, err := s.Stat(s.ctx, "a/x")
	s.ok(err)
	if info.Name != "a/x" || info.Size != 10 || info.Dir {
		s.Fatalf("stat: %+v", info)
	}
	info, err = s.Stat(s.ctx, "a")
	s.ok(err)
	if info.Name != "a" || info.Size != 0 || !info.Dir {
		s.Fatalf("stat: %+v", info)
	}
	s.missing("b")
	s.missing("a/y")
	s.missing("a/x/y")
	for _, err := range s.List(s.ctx, "b") {
		s.is(err, errs.NotFound)
	}
	for _, err := range s.List(s.ctx, "a/x") {
		s.is(err, errs.Invalid)
	}
}

// rereading reads objects of a transaction, which nobody else sees.
func rereading(s *suite) {
	t := s.begin("run/1", store.TxnOptions{})
	defer t.Abort()
	s.write(t, "d/x", "0123456789")
	r, err := store.Reread(s.ctx, t, "d/x")
	if errs.KindOf(err) == errs.Unsupported {
		s.Skip("transactions of this store cannot be read")
	}
	s.ok(err)
	defer r.Close()
	b := make([]byte, 4)
	s.ok(r.ReadAt(s.ctx, b, 6))
	if r.Size() != 10 || string(b) != "6789" {
		s.Errorf("%d bytes, of which the last are %q", r.Size(), b)
	}
	s.is(r.ReadAt(s.ctx, b, 8), errs.Corrupt)
	s.missing("run/1")
	for _, name := range []string{"none", "d", "d/x/y"} {
		if _, err := store.Reread(s.ctx, t, name); errs.KindOf(err) != errs.NotFound && errs.KindOf(err) != errs.Invalid {
			s.Errorf("%s: %v", name, err)
		}
	}
	s.ok(t.Commit(s.ctx, manifest))
	_, err = store.Reread(s.ctx, t, "d/x")
	s.is(err, errs.Closed)
}

func put(s *suite) {
	s.ok(s.Put(s.ctx, "d/note", []byte("one"), store.PutOptions{}))
	s.ok(s.Put(s.ctx, "d/note", []byte("two"), store.PutOptions{}))
	s.want("d/note", "two")
	s.is(s.Put(s.ctx, "d/note", []byte("three"), store.PutOptions{IfAbsent: true}), errs.Exists)
	s.want("d/note", "two")
	s.ok(s.Put(s.ctx, "d/other", nil, store.PutOptions{IfAbsent: true}))
	s.wantList("d", "note", "other")
	s.is(s.Put(s.ctx, "d", []byte("x"), store.PutOptions{}), errs.Exists)
	if err := s.Put(s.ctx, "d/note/x", nil, store.PutOptions{}); err == nil {
		s.Fatal("an object became a directory")
	}
	s.wantList("d", "note", "other")
	s.want("d/note", "two")
}

func noReplacing(s *suite) {
	one, two := s.begin("a", store.TxnOptions{}), s.begin("a", store.TxnOptions{})
	s.write(one, "x", "one")
	s.write(two, "x", "two")
	s.ok(one.Commit(s.ctx, manifest))
	s.is(two.Commit(s.ctx, manifest), errs.Exists)
	s.ok(two.Abort())
	s.want("a/x", "one")
	_, err := s.Begin(s.ctx, "a", store.TxnOptions{})
	s.is(err, errs.Exists)
	s.wantList("", "a")
}

func overwrite(s *suite) {
	for i := range 3 {
		t := s.begin("a", store.TxnOptions{Overwrite: true})
		s.write(t, fmt.Sprint("x", i), fmt.Sprint("content ", i))
		if i > 0 {
			s.want(fmt.Sprint("a/x", i-1), fmt.Sprint("content ", i-1))
		}
		s.ok(t.Commit(s.ctx, manifest))
		s.wantList("a", "manifest", fmt.Sprint("x", i))
		s.want(fmt.Sprint("a/x", i), fmt.Sprint("content ", i))
	}
	s.wantList("", "a")
	s.ok(s.Put(s.ctx, "f", nil, store.PutOptions{}))
	_, err := s.Begin(s.ctx, "f", store.TxnOptions{Overwrite: true})
	s.is(err, errs.Exists)
}

func abort(s *suite) {
	s.commit("keep", "x", "1")
	t := s.begin("a", store.TxnOptions{})
	s.write(t, "d/x", "1")
	w, err := t.Create(s.ctx, "open", 1000)
	s.ok(err)
	s.ok(w.WriteAt(s.ctx, []byte("half"), 0))
	s.ok(t.Abort())
	s.ok(t.Abort())
	s.is(w.WriteAt(s.ctx, []byte("x"), 4), errs.Closed)
	s.is(w.Seal(s.ctx), errs.Closed)
	s.ok(w.Abort())
	s.wantList("", "keep")
	s.is(t.Commit(s.ctx, manifest), errs.Closed)
	s.commit("a", "x", "2")
	s.want("a/x", "2")
}

func abortWriter(s *suite) {
	t := s.begin("a", store.TxnOptions{})
	w, err := t.Create(s.ctx, "d/x", 10)
	s.ok(err)
	s.ok(w.WriteAt(s.ctx, []byte("half"), 0))
	s.ok(w.Abort())
	s.ok(w.Abort())
	s.write(t, "d/x", "again")
	s.ok(t.Commit(s.ctx, manifest))
	s.want("a/d/x", "again")
}

func incomplete(s *suite) {
	for _, c := range []struct {
		name string
		use  func(t store.Txn)
	}{
		{"open writer", func(t store.Txn) {
			_, err := t.Create(s.ctx, "x", 4)
			s.ok(err)
		}},
		{"missing bytes", func(t store.Txn) {
			w, err := t.Create(s.ctx, "x", 4)
			s.ok(err)
			s.ok(w.WriteAt(s.ctx, []byte("abc"), 0))
			s.is(w.Seal(s.ctx), errs.Invalid)
			s.is(w.Seal(s.ctx), errs.Invalid)
		}},
		{"bytes past the end", func(t store.Txn) {
			w, err := t.Create(s.ctx, "x", 4)
			s.ok(err)
			s.is(w.WriteAt(s.ctx, []byte("abc"), 2), errs.Invalid)
			s.is(w.WriteAt(s.ctx, []byte("abcd"), 0), errs.Invalid)
			s.is(w.Seal(s.ctx), errs.Invalid)
		}},
		{"negative offset", func(t store.Txn) {
			w, err := t.Create(s.ctx, "x", 4)
			s.ok(err)
			s.is(w.WriteAt(s.ctx, []byte("a"), -1), errs.Invalid)
		}},
	} {
		t := s.begin("a", store.TxnOptions{})
		c.use(t)
		s.is(t.Commit(s.ctx, manifest), errs.Invalid)
		s.ok(t.Abort())
		if l := s.list(""); len(l) != 0 {
			s.Fatalf("%s: left %q", c.name, l)
		}
	}
}

func links(s *suite) {
	s.commit("a", "d/x", "content")
	t := s.begin("b", store.TxnOptions{})
	s.ok(t.Link(s.ctx, "e/y", "a/d/x"))
	s.is(t.Link(s.ctx, "e/y", "a/d/x"), errs.Exists)
	s.is(t.Link(s.ctx, "z", "a/none"), errs.NotFound)
	s.is(t.Link(s.ctx, "z", "a/d"), errs.Invalid)
	s.is(t.Link(s.ctx, "z", "a/../a/d/x"), errs.Invalid)
	s.ok(t.Commit(s.ctx, manifest))
	s.ok(s.RemoveTree(s.ctx, "a"))
	s.want("b/e/y", "content")
	s.wantList("b", "e", "manifest")
}

func remove(s *suite) {
	s.commit("run/1", "d/e/x", "one", "y", "two")
	s.commit("run/2", "x", "one")
	s.ok(s.RemoveTree(s.ctx, "run/1"))
	s.missing("run/1")
	s.missing("run/1/y")
	s.wantList("run", "2")
	s.is(s.RemoveTree(s.ctx, "run/1"), errs.NotFound)
	s.ok(s.Put(s.ctx, "run/note", nil, store.PutOptions{}))
	s.ok(s.RemoveTree(s.ctx, "run/note"))
	s.wantList("run", "2")
	s.commit("run/1", "x", "again")
	s.want("run/1/x", "again")
	s.ok(s.RemoveTree(s.ctx, "run"))
	s.commit("run/1", "x", "once more")
	s.want("run/1/x", "once more")
	// The name is removed first, and can be used again before the bytes are freed.
	free, err := store.Hide(s.ctx, s.Store, "run/1")
	s.ok(err)
	s.missing("run/1")
	_, err = s.CleanStaging(s.ctx, "run", nil)
	s.ok(err)
	s.commit("run/1", "x", "at last")
	s.ok(free())
	s.want("run/1/x", "at last")
	s.wantList("run", "1")
	_, err = store.Hide(s.ctx, s.Store, "run/2")
	s.is(err, errs.NotFound)
}

func afterTheEnd(s *suite) {
	t := s.begin("a", store.TxnOptions{})
	s.ok(t.Commit(s.ctx, manifest))
	_, err := t.Create(s.ctx, "x", 1)
	s.is(err, errs.Closed)
	s.is(t.Put(s.ctx, "x", nil), errs.Closed)
	s.is(t.Link(s.ctx, "x", "a/manifest"), errs.Closed)
	s.is(t.Commit(s.ctx, manifest), errs.Closed)
	s.ok(t.Abort())
	s.wantList("a", "manifest")
}
