package object_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// one is a network that decides about one request after the other.
func one(n simulated.Network) simulated.Network {
	var mu sync.Mutex
	return func(r simulated.Request) simulated.Fate {
		mu.Lock()
		defer mu.Unlock()
		return n(r)
	}
}

// switched is a network whose fates of puts of a kind of key change.
type switched struct {
	mu   sync.Mutex
	kind string
	fate simulated.Fate
	puts int // of this kind of key
	all  int // requests
}

func (s *switched) of(r simulated.Request) simulated.Fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all++
	if r.Kind == "Put" && (is(r.Key, s.kind) || strings.HasSuffix(r.Key, "/"+s.kind)) {
		s.puts++
		return s.fate
	}
	return simulated.Fate{}
}

// set gives puts of a kind of key a fate, and returns how many there were.
func (s *switched) set(kind string, f simulated.Fate) (puts, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kind, s.fate = kind, f
	return s.puts, s.all
}

// A sign of life whose replies are all lost counts if it has arrived, and the next one succeeds.
// One that was never carried out is an error, and costs neither the lock nor the lease.
func TestSignsOfLife(t *testing.T) {
	for what, c := range map[string]struct {
		fate simulated.Fate
		want errs.Kind
	}{
		"replies are lost": {simulated.Fate{Lost: true}, errs.Other},
		"servers fail":     {simulated.Fate{Err: simulated.ErrServer}, errs.IO},
		"a refusal":        {simulated.Fate{Err: errRefused}, errs.IO},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				server, other := fresh(t, saved("run/c"))
				n := &switched{kind: "lock"}
				st := object.New(server.Bucket(n.of), "p/", quick)
				held, err := st.Lock(ctx, "run")
				ok(t, err)
				l := held.(store.HeldLock) //nolint:forcetypeassert // the store's locks are held locks
				n.set("lock", c.fate)
				err = l.Check(ctx)
				if n.set("lock", simulated.Fate{}); errs.KindOf(err) != c.want || c.want == errs.Other && err != nil {
					t.Errorf("a check: %v", err)
				}
				ok(t, l.Check(ctx))
				_, err = other.Lock(ctx, "run")
				kind(t, "the lock of another", err, errs.Busy)
				ok(t, l.Close())

				txn, err := st.Begin(ctx, "run/a", store.TxnOptions{})
				ok(t, err)
				n.set("live", c.fate)
				time.Sleep(quick.Lease)
				n.set("live", simulated.Fate{})
				time.Sleep(2 * quick.Lease)
				if got := cleaned(t, other, nil); len(got) > 0 {
					t.Errorf("removed %q", got)
				}
				ok(t, txn.Put(ctx, "x", nil), txn.Commit(ctx, store.Blob{Name: "manifest"}))
			})
		})
	}
}

// After the lock or the lease is lost no request is sent for it. The error says whether another
// process took the lock or something removed it.
func TestNoSignsAfterLoss(t *testing.T) {
	for what, want := range map[string]errs.Kind{"taken": errs.Busy, "removed": errs.NotFound} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			server, _ := fresh(t, saved("run/c"))
			n := &switched{kind: "lock"}
			st := object.New(server.Bucket(n.of), "p/", quick)
			held, err := st.Lock(ctx, "run")
			ok(t, err)
			l := held.(store.HeldLock) //nolint:forcetypeassert // the store's locks are held locks
			if what == "taken" {
				raw(t, server, mine+"lock", `{"version":1,"holder":"another","fence":2,"nonce":"1"}`)
			} else {
				ok(t, server.Bucket(nil).DeleteAll(ctx, []string{mine + "lock"}))
			}
			kind(t, what, l.Check(ctx), want)
			_, before := n.set("lock", simulated.Fate{})
			kind(t, what+", once more", l.Check(ctx), want)
			ok(t, l.Close(), l.Close())
			if _, all := n.set("lock", simulated.Fate{}); all != before {
				t.Errorf("%d requests for a lost lock", all-before)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		server, _ := fresh(t, saved("run/c"))
		n := &switched{kind: "lock"}
		st := object.New(server.Bucket(n.of), "p/", quick)
		l, err := st.Lock(ctx, "run")
		ok(t, err, l.Close())
		_, before := n.set("lock", simulated.Fate{})
		ok(t, l.Close())
		if _, all := n.set("live", simulated.Fate{}); all != before {
			t.Errorf("%d requests for a lock that was given back", all-before)
		}
		txn, err := st.Begin(ctx, "run/a", store.TxnOptions{})
		ok(t, err)
		for _, key := range server.Keys() {
			if is(key, "live") {
				raw(t, server, key, `{"version":1,"phase":"dead","final":"run/a","holder":"","nonce":"1"}`)
			}
		}
		time.Sleep(quick.Lease)
		before, _ = n.set("live", simulated.Fate{})
		time.Sleep(5 * quick.Lease)
		kind(t, "a write", txn.Put(ctx, "x", nil), errs.NotFound)
		kind(t, "an abort", txn.Abort(), errs.NotFound)
		if puts, _ := n.set("live", simulated.Fate{}); puts != before {
			t.Errorf("%d signs of a lost lease", puts-before)
		}
	})
}

