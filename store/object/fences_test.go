package object_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// A request for a head that comes late does not bring a directory back that was replaced or
// removed, although nobody has cleaned up.
func TestLateHeadOfWhatIsGone(t *testing.T) {
	for what, c := range map[string]call{
		"removed": remove("run/x"),
		"replaced, and then removed": func(ctx context.Context, st *object.Store) error {
			return errors.Join(overwrite(ctx, st, "run/x", "other"), st.RemoveTree(ctx, "run/x"))
		},
		"replaced twice, and then removed": func(ctx context.Context, st *object.Store) error {
			return errors.Join(overwrite(ctx, st, "run/x", "other"), overwrite(ctx, st, "run/x", "another"),
				st.RemoveTree(ctx, "run/x"))
		},
	} {
		bubble(t, what, func(t *testing.T) {
			s := on(t, none)
			lateHead(t, s.server, false, true)
			ok(t, c(s.ctx, s.other))
			time.Sleep(6 * time.Hour)
			_, err := s.other.Stat(s.ctx, "run/x")
			kind(t, "what is gone", err, errs.NotFound)
		})
	}
	bubble(t, "the question fails", func(t *testing.T) {
		s := on(t, before["a directory"])
		st, _ := scripted(t, s.server, step{at: "Head live/x", fate: simulated.Fate{Err: errRefused}})
		if err := overwrite(s.ctx, st, "run/x", "new"); !errors.Is(err, errRefused) {
			t.Error(err)
		}
		s.wants(map[string]string{"run/x/manifest": "first"})
	})
}

// The reply to the first request for the head is lost, so that the head must be fenced. Whatever
// another process does then, the commit is done or uncertain, and a late request changes nothing.
func TestCommitsFence(t *testing.T) {
	for what, c := range map[string]struct {
		steps     func(s stage) []step // after the lost reply
		uncertain bool                 // since a request is refused
		want      string               // at the end; empty: nothing
	}{
		"nobody": {func(stage) []step { return nil }, false, "new"},
		"the look is refused": {func(stage) []step {
			return []step{{at: "Read heads/x", fate: simulated.Fate{Err: errRefused}}}
		}, true, "new"},
		"the fence is refused": {func(stage) []step {
			return []step{{at: "Put heads/x"}, {at: "Put heads/x", fate: simulated.Fate{Err: errRefused}}}
		}, true, "new"},
		"another removes it": {func(s stage) []step {
			return []step{{at: "Put heads/x"}, {at: "Put heads/x", do: s.does(remove("run/x"))}}
		}, false, ""},
		"another replaces it": {func(s stage) []step {
			return []step{{at: "Put heads/x"}, {at: "Put heads/x", do: s.does(overwrites("run/x", "other"))}}
		}, false, "other"},
		"another replaces it, and the look is refused": {func(s stage) []step {
			return []step{{at: "Put heads/x"}, {at: "Put heads/x", do: s.does(overwrites("run/x", "other"))},
				{at: "Read heads/x", fate: simulated.Fate{Err: errRefused}}}
		}, true, "other"},
	} {
		bubble(t, what, func(t *testing.T) {
			s := on(t, none)
			lost := []step{{at: "Put heads/x", fate: simulated.Fate{Lost: true}}}
			st, _ := scripted(t, s.server, append(lost, c.steps(s)...)...)
			err := saveDir(s.ctx, st, "run/x", "new")
			if errors.Is(err, store.ErrUncertain) != c.uncertain || errors.Is(err, errRefused) != c.uncertain ||
				(err != nil) != c.uncertain {
				t.Error(err)
			}
			s.wants(map[string]string{"run/x/manifest": c.want})
			if c.want != "" {
				ok(t, s.other.RemoveTree(s.ctx, "run/x"))
			}
			if keys := left(s.server, "heads"); len(keys) != 1 {
				t.Errorf("%q: the key does not stay", keys)
			}
		})
	}
	bubble(t, "the first request comes late", func(t *testing.T) {
		s := on(t, none)
		st, _ := scripted(t, s.server, step{at: "Put heads/x", fate: simulated.Fate{Ghost: time.Hour}})
		ok(t, saveDir(s.ctx, st, "run/x", "new"), s.other.RemoveTree(s.ctx, "run/x"))
		time.Sleep(2 * time.Hour)
		s.wants(map[string]string{"run/x/manifest": ""})
	})
	bubble(t, "not carried out, and another saves", func(t *testing.T) {
		s := on(t, none)
		st, _ := scripted(t, s.server, step{at: "Put heads/x", do: s.does(saves("run/x", "other")),
			fate: simulated.Fate{Err: simulated.ErrServer}})
		if err := saveDir(s.ctx, st, "run/x", "new"); !errors.Is(err, store.ErrUncertain) {
			t.Error(err)
		}
		s.wants(map[string]string{"run/x/manifest": "other"})
	})
	bubble(t, "something removes the key", func(t *testing.T) {
		s := on(t, none)
		st, _ := scripted(t, s.server, step{at: "Put heads/x", fate: simulated.Fate{Lost: true}}, step{at: "Put heads/x"},
			step{at: "Put heads/x", do: func() { ok(t, s.server.Bucket(nil).DeleteAll(s.ctx, []string{mine + "heads/x"})) }})
		ok(t, saveDir(s.ctx, st, "run/x", "new")) // it was committed
		s.wants(map[string]string{"run/x/manifest": ""})
	})
	bubble(t, "a directory that is fenced already", func(t *testing.T) {
		s := on(t, none)
		st, _ := scripted(t, s.server,
			step{at: "Put heads/x", fate: simulated.Fate{Lost: true}},
			step{at: "DeleteAll live/x", fate: simulated.Fate{Err: errRefused}})
		ok(t, saveDir(s.ctx, st, "run/x", "new"))
		time.Sleep(2 * quick.Lease)
		cleaning, n := scripted(t, s.server)
		if got := cleaned(t, cleaning, nil); len(got) > 0 || n.count("Put heads/x") > 0 || len(left(s.server, "live")) > 0 {
			t.Errorf("removed %q with %d requests for the head, left %q", got, n.count("Put heads/x"), left(s.server, "live"))
		}
	})
}

