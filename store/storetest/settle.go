package storetest

import (
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// settling checks that Settle changes nothing that is visible, and that it needs a directory.
func settling(s *suite) {
	s.commit("run/1", "a", "alpha")
	s.ok(s.Settle(s.ctx, "run"))
	s.ok(s.Settle(s.ctx, ""))
	s.want("run/1/a", "alpha")
	s.wantList("run", "1")
	s.is(s.Settle(s.ctx, "none"), errs.NotFound)
	s.is(s.Settle(s.ctx, "run/1/a"), errs.Invalid)
	s.is(s.Settle(s.ctx, "../run"), errs.Invalid)
}

// locks checks that the lock of a directory has one holder at a time and stops neither readers nor
// transactions.
func locks(s *suite) {
	l, ok := s.Store.(store.Locker)
	if !ok {
		s.Skip("this store has no locks")
	}
	first, err := l.Lock(s.ctx, "run/deep")
	s.ok(err)
	_, err = l.Lock(s.ctx, "run/deep")
	s.is(err, errs.Busy)
	if !strings.Contains(err.Error(), "process ") || !strings.Contains(err.Error(), " since ") {
		s.Errorf("the error does not name the holder of the lock: %v", err)
	}
	other, err := l.Lock(s.ctx, "run")
	s.ok(err)
	s.ok(other.Close())
	s.commit("run/deep/1", "a", "alpha")
	s.want("run/deep/1/a", "alpha")
	s.ok(first.Close())
	again, err := l.Lock(s.ctx, "run/deep")
	s.ok(err)
	s.ok(again.Close())
	_, err = l.Lock(s.ctx, "run/deep/1/a")
	s.is(err, errs.Exists)
	_, err = l.Lock(s.ctx, "/run")
	s.is(err, errs.Invalid)
}

// permissions checks that WithPermissions returns the same store for any permissions of new
// objects, and an error for a store without permissions.
func permissions(s *suite) {
	same, err := store.WithPermissions(s.Store, 0)
	s.ok(err)
	if same != s.Store {
		s.Error("another store where no permissions are asked for")
	}
	private, err := store.WithPermissions(s.Store, 0o700)
	if _, ok := s.Store.(store.Permitter); !ok {
		s.is(err, errs.Unsupported)
		return
	}
	s.ok(err)
	other := &suite{s.T, private, s.ctx}
	other.commit("run/1", "a", "alpha")
	s.commit("run/2", "a", "beta")
	s.want("run/1/a", "alpha")
	other.want("run/2/a", "beta")
	txn := other.begin("run/3", store.TxnOptions{})
	if got, err := s.CleanStaging(s.ctx, "run", nil); err != nil || len(got) > 0 {
		s.Errorf("removed %q of a transaction that is going on, %v", got, err)
	}
	s.write(txn, "a", "gamma")
	s.ok(txn.Link(s.ctx, "b", "run/2/a"))
	s.ok(txn.Commit(s.ctx, manifest))
	s.want("run/3/b", "beta")
	s.ok(other.Put(s.ctx, "deep/er/note", []byte("note"), store.PutOptions{}))
	s.want("deep/er/note", "note")
	s.ok(s.RemoveTree(s.ctx, "run/1"))
	other.missing("run/1")
}
