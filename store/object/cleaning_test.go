package object_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"slices"
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

// mine is how keys of the store's own begin in the directory run.
const mine = "p/run/.bivouac.objects/"

// raw puts a key, as a late request does.
func raw(t *testing.T, v *simulated.Server, key, text string) {
	t.Helper()
	if _, err := v.Bucket(nil).Put(t.Context(), key, []byte(text), sum([]byte(text)), object.Condition{}); err != nil {
		t.Fatal(err)
	}
}

// left returns the store's own keys of some kinds, without nonces.
func left(v *simulated.Server, kinds ...string) (all []string) {
	for _, key := range v.Keys() {
		if own, ok := strings.CutPrefix(key, mine); ok {
			if kind, _, _ := strings.Cut(own, "/"); slices.Contains(kinds, kind) {
				all = append(all, digits.ReplaceAllString(own, "x"))
			}
		}
	}
	return all
}

// cleaned calls CleanStaging, and returns the names without nonces.
func cleaned(t *testing.T, st *object.Store, keep func(store.Info) bool) []string {
	t.Helper()
	names, err := st.CleanStaging(t.Context(), "run", keep)
	if err != nil {
		t.Error(err)
	}
	for i, name := range names {
		names[i] = digits.ReplaceAllString(name, "x")
	}
	return names
}

func ok(t *testing.T, all ...error) {
	t.Helper()
	if err := errors.Join(all...); err != nil {
		t.Fatal(err)
	}
}

// What dead processes left is freed as soon as their leases are over. The names that are returned
// are the names of transactions that were never committed, and of removals that were finished.
func TestCleaningFreesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, st := fresh(t, litter)
		want := []string{"c.orbax-checkpoint-tmp-x", "half-false.orbax-checkpoint-tmp-x"}
		asked := map[string]bool{}
		keep := func(info store.Info) bool { asked[info.Name] = true; return true }
		if got := cleaned(t, st, keep); len(got) > 0 || len(asked) != 4 {
			t.Errorf("removed %q, asked about %d names", got, len(asked))
		}
		if got := cleaned(t, st, nil); !slices.Equal(got, want) {
			t.Errorf("removed %q, want %q", got, want)
		}
		s := stop{server: server}
		if s.nothingLeft(s.whole(t.Context(), st)); len(s.broken) > 0 {
			t.Error(s.broken)
		}
		if got := cleaned(t, st, nil); len(got) > 0 {
			t.Errorf("removed %q once more", got)
		}
	})
}

// A removal that nobody finishes stays as long as the caller keeps it.
func TestKeptRemovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, st := fresh(t, saved("run/a"))
		dying, end := process(server)
		_, err := dying.Hide(t.Context(), "run/a")
		ok(t, err)
		end()
		if got := cleaned(t, st, func(store.Info) bool { return true }); len(got) > 0 || len(left(server, "data")) == 0 {
			t.Errorf("removed %q, left %q", got, left(server, "data"))
		}
		if got := cleaned(t, st, nil); len(got) != 1 || len(left(server, "data", "gone")) > 0 {
			t.Errorf("removed %q, left %q", got, left(server, "data", "gone"))
		}
	})
}

// A store ends none of its own transactions, even if its signs of life do not come through: not one
// that is written, and not one whose head is on its way.
func TestOwnTransactionsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		server, _ := fresh(t, saved("run/c"))
		var cut atomic.Bool
		var st *object.Store
		quiet := func() {
			cut.Store(true)
			time.Sleep(3 * quick.Lease)
			defer cut.Store(false)
			if got := cleaned(t, st, nil); len(got) > 0 {
				t.Errorf("removed %q", got)
			}
			if err := st.Settle(ctx, "run"); err != nil {
				t.Error(err)
			}
		}
		once := false
		st = object.New(server.Bucket(func(r simulated.Request) simulated.Fate {
			switch {
			case r.Kind == "Put" && is(r.Key, "live") && cut.Load():
				return simulated.Fate{Err: errRefused}
			case r.Kind == "Put" && is(r.Key, "heads") && !once:
				once = true
				quiet()
			}
			return simulated.Fate{}
		}), "p/", quick)
		txn, err := st.Begin(ctx, "run/a", store.TxnOptions{})
		ok(t, err, txn.Put(ctx, "x", []byte("x")))
		quiet()
		ok(t, txn.Commit(ctx, store.Blob{Name: "manifest"}))
		if names, err := list(st.List(ctx, "run/a")); err != nil || len(names) != 2 {
			t.Errorf("%q, %v", names, err)
		}
	})
}

