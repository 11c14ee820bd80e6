package object_test

import (
	"context"
	"errors"
	"fmt"
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

// lateHead saves run/x, or replaces it, in a process that ends with the request for the head, which
// arrives hours later. If twice is set, the request is sent again at once, and is carried out.
func lateHead(t *testing.T, v *simulated.Server, overwrites, twice bool) {
	t.Helper()
	ended, n := false, 0
	st := object.New(v.Bucket(one(func(r simulated.Request) simulated.Fate {
		switch {
		case ended:
			return simulated.Fate{Err: errRefused}
		case r.Kind == "Put" && is(r.Key, "heads"):
			n++
			ended = !twice || n == 2
			if n == 1 {
				return simulated.Fate{Ghost: 5 * time.Hour}
			}
			return simulated.Fate{Lost: true}
		}
		return simulated.Fate{}
	})), "p/", quick)
	err := write(t.Context(), st, "run/x", store.TxnOptions{Overwrite: overwrites}, nil)
	if !ended || err == nil {
		t.Fatalf("a process that ended: %v", err)
	}
}

// What others do in the meantime.
var meantime = map[string]call{
	"clean":  meddled["clean"],
	"settle": meddled["settle"],
	"save":   func(ctx context.Context, st *object.Store) error { return saveDir(ctx, st, "run/x", "other") },
	"remove": func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/x") },
	"to":     func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/c", "run/x") },
	"away":   func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/x", "run/z") },
	"other": func(ctx context.Context, st *object.Store) error {
		return overwrite(ctx, st, "run/x", "other")
	},
}

// before are what the name was before: absent, free, a directory, or on its way to another name.
var before = map[string]func(ctx context.Context, v *simulated.Server) error{
	"absent": none,
	"free": func(ctx context.Context, v *simulated.Server) error {
		st, _ := process(v)
		return errors.Join(saveDir(ctx, st, "run/x", "first"), st.Rename(ctx, "run/x", "run/first"))
	},
	"a directory": func(ctx context.Context, v *simulated.Server) error {
		st, _ := process(v)
		return saveDir(ctx, st, "run/x", "first")
	},
	"moving": func(ctx context.Context, v *simulated.Server) error {
		return halfMoved(ctx, v, "run/x", "run/first", 2)
	},
	"about to move": func(ctx context.Context, v *simulated.Server) error {
		return halfMoved(ctx, v, "run/x", "run/first", 1)
	},
	"waiting": func(ctx context.Context, v *simulated.Server) error {
		return halfMoved(ctx, v, "run/first", "run/x", 1)
	},
	"almost left": func(ctx context.Context, v *simulated.Server) error {
		return halfMoved(ctx, v, "run/x", "run/first", 3)
	},
	"almost arrived": func(ctx context.Context, v *simulated.Server) error {
		return halfMoved(ctx, v, "run/first", "run/x", 2)
	},
}

// halfMoved saves a directory and renames it in a process that ends after n puts of heads.
func halfMoved(ctx context.Context, v *simulated.Server, from, to string, n int) error {
	first, _ := process(v)
	if err := saveDir(ctx, first, from, "first"); err != nil {
		return err
	}
	done := 0
	st := object.New(v.Bucket(one(func(r simulated.Request) simulated.Fate {
		if done == n {
			return simulated.Fate{Err: errRefused}
		}
		if r.Kind == "Put" && is(r.Key, "heads") {
			done++
		}
		return simulated.Fate{}
	})), "p/", quick)
	if err := st.Rename(ctx, from, to); !errors.Is(err, errRefused) {
		return fmt.Errorf("a rename that ended: %w", err)
	}
	return nil
}

// A commit whose process has ended is decided by the first CleanStaging or Settle after its lease,
// whatever the name was before and whatever others do with it before and after. A request for the
// head that arrives later changes nothing.
func TestLateHeads(t *testing.T) {
	orders := strings.Fields("clean settle save,clean other,clean to,clean save,settle save,away,clean " +
		"clean,save,remove " +
		"clean,save,away clean,to,away settle,save,remove save,clean,remove save,settle,remove other,clean,remove " +
		"to,clean,away save,clean,away other,away,clean remove,clean remove,save,clean clean,remove clean,away " +
		"away,clean save,remove,clean to,away,clean other,clean,clean,remove settle,clean,to,remove")
	for name, prepare := range before {
		for _, twice := range []bool{false, true} {
			t.Run(fmt.Sprint(name, "/", twice), func(t *testing.T) {
				for _, order := range orders {
					synctest.Test(t, func(t *testing.T) {
						ctx := t.Context()
						server := simulated.NewServer(0, simulated.Lies{})
						ok(t, saved("run/c")(ctx, server), prepare(ctx, server))
						lateHead(t, server, name == "a directory" || name == "about to move" || name == "almost arrived", twice)
						st, _ := process(server)
						var decided map[string]string
						for step := range strings.SplitSeq(order, ",") {
							if step == "clean" || step == "settle" {
								time.Sleep(2 * quick.Lease)
							}
							err := meantime[step](ctx, st)
							switch errs.KindOf(err) {
							case errs.Exists, errs.NotFound:
							default:
								ok(t, err)
							}
						}
						s := stop{server: server}
						decided = s.whole(ctx, st)
						time.Sleep(6 * time.Hour)
						if now := s.whole(ctx, st); fmt.Sprint(now) != fmt.Sprint(decided) {
							t.Errorf("%s: %q became %q", order, decided, now)
						}
						for range 2 {
							ok(t, meantime["clean"](ctx, st))
							time.Sleep(2 * quick.Grace)
						}
						if s.nothingLeft(s.whole(ctx, st)); len(s.broken) > 0 {
							t.Errorf("%s: %q", order, s.broken)
						}
					})
				}
			})
		}
	}
}

// Ending a dead transaction touches no name before its commit. It occupies no name that the commit
// would replace.
func TestFencesTouchLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		server, st := fresh(t, before["a directory"])
		dying, end := process(server)
		txn, err := dying.Begin(ctx, "run/x", store.TxnOptions{Overwrite: true})
		ok(t, err)
		end()
		txn.Abort() //nolint:errcheck // its process has ended
		time.Sleep(2 * quick.Lease)
		heads := 0
		watched := object.New(server.Bucket(one(func(r simulated.Request) simulated.Fate {
			if is(r.Key, "heads") && r.Changes {
				heads++
			}
			return simulated.Fate{}
		})), "p/", quick)
		if got := cleaned(t, watched, nil); len(got) != 1 || heads > 0 {
			t.Errorf("removed %q with %d changes of heads", got, heads)
		}
		lateHead(t, server, true, false)
		ok(t, st.RemoveTree(ctx, "run/x"))
		time.Sleep(2 * quick.Lease)
		if got := cleaned(t, st, nil); len(got) != 1 || len(left(server, "heads")) > 0 {
			t.Errorf("removed %q, left %q", got, left(server, "heads"))
		}
	})
}

