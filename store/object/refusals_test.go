package object_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// acts are the calls of a store. Each is made on a bucket in which prepare was done before.
var acts = map[string]struct {
	prepare func(ctx context.Context, v *simulated.Server) error
	do      func(ctx context.Context, st *object.Store) error
	// silent says of which requests the failure is not told: they only free what is left, which
	// CleanStaging does too. published says that a head was put before.
	silent func(r simulated.Request, published bool) bool
}{
	"save": {
		prepare: none,
		do:      func(ctx context.Context, st *object.Store) error { return saveDir(ctx, st, "run/a", "new") },
		silent:  endOfLease,
	},
	"save of parts": {
		prepare: none,
		do: func(ctx context.Context, st *object.Store) error {
			return saveDir(ctx, st, "run/a", strings.Repeat("long ", 40))
		},
		silent: endOfLease,
	},
	"overwrite": {
		prepare: saved("run/a"),
		do: func(ctx context.Context, st *object.Store) error {
			return write(ctx, st, "run/a", store.TxnOptions{Overwrite: true}, nil)
		},
		silent: afterHead,
	},
	"save with links": {
		prepare: saved("run/a", "run/c"),
		do: func(ctx context.Context, st *object.Store) error {
			return write(ctx, st, "run/b", store.TxnOptions{}, []string{"run/a/d/0", "run/a/d/1", "run/c/d/0", "run/loose"})
		},
		silent: endOfLease,
	},
	"save in place of what was read": {
		prepare: saved("run/a"),
		do: func(ctx context.Context, st *object.Store) (err error) {
			p, err := st.Pin(ctx, "run/a")
			if err != nil {
				return err
			}
			defer p.Close()
			return write(ctx, st, "run/a", store.TxnOptions{Replaces: p}, nil)
		},
		silent: afterHead,
	},
	"shared save": {prepare: none, do: shared, silent: endOfLease},
	"abort": {
		prepare: none,
		do: func(ctx context.Context, st *object.Store) error {
			t, err := st.Begin(ctx, "run/a", store.TxnOptions{})
			if err != nil {
				return err
			}
			if err := t.Put(ctx, "x", []byte("x")); err != nil {
				return errors.Join(err, t.Abort())
			}
			return t.Abort()
		},
		silent: never,
	},
	"remove":                  {prepare: saved("run/a"), do: func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/a") }, silent: never},
	"remove what others use":  {prepare: linked, do: func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/a") }, silent: never},
	"remove what uses others": {prepare: linked, do: func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/b") }, silent: never},
	"remove an object":        {prepare: saved("run/a"), do: func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/loose") }, silent: never},
	"remove all":              {prepare: saved("run/a", "run/c"), do: func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run") }, silent: never},
	"remove with later objects": {prepare: later, do: func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/a") },
		silent: never},
	"rename":           {prepare: later, do: func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/a", "run/b") }, silent: never},
	"rename an object": {prepare: saved("run/a"), do: func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/loose", "run/l") }, silent: never},
	"move":             {prepare: saved("run/a"), do: func(ctx context.Context, st *object.Store) error { return st.Move(ctx, "run/a", "other/b") }, silent: never},
	"clean": {prepare: litter, do: func(ctx context.Context, st *object.Store) error {
		_, err := st.CleanStaging(ctx, "run", nil)
		return err
	}, silent: never},
	"settle": {prepare: litter, do: func(ctx context.Context, st *object.Store) error { return st.Settle(ctx, "run") }, silent: never},
	"put": {prepare: saved("run/a"), do: func(ctx context.Context, st *object.Store) error {
		return st.Put(ctx, "run/note", []byte("n"), store.PutOptions{})
	}, silent: never},
	"put once": {prepare: none, do: func(ctx context.Context, st *object.Store) error {
		return st.Put(ctx, "run/note", []byte("n"), store.PutOptions{IfAbsent: true})
	}, silent: never},
	"lock": {
		prepare: saved("run/a"),
		do: func(ctx context.Context, st *object.Store) error {
			l, err := st.Lock(ctx, "run")
			if err != nil {
				return err
			}
			if err := l.(store.HeldLock).Check(ctx); err != nil { //nolint:forcetypeassert // the store's locks are held locks
				return errors.Join(err, l.Close())
			}
			return l.Close()
		},
		silent: never,
	},
	"read": {
		prepare: later,
		do: func(ctx context.Context, st *object.Store) error {
			for _, name := range []string{"run/a/d/0", "run/a/later", "run/loose"} {
				if _, err := store.ReadAll(ctx, st, name); err != nil {
					return err
				}
				if _, err := st.Stat(ctx, name); err != nil {
					return err
				}
			}
			for _, dir := range []string{"", "run", "run/a", "run/a/d"} {
				if _, err := list(st.List(ctx, dir)); err != nil {
					return err
				}
			}
			return nil
		},
		silent: belowObject,
	},
	"save over a move": {prepare: moving("run/c", "run/a", 1), do: meddling["overwrite"], silent: endOfLease},
	"read a move":      {prepare: moving("run/c", "run/a", 2), do: lookAtMove, silent: never},
	"read an old name": {prepare: moving("run/c", "run/a", 3), do: lookAtMove, silent: never},
	"rename over a move": {prepare: moving("run/c", "run/a", 1), do: func(ctx context.Context, st *object.Store) error {
		return st.Rename(ctx, "run/c", "run/a")
	}, silent: never},
	"remove what is leased": {prepare: leased, do: remove("run/a"), silent: never},
	"pin what no transaction made": {prepare: saved("run/a"), do: func(ctx context.Context, st *object.Store) error {
		p, err := st.Pin(ctx, "run")
		if err != nil {
			return err
		}
		return p.Close()
	}, silent: never},
	"lock again":          {prepare: unlocked, do: lockOnce, silent: never},
	"clean what is old":   {prepare: old, do: meddled["clean"], silent: never},
	"leased":              {prepare: leased, do: askLeased, silent: never},
	"read what is pinned": {prepare: later, do: readPinned, silent: belowObject},
}

// moving prepares a move whose process has ended.
func moving(from, to string, n int) func(ctx context.Context, v *simulated.Server) error {
	return func(ctx context.Context, v *simulated.Server) error {
		return errors.Join(saved("run/x")(ctx, v), halfMoved(ctx, v, from, to, n))
	}
}

// lookAtMove looks at the old name of a move before it looks at the new one.
func lookAtMove(ctx context.Context, st *object.Store) error {
	if _, err := st.Pin(ctx, "run/c"); errs.KindOf(err) != errs.NotFound {
		return fmt.Errorf("the old name: %w", err)
	}
	p, err := st.Pin(ctx, "run/a")
	if err != nil {
		return err
	}
	return p.Close()
}

// unlocked prepares a lock that nobody has.
func unlocked(ctx context.Context, v *simulated.Server) error {
	st, _ := process(v)
	return errors.Join(saved("run/a")(ctx, v), lockOnce(ctx, st))
}

// old prepares an upload of a transaction that goes on, what a late request has left long ago, and
// a note of a user that does not exist.
func old(ctx context.Context, v *simulated.Server) error {
	if err := linked(ctx, v); err != nil {
		return err
	}
	st, end := process(v)
	for _, key := range []string{
		"data/o.orbax-checkpoint-tmp-0123456789abcdef/objects/x",
		"data/" + strings.TrimPrefix(object.Sources(st, "run/a")[0], "run/") + "/users/run%2Fnone.orbax-checkpoint-tmp-0",
	} {
		if _, err := v.Bucket(nil).Put(ctx, mine+key, []byte("null"), sum([]byte("null")), object.Condition{}); err != nil {
			return err
		}
	}
	if _, err := st.Hide(ctx, "run/a"); err != nil { // nobody frees it
		return err
	}
	end()
	if _, err := v.Bucket(nil).Begin(ctx, mine+"data/o.orbax-checkpoint-tmp-0123456789abcdef/objects/y"); err != nil {
		return err
	}
	time.Sleep(2 * quick.Grace)
	return nil
}

// leased prepares a directory that another process has leased.
func leased(ctx context.Context, v *simulated.Server) error {
	st, end := process(v)
	if err := saveDir(ctx, st, "run/a", "a"); err != nil {
		return err
	}
	p, err := st.Pin(ctx, "run/a")
	if err != nil {
		return err
	}
	err = p.Lease(ctx)
	end()
	p.Close() //nolint:errcheck // the note stays
	return err
}

func askLeased(ctx context.Context, st *object.Store) error {
	p, err := st.Pin(ctx, "run/a")
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it has no lease
	if held, err := p.Leased(ctx); err != nil || held {
		return err
	}
	return errors.New("nobody has leased it")
}

func none(context.Context, *simulated.Server) error { return nil }

func never(simulated.Request, bool) bool { return false }

// belowObject is the question whether a name is a directory. Stat asks at the same time whether it
// is an object, and does not need the first answer then.
func belowObject(r simulated.Request, _ bool) bool {
	return r.Kind == "List" && (strings.HasSuffix(r.Key, "/later/") || strings.HasSuffix(r.Key, "/loose/"))
}

func afterHead(_ simulated.Request, published bool) bool { return published }

func endOfLease(r simulated.Request, published bool) bool { return published && r.Kind == "DeleteAll" }

// process is a store, and what ends its process: no request comes through any more. So it is after
// more requests than a test sends, which ends a call that would go on for ever.
func process(v *simulated.Server) (st *object.Store, end func()) {
	var ended atomic.Bool
	var sent atomic.Int64
	return object.New(v.Bucket(func(simulated.Request) simulated.Fate {
		if sent.Add(1) > 10_000 || ended.Load() {
			return simulated.Fate{Err: errRefused}
		}
		return simulated.Fate{}
	}), "p/", quick), func() { ended.Store(true) }
}

// saveDir writes a directory of two objects and a manifest.
func saveDir(ctx context.Context, st *object.Store, name, text string) error {
	t, err := st.Begin(ctx, name, store.TxnOptions{})
	if err != nil {
		return err
	}
	defer t.Abort() //nolint:errcheck // Commit says whether it succeeded
	for i := range 2 {
		b := fmt.Appendf(nil, "%s %d", text, i)
		w, err := t.Create(ctx, fmt.Sprint("d/", i), int64(len(b)))
		if err == nil {
			err = w.WriteAt(ctx, b, 0)
		}
		if err == nil {
			err = w.Seal(ctx)
		}
		if err != nil {
			return err
		}
	}
	return t.Commit(ctx, store.Blob{Name: "manifest", Data: []byte(text)}, store.Blob{Name: "marker"})
}

// write writes a directory with an object and links.
func write(ctx context.Context, st *object.Store, name string, o store.TxnOptions, links []string) error {
	t, err := st.Begin(ctx, name, o)
	if err != nil {
		return err
	}
	defer t.Abort() //nolint:errcheck // Commit says whether it succeeded
	if err := t.Put(ctx, "d/0", []byte("written")); err != nil {
		return err
	}
	for i, from := range links {
		if err := t.Link(ctx, fmt.Sprint("l/", i), from); err != nil {
			return err
		}
	}
	return t.Commit(ctx, store.Blob{Name: "manifest", Data: []byte(name)})
}

// shared writes a directory with two callers.
func shared(ctx context.Context, st *object.Store) error {
	t, err := st.Begin(ctx, "run/a", store.TxnOptions{Shared: true})
	if err != nil {
		return err
	}
	defer t.Abort() //nolint:errcheck // Commit says whether it succeeded
	j, err := st.Begin(ctx, "run/a", store.TxnOptions{Join: t.Staging()})
	if err != nil {
		return err
	}
	defer j.Abort() //nolint:errcheck // likewise
	if err := errors.Join(t.Put(ctx, "d/0", []byte("x")), j.Put(ctx, "d/1", []byte("y"))); err != nil {
		return err
	}
	if err := j.Commit(ctx, store.Blob{}); err != nil {
		return err
	}
	return t.Commit(ctx, store.Blob{Name: "manifest"})
}

// saved prepares directories, and one object beside them.
func saved(names ...string) func(ctx context.Context, v *simulated.Server) error {
	return func(ctx context.Context, v *simulated.Server) error {
		st, _ := process(v)
		for _, name := range names {
			if err := saveDir(ctx, st, name, name); err != nil {
				return err
			}
		}
		return st.Put(ctx, "run/loose", []byte("loose"), store.PutOptions{})
	}
}

// later prepares a directory into which an object was put after it was committed.
func later(ctx context.Context, v *simulated.Server) error {
	if err := saved("run/a")(ctx, v); err != nil {
		return err
	}
	st, _ := process(v)
	return st.Put(ctx, "run/a/later", []byte("later"), store.PutOptions{})
}

// linked prepares a directory that uses an object of another one.
func linked(ctx context.Context, v *simulated.Server) error {
	if err := saved("run/a")(ctx, v); err != nil {
		return err
	}
	st, _ := process(v)
	return write(ctx, st, "run/b", store.TxnOptions{}, []string{"run/a/d/0"})
}

// litter prepares what processes leave that ended in the middle: of a save, of a commit before and
// after the head was put, and of a removal. All of it is older than a lease.
func litter(ctx context.Context, v *simulated.Server) error {
	if err := linked(ctx, v); err != nil {
		return err
	}
	st, end := process(v)
	t, err := st.Begin(ctx, "run/c", store.TxnOptions{})
	if err != nil {
		return err
	}
	if _, err := t.Create(ctx, "parts", 1000); err != nil { // an upload that nobody ends
		return err
	}
	if err := t.Link(ctx, "l", "run/a/d/0"); err != nil {
		return err
	}
	if _, err := st.Hide(ctx, "run/a"); err != nil { // nobody frees it
		return err
	}
	end()
	t.Abort() //nolint:errcheck // it fails, like all requests now
	for _, head := range []bool{false, true} {
		if err := halfway(ctx, v, fmt.Sprint("run/half-", head), head); err != nil {
			return err
		}
	}
	time.Sleep(2 * quick.Lease)
	return nil
}

// halfway saves a directory whose process ends with the request for the head, which is carried out
// or not.
func halfway(ctx context.Context, v *simulated.Server, name string, head bool) error {
	var mu sync.Mutex
	ended := false
	st := object.New(v.Bucket(func(r simulated.Request) simulated.Fate {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case ended:
			return simulated.Fate{Err: errRefused}
		case r.Kind == "Put" && strings.Contains(r.Key, "/heads/"):
			ended = true
			if head {
				return simulated.Fate{Lost: true}
			}
			return simulated.Fate{Err: errRefused}
		}
		return simulated.Fate{}
	}), "p/", quick)
	if err := saveDir(ctx, st, name, name); err == nil {
		return errors.New("a process that ended has committed")
	}
	return nil
}

// readPinned reads a pinned directory, inside and outside.
func readPinned(ctx context.Context, st *object.Store) error {
	p, err := st.Pin(ctx, "run/a")
	if err != nil {
		return err
	}
	if err := p.Lease(ctx); err != nil {
		return errors.Join(err, p.Close())
	}
	for _, name := range []string{"run/a/d/0", "run/a/later", "run/loose"} {
		if _, err := store.ReadAll(ctx, p, name); err != nil {
			return errors.Join(err, p.Close())
		}
		if _, err := p.Stat(ctx, name); err != nil {
			return errors.Join(err, p.Close())
		}
	}
	for _, dir := range []string{"run", "run/a", "run/a/d"} {
		if _, err := list(p.List(ctx, dir)); err != nil {
			return errors.Join(err, p.Close())
		}
	}
	if _, err := p.Leased(ctx); err != nil {
		return errors.Join(err, p.Close())
	}
	return errors.Join(p.Fate(ctx, "run/a"), p.Close())
}

func list(seq func(func(store.Info, error) bool)) (names []string, err error) {
	for info, err := range seq {
		if err != nil {
			return names, err
		}
		names = append(names, info.Name)
	}
	return names, nil
}

var errRefused = errors.New("refused")

// quick are the options of the stores here: a lease of a minute, parts of a few bytes.
var quick = object.Options{Deadline: 10 * time.Second, Lease: time.Minute, Grace: time.Hour, Part: 64, SkipProbe: true}

// TestEveryRefusalIsTold: the server refuses one request of a call, each in turn. The call says so,
// unless the request only freed leftovers.
func TestEveryRefusalIsTold(t *testing.T) {
	for name, a := range acts {
		t.Run(name, func(t *testing.T) {
			for k := 1; ; k++ {
				sent := simulated.Request{}
				synctest.Test(t, func(t *testing.T) {
					server := simulated.NewServer(0, simulated.Lies{})
					if err := a.prepare(t.Context(), server); err != nil {
						t.Fatal(err)
					}
					var mu sync.Mutex // some requests are sent at once
					n, published := 0, false
					st := object.New(server.Bucket(func(r simulated.Request) simulated.Fate {
						mu.Lock()
						defer mu.Unlock()
						if n++; n != k {
							published = published || n < k && r.Kind == "Put" && strings.Contains(r.Key, "/heads/")
							return simulated.Fate{}
						}
						sent = r
						return simulated.Fate{Err: errRefused}
					}), "p/", quick)
					err := a.do(t.Context(), st)
					switch {
					case sent.Kind == "":
						if err != nil {
							t.Errorf("without a refusal: %v", err)
						}
					case a.silent(sent, published):
					case errors.Is(err, store.ErrUncertain) && name != "settle":
						t.Errorf("request %d, %s %s, was not carried out: %v", k, sent.Kind, sent.Key, err)
					case !errors.Is(err, errRefused):
						t.Errorf("request %d, %s %s, is refused: %v", k, sent.Kind, sent.Key, err)
					}
				})
				if sent.Kind == "" || t.Failed() {
					return
				}
			}
		})
	}
}