// A lost reply to the last request of an object: the object is there, or the error says that it may
// be. In a shared transaction somebody else may have made it.
func TestLostRepliesToObjects(t *testing.T) {
	once := func(kind string, fate simulated.Fate) simulated.Network {
		done := false
		return func(r simulated.Request) simulated.Fate {
			if r.Kind == kind && is(r.Key, "objects") && !done {
				done = true
				return fate
			}
			return simulated.Fate{}
		}
	}
	for what, c := range map[string]struct {
		fate           simulated.Fate
		alone, sharing bool // is an error
	}{
		"lost":              {simulated.Fate{Lost: true}, false, true},
		"not carried out":   {simulated.Fate{Err: simulated.ErrServer}, false, false},
		"told to come back": {simulated.Fate{Err: simulated.ErrConflict}, false, false},
	} {
		for _, shared := range []bool{false, true} {
			for _, size := range []int{10, 200} {
				synctest.Test(t, func(t *testing.T) {
					ctx := t.Context()
					server, _ := fresh(t, none)
					st := object.New(server.Bucket(one(once(map[int]string{10: "Put", 200: "Complete"}[size], c.fate))), "p/", quick)
					txn, err := st.Begin(ctx, "run/a", store.TxnOptions{Shared: shared})
					ok(t, err)
					defer txn.Abort() //nolint:errcheck // of a test
					w, err := txn.Create(ctx, "x", int64(size))
					ok(t, err, w.WriteAt(ctx, bytes.Repeat([]byte("x"), size), 0))
					err = w.Seal(ctx)
					fails := shared && c.sharing || !shared && c.alone
					if fails != errors.Is(err, store.ErrUncertain) || fails != (err != nil) {
						t.Errorf("%s, shared %t, %d bytes: %v", what, shared, size, err)
					}
				})
			}
		}
	}
	synctest.Test(t, func(t *testing.T) { // the upload is gone, and the object is not there
		ctx := t.Context()
		server, _ := fresh(t, none)
		st := object.New(server.Bucket(one(func(r simulated.Request) simulated.Fate {
			if r.Kind == "Complete" {
				for u, err := range server.Bucket(nil).Uploads(ctx, "") {
					ok(t, err, u.Abort(ctx))
				}
				return simulated.Fate{Err: simulated.ErrServer}
			}
			return simulated.Fate{}
		})), "p/", quick)
		txn, err := st.Begin(ctx, "run/a", store.TxnOptions{})
		ok(t, err)
		w, err := txn.Create(ctx, "x", 200)
		ok(t, err, w.WriteAt(ctx, make([]byte, 200), 0))
		if err := w.Seal(ctx); !errors.Is(err, store.ErrUncertain) {
			t.Error(err)
		}
		ok(t, txn.Abort())
	})
}

// The last part of an object arrives before the upload is aborted, by the writer or by its
// transaction.
func TestAbortWaitsForParts(t *testing.T) {
	for what, abort := range map[string]func(store.Txn, store.Writer) error{
		"the writer":      func(_ store.Txn, w store.Writer) error { return w.Abort() },
		"the transaction": func(txn store.Txn, _ store.Writer) error { return txn.Abort() },
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			server, _ := fresh(t, none)
			var sent []string
			st := object.New(server.Bucket(one(func(r simulated.Request) simulated.Fate {
				if r.Kind == "Part" {
					return simulated.Fate{Delay: time.Second, Then: func() { sent = append(sent, r.Kind) }}
				}
				if r.Kind == "Abort" {
					sent = append(sent, r.Kind)
				}
				return simulated.Fate{}
			})), "p/", quick)
			txn, err := st.Begin(ctx, "run/a", store.TxnOptions{})
			ok(t, err)
			w, err := txn.Create(ctx, "x", 200)
			ok(t, err)
			done := make(chan struct{})
			go func() {
				defer close(done)
				w.WriteAt(ctx, make([]byte, 64), 0) //nolint:errcheck // the order of requests counts
			}()
			synctest.Wait()
			ok(t, abort(txn, w))
			<-done
			if got := strings.Join(sent, " "); got != "Part Abort" {
				t.Errorf("%s: %s", what, got)
			}
			if server.Uploads() > 0 {
				t.Errorf("%s: an upload is left", what)
			}
			ok(t, txn.Abort())
		})
	}
}