// CleanStaging ends a dead commit, whatever another process does with the name at this moment.
func TestFencesInterrupted(t *testing.T) {
	for what, c := range map[string]struct {
		twice bool // the head is there
		steps func(s stage) []step
		want  string
		freed int
	}{
		"nobody": {false, func(stage) []step { return nil }, "", 1},
		"another saves": {false, func(s stage) []step {
			return []step{{at: "Put heads/x", do: s.does(saves("run/x", "other"))}}
		}, "other", 1},
		"another removes it": {true, func(s stage) []step {
			return []step{{at: "Put heads/x", do: s.does(remove("run/x"))}}
		}, "", 0},
		"another replaces it": {true, func(s stage) []step {
			return []step{{at: "Put heads/x", do: s.does(overwrites("run/x", "other"))}}
		}, "other", 0},
		"another ends it": {false, func(s stage) []step {
			return []step{{at: "Put live/x", do: s.does(meddled["clean"])}}
		}, "", 0},
	} {
		bubble(t, what, func(t *testing.T) {
			s := on(t, saved("run/c"))
			lateHead(t, s.server, false, c.twice)
			time.Sleep(2 * quick.Lease)
			st, _ := scripted(t, s.server, c.steps(s)...)
			if got := cleaned(t, st, nil); len(got) != c.freed {
				t.Errorf("removed %q", got)
			}
			s.wants(map[string]string{"run/x/manifest": c.want})
			time.Sleep(6 * time.Hour) // the head comes
			s.wants(map[string]string{"run/x/manifest": c.want})
			cleaned(t, s.other, nil)
			if _, broken := nothingOf(t, s.server, s.other); len(broken) > 0 {
				t.Error(broken)
			}
		})
	}
}

// A directory that waits for the name of a dead commit gets it, although the commit is ended in the
// middle of the move.
func TestFencesLeaveMoves(t *testing.T) {
	bubble(t, "a move in the middle", func(t *testing.T) {
		s := on(t, saved("run/a"))
		st, _ := scripted(t, s.server, step{at: "Put heads/x"}, step{at: "Put heads/a", do: func() {
			time.Sleep(2 * quick.Lease)
			if got := cleaned(t, s.other, nil); len(got) != 1 {
				t.Errorf("removed %q", got)
			}
		}})
		lateHead(t, s.server, false, false)
		ok(t, st.Rename(s.ctx, "run/a", "run/x"))
		s.wants(map[string]string{"run/x/manifest": "run/a", "run/a/manifest": ""})
		time.Sleep(6 * time.Hour)
		s.wants(map[string]string{"run/x/manifest": "run/a", "run/a/manifest": ""})
	})
}

