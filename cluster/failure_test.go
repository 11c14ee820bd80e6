package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// everyFailure runs a scenario once for each request that it makes, and lets this request fail for
// good. The scenario must return this failure. arrange returns the view and the scenario, which
// returns an error that want knows if nothing fails.
func everyFailure(t *testing.T, bare bool, which string, want errs.Kind,
	arrange func(t *testing.T, view *script) (act func() error),
) {
	t.Helper()
	run := func(t *testing.T, fails int) (requests []request) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			view := &script{Board: InProcess(), t: t, bare: bare}
			act := arrange(t, view)
			view.mu.Lock()
			from, arranged, counted := len(view.all), view.before, 0
			view.before = func(r request) error {
				view.mu.Lock()
				if strings.HasPrefix(r.key, which) {
					counted++
				}
				now := counted == fails && strings.HasPrefix(r.key, which)
				view.mu.Unlock()
				if now {
					return injected(errs.Permission)
				}
				if arranged != nil {
					return arranged(r)
				}
				return nil
			}
			view.mu.Unlock()
			err := act()
			requests = view.since(from)
			switch {
			case fails > 0 && !errors.Is(err, errInjected):
				t.Errorf("request %d fails, and the error is %v; all: %v", fails, err, requests)
			case fails == 0 && want == errs.Other && err != nil, fails == 0 && errs.KindOf(err) != want:
				t.Errorf("without failures: %v", err)
			}
		})
		return requests
	}
	all := slices.DeleteFunc(run(t, 0), func(r request) bool { return !strings.HasPrefix(r.key, which) })
	if i := slices.IndexFunc(all, leaves); want != errs.Other && i >= 0 {
		all = all[:i] // what it takes back after its own failure is another matter
	}
	if len(all) == 0 || t.Failed() {
		t.Fatal("nothing was asked")
	}
	for n := range all {
		if run(t, n+1); t.Failed() {
			t.Fatalf("the request is %v", all[n])
		}
	}
}

// leaves reports whether a request is the first of a process that leaves.
func leaves(r request) bool {
	return r.op == "List" && len(r.key) > len(partPrefix) && ownerOf(r.key) != ""
}

// joining returns a scenario that joins alone. The member is closed where the board answers again.
func joining(t *testing.T, view *script) func() error {
	return func() error {
		m, err := Join(t.Context(), view, short(0, 1))
		if err != nil {
			return err
		}
		view.end()
		closeAll(t, m)
		return nil
	}
}

// What Join cannot read or write is its error.
func TestEveryFailureOfJoinIsTold(t *testing.T) {
	leftovers := func(t *testing.T, b Board) {
		set(t, b, seatKey(0), seated("old", 0, "a"))
		set(t, b, seatKey(5), seated("old", 5, "b"))
		set(t, b, partKey("a", "n", 0), []byte("x"))
		set(t, b, partKey("b", "n", 0), []byte("x"))
	}
	for name, c := range map[string]struct {
		kind    errs.Kind
		prepare func(t *testing.T, view *script)
	}{
		"empty":     {errs.Other, func(*testing.T, *script) {}},
		"leftovers": {errs.Other, func(t *testing.T, view *script) { leftovers(t, view.Board) }},
		"another job that died": {errs.Other, func(t *testing.T, view *script) {
			leftovers(t, view.Board)
			set(t, view.Board, jobKey, jobNamed("other", "old"))
		}},
		"a rank that died": {errs.Other, func(t *testing.T, view *script) {
			leftovers(t, view.Board)
			set(t, view.Board, jobKey, jobNamed("j", "old"))
		}},
		"a rank that lives": {errs.Busy, func(t *testing.T, view *script) {
			leftovers(t, view.Board)
			set(t, view.Board, jobKey, jobNamed("j", "old"))
			looks := 0
			view.before = func(r request) error {
				if r.String() == "Get "+seatKey(0) {
					if looks++; looks == 3 {
						set(t, view.Board, seatKey(0), seated("old", 0, "a"))
					}
				}
				return nil
			}
		}},
		"a job that closes": {errs.Other, func(t *testing.T, view *script) {
			set(t, view.Board, jobKey, jobNamed("j", "old"))
			view.before = once("Put "+seatKey(0), func() { mark(t, view.Board) })
		}},
	} {
		for _, bare := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,bare=%v", name, bare), func(t *testing.T) {
				everyFailure(t, bare, "", c.kind, func(t *testing.T, view *script) func() error {
					c.prepare(t, view)
					return joining(t, view)
				})
			})
		}
	}
}

