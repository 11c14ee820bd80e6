package object_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// The caller of CleanStaging says what stays. What it does not keep goes.
func TestCleaningAsksTheCaller(t *testing.T) {
	bubble(t, "nothing stays", func(t *testing.T) {
		s := on(t, litter)
		dying, end := process(s.server)
		_, err := dying.Hide(s.ctx, "run/b")
		ok(t, err)
		end()
		keep := func(store.Info) bool { return false }
		if got := cleaned(t, s.other, keep); len(got) < 3 {
			t.Errorf("removed %q", got)
		}
		if _, broken := nothingOf(t, s.server, s.other); len(broken) > 0 {
			t.Error(broken)
		}
	})
}

// What another process ends or frees while a call looks at it is no error.
func TestGoneMeanwhile(t *testing.T) {
	const orphan = "data/o.orbax-checkpoint-tmp-0123456789abcdef/"
	begin := func(s stage) func() {
		txn, err := s.other.Begin(s.ctx, "run/x", store.TxnOptions{})
		ok(s.T, err, txn.Put(s.ctx, "x", nil))
		return func() { ok(s.T, txn.Abort()) }
	}
	lease := func(s stage) func() {
		p := pin(s.T, s.other, "run/a")
		ok(s.T, p.Lease(s.ctx))
		return func() { ok(s.T, p.Close()) }
	}
	old := func(s stage) func() {
		raw(s.T, s.server, mine+orphan+"objects/x", "x")
		time.Sleep(2 * quick.Grace)
		return func() { ok(s.T, s.server.Bucket(nil).DeleteAll(s.ctx, []string{mine + orphan + "objects/x"})) }
	}
	for what, c := range map[string]struct {
		at      string
		prepare func(s stage) (end func())
		do      call
	}{
		"a transaction that is cleaned": {"Read live/x", begin, meddled["clean"]},
		"a transaction that is settled": {"Read live/x", begin, meddled["settle"]},
		"keys that are listed":          {"List data/o", old, meddled["clean"]},
		"keys that are looked at":       {"Head data/o", old, meddled["clean"]},
		"a lease of a reader":           {"Head data/a.orbax-checkpoint-tmp-x/users/reader-", lease, remove("run/a")},
		"a lease that is asked about": {"Head data/a.orbax-checkpoint-tmp-x/users/reader-", lease, func(ctx context.Context, st *object.Store) error {
			p, err := st.Pin(ctx, "run/a")
			if err != nil {
				return err
			}
			held, err := p.Leased(ctx)
			if held {
				err = errors.New("it is leased")
			}
			return errors.Join(err, p.Close(), st.RemoveTree(ctx, "run/a"))
		}},
		"a user": {"Read data/a.orbax-checkpoint-tmp-x/users/run", func(s stage) func() {
			ok(s.T, write(s.ctx, s.other, "run/u", store.TxnOptions{}, []string{"run/a/d/0"}))
			return s.does(remove("run/u"))
		}, remove("run/a")},
	} {
		bubble(t, what, func(t *testing.T) {
			s := on(t, saved("run/a"))
			st, _ := scripted(t, s.server, step{at: c.at, do: c.prepare(s)})
			ok(t, c.do(s.ctx, st))
			if _, broken := nothingOf(t, s.server, s.other); len(broken) > 0 {
				t.Error(broken)
			}
		})
	}
	bubble(t, "a lease that is over keeps nothing", func(t *testing.T) {
		s := on(t, leased)
		time.Sleep(2 * quick.Lease)
		if ok(t, s.other.RemoveTree(s.ctx, "run/a")); len(left(s.server, "data", "gone")) > 0 {
			t.Errorf("%q are left", left(s.server, "data", "gone"))
		}
	})
}

// CleanStaging frees no directory that loses its name while it looks for leftovers, if the caller
// that took the name frees it later.
func TestSweepLeavesWhatIsHidden(t *testing.T) {
	bubble(t, "hidden", func(t *testing.T) {
		s := on(t, saved("run/c"))
		raw(t, s.server, mine+"data/o.orbax-checkpoint-tmp-0123456789abcdef/objects/x", "x")
		time.Sleep(2 * quick.Grace)
		var free func() error
		st, _ := scripted(t, s.server, step{at: "Read heads/c", do: func() {
			var err error
			free, err = s.other.Hide(s.ctx, "run/c")
			ok(t, err)
		}})
		before := len(left(s.server, "data")) - 1 // without the leftover
		if cleaned(t, st, nil); len(left(s.server, "data")) != before {
			t.Errorf("%q, want %d keys", left(s.server, "data"), before)
		}
		if ok(t, free()); len(left(s.server, "data", "gone")) > 0 {
			t.Errorf("%q are left", left(s.server, "data", "gone"))
		}
	})
}