// A call on a name or a directory in the middle of a move does what it does before the move, or
// after it. What was about to be removed before the move stays whole under its new name.
func TestHalfMoves(t *testing.T) {
	for k := range 4 {
		for what, do := range meddling {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				play := func(n int) outcome {
					server := simulated.NewServer(0, simulated.Lies{})
					st, _ := process(server)
					ok(t, saved("run/c")(ctx, server), saveDir(ctx, st, "run/f", "f"), st.Rename(ctx, "run/f", "run/g"))
					switch n {
					case 0:
						ok(t, saveDir(ctx, st, "run/a", "first"))
					case 4:
						ok(t, saveDir(ctx, st, "run/a", "first"), st.Rename(ctx, "run/a", "run/b"))
					default:
						ok(t, halfMoved(ctx, server, "run/a", "run/b", n))
					}
					fresh, _ := process(server)
					return (&middle{server: server}).result(ctx, do(ctx, fresh))
				}
				got, before, after := play(k), play(0), play(4)
				if !got.same(before) && !got.same(after) {
					t.Errorf("%s after %d requests for heads: %s: %s\nwant %s\nor   %s", what, k, got, got.text, before, after)
				}
			})
		}
	}
}

// A removal that was given up does not take the directory away from the name to which it moved
// since, wherever the process that moves it ends.
func TestMoveOfWhatWasAboutToGo(t *testing.T) {
	for k := int64(1); ; k++ {
		met := false
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			server, st := fresh(t, saved("run/a"))
			abandon(t, server, "run/a")
			var n atomic.Int64
			mover := object.New(server.Bucket(one(func(simulated.Request) simulated.Fate {
				if n.Add(1) >= k {
					met = true
					return simulated.Fate{Err: errRefused}
				}
				return simulated.Fate{}
			})), "p/", quick)
			mover.Rename(ctx, "run/a", "run/b") //nolint:errcheck // its process ends
			for range 2 {
				cleaned(t, st, nil)
				time.Sleep(2 * quick.Grace)
			}
			s := stop{server: server}
			if all := s.whole(ctx, st); len(all) != 1 || len(s.broken) > 0 {
				t.Errorf("at request %d: %q, %q", k, all, s.broken)
			}
		})
		if !met || t.Failed() {
			return
		}
	}
}

// abandon removes a directory in a process that ends before its head goes.
func abandon(t *testing.T, v *simulated.Server, name string) {
	t.Helper()
	st := object.New(v.Bucket(one(func(r simulated.Request) simulated.Fate {
		if is(r.Key, "heads") && r.Changes {
			return simulated.Fate{Err: errRefused}
		}
		return simulated.Fate{}
	})), "p/", quick)
	if err := st.RemoveTree(t.Context(), name); !errors.Is(err, errRefused) {
		t.Fatal(err)
	}
}

