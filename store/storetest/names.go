package storetest

import (
	"context"
	"errors"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

func listing(s *suite) {
	want := []string{"0", "10", "9", "A", "a", "a.b", "a0", "ä"}
	for _, i := range []int{3, 1, 7, 5, 0, 2, 6, 4} {
		if i%2 == 0 {
			s.commit(want[i], "x", "1")
		} else {
			s.ok(s.Put(s.ctx, want[i], []byte("12"), store.PutOptions{}))
		}
	}
	i := 0
	for info, err := range s.List(s.ctx, "") {
		s.ok(err)
		size := int64(2 * (i % 2))
		if info.Name != want[i] || info.Dir != (i%2 == 0) || info.Size != size {
			s.Fatalf("entry %d is %+v, want %s", i, info, want[i])
		}
		i++
	}
	if i != len(want) {
		s.Fatalf("%d entries", i)
	}
	for range s.List(s.ctx, "") {
		break
	}
}

func names(s *suite) {
	t := s.begin("a", store.TxnOptions{})
	defer t.Abort()
	for _, name := range []string{
		"", ".", "..", "/a", "a/", "a//b", "a/./b", "a/../b", "../a", "a/..", "a\x00b", `a\b`, "a\xff",
		"a.orbax-checkpoint-tmp", "b.orbax-checkpoint-tmp-0123456789abcdef/x",
	} {
		_, err := s.Begin(s.ctx, name, store.TxnOptions{})
		s.is(err, errs.Invalid)
		s.is(s.Put(s.ctx, name, nil, store.PutOptions{}), errs.Invalid)
		s.is(s.RemoveTree(s.ctx, name), errs.Invalid)
		_, err = t.Create(s.ctx, name, 0)
		s.is(err, errs.Invalid)
		s.is(t.Put(s.ctx, name, nil), errs.Invalid)
		s.is(t.Link(s.ctx, name, "x"), errs.Invalid)
		if strings.Contains(name, "orbax") || name == "" {
			continue
		}
		_, err = s.Open(s.ctx, name)
		s.is(err, errs.Invalid)
		_, err = s.Stat(s.ctx, name)
		s.is(err, errs.Invalid)
		for _, err := range s.List(s.ctx, name) {
			s.is(err, errs.Invalid)
		}
		_, err = s.CleanStaging(s.ctx, name, nil)
		s.is(err, errs.Invalid)
		bad := s.begin("bad", store.TxnOptions{})
		s.is(bad.Commit(s.ctx, store.Blob{Name: name}), errs.Invalid)
		s.missing("bad")
	}
	s.ok(t.Put(s.ctx, "sp ace/ü/%2F:*?", []byte("odd")))
	s.ok(t.Commit(s.ctx, manifest))
	s.want("a/sp ace/ü/%2F:*?", "odd")
}

func cancellation(s *suite) {
	s.commit("a", "x", "one")
	t := s.begin("b", store.TxnOptions{})
	w, err := t.Create(s.ctx, "x", 4)
	s.ok(err)
	r, err := s.Open(s.ctx, "a/x")
	s.ok(err)
	defer r.Close()

	reason := errors.New("the reason")
	gone, cancel := context.WithCancelCause(s.ctx)
	cancel(reason)
	check := func(err error) {
		s.Helper()
		s.is(err, errs.Canceled)
		if !errors.Is(err, reason) {
			s.Fatalf("%v does not hold the cause", err)
		}
	}
	_, err = s.Open(gone, "a/x")
	check(err)
	_, err = s.Stat(gone, "a/x")
	check(err)
	for _, err := range s.List(gone, "a") {
		check(err)
	}
	check(s.Put(gone, "p", nil, store.PutOptions{}))
	_, err = s.Begin(gone, "c", store.TxnOptions{})
	check(err)
	check(s.RemoveTree(gone, "a"))
	_, err = s.CleanStaging(gone, "", nil)
	check(err)
	check(s.Settle(gone, "a"))
	if l, ok := s.Store.(store.Locker); ok {
		_, err = l.Lock(gone, "a")
		check(err)
	}
	check(r.ReadAt(gone, make([]byte, 1), 0))
	_, err = t.Create(gone, "y", 1)
	check(err)
	check(t.Put(gone, "z", nil))
	check(t.Link(gone, "l", "a/x"))
	s.ok(t.Put(s.ctx, "z", nil))

	check(w.WriteAt(gone, []byte("abcd"), 0))
	check(w.Seal(s.ctx))
	check(t.Commit(s.ctx, manifest))
	s.wantList("", "a")
	s.want("a/x", "one")

	t = s.begin("c", store.TxnOptions{})
	s.write(t, "x", "1")
	check(t.Commit(gone, manifest))
	s.wantList("", "a")
}

func cleaning(s *suite) {
	s.commit("run/1", "x", "one")
	t := s.begin("run/2", store.TxnOptions{})
	s.write(t, "x", "two")
	removed, err := s.CleanStaging(s.ctx, "run", func(info store.Info) bool {
		s.Fatalf("asked about %q, which is in use", info.Name)
		return false
	})
	s.ok(err)
	if len(removed) != 0 {
		s.Fatalf("removed %q", removed)
	}
	s.ok(t.Commit(s.ctx, manifest))
	s.want("run/2/x", "two")
	s.want("run/1/x", "one")
	removed, err = s.CleanStaging(s.ctx, "", nil)
	s.ok(err)
	if len(removed) != 0 {
		s.Fatalf("removed %q", removed)
	}
	_, err = s.CleanStaging(s.ctx, "none", nil)
	s.is(err, errs.NotFound)
}