// CleanStaging leaves what it does not know.
func TestStrangeLeases(t *testing.T) {
	server, st := fresh(t, saved("run/c"))
	raw(t, server, mine+"live/strange", `{"version":1,"phase":"dead","final":"run/strange","holder":"","nonce":""}`)
	if got := cleaned(t, st, nil); len(got) > 0 || len(left(server, "live")) != 1 {
		t.Errorf("removed %q, left %q", got, left(server, "live"))
	}
}

// An abort that is cut short after it has said that the transaction is dead is finished at once. It
// costs no name a key.
func TestAbortCutShort(t *testing.T) {
	for what, commits := range map[string]bool{"of a transaction": false, "of a commit": true} {
		t.Run(what, func(t *testing.T) {
			ctx := t.Context()
			server, other := fresh(t, saved("run/c"))
			aborts, over := !commits, false
			armed := false
			st := object.New(server.Bucket(one(func(r simulated.Request) simulated.Fate {
				switch {
				case over, armed && r.Kind == "Put" && is(r.Key, "heads"):
					aborts = true
					return simulated.Fate{Err: errRefused}
				case armed && aborts && r.Kind == "Put" && is(r.Key, "live"):
					over = true
				}
				return simulated.Fate{}
			})), "p/", quick)
			txn, err := st.Begin(ctx, "run/a", store.TxnOptions{})
			ok(t, err, txn.Put(ctx, "x", []byte("x")))
			armed = true
			if commits {
				err = txn.Commit(ctx, store.Blob{Name: "manifest"})
			} else {
				err = txn.Abort()
			}
			if !errors.Is(err, errRefused) || !over {
				t.Fatal(err, over)
			}
			if got := cleaned(t, other, nil); len(got) != 1 {
				t.Errorf("removed %q", got)
			}
			if keys := left(server, "live", "gone", "heads"); !slices.Equal(keys, []string{"heads/c"}) {
				t.Errorf("%q", keys)
			}
		})
	}
}

// Keys of transactions without name, lease or note stay until all of them are older than the grace.
func TestSweep(t *testing.T) {
	const txn = mine + "data/o.orbax-checkpoint-tmp-0123456789abcdef/"
	for what, c := range map[string]struct {
		old, young []string // keys
		free       bool
	}{
		"old":                     {[]string{"objects/x", "tree"}, nil, true},
		"old, with notes":         {[]string{"objects/x", "users/run%2Fnone.orbax-checkpoint-tmp-0"}, nil, true},
		"young":                   {nil, []string{"objects/x"}, false},
		"the first is young":      {[]string{"objects/b", "objects/c"}, []string{"objects/a"}, false},
		"the last is young":       {[]string{"objects/a", "objects/b"}, []string{"objects/c"}, false},
		"notes of living users":   {[]string{"users/LIVING"}, nil, true},
		"notes that are not old":  {nil, []string{"users/LIVING"}, false},
		"one in the middle young": {[]string{"objects/a", "objects/c"}, []string{"objects/b"}, false},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, st := fresh(t, saved("run/c"))
				living := strings.ReplaceAll(object.Sources(st, "run/c")[0], "/", "%2F")
				text := map[bool]string{true: "null\n"}
				for i, keys := range [][]string{c.old, c.young} {
					for _, key := range keys {
						body := text[strings.HasPrefix(key, "users/")]
						if key == "tree" {
							body = `{"version":1,"final":"run/o"}`
						}
						raw(t, server, txn+strings.Replace(key, "LIVING", living, 1), body)
					}
					if i == 0 {
						time.Sleep(2 * quick.Grace)
					}
				}
				cleaned(t, st, nil)
				count := 0
				for _, key := range server.Keys() {
					if strings.HasPrefix(key, txn) {
						count++
					}
				}
				if want := len(c.old) + len(c.young); c.free && count > 0 || !c.free && count != want {
					t.Errorf("%d of %d keys are left", count, want)
				}
			})
		})
	}
}

// Cleaning costs no request more for each directory that is whole, and one if something has to be
// looked for.
func TestCleaningCosts(t *testing.T) {
	requests := func(directories int, orphan bool) (n int64) {
		synctest.Test(t, func(t *testing.T) {
			server, st := fresh(t, none)
			for i := range directories {
				ok(t, saveDir(t.Context(), st, fmt.Sprint("run/", i), "x"))
			}
			if orphan {
				raw(t, server, mine+"data/o.orbax-checkpoint-tmp-0123456789abcdef/objects/x", "x")
			}
			b := &counted{Bucket: server.Bucket(nil)}
			cleaned(t, object.New(b, "p/", quick), nil)
			n = b.calls.Load()
		})
		return n
	}
	if few, many := requests(3, false), requests(13, false); few != many {
		t.Errorf("%d requests beside 3 directories, %d beside 13", few, many)
	}
	if few, many := requests(3, true), requests(13, true); many-few != 10 {
		t.Errorf("%d requests beside 3 directories, %d beside 13, want 10 more", few, many)
	}
}

