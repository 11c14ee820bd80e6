package object_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
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

// A stop is the end of a process at one request of a call. What follows is what another process
// does then, at once or when the lease of the first is over.
var followed = map[string]func(ctx context.Context, st *object.Store) error{
	"nothing": func(context.Context, *object.Store) error { return nil },
	"clean": func(ctx context.Context, st *object.Store) error {
		_, err := st.CleanStaging(ctx, "run", nil)
		return err
	},
	"settle": func(ctx context.Context, st *object.Store) error { return st.Settle(ctx, "run") },
	"save":   func(ctx context.Context, st *object.Store) error { return saveDir(ctx, st, "run/a", "later") },
	"overwrite": func(ctx context.Context, st *object.Store) error {
		return write(ctx, st, "run/a", store.TxnOptions{Overwrite: true}, nil)
	},
	"overwrite the other": func(ctx context.Context, st *object.Store) error {
		return write(ctx, st, "run/b", store.TxnOptions{Overwrite: true}, nil)
	},
	"remove":           func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/a") },
	"remove the other": func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/b") },
	"rename":           func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/a", "run/z") },
	"rename the other": func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/b", "run/z") },
	"rename to it":     func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/c", "run/b") },
}

// stopped are the calls at whose requests the process ends.
var stopped = map[string]struct {
	prepare func(ctx context.Context, v *simulated.Server) error
	do      func(ctx context.Context, st *object.Store) error
	// leased says that the call has a lease, so that a late request of it has no effect once the
	// lease is over. A removal or a move that comes late may still happen.
	leased bool
}{
	"save": {saved("run/c"), func(ctx context.Context, st *object.Store) error { return saveDir(ctx, st, "run/a", "new") }, true},
	"overwrite": {saved("run/a", "run/c"), func(ctx context.Context, st *object.Store) error {
		return write(ctx, st, "run/a", store.TxnOptions{Overwrite: true}, nil)
	}, true},
	"links": {saved("run/a", "run/c"), func(ctx context.Context, st *object.Store) error {
		return write(ctx, st, "run/b", store.TxnOptions{}, []string{"run/a/d/0", "run/c/d/1"})
	}, true},
	"remove": {linked, func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/a") }, false},
	"rename": {saved("run/a", "run/c"), func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/a", "run/b") }, false},
	"rename over what was removed": {
		func(ctx context.Context, v *simulated.Server) error {
			st, _ := process(v)
			return errors.Join(saved("run/a", "run/b", "run/c")(ctx, v), st.RemoveTree(ctx, "run/b"))
		},
		func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/a", "run/b") },
		false,
	},
	"clean": {litter, func(ctx context.Context, st *object.Store) error {
		_, err := st.CleanStaging(ctx, "run", nil)
		return err
	}, true},
}

// Ways in which the last request of a process may end.
var lasts = map[string]simulated.Fate{
	"never sent": {Err: errRefused},
	"no reply":   {Lost: true},
	"late":       {Ghost: 20 * time.Minute}, // after the lease, and after what follows
}

// TestEveryStop ends a process at each request of a call, in each way. Whatever another process
// does then, directories are whole, and nothing is left in the end. No late request of a save
// changes what CleanStaging has decided. With -short only cleaning follows.
func TestEveryStop(t *testing.T) {
	for name, call := range stopped {
		for way, last := range lasts {
			t.Run(name+"/"+way, func(t *testing.T) {
				for next := range followed {
					waits := []time.Duration{0}
					switch next {
					case "clean", "settle": // the lease decides what they do
						waits = append(waits, 2*quick.Lease)
					default:
						if testing.Short() {
							continue
						}
					}
					for _, wait := range waits {
						for k := 1; ; k++ {
							var end bool
							synctest.Test(t, func(t *testing.T) {
								s := stop{server: simulated.NewServer(0, simulated.Lies{}), last: last, at: k, leased: call.leased}
								if err := call.prepare(t.Context(), s.server); err != nil {
									t.Fatal(err)
								}
								s.play(t.Context(), call.do, followed[next], wait)
								end = !s.ended
								if len(s.broken) > 0 {
									t.Errorf("%s, after %v, at request %d, %s %s: %s", next, wait, k, s.request.Kind, s.request.Key,
										strings.Join(s.broken, "\n"))
								}
							})
							if end || t.Failed() {
								break
							}
						}
					}
				}
			})
		}
	}
}

// stop is the history of one stop.
type stop struct {
	server  *simulated.Server
	last    simulated.Fate
	at      int // the request
	request simulated.Request
	ended   bool
	leased  bool
	broken  []string
}

func (s *stop) violated(format string, args ...any) {
	s.broken = append(s.broken, fmt.Sprintf(format, args...))
}

func (s *stop) play(ctx context.Context, call, next func(context.Context, *object.Store) error, wait time.Duration) {
	var mu sync.Mutex // some requests are sent at once
	n := 0
	first := object.New(s.server.Bucket(func(r simulated.Request) simulated.Fate {
		mu.Lock()
		defer mu.Unlock()
		n++
		switch {
		case s.ended:
			return simulated.Fate{Err: errRefused}
		case n == s.at:
			s.ended, s.request = true, r
			return s.last
		}
		return simulated.Fate{}
	}), "p/", quick)
	call(ctx, first) //nolint:errcheck // it fails, as the process has ended
	time.Sleep(wait)
	second, _ := process(s.server)
	err := next(ctx, second)
	switch errs.KindOf(err) {
	case errs.Exists, errs.NotFound, errs.Busy:
	default:
		if err != nil {
			s.violated("what follows: %v", err)
		}
	}
	s.whole(ctx, second)
	time.Sleep(3 * quick.Lease)
	if _, err := second.CleanStaging(ctx, "run", nil); err != nil {
		s.violated("cleaning: %v", err)
	}
	decided := s.whole(ctx, second)
	time.Sleep(2 * time.Hour) // late requests
	for range 3 {
		if _, err := second.CleanStaging(ctx, "run", nil); err != nil {
			s.violated("cleaning: %v", err)
		}
		time.Sleep(2 * quick.Grace)
	}
	now := s.whole(ctx, second)
	if s.leased && !maps.Equal(now, decided) {
		s.violated("%q became %q after it was decided", decided, now)
	}
	s.nothingLeft(now)
}

// whole checks that each directory is whole, and returns their manifests by name.
func (s *stop) whole(ctx context.Context, st *object.Store) map[string]string {
	all := map[string]string{}
	for info, err := range st.List(ctx, "run") {
		if errs.KindOf(err) == errs.NotFound {
			return all
		}
		if err != nil {
			s.violated("listing: %v", err)
			return all
		}
		if !info.Dir || store.IsStaging(info.Name) {
			continue
		}
		name := "run/" + info.Name
		read := func(object string) string {
			b, err := store.ReadAll(ctx, st, name+"/"+object)
			if err != nil {
				s.violated("%s: %v", name, err)
			}
			return string(b)
		}
		all[name] = read("manifest")
		if first := read("d/0"); first != "written" && (first != all[name]+" 0" || read("d/1") != all[name]+" 1") {
			s.violated("%s has the manifest %q and the object %q", name, all[name], first)
		}
		if links, err := list(st.List(ctx, name+"/l")); err == nil {
			for _, l := range links {
				read("l/" + l)
			}
		}
	}
	return all
}

// nothingLeft checks that each key of the store's own belongs to a directory.
func (s *stop) nothingLeft(directories map[string]string) {
	st, _ := process(s.server)
	used := map[string]bool{}
	for name := range directories {
		for _, txn := range object.Sources(st, name) {
			used[path.Base(txn)] = true
		}
	}
	for _, key := range s.server.Keys() {
		m := own.FindStringSubmatch(key)
		if m != nil && (m[1] == "live" || (m[1] == "data" || m[1] == "gone") && !used[m[2]]) {
			s.violated("the key %s is left", key)
		}
	}
	if n := s.server.Uploads(); n > 0 {
		s.violated("%d uploads are left", n)
	}
}
