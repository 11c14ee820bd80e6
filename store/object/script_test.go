package object_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// step is what happens at a request of a call.
type step struct {
	at   string         // how the request begins: its kind, and its key, without nonces and without mine
	do   func()         // is called before the request is carried out; may be nil
	fate simulated.Fate // of the request
}

// mostRequests is how many requests a call under test may send. A call that goes on for ever is
// refused then, and its test fails.
const mostRequests = 300

// script is a network on which the steps happen, in their order.
type script struct {
	mu    sync.Mutex
	steps []step
	sent  []string // all requests
}

func (s *script) fate(r simulated.Request) simulated.Fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := r.Kind + " " + digits.ReplaceAllString(strings.TrimPrefix(r.Key, mine), "x")
	if s.sent = append(s.sent, what); len(s.sent) > mostRequests {
		return simulated.Fate{Err: errRefused}
	}
	if len(s.steps) == 0 || !strings.HasPrefix(what, s.steps[0].at) {
		return simulated.Fate{}
	}
	now := s.steps[0]
	s.steps = s.steps[1:]
	if now.do != nil {
		now.do()
	}
	return now.fate
}

// count returns the number of requests that begin so.
func (s *script) count(at string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, what := range s.sent {
		if strings.HasPrefix(what, at) {
			n++
		}
	}
	return n
}

// scripted returns a store whose calls meet the steps. The test fails if one does not come.
func scripted(t *testing.T, v *simulated.Server, steps ...step) (*object.Store, *script) {
	t.Helper()
	s := &script{steps: steps}
	t.Cleanup(func() {
		for _, left := range s.steps {
			t.Errorf("no request %s, but\n%s", left.at, strings.Join(s.sent, "\n"))
		}
		if len(s.sent) > mostRequests {
			t.Errorf("%d requests", len(s.sent))
		}
	})
	return object.New(v.Bucket(s.fate), "p/", quick), s
}

// bubble runs a part of a test on the virtual clock.
func bubble(t *testing.T, what string, f func(t *testing.T)) {
	t.Helper()
	t.Run(what, func(t *testing.T) { synctest.Test(t, f) })
}

// nothingOf returns what is wrong with the directories of run, and which keys belong to none.
func nothingOf(t *testing.T, v *simulated.Server, st *object.Store) (all map[string]string, broken []string) {
	t.Helper()
	s := stop{server: v}
	all = s.whole(t.Context(), st)
	s.nothingLeft(all)
	return all, s.broken
}

// content returns an object, or its error.
func content(t *testing.T, st *object.Store, name string) string {
	t.Helper()
	b, err := store.ReadAll(t.Context(), st, name)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(b)
}
