package storetest

import (
	"errors"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// pinning checks that what was pinned is read as one directory.
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
	for _, name := range []string{"1/d/x", "1/d/y"} {
		_, err := p.Stat(s.ctx, name)
		s.is(err, errs.NotFound)
	}
	s.want("1/d/y", "other")
	s.ok(p.Close())

	p, err = store.Pin(s.ctx, s.Store, "1")
	s.ok(err)
	_, err = p.Stat(s.ctx, "1/d/y")
	s.ok(err)
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
		s.Errorf("what is read was cleaned: %v, %v", names, err)
	}
	s.ok(p.Close())
	names, err := s.CleanStaging(s.ctx, "", nil)
	if s.ok(err); leased == nil && len(names) != 1 {
		s.Errorf("what is not read any more was not cleaned: %v", names)
	}
	_, err = store.Pin(s.ctx, s.Store, "1")
	s.is(err, errs.NotFound)
	s.ok(s.Put(s.ctx, "file", nil, store.PutOptions{}))
	_, err = store.Pin(s.ctx, s.Store, "file")
	s.is(err, errs.Invalid)
}