// A fence stays when another dead commit is ended that depends on a tag.
func TestFencesStay(t *testing.T) {
	bubble(t, "two dead commits", func(t *testing.T) {
		s := on(t, none)
		lateHead(t, s.server, false, false)
		ok(t, saveDir(s.ctx, s.other, "run/x", "first"))
		time.Sleep(2 * quick.Lease)
		cleaned(t, s.other, nil)
		lateHead(t, s.server, true, false)
		time.Sleep(2 * quick.Lease)
		cleaned(t, s.other, nil)
		ok(t, s.other.RemoveTree(s.ctx, "run/x"))
		time.Sleep(6 * time.Hour)
		s.wants(map[string]string{"run/x/manifest": ""})
		if keys := left(s.server, "heads", "data", "live", "gone"); !slices.Equal(keys, []string{"heads/x"}) {
			t.Errorf("%q", keys)
		}
	})
}

// locker counts how often it is locked, and whether it is now.
type locker struct {
	locks int
	held  bool
}

func (l *locker) Lock()   { l.locks, l.held = l.locks+1, true }
func (l *locker) Unlock() { l.held = false }

// A commit is visible while Options.Publishing is locked, and a commit without a manifest is
// refused. On a name that is free since a removal it needs one look.
func TestCommits(t *testing.T) {
	bubble(t, "the lock of the caller", func(t *testing.T) {
		s := on(t, before["free"])
		l := &locker{}
		st, n := scripted(t, s.server, step{at: "Put data/x.orbax-checkpoint-tmp-x/tree", do: func() {
			if l.held {
				t.Error("it is locked too early")
			}
		}}, step{at: "Put heads/x", do: func() {
			if !l.held {
				t.Error("it is not locked")
			}
		}})
		txn, err := st.Begin(s.ctx, "run/x", store.TxnOptions{Publishing: l})
		ok(t, err, txn.Commit(s.ctx, store.Blob{Name: "manifest"}))
		if l.locks != 1 || l.held || n.count("Put heads/") != 1 {
			t.Errorf("%+v, %d requests for heads", l, n.count("Put heads/"))
		}
	})
	bubble(t, "no manifest", func(t *testing.T) {
		s := on(t, none)
		txn, err := s.other.Begin(s.ctx, "run/x", store.TxnOptions{})
		ok(t, err, txn.Put(s.ctx, "x", nil))
		kind(t, "a commit without a manifest", txn.Commit(s.ctx, store.Blob{}), errs.Invalid)
		s.wants(map[string]string{"run/x/x": ""})
	})
	bubble(t, "two callers that link one name", func(t *testing.T) {
		s := on(t, saved("run/a"))
		host, err := s.other.Begin(s.ctx, "run/x", store.TxnOptions{Shared: true})
		ok(t, err)
		guest, err := s.other.Begin(s.ctx, "run/x", store.TxnOptions{Join: host.Staging()})
		ok(t, err, host.Link(s.ctx, "l", "run/a/d/0"), guest.Link(s.ctx, "l", "run/a/d/1"), guest.Commit(s.ctx, store.Blob{}))
		exists(t, host.Commit(s.ctx, store.Blob{Name: "manifest"}), "run/x/l: already exists: two callers that made l")
	})
	bubble(t, "the end of a deadline", func(t *testing.T) {
		s := on(t, none)
		b := &wrong{Bucket: s.server.Bucket(nil), put: func(
			b object.Bucket, ctx context.Context, key string, p []byte, c object.Condition,
		) (string, error) {
			tag, err := send(b, ctx, key, p, c)
			if is(key, "heads") {
				<-ctx.Done() // the answer comes with the end
			}
			return tag, err
		}}
		ok(t, saveDir(s.ctx, object.New(b, "p/", quick), "run/x", "new"), s.other.RemoveTree(s.ctx, "run/x"))
		if keys := left(s.server, "heads"); len(keys) > 0 {
			t.Errorf("%q are left of a commit that was answered", keys)
		}
	})
}