// racing is a bucket whose uploads are gone when they are aborted, as if somebody else had been
// quicker.
type racing struct{ object.Bucket }

func (r racing) Uploads(ctx context.Context, prefix string) iter.Seq2[object.Unfinished, error] {
	return func(yield func(object.Unfinished, error) bool) {
		for u, err := range r.Bucket.Uploads(ctx, prefix) {
			abort := u.Abort
			u.Abort = func(ctx context.Context) error {
				return errors.Join(abort(ctx), &errs.Error{Kind: errs.NotFound, Op: "Abort", Subject: u.Key})
			}
			if !yield(u, err) {
				return
			}
		}
	}
}

// Uploads of living transactions go on. Uploads of transactions that are over are aborted, also
// where nothing else is left of the directory, and also if somebody else is quicker.
func TestCleaningOfUploads(t *testing.T) {
	ctx := t.Context()
	server, st := fresh(t, none)
	_, err := st.CleanStaging(ctx, "run", nil)
	kind(t, "no directory", err, errs.NotFound)
	begin := func() {
		_, err := server.Bucket(nil).Begin(ctx, mine+"data/o.orbax-checkpoint-tmp-0123456789abcdef/objects/x")
		ok(t, err)
	}
	begin()
	_, err = st.CleanStaging(ctx, "run", nil)
	if kind(t, "no directory", err, errs.NotFound); server.Uploads() != 0 {
		t.Errorf("%d uploads", server.Uploads())
	}
	txn, err := st.Begin(ctx, "run/a", store.TxnOptions{})
	ok(t, err)
	w, err := txn.Create(ctx, "x", 200)
	ok(t, err)
	begin()
	_, err = object.New(racing{server.Bucket(nil)}, "p/", quick).CleanStaging(ctx, "run", nil)
	if ok(t, err); server.Uploads() != 1 {
		t.Errorf("%d uploads, want 1 of a transaction that goes on", server.Uploads())
	}
	ok(t, w.WriteAt(ctx, make([]byte, 200), 0), w.Seal(ctx), txn.Commit(ctx, store.Blob{Name: "manifest"}))
	uploads := 0
	refusing := object.New(server.Bucket(one(func(r simulated.Request) simulated.Fate {
		if r.Kind == "Uploads" {
			uploads++
		}
		return simulated.Fate{Err: errRefused}
	})), "p/", quick)
	if _, err := refusing.CleanStaging(ctx, "run", nil); !errors.Is(err, errRefused) || uploads > 0 {
		t.Errorf("%v, and %d requests for uploads", err, uploads)
	}
}

// An upload of a dead transaction is aborted with it, also if somebody else is quicker.
func TestUploadsOfTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, st := fresh(t, saved("run/c"))
		dying, end := process(server)
		txn, err := dying.Begin(t.Context(), "run/a", store.TxnOptions{})
		ok(t, err)
		for _, name := range []string{"x", "y"} {
			_, err = txn.Create(t.Context(), name, 200)
			ok(t, err)
		}
		end()
		txn.Abort() //nolint:errcheck // its process has ended
		time.Sleep(2 * quick.Lease)
		racer := object.New(racing{server.Bucket(nil)}, "p/", quick)
		if got := cleaned(t, racer, nil); len(got) != 1 || server.Uploads() > 0 {
			t.Errorf("removed %q, left %d uploads", got, server.Uploads())
		}
		if _, err := list(st.List(t.Context(), "run")); err != nil {
			t.Error(err)
		}
	})
}

// When the last user of a removed directory goes, the directory is freed with it. What Hide took
// the name from stays until the caller frees it.
func TestLastUserFrees(t *testing.T) {
	ctx := t.Context()
	server, st := fresh(t, linked)
	ok(t, st.RemoveTree(ctx, "run/a"), st.RemoveTree(ctx, "run/b"))
	if keys := left(server, "data", "gone", "live", "heads"); len(keys) > 0 {
		t.Errorf("%q are left", keys)
	}
	server, st = fresh(t, linked)
	free, err := st.Hide(ctx, "run/a")
	ok(t, err, st.RemoveTree(ctx, "run/b"))
	before := left(server, "data")
	if got := cleaned(t, st, nil); len(got) > 0 || len(before) == 0 || !slices.Equal(before, left(server, "data")) {
		t.Errorf("removed %q of %q", got, before)
	}
	if ok(t, free()); len(left(server, "data", "gone")) > 0 {
		t.Errorf("%q are left", left(server, "data", "gone"))
	}
}