// The first error of a writer and of a transaction is the one that is told from then on.
func TestFirstErrorStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		server, _ := fresh(t, none)
		n, requests := simulated.Fate{}, 0
		st := object.New(server.Bucket(one(func(r simulated.Request) simulated.Fate {
			requests++
			if r.Kind == "Part" || r.Kind == "Put" && is(r.Key, "objects") {
				return n
			}
			return simulated.Fate{}
		})), "p/", quick)
		txn, err := st.Begin(ctx, "run/a", store.TxnOptions{})
		ok(t, err)
		w, err := txn.Create(ctx, "x", 128)
		ok(t, err)
		n.Lost = true // it arrives, and nobody knows
		first := w.WriteAt(ctx, make([]byte, 64), 0)
		n.Lost = false
		if first == nil {
			t.Fatal("a part without a reply")
		}
		for range 2 {
			if err := w.Seal(ctx); err == nil || err.Error() != first.Error() {
				t.Errorf("%v, want %v", err, first)
			}
			if err := w.WriteAt(ctx, make([]byte, 64), 64); err == nil || err.Error() != first.Error() {
				t.Errorf("%v, want %v", err, first)
			}
		}
		if err := txn.Commit(ctx, store.Blob{Name: "manifest"}); err == nil || err.Error() != first.Error() {
			t.Errorf("a commit: %v, want %v", err, first)
		}
		before := requests
		kind(t, "a second commit", txn.Commit(ctx, store.Blob{Name: "manifest"}), errs.Closed)
		if ok(t, txn.Abort()); requests != before {
			t.Errorf("%d requests after the end of a transaction", requests-before)
		}

		txn, err = st.Begin(ctx, "run/b", store.TxnOptions{})
		ok(t, err)
		n.Err = errRefused
		if err := txn.Put(ctx, "y", nil); !errors.Is(err, errRefused) {
			t.Error(err)
		}
		n.Err = nil
		w, err = txn.Create(ctx, "z", 3)
		kind(t, "an object after a failed put", err, errs.IO)
		if w != nil {
			t.Error("a writer after a failed put")
		}
		if err := txn.Commit(ctx, store.Blob{Name: "manifest"}); !errors.Is(err, errRefused) {
			t.Errorf("a commit after a failed put: %v", err)
		}

		txn, err = st.Begin(ctx, "run/c", store.TxnOptions{})
		ok(t, err)
		w, err = txn.Create(ctx, "z", 3)
		ok(t, err)
		n.Err = errRefused
		if err := txn.Put(ctx, "y", nil); !errors.Is(err, errRefused) {
			t.Error(err)
		}
		kind(t, "a byte after the end", w.WriteAt(ctx, []byte("1234"), 0), errs.Invalid)
		if err := txn.Commit(ctx, store.Blob{Name: "manifest"}); !errors.Is(err, errRefused) {
			t.Errorf("a commit after two errors: %v", err)
		}
	})
}