// A commit that finds another directory than the one that it was about to replace frees that one if
// the other process did not.
func TestReplacedByAnother(t *testing.T) {
	bubble(t, "whose process ended", func(t *testing.T) {
		s := on(t, before["a directory"])
		dies := func() {
			over := false
			dying := object.New(s.server.Bucket(one(func(r simulated.Request) simulated.Fate {
				if over {
					return simulated.Fate{Err: errRefused}
				}
				over = r.Kind == "Put" && is(r.Key, "heads")
				return simulated.Fate{}
			})), "p/", quick)
			if err := overwrite(s.ctx, dying, "run/x", "other"); err != nil || !over {
				t.Error(err)
			}
		}
		st, _ := scripted(t, s.server, step{at: "Put heads/x", do: dies})
		ok(t, overwrite(s.ctx, st, "run/x", "new"))
		time.Sleep(2 * quick.Lease)
		cleaned(t, st, nil)
		if _, broken := nothingOf(t, s.server, s.other); len(broken) > 0 {
			t.Error(broken)
		}
		s.wants(map[string]string{"run/x/manifest": "new"})
	})
}

// A server that cannot compare tags in a removal is not asked to once that is known.
func TestRemovalsWithoutConditions(t *testing.T) {
	ctx := t.Context()
	for _, lies := range []simulated.Lies{{NoDelete: true}, {IgnoresDelete: true}} {
		server, deletes := simulated.NewServer(0, lies), 0
		st := object.New(server.Bucket(one(func(r simulated.Request) simulated.Fate {
			if r.Kind == "Delete" && is(r.Key, "heads") {
				deletes++
			}
			return simulated.Fate{}
		})), "p/", object.Options{})
		ok(t, saveDir(ctx, st, "run/a", "a"), overwrite(ctx, st, "run/a", "b"), st.RemoveTree(ctx, "run/a"))
		if deletes > 0 || len(left(server, "heads")) != 1 {
			t.Errorf("%+v: %d removals, %q is left", lies, deletes, left(server, "heads"))
		}
	}
}

// A removal that another process meets goes on, tells where it is uncertain, and ends.
func TestRemovalsInterrupted(t *testing.T) {
	for what, c := range map[string]struct {
		prepare func(ctx context.Context, v *simulated.Server) error
		do      call
		steps   func(s stage) []step
		wants   map[string]string
	}{
		"a fenced directory, replaced": {
			later, func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/b") },
			func(s stage) []step {
				ok(s.T, s.other.Rename(s.ctx, "run/a", "run/b"))
				return []step{{at: "Put heads/b", do: s.does(overwrites("run/b", "other"))}}
			},
			map[string]string{"run/b/manifest": ""},
		},
		"it becomes a directory": {
			saved("run/c"), remove("run/a"),
			func(s stage) []step {
				return []step{{at: "Read heads/a", fate: simulated.Fate{Then: s.does(saves("run/a", "new"))}}}
			},
			map[string]string{"run/a/manifest": ""},
		},
		"an object that was put later": {
			later, remove("run/a/later"),
			func(stage) []step { return nil },
			map[string]string{"run/a/manifest": "run/a", "run/a/later": ""},
		},
		"of a run, and another is quicker": {
			saved("run/a", "run/c"), remove("run"),
			func(s stage) []step { return []step{{at: "Read heads/a", do: s.does(remove("run/a"))}} },
			map[string]string{"run/a/manifest": "", "run/c/manifest": "", "run/loose": ""},
		},
		"no reply": {
			saved("run/a"), remove("run/a"),
			func(stage) []step { return []step{{at: "Delete heads/a", fate: simulated.Fate{Lost: true}}} },
			map[string]string{"run/a/manifest": ""},
		},
	} {
		bubble(t, what, func(t *testing.T) {
			s := on(t, c.prepare)
			st, _ := scripted(t, s.server, c.steps(s)...)
			ok(t, c.do(s.ctx, st))
			s.wants(c.wants)
		})
	}
	bubble(t, "no reply at all", func(t *testing.T) {
		s := on(t, saved("run/a"))
		st := object.New(s.server.Bucket(func(r simulated.Request) simulated.Fate {
			if r.Kind == "Delete" {
				return simulated.Fate{Err: simulated.ErrServer}
			}
			return simulated.Fate{}
		}), "p/", quick)
		err := st.RemoveTree(s.ctx, "run/a")
		if !errors.Is(err, store.ErrUncertain) || !strings.Contains(err.Error(), "run/a") {
			t.Error(err)
		}
		s.wants(map[string]string{"run/a/manifest": "run/a"})
	})
}