// Settle decides about commits only. A sign of life is one request, and asks nothing.
func TestSettleLeavesWhatIsWritten(t *testing.T) {
	bubble(t, "a dead process", func(t *testing.T) {
		s := on(t, saved("run/c"))
		dying, end := process(s.server)
		txn, err := dying.Begin(s.ctx, "run/x", store.TxnOptions{})
		ok(t, err)
		end()
		txn.Abort() //nolint:errcheck // its process has ended
		time.Sleep(2 * quick.Lease)
		if ok(t, s.other.Settle(s.ctx, "run")); len(left(s.server, "live")) != 1 {
			t.Errorf("%q", left(s.server, "live"))
		}
		if got := cleaned(t, s.other, nil); len(got) != 1 {
			t.Errorf("removed %q", got)
		}
	})
	bubble(t, "signs of life", func(t *testing.T) {
		s := on(t, none)
		st, n := scripted(t, s.server)
		txn, err := st.Begin(s.ctx, "run/x", store.TxnOptions{})
		ok(t, err)
		time.Sleep(5 * quick.Lease)
		if n.count("Put live/x") < 10 || n.count("Read live/x") > 0 {
			t.Errorf("%d signs, %d questions", n.count("Put live/x"), n.count("Read live/x"))
		}
		ok(t, txn.Abort())
	})
}

// What a holder of a lock learns from requests that fail: the lock is lost if another document is
// there, or none. If the reply is lost, the document decides.
func TestLocksInterrupted(t *testing.T) {
	taken := func(s stage) {
		raw(s.T, s.server, mine+"lock", `{"version":1,"holder":"another","fence":2,"nonce":"1"}`)
	}
	gone := func(s stage) { ok(s.T, s.server.Bucket(nil).DeleteAll(s.ctx, []string{mine + "lock"})) }
	refused := simulated.Fate{Err: errRefused}
	for what, c := range map[string]struct {
		steps func(s stage) []step
		want  errs.Kind
	}{
		"taken, and nobody knows whether it was removed": {func(s stage) []step {
			return []step{{at: "Put lock", do: func() { taken(s) }}, {at: "Head lock", fate: refused}}
		}, errs.Busy},
		"the reply is lost, and the lock is removed": {func(s stage) []step {
			return []step{{at: "Put lock", fate: simulated.Fate{Lost: true, Then: func() { gone(s) }}}}
		}, errs.NotFound},
		"the reply is lost, and the look is refused once": {func(stage) []step {
			return []step{{at: "Put lock", fate: simulated.Fate{Lost: true}}, {at: "Read lock", fate: refused}}
		}, errs.Other},
		"not carried out, and taken": {func(s stage) []step {
			return []step{{at: "Put lock", do: func() { taken(s) }, fate: simulated.Fate{Err: simulated.ErrServer}}}
		}, errs.Busy},
		"not carried out at first": {func(stage) []step {
			return []step{{at: "Put lock", fate: simulated.Fate{Err: simulated.ErrServer}}}
		}, errs.Other},
	} {
		bubble(t, what, func(t *testing.T) {
			s := on(t, saved("run/c"))
			st, _ := scripted(t, s.server, append([]step{{at: "Put lock"}}, c.steps(s)...)...)
			held, err := st.Lock(s.ctx, "run")
			ok(t, err)
			l := held.(store.HeldLock) //nolint:forcetypeassert // the store's locks are held locks
			err = l.Check(s.ctx)
			if kind(t, "a check", err, c.want); c.want == errs.Other {
				ok(t, err, l.Check(s.ctx))
			}
			ok(t, l.Close())
		})
	}
}

// The server fails once and the second attempt succeeds: then the call has succeeded.
func TestSecondAttempts(t *testing.T) {
	failed := simulated.Fate{Err: simulated.ErrServer}
	bubble(t, "an object", func(t *testing.T) {
		s := on(t, none)
		st, _ := scripted(t, s.server, step{at: "Put p/run/note", fate: failed})
		ok(t, st.Put(s.ctx, "run/note", []byte("text"), store.PutOptions{}))
		s.wants(map[string]string{"run/note": "text"})
	})
	bubble(t, "a lease whose reply is lost", func(t *testing.T) {
		s := on(t, none)
		st, _ := scripted(t, s.server, step{at: "Put live/x", fate: simulated.Fate{Lost: true}})
		ok(t, saveDir(s.ctx, st, "run/x", "new"))
		s.wants(map[string]string{"run/x/manifest": "new"})
	})
	bubble(t, "a lease", func(t *testing.T) {
		s := on(t, none)
		st, _ := scripted(t, s.server, step{at: "Put live/x", fate: failed}, step{at: "Put heads/x", fate: failed})
		ok(t, saveDir(s.ctx, st, "run/x", "new"))
		s.wants(map[string]string{"run/x/manifest": "new"})
	})
}

