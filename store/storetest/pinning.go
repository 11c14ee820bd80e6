package storetest

import (
	"context"
	"errors"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// pinning checks that a pinned directory is read as one directory.
func pinning(s *suite) {
	if _, ok := s.Store.(store.Pinner); !ok {
		s.Skip("directories cannot be pinned")
	}
	s.commit("1", "d/x", "one")
	p, err := store.Pin(s.ctx, s.Store, "1")
	s.ok(err)
	s.ok(p.Fate(s.ctx, "1"))
	txn := s.begin("1", store.TxnOptions{Overwrite: true})
	s.write(txn, "d/y", "other")
	s.ok(txn.Commit(s.ctx, store.Blob{Name: "manifest", Data: []byte("2")}))
	if err := p.Fate(s.ctx, "1"); !errors.Is(err, store.ErrReplaced) {
		s.Errorf("a directory that was replaced: %v", err)
	}
	// A store may know the names of the directory without asking; its bytes are gone.
	_, err = store.ReadAll(s.ctx, p, "1/d/x")
	s.is(err, errs.NotFound)
	_, err = p.Stat(s.ctx, "1/d/y")
	s.is(err, errs.NotFound)
	s.want("1/d/y", "other")
	s.ok(p.Close())

	p, err = store.Pin(s.ctx, s.Store, "1")
	s.ok(err)
	_, err = p.Stat(s.ctx, "1/d/y")
	s.ok(err)
	pinnedRefusals(s, p)
	leased := p.Lease(s.ctx)
	s.ok(s.RemoveTree(s.ctx, "1"))
	s.missing("1")
	if err := p.Fate(s.ctx, "1"); !errors.Is(err, store.ErrRemoved) {
		s.Errorf("a directory that was removed: %v", err)
	}
	b, err := store.ReadAll(s.ctx, p, "1/d/y")
	switch {
	case leased != nil:
		s.is(leased, errs.Unsupported)
	case err != nil || string(b) != "other":
		s.Errorf("beside a lease: %q, %v", b, err)
	}
	if names, err := s.CleanStaging(s.ctx, "", nil); leased == nil && (err != nil || len(names) > 0) {
		s.Errorf("a directory that is being read was cleaned: %v, %v", names, err)
	}
	s.ok(p.Close())
	names, err := s.CleanStaging(s.ctx, "", nil)
	if s.ok(err); leased == nil && len(names) != 1 {
		s.Errorf("a directory that is no longer read was not cleaned: %v", names)
	}
	_, err = store.Pin(s.ctx, s.Store, "1")
	s.is(err, errs.NotFound)
	s.ok(s.Put(s.ctx, "file", nil, store.PutOptions{}))
	_, err = store.Pin(s.ctx, s.Store, "file")
	s.is(err, errs.Invalid)
}

// pinnedRefusals checks which calls on a pinned directory with the file 1/d/y return an error.
func pinnedRefusals(s *suite, p store.Pinned) {
	reads := map[string]func(context.Context, string) error{
		"Open": func(ctx context.Context, name string) error { return opens(ctx, p, name) },
		"Stat": func(ctx context.Context, name string) error {
			_, err := p.Stat(ctx, name)
			return err
		},
		"List": func(ctx context.Context, name string) error {
			for _, err := range p.List(ctx, name) {
				return err
			}
			return nil
		},
	}
	ended, cancel := context.WithCancel(s.ctx)
	cancel()
	for op, read := range reads {
		for name, want := range map[string]errs.Kind{"1/none": errs.NotFound, "1/../1/d": errs.Invalid, "1/d//y": errs.Invalid} {
			if err := read(s.ctx, name); errs.KindOf(err) != want {
				s.Errorf("%s of %s: got %v, want %v", op, name, err, want)
			}
		}
		if err := read(ended, "1/d"); errs.KindOf(err) != errs.Canceled {
			s.Errorf("%s without time: %v", op, err)
		}
	}
	s.is(opens(s.ctx, p, "1/d"), errs.Invalid)
	s.is(reads["List"](s.ctx, "1/d/y"), errs.Invalid)
	s.ok(reads["List"](s.ctx, "1/d"))
}

func opens(ctx context.Context, p store.Pinned, name string) error {
	r, err := p.Open(ctx, name)
	if err == nil {
		err = r.Close()
	}
	return err
}

// replacing checks that a transaction replaces only the directory from which it was made.
func replacing(s *suite) {
	if _, ok := s.Store.(store.Pinner); !ok {
		s.Skip("directories cannot be pinned")
	}
	one := store.Blob{Name: "manifest", Data: []byte("1")}
	s.commit("1", "x", "old")
	pin := func() store.Pinned {
		p, err := store.Pin(s.ctx, s.Store, "1")
		s.ok(err)
		return p
	}
	p := pin()
	first, second, third := s.begin("1", store.TxnOptions{Replaces: p}), s.begin("1", store.TxnOptions{Replaces: p}), s.begin("1", store.TxnOptions{Replaces: p})
	s.write(first, "x", "first")
	s.write(second, "x", "second")
	s.ok(first.Commit(s.ctx, one))
	overtaken := func(err, want error) {
		s.T.Helper()
		if s.is(err, errs.Busy); !errors.Is(err, want) {
			s.Errorf("want %v in the chain, got %v", want, err)
		}
	}
	overtaken(second.Commit(s.ctx, one), store.ErrReplaced)
	s.want("1/x", "first")
	s.ok(s.RemoveTree(s.ctx, "1"))
	overtaken(third.Commit(s.ctx, one), store.ErrRemoved)
	s.missing("1")
	s.ok(p.Close())

	s.commit("1", "x", "again")
	p = pin()
	last := s.begin("1", store.TxnOptions{Replaces: p})
	s.write(last, "x", "last")
	s.ok(last.Commit(s.ctx, one))
	s.ok(p.Close())
	s.want("1/x", "last")
	s.wantList("", "1")
}