// A caller of a shared transaction that is too late for a name says so, and goes on if it began the
// transaction. One that joins while the commit goes on is told that there is no transaction.
func TestNamesOfSharedTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		server, other := fresh(t, saved("run/c"))
		var host, guest store.Txn
		asked := false
		st := object.New(server.Bucket(one(func(r simulated.Request) simulated.Fate {
			if r.Kind == "Put" && is(r.Key, "heads") {
				asked = true
				kind(t, "a write during the commit", guest.Put(ctx, "late", nil), errs.NotFound)
			}
			return simulated.Fate{}
		})), "p/", quick)
		host, err := st.Begin(ctx, "run/a", store.TxnOptions{Shared: true})
		ok(t, err)
		guest, err = other.Begin(ctx, "run/a", store.TxnOptions{Join: host.Staging()})
		ok(t, err, guest.Put(ctx, "x", []byte("guest")), guest.Link(ctx, "l", "run/c/d/0"))
		if guest.Stats().Files != 1 {
			t.Errorf("%+v", guest.Stats())
		}
		handing, err := other.Begin(ctx, "run/a", store.TxnOptions{Join: host.Staging()})
		ok(t, err, handing.Put(ctx, "y", []byte("y")), handing.Commit(ctx, store.Blob{}))
		err = host.Put(ctx, "x", []byte("host"))
		if errs.KindOf(err) != errs.Exists || errors.Is(err, store.ErrUncertain) ||
			!strings.Contains(err.Error(), "run/a/x") {
			t.Error(err)
		}
		if ok(t, host.Commit(ctx, store.Blob{Name: "manifest"})); !asked {
			t.Error("no write during the commit")
		}
	})
	ctx := context.Background()
	_, st := fresh(t, saved("run/c"))
	txn, err := st.Begin(ctx, "run/a", store.TxnOptions{})
	ok(t, err, txn.Put(ctx, "d/x", nil))
	kind(t, "a link to nothing", txn.Link(ctx, "d/y", "run/none"), errs.NotFound)
	kind(t, "an object in place of a directory", txn.Put(ctx, "d", nil), errs.Exists)
	kind(t, "a manifest whose name is taken", txn.Commit(ctx, store.Blob{Name: "d/x"}), errs.Exists)
	ok(t, txn.Abort())
}

// The first cleaning after the lease frees all that a process left, wherever it ended.
func TestFirstCleaningFreesAll(t *testing.T) {
	for _, name := range []string{
		"save", "overwrite", "abort", "remove", "save with links", "remove what uses others", "clean",
	} {
		for k := int64(1); ; k++ {
			met := false
			synctest.Test(t, func(t *testing.T) {
				server, other := fresh(t, acts[name].prepare)
				n := int64(0)
				st := object.New(server.Bucket(one(func(simulated.Request) simulated.Fate {
					if n++; n >= k {
						met = true
						return simulated.Fate{Err: errRefused}
					}
					return simulated.Fate{}
				})), "p/", quick)
				acts[name].do(t.Context(), st) //nolint:errcheck // its process ends
				time.Sleep(2 * quick.Lease)
				if server.Keys() == nil || len(left(server, "live", "data", "heads", "gone")) == 0 {
					return
				}
				cleaned(t, other, nil)
				s := stop{server: server}
				if s.nothingLeft(s.whole(t.Context(), other)); len(s.broken) > 0 {
					t.Errorf("%s, at request %d: %q", name, k, s.broken)
				}
			})
			if !met || t.Failed() {
				break
			}
		}
	}
}

// The host frees the uploads of all callers when it aborts.
func TestAbortOfTheHost(t *testing.T) {
	ctx := t.Context()
	server, st := fresh(t, none)
	host, err := st.Begin(ctx, "run/a", store.TxnOptions{Shared: true})
	ok(t, err)
	guest, err := st.Begin(ctx, "run/a", store.TxnOptions{Join: host.Staging()})
	ok(t, err)
	for _, name := range []string{"x", "y"} {
		_, err := guest.Create(ctx, name, 200)
		ok(t, err)
	}
	if ok(t, host.Abort()); server.Uploads() > 0 || len(left(server, "data", "live")) > 0 {
		t.Errorf("%d uploads and %q are left", server.Uploads(), left(server, "data", "live"))
	}
}