// A directory that is replaced may have another name for a moment, in the middle of the commit.
func TestReplacedDirectoryComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		server, other := fresh(t, saved("run/a"))
		commits, back := false, false
		st := object.New(server.Bucket(one(func(r simulated.Request) simulated.Fate {
			if commits && r.Kind == "Head" && r.Key == "p/run/a" && !back {
				back = true // the name was free a moment ago
				return simulated.Fate{Then: func() { ok(t, other.Rename(ctx, "run/z", "run/a")) }}
			}
			return simulated.Fate{}
		})), "p/", quick)
		p := pin(t, st, "run/a")
		txn, err := st.Begin(ctx, "run/a", store.TxnOptions{Replaces: p})
		ok(t, err, txn.Put(ctx, "d/0", []byte("written")))
		ok(t, other.Rename(ctx, "run/a", "run/z"))
		commits = true
		if ok(t, txn.Commit(ctx, store.Blob{Name: "manifest", Data: []byte("new")})); !back {
			t.Error("it did not come back")
		}
		if b, err := store.ReadAll(ctx, st, "run/a/manifest"); err != nil || string(b) != "new" {
			t.Errorf("%q, %v", b, err)
		}
	})
}

// The first request for a lease may be sent twice, and come a second time after another process has
// ended the transaction. A process that was stopped meanwhile then finds the document that it put
// first, and must not take it for its own: its objects are gone.
func TestLateLeases(t *testing.T) {
	for what, fate := range map[string]simulated.Fate{
		"late":       {Ghost: 20 * time.Minute},
		"carried on": {},
	} {
		bubble(t, what, func(t *testing.T) {
			s := on(t, saved("run/c"))
			var stopped atomic.Int64 // until then, in nanoseconds
			first := true
			st := object.New(s.server.Bucket(one(func(r simulated.Request) simulated.Fate {
				if r.Kind == "Put" && is(r.Key, "live") && first {
					first = false
					return fate
				}
				return simulated.Fate{Delay: time.Until(time.Unix(0, stopped.Load()))}
			})), "p/", quick)
			txn, err := st.Begin(s.ctx, "run/x", store.TxnOptions{})
			ok(t, err, txn.Put(s.ctx, "d/0", []byte("written")))
			stopped.Store(time.Now().Add(40 * time.Minute).UnixNano())
			time.Sleep(5 * time.Minute)
			if got := cleaned(t, s.other, nil); len(got) != 1 {
				t.Errorf("removed %q", got)
			}
			time.Sleep(time.Hour) // the request comes, then the process goes on
			err = txn.Commit(s.ctx, store.Blob{Name: "manifest", Data: []byte("new")})
			if errs.KindOf(err) != errs.NotFound {
				t.Errorf("a commit without objects: %v", err)
			}
			s.wants(map[string]string{"run/x/manifest": "", "run/x/d/0": ""})
			time.Sleep(2 * quick.Grace)
			cleaned(t, s.other, nil)
			if _, broken := nothingOf(t, s.server, s.other); len(broken) > 0 {
				t.Error(broken)
			}
		})
	}
}

// A lease that was put by one request is not changed before it is due.
func TestLeaseOfOneRequest(t *testing.T) {
	bubble(t, "begin", func(t *testing.T) {
		s := on(t, none)
		st, n := scripted(t, s.server)
		txn, err := st.Begin(s.ctx, "run/x", store.TxnOptions{})
		if ok(t, err, txn.Abort()); n.count("Put live/x") != 2 { // it begins, and is dead
			t.Errorf("%d puts of the lease: %q", n.count("Put live/x"), n.sent)
		}
	})
}

// A process whose lease may come back late does not begin if it cannot change the lease first.
func TestLateLeaseNotChanged(t *testing.T) {
	bubble(t, "refused", func(t *testing.T) {
		s := on(t, saved("run/c"))
		st, n := scripted(t, s.server,
			step{at: "Put live/x", fate: simulated.Fate{Ghost: 20 * time.Minute}},
			step{at: "Put live/x"},
			step{at: "Put live/x", fate: simulated.Fate{Err: errRefused}})
		if _, err := st.Begin(s.ctx, "run/x", store.TxnOptions{}); !errors.Is(err, errRefused) {
			t.Error(err)
		}
		sent := n.count("")
		time.Sleep(10 * quick.Lease)
		if n.count("") != sent {
			t.Error("it still renews the lease")
		}
		if got := cleaned(t, st, nil); len(got) != 1 {
			t.Errorf("removed %q", got)
		}
		time.Sleep(2 * quick.Grace)
		cleaned(t, s.other, nil)
		if _, broken := nothingOf(t, s.server, s.other); len(broken) > 0 {
			t.Error(broken)
		}
	})
}