// A directory that is replaced or removed while its tree is read is read as it is then. One whose
// tree something else has removed is damaged.
func TestReadsInterrupted(t *testing.T) {
	reads := map[string]call{
		"Open": func(ctx context.Context, st *object.Store) error {
			b, err := store.ReadAll(ctx, st, "run/a/d/0")
			return isWritten(b, err)
		},
		"Pin": func(ctx context.Context, st *object.Store) error {
			p, err := st.Pin(ctx, "run/a")
			if err != nil {
				return err
			}
			b, err := store.ReadAll(ctx, p, "run/a/d/0")
			return errors.Join(isWritten(b, err), p.Close())
		},
		"Link": func(ctx context.Context, st *object.Store) error {
			return write(ctx, st, "run/l", store.TxnOptions{}, []string{"run/a/d/0"})
		},
	}
	noTree := func(s stage) func() {
		tree := mine + "data/" + strings.TrimPrefix(object.Sources(s.other, "run/a")[0], "run/") + "/tree"
		return func() { ok(s.T, s.server.Bucket(nil).DeleteAll(s.ctx, []string{tree})) }
	}
	for name, read := range reads {
		for what, c := range map[string]struct {
			steps func(s stage) []step
			want  error
		}{
			"replaced": {func(s stage) []step { return []step{{at: readTree, do: s.does(overwrites("run/a", "new"))}} }, nil},
			"removed":  {func(s stage) []step { return []step{{at: readTree, do: s.does(remove("run/a"))}} }, errs.NotFound},
			"damaged":  {func(s stage) []step { return []step{{at: readTree, do: noTree(s)}} }, errs.Corrupt},
			"damaged, and the look is refused": {func(s stage) []step {
				return []step{{at: readTree, do: noTree(s)}, {at: "Read heads/a", fate: simulated.Fate{Err: errRefused}}}
			}, errRefused},
		} {
			bubble(t, name+"/"+what, func(t *testing.T) {
				s := on(t, saved("run/a"))
				st, _ := scripted(t, s.server, c.steps(s)...)
				if err := read(s.ctx, st); c.want == nil && err != nil || !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
				if what == "replaced" && name == "Link" {
					s.wants(map[string]string{"run/l/l/0": "written"})
				}
			})
		}
	}
}

// isWritten returns an error unless an object has what overwrite writes.
func isWritten(b []byte, err error) error {
	if err == nil && string(b) != "written" {
		err = fmt.Errorf("%q", b)
	}
	return err
}

// A link whose directory is replaced or removed at this moment leads to what is there then, or
// fails.
func TestLinksInterrupted(t *testing.T) {
	for what, c := range map[string]struct {
		do   call
		want string
	}{
		"nobody":   {meddling["nothing"], "run/a 0"},
		"replaced": {overwrites("run/a", "other"), "written"},
		"removed":  {remove("run/a"), ""},
	} {
		bubble(t, what, func(t *testing.T) {
			s := on(t, saved("run/a"))
			st, _ := scripted(t, s.server, step{at: "Put data/b.orbax-checkpoint-tmp-x/uses/", do: s.does(c.do)})
			txn, err := st.Begin(s.ctx, "run/b", store.TxnOptions{})
			ok(t, err)
			err = txn.Link(s.ctx, "d/0", "run/a/d/0")
			if c.want == "" {
				kind(t, "a link", err, errs.NotFound)
				err = txn.Put(s.ctx, "d/0", nil) // the name is free
			} else if err == nil {
				err = txn.Link(s.ctx, "other", "run/a/d/0")
			}
			ok(t, err, txn.Commit(s.ctx, store.Blob{Name: "manifest"}))
			if c.want == "" {
				return
			}
			s.wants(map[string]string{"run/b/d/0": c.want, "run/b/other": c.want})
			tree := mine + "data/" + strings.TrimPrefix(object.Sources(s.other, "run/b")[0], "run/") + "/tree"
			doc, _, err := s.server.Bucket(nil).Read(s.ctx, tree, 1<<20)
			// A name that stays the same is not written twice.
			if ok(t, err); strings.Count(string(doc), `"as":`) != 1 {
				t.Errorf("%s", doc)
			}
		})
	}
}

