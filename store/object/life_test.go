package object_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// A transaction that lasts longer than a lease gives signs of life, is left alone, and commits. So
// it does if replies to the signs are lost.
func TestLongTransactions(t *testing.T) {
	for name, network := range map[string]simulated.Network{
		"every reply comes": nil,
		"signs are lost": func() simulated.Network {
			n := 0
			return func(r simulated.Request) simulated.Fate {
				if r.Kind == "Put" && strings.Contains(r.Key, "/live/") {
					n++
					return simulated.Fate{Lost: n%2 == 0}
				}
				return simulated.Fate{}
			}
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				server, other := fresh(t, saved("run/c"))
				st := object.New(server.Bucket(network), "p/", quick)
				txn, err := st.Begin(ctx, "run/a", store.TxnOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for range 5 {
					time.Sleep(quick.Lease)
					for _, s := range []*object.Store{st, other} { // also its own store
						if removed, err := s.CleanStaging(ctx, "run", nil); err != nil || len(removed) > 0 {
							t.Fatalf("%q, %v", removed, err)
						}
						if err := s.Settle(ctx, "run"); err != nil {
							t.Fatal(err)
						}
					}
					if err := txn.Put(ctx, time.Now().Format("150405"), []byte("x")); err != nil {
						t.Fatal(err)
					}
				}
				if err := txn.Commit(ctx, store.Blob{Name: "manifest"}); err != nil {
					t.Fatal(err)
				}
				if names, err := list(other.List(ctx, "run/a")); err != nil || len(names) != 6 {
					t.Errorf("%q, %v", names, err)
				}
			})
		})
	}
}

// A transaction whose lease another process has ended does not commit, and says so each time.
func TestLostTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		server, other := fresh(t, none)
		var cut atomic.Bool
		st := object.New(server.Bucket(func(simulated.Request) simulated.Fate {
			if cut.Load() {
				return simulated.Fate{Err: errRefused}
			}
			return simulated.Fate{}
		}), "p/", quick)
		txn, err := st.Begin(ctx, "run/a", store.TxnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := txn.Put(ctx, "x", []byte("x")); err != nil {
			t.Fatal(err)
		}
		cut.Store(true)
		time.Sleep(3 * quick.Lease)
		if removed, err := other.CleanStaging(ctx, "run", nil); err != nil || len(removed) != 1 {
			t.Fatalf("%q, %v", removed, err)
		}
		cut.Store(false)
		time.Sleep(quick.Lease)
		for range 2 {
			kind(t, "a write", txn.Put(ctx, "y", nil), errs.NotFound)
		}
		kind(t, "a commit", txn.Commit(ctx, store.Blob{Name: "manifest"}), errs.NotFound)
		if _, err := other.Stat(ctx, "run/a"); errs.KindOf(err) != errs.NotFound {
			t.Error(err)
		}
	})
}

// A lock lasts as long as its process gives signs of life, and no longer than a lease after.
func TestLockLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		server, other := fresh(t, saved("run/c"))
		st, end := process(server)
		held := func() store.HeldLock {
			t.Helper()
			l, err := st.Lock(ctx, "run")
			if err != nil {
				t.Fatal(err)
			}
			return l.(store.HeldLock) //nolint:forcetypeassert // the store's locks are held locks
		}
		l := held()
		for range 5 {
			time.Sleep(quick.Lease)
			_, err := other.Lock(ctx, "run")
			kind(t, "the lock of another", err, errs.Busy)
			if err := l.Check(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(l.Close(), l.Close()); err != nil {
			t.Fatal(err)
		}
		l = held()
		end()
		time.Sleep(quick.Lease / 2)
		_, err := other.Lock(ctx, "run")
		kind(t, "the lock of a process that was alive a moment ago", err, errs.Busy)
		time.Sleep(2 * quick.Lease)
		mine, err := other.Lock(ctx, "run")
		if err != nil {
			t.Fatal(err)
		}
		l.Close() //nolint:errcheck // its process has ended
		if err := mine.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A holder that was cut off for longer than a lease learns that another one has the lock.
func TestLostLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		server, other := fresh(t, saved("run/c"))
		var cut atomic.Bool
		st := object.New(server.Bucket(func(simulated.Request) simulated.Fate {
			if cut.Load() {
				return simulated.Fate{Err: errRefused}
			}
			return simulated.Fate{}
		}), "p/", quick)
		l, err := st.Lock(ctx, "run")
		if err != nil {
			t.Fatal(err)
		}
		cut.Store(true)
		time.Sleep(3 * quick.Lease)
		mine, err := other.Lock(ctx, "run")
		if err != nil {
			t.Fatal(err)
		}
		cut.Store(false)
		for range 2 {
			kind(t, "the lost lock", l.(store.HeldLock).Check(ctx), errs.Busy) //nolint:forcetypeassert // as above
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * quick.Lease)
		if err := mine.(store.HeldLock).Check(ctx); err != nil { //nolint:forcetypeassert // as above
			t.Error(err)
		}
		if err := mine.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