// A note of a user that does not exist, which a late request has left, keeps nothing.
func TestNotesOfNobody(t *testing.T) {
	server, st := fresh(t, saved("run/a"))
	txn := strings.TrimPrefix(object.Sources(st, "run/a")[0], "run/")
	raw(t, server, mine+"data/"+txn+"/users/run%2Fnone.orbax-checkpoint-tmp-0", "null\n")
	raw(t, server, mine+"data/"+txn+"/users/run%2Fno.orbax-checkpoint-tmp-0", `{"objects":["d/0"]}`)
	if ok(t, st.RemoveTree(t.Context(), "run/a")); len(left(server, "data", "gone")) > 0 {
		t.Errorf("%q are left", left(server, "data", "gone"))
	}
}

// Settle decides about commits of this process that nobody works on, and of processes that have
// ended, at once. It decides about other ones when their leases are over, and not before.
func TestSettleDecides(t *testing.T) {
	child := exec.Command("true")
	for what, c := range map[string]struct {
		holder, process string
		waits           bool
	}{
		"this process":           {"", "", false},
		"an ended process":       {"somebody", "child", false},
		"an unknown process":     {"somebody", "{}", true},
		"another living process": {"somebody", "parent", true},
	} {
		switch c.process {
		case "child":
			if runtime.GOOS != "linux" || child.Run() != nil {
				continue
			}
			c.process = object.Process(child.Process.Pid)
		case "parent":
			c.process = object.Process(os.Getppid())
		}
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				server, st := fresh(t, saved("run/c"))
				ok(t, halfway(ctx, server, "run/x", false), halfway(ctx, server, "run/y", true))
				for _, key := range server.Keys() {
					if is(key, "live") && c.holder != "" {
						doc, _, err := server.Bucket(nil).Read(ctx, key, 1<<20)
						ok(t, err)
						_, after, _ := strings.Cut(string(doc), `"holder":"`)
						holder, _, _ := strings.Cut(after, `"`)
						text := strings.Replace(string(doc), holder, c.holder, 1)
						text = strings.Replace(text, strings.Trim(object.Process(os.Getpid()), "{}"), strings.Trim(c.process, "{}"), 1)
						raw(t, server, key, strings.Replace(text, ",,", ",", 1))
					}
				}
				ok(t, st.Settle(ctx, "run"))
				if n := len(left(server, "live")); n != map[bool]int{false: 0, true: 2}[c.waits] {
					t.Errorf("%d are left undecided", n)
				}
				time.Sleep(2 * quick.Lease)
				ok(t, st.Settle(ctx, "run"))
				if n := len(left(server, "live")); n > 0 {
					t.Errorf("%d are left undecided after the lease", n)
				}
				if names, err := list(st.List(ctx, "run")); err != nil || !slices.Equal(names, []string{"c", "loose", "y"}) {
					t.Errorf("%q, %v", names, err)
				}
			})
		})
	}
}

// A removal leaves no key, and neither does one after a commit whose reply was lost: no request can
// come late that depends on the tag of what was replaced. Where the server cannot remove on a
// condition, a key stays that frees the name.
func TestKeysOfRemovedNames(t *testing.T) {
	for what, c := range map[string]struct {
		lies  simulated.Lies
		lose  bool
		leave int
	}{
		"plain":                   {},
		"the reply was lost":      {lose: true},
		"no removal on condition": {lies: simulated.Lies{NoDelete: true}, leave: 1},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				server := simulated.NewServer(0, c.lies)
				lose := false
				st := object.New(server.Bucket(one(func(r simulated.Request) simulated.Fate {
					f := simulated.Fate{Lost: lose && r.Kind == "Put" && is(r.Key, "heads")}
					lose = lose && !f.Lost
					return f
				})), "p/", quick)
				ok(t, saveDir(ctx, st, "run/a", "a"))
				lose = c.lose
				ok(t, overwrite(ctx, st, "run/a", "b"), st.RemoveTree(ctx, "run/a"))
				if keys := left(server, "heads", "live", "gone", "data"); lose || len(keys) != c.leave {
					t.Errorf("%q are left", keys)
				}
				ok(t, saveDir(ctx, st, "run/a", "again"))
			})
		})
	}
}