// A link of a transaction that goes on keeps all objects of its directory. After the commit the
// linked ones stay, and no other.
func TestLinksKeepWhatTheyNeed(t *testing.T) {
	for what, do := range map[string]func(s stage, commit func()){
		"removed before the commit": func(s stage, commit func()) { ok(s.T, s.other.RemoveTree(s.ctx, "run/a")); commit() },
		"removed after it":          func(s stage, commit func()) { commit(); ok(s.T, s.other.RemoveTree(s.ctx, "run/a")) },
	} {
		bubble(t, what, func(t *testing.T) {
			s := on(t, saved("run/a"))
			st, _ := process(s.server)
			txn, err := st.Begin(s.ctx, "run/b", store.TxnOptions{})
			ok(t, err, txn.Link(s.ctx, "l", "run/a/d/0"))
			do(s, func() { ok(t, txn.Commit(s.ctx, store.Blob{Name: "manifest"})) })
			s.wants(map[string]string{"run/b/l": "run/a 0"})
			cleaned(t, s.other, nil)
			s.wants(map[string]string{"run/b/l": "run/a 0"})
			for _, key := range left(s.server, "data") {
				if strings.HasSuffix(key, "/objects/d/1") {
					t.Errorf("%s is left", key)
				}
			}
		})
	}
}

// Leftovers are found beside names that are free, and all uploads that nobody completes.
func TestLeftoversBesideFreeNames(t *testing.T) {
	bubble(t, "leftovers", func(t *testing.T) {
		s := on(t, before["free"])
		raw(t, s.server, mine+"data/o.orbax-checkpoint-tmp-0123456789abcdef/objects/x", "x")
		time.Sleep(2 * quick.Grace)
		for _, name := range []string{"y", "z"} { // of a transaction that has no keys
			_, err := s.server.Bucket(nil).Begin(s.ctx, mine+"data/p.orbax-checkpoint-tmp-0123456789abcdef/objects/"+name)
			ok(t, err)
		}
		cleaned(t, s.other, nil)
		if _, broken := nothingOf(t, s.server, s.other); len(broken) > 0 {
			t.Error(broken)
		}
	})
}

// A name that becomes a directory while Begin looks at it is one, and may be replaced. A request
// that is refused is told.
func TestBeginsInterrupted(t *testing.T) {
	bubble(t, "it becomes a directory", func(t *testing.T) {
		s := on(t, none)
		st, _ := scripted(t, s.server, step{at: "Read heads/x", fate: simulated.Fate{Then: s.does(saves("run/x", "first"))}})
		ok(t, overwrite(s.ctx, st, "run/x", "new"))
		s.wants(map[string]string{"run/x/manifest": "new"})
	})
	ctx := t.Context()
	server, _ := fresh(t, saved("run/a"))
	begin := call(func(ctx context.Context, st *object.Store) error {
		return second(st.Begin(ctx, "run", store.TxnOptions{Overwrite: true}))
	})
	for k := 1; ; k++ {
		n := 0
		err := begin(ctx, object.New(server.Bucket(one(func(simulated.Request) simulated.Fate {
			if n++; n == k || n > mostRequests {
				return simulated.Fate{Err: errRefused}
			}
			return simulated.Fate{}
		})), "p/", quick))
		if k > 100 {
			t.Fatal("the call does not end")
		}
		if n < k {
			exists(t, err, "a directory that no transaction made")
			return
		}
		if !errors.Is(err, errRefused) {
			t.Errorf("at request %d: %v", k, err)
		}
	}
}

// A pinned directory of a bucket that is gone was not removed: nobody knows.
func TestFateWithoutBucket(t *testing.T) {
	ctx, missing := t.Context(), false
	server, _ := fresh(t, saved("run/a"))
	p := pin(t, object.New(server.Bucket(one(func(simulated.Request) simulated.Fate {
		if missing {
			return simulated.Fate{Err: noBucket}
		}
		return simulated.Fate{}
	})), "p/", quick), "run/a")
	missing = true
	if err := p.Fate(ctx, "run/a"); !errors.Is(err, store.ErrNoStore) || errors.Is(err, store.ErrRemoved) {
		t.Error(err)
	}
}

// A Store remembers the sixteen trees that it read last, each once, also if two calls read one at
// once.
func TestRememberedTrees(t *testing.T) {
	ctx := t.Context()
	var names []string
	for i := range 17 {
		names = append(names, fmt.Sprint("run/", i))
	}
	server, _ := fresh(t, saved(names...))
	var st *object.Store
	var reads []string
	st = object.New(server.Bucket(func(r simulated.Request) simulated.Fate {
		if r.Kind == "Read" && strings.HasSuffix(r.Key, "/tree") {
			if reads = append(reads, r.Key); len(reads) == 1 {
				ok(t, second(st.Stat(ctx, "run/0/d/0"))) // in the middle of the first call
			}
		}
		return simulated.Fate{}
	}), "p/", quick)
	read := func(want int, which ...int) {
		t.Helper()
		before := len(reads)
		for _, i := range which {
			ok(t, second(st.Stat(ctx, names[i]+"/d/0")))
		}
		if got := len(reads) - before; got != want {
			t.Errorf("%d trees are read, want %d", got, want)
		}
	}
	read(2, 0)
	read(15, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
	read(0, 0, 15)
	read(1, 16)
	read(1, 0)
	read(0, 16, 0, 2)
}