// A Join that fails takes back what it has written.
func TestFailedJoinLeavesNothing(t *testing.T) {
	for n := range 20 {
		synctest.Test(t, func(t *testing.T) {
			view := &script{Board: InProcess(), t: t}
			view.before = func(r request) error {
				if r.n == n+1 {
					return injected(errs.Permission)
				}
				return nil
			}
			m, err := Join(t.Context(), view, short(0, 1))
			view.end()
			if err == nil {
				closeAll(t, m)
			}
			if left := keys(t, view.Board); len(left) > 0 {
				t.Errorf("request %d, %v, fails, and %v are left over", n+1, view.all[n], left)
			}
		})
	}
}

// What Close cannot read or remove is its error.
func TestEveryFailureOfCloseIsTold(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, view *script, m *Member){
		"alone": func(t *testing.T, view *script, m *Member) {
			set(t, view.Board, partKey(m.self.Incarnation, "n", 0), []byte("x"))
			refused := seated(m.epoch, 3, "b")
			refused.Refused = "it does not fit"
			set(t, view.Board, seatKey(3), refused)
			set(t, view.Board, seatKey(4), seated("old", 4, "c"))
		},
		"a member comes": func(t *testing.T, view *script, m *Member) {
			view.act(once("Put "+jobKey, func() { set(t, view.Board, seatKey(3), seated(m.epoch, 3, "b")) }))
		},
	} {
		for _, bare := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,bare=%v", name, bare), func(t *testing.T) {
				everyFailure(t, bare, "", errs.Other, func(t *testing.T, view *script) func() error {
					m, err := Join(t.Context(), view, short(0, 1))
					if err != nil {
						t.Fatal(err)
					}
					prepare(t, view, m)
					return m.Close
				})
			})
		}
	}
}

// A part of a value that cannot be written, read or removed is the error of the call.
func TestEveryFailureOfAValueIsTold(t *testing.T) {
	given := make([]byte, 5<<19) // three parts
	everyFailure(t, false, partPrefix, errs.Other, func(t *testing.T, view *script) func() error {
		all := joinAll(t, []Board{view, view.Board}, func(o *Options) { o.Deadline = 10 * time.Second })
		return func() error {
			defer closeAll(t, all...)
			var wait sync.WaitGroup
			wait.Go(func() { all[1].Gather(t.Context(), "k", given) }) //nolint:errcheck // the other one is looked at
			values, err := all[0].Gather(t.Context(), "k", given)
			wait.Wait()
			view.end()
			if err == nil && len(values) != 2 {
				t.Errorf("%d values", len(values))
			}
			return err
		}
	})
}

// A document of a lease that cannot be read or written is the error of the call.
func TestEveryFailureOfALeaseIsTold(t *testing.T) {
	everyFailure(t, false, leasePrefix, errs.Other, func(t *testing.T, view *script) func() error {
		m, err := Join(t.Context(), view, short(0, 1))
		if err != nil {
			t.Fatal(err)
		}
		set(t, view.Board, leasePrefix+"writer", hold{Version: version, Held: true, Token: 7, Nonce: "n"})
		return func() error {
			defer closeAll(t, m)
			if _, err := m.Holder(t.Context(), "writer"); err != nil {
				return err
			}
			l, err := m.Acquire(t.Context(), "writer")
			if err != nil {
				return err
			}
			if l.Token() != 8 {
				t.Errorf("the token is %d", l.Token())
			}
			err = l.Release(t.Context())
			view.end()
			return err
		}
	})
}