// A commit whose head may still come keeps its data. One that failed before its head frees them at
// once. One whose context ends before its head does not put it.
func TestEndsOfCommits(t *testing.T) {
	for what, c := range map[string]struct {
		fate      simulated.Fate
		of        string // the kind of key
		uncertain bool
	}{
		"the head comes late":   {simulated.Fate{Ghost: time.Hour}, "heads", true},
		"the head is refused":   {simulated.Fate{Err: errRefused}, "heads", false},
		"the tree is refused":   {simulated.Fate{Err: errRefused}, "tree", false},
		"the tree is uncertain": {simulated.Fate{Lost: true}, "tree", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			server, other := fresh(t, none)
			n := &switched{kind: c.of, fate: c.fate}
			err := saveDir(ctx, object.New(server.Bucket(n.of), "p/", quick), "run/a", "text")
			if errors.Is(err, store.ErrUncertain) != c.uncertain || err == nil {
				t.Errorf("%s: %v", what, err)
			}
			if keys := left(server, "data", "live", "heads"); c.of != "heads" && len(keys) > 0 || !c.uncertain && len(keys) > 0 {
				t.Errorf("%s: %q are left", what, keys)
			}
			time.Sleep(2 * time.Hour)
			s := stop{server: server}
			if all := s.whole(ctx, other); len(s.broken) > 0 || (len(all) == 1) != (c.fate.Ghost > 0) {
				t.Errorf("%s: %q, %q", what, all, s.broken)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	server, other := fresh(t, none)
	leases := 0
	err := saveDir(ctx, object.New(server.Bucket(one(func(r simulated.Request) simulated.Fate {
		if r.Kind == "Put" && is(r.Key, "live") {
			if leases++; leases == 2 {
				return simulated.Fate{Then: cancel}
			}
		}
		return simulated.Fate{}
	})), "p/", quick), "run/a", "text")
	kind(t, "a commit that was canceled", err, errs.Canceled)
	if _, err := other.Stat(t.Context(), "run/a"); errs.KindOf(err) != errs.NotFound {
		t.Error(err)
	}
}

// Some calls send few requests: a pin reads the head and the tree, a save that is not shared asks
// for nothing of other callers, and a second link to the same directory notes nothing.
func TestFewRequests(t *testing.T) {
	ctx := t.Context()
	server, _ := fresh(t, saved("run/a"))
	var sent []string
	st := object.New(server.Bucket(one(func(r simulated.Request) simulated.Fate {
		sent = append(sent, r.Kind+" "+r.Key)
		return simulated.Fate{}
	})), "p/", quick)
	if pin(t, st, "run/a"); len(sent) != 2 {
		t.Errorf("a pin sends %q", sent)
	}
	if pin(t, st, "run/a"); len(sent) != 3 {
		t.Errorf("the second pin sends %q", sent[2:])
	}
	txn, err := st.Begin(ctx, "run/b", store.TxnOptions{})
	ok(t, err, txn.Link(ctx, "l/0", "run/a/d/0"))
	sent = nil
	ok(t, txn.Link(ctx, "l/1", "run/a/d/1"))
	if text := strings.Join(sent, "\n"); strings.Contains(text, "Put") {
		t.Errorf("a second link sends %s", text)
	}
	ok(t, txn.Commit(ctx, store.Blob{Name: "manifest"}))
	if text := strings.Join(sent, "\n"); strings.Contains(text, "/parts/") {
		t.Errorf("a commit sends %s", text)
	}
}

// An object whose move fails is where it was. With a directory go the objects that were put there
// later.
func TestMovesOfObjects(t *testing.T) {
	ctx := t.Context()
	server, other := fresh(t, later)
	st := object.New(server.Bucket(func(r simulated.Request) simulated.Fate {
		if r.Kind == "Put" && r.Key == "p/run/l" {
			return simulated.Fate{Err: errRefused}
		}
		return simulated.Fate{}
	}), "p/", quick)
	if err := st.Rename(ctx, "run/loose", "run/l"); !errors.Is(err, errRefused) {
		t.Error(err)
	}
	if b, err := store.ReadAll(ctx, other, "run/loose"); err != nil || string(b) != "loose" {
		t.Errorf("%q, %v", b, err)
	}
	ok(t, other.Rename(ctx, "run/a", "run/b"))
	if b, err := store.ReadAll(ctx, other, "run/b/later"); err != nil || string(b) != "later" {
		t.Errorf("%q, %v", b, err)
	}
}

// An answer that comes with the end of the deadline counts. A request without an answer may have
// been carried out, whatever the driver says of it.
func TestAnswersAtTheDeadline(t *testing.T) {
	for what, c := range map[string]struct {
		err       error
		want      errs.Kind
		uncertain bool
	}{
		"no answer":      {&errs.Error{Kind: errs.Canceled}, errs.IO, true},
		"the condition":  {&errs.Error{Kind: errs.Exists, Err: object.ErrCondition}, errs.Exists, false},
		"no bucket":      {noBucket, errs.IO, false},
		"it was carried": {nil, errs.Other, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := &wrong{Bucket: simulated.NewServer(0, simulated.Lies{}).Bucket(nil), put: func(
				_ object.Bucket, ctx context.Context, _ string, _ []byte, _ object.Condition,
			) (string, error) {
				<-ctx.Done()
				return "tag", c.err
			}}
			err := object.New(b, "p/", quick).Put(t.Context(), "x", nil, store.PutOptions{IfAbsent: true})
			if errs.KindOf(err) != c.want || errors.Is(err, store.ErrUncertain) != c.uncertain || c.err == nil && err != nil {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	st := object.New(simulated.NewServer(0, simulated.Lies{}).Bucket(nil), "", object.Options{Parallel: 3})
	if got := st.Properties().Parallel; got != 3 {
		t.Errorf("%d reads at once", got)
	}
}
