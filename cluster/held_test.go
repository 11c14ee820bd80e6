package cluster

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// holding is a member alone that holds a lease, and what its board told it.
type holding struct {
	*Member
	view  *script
	lease *Lease

	mu   sync.Mutex
	told []error
}

func holdLease(t *testing.T, slow time.Duration) *holding {
	t.Helper()
	h := &holding{view: &script{Board: InProcess(), t: t, slow: slow}}
	o := short(0, 1)
	o.OnError = func(err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.told = append(h.told, err)
	}
	var err error
	if h.Member, err = Join(t.Context(), h.view, o); err != nil {
		t.Fatal(err)
	}
	if h.lease, err = h.Acquire(t.Context(), "writer"); err != nil {
		t.Fatal(err)
	}
	return h
}

// errors returns what the board told of the lease.
func (h *holding) errors() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.told
}

// A lease that cannot be renewed for a moment goes on. It ends when another member has it, or when
// nobody knows whether one has.
func TestLeaseThatCannotBeRenewed(t *testing.T) {
	const key = leasePrefix + "writer"
	for name, c := range map[string]struct {
		fails func(view *script) error
		ends  bool
		kind  errs.Kind
		want  string
	}{
		"a failure that stays": {func(*script) error { return injected(errs.Permission) }, false, errs.Permission, "injected"},
		"another holder": {func(view *script) error {
			set(view.t, view.Board, key, hold{Version: version, Held: true, Token: 2})
			return nil
		}, true, errs.Busy, "another member has taken the lease"},
		"no document": {func(view *script) error { remove(view.t, view.Board, key); return nil }, true, errs.Busy,
			"another member has taken the lease"},
		"no answer": {func(*script) error { return injected(errs.IO) }, true, errs.IO, "want an answer within 8s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := holdLease(t, 0)
				time.Sleep(time.Second)
				h.view.act(func(r request) error {
					if r.String() == "Put "+key {
						return c.fails(h.view)
					}
					return nil
				})
				err := h.lease.Check(t.Context())
				wants(t, err, c.kind, c.want)
				if (h.lease.Err() != nil) != c.ends {
					t.Errorf("after %v the lease is: %v", err, h.lease.Err())
				}
				if !c.ends { // the loop cannot renew it either, and says so
					time.Sleep(h.o.beat())
					if all := h.errors(); len(all) != 1 || !errors.Is(all[0], errInjected) {
						t.Errorf("told: %v", all)
					}
					wants(t, h.lease.Release(t.Context()), c.kind, c.want)
				} else if err := h.lease.Release(t.Context()); err != nil {
					t.Errorf("Release of a lease that has ended: %v", err)
				}
				h.view.act(nil)
				closeAll(t, h.Member)
			})
		})
	}
}

// A lease that is held, and ends, is no error; nor is a request that is under way then.
func TestHealthyLeaseIsQuiet(t *testing.T) {
	for name, end := range map[string]func(h *holding) error{
		"the lease is released": func(h *holding) error { return h.lease.Release(context.Background()) },
		"the member is closed":  func(h *holding) error { return h.Close() },
		"the member is fenced": func(h *holding) error {
			h.fence(errors.New("fenced"))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := holdLease(t, 100*time.Millisecond)
				for range 20 {
					time.Sleep(h.o.beat())
				}
				until(h, leasePrefix) // the renewal is under way now
				if err := end(h); err != nil {
					t.Error(err)
				}
				<-h.lease.Done()
				<-h.lease.done
				if all := h.errors(); len(all) > 0 {
					t.Errorf("told: %v", all)
				}
				closeAll(t, h.Member)
			})
		})
	}
}

// until waits until a request to keys with a prefix has just begun.
func until(h *holding, prefix string) {
	for n := h.view.asked(); ; time.Sleep(time.Millisecond) {
		for _, r := range h.view.since(n) {
			if strings.HasPrefix(r.key, prefix) {
				return
			}
		}
	}
}

// A sign of life that is under way when the member is closed is no error.
func TestClosingIsQuiet(t *testing.T) {
	for _, prefix := range []string{seatPrefix, jobKey} {
		synctest.Test(t, func(t *testing.T) {
			h := holdLease(t, 100*time.Millisecond)
			until(h, prefix)
			closeAll(t, h.Member)
			if all := h.errors(); len(all) > 0 {
				t.Errorf("told: %v", all)
			}
		})
	}
}

// A renewal that gets no answer does not keep a call whose context has ended.
func TestCheckDuringARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := holdLease(t, 100*time.Millisecond)
		until(h, leasePrefix)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		wants(t, h.lease.Check(ctx), errs.Canceled, "writer")
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
		closeAll(t, h.Member)
	})
}

// Who waits for a lease only looks, and takes it when it is free.
func TestAcquireOnlyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := holdLease(t, 0)
		b := &script{Board: h.view.Board, t: t}
		next := newMember(b, short(0, 1))
		taken := make(chan *Lease, 1)
		go func() {
			l, err := next.Acquire(t.Context(), "writer")
			if err != nil {
				t.Error(err)
			}
			taken <- l
		}()
		time.Sleep(5 * h.o.Lease)
		if n := b.times(0, "Put"); n > 0 || b.times(0, "Get") < 10 {
			t.Errorf("%d writes: %v", n, b.since(0))
		}
		if err := h.lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if l := <-taken; l.Token() != h.lease.Token()+1 {
			t.Errorf("the tokens are %d and %d", h.lease.Token(), l.Token())
		} else if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		closeAll(t, h.Member)
	})
}

// A member that is fenced while it takes a lease has none, and writes nothing behind the fence.
func TestFencedWhileItAcquires(t *testing.T) {
	fenced := errors.New("fenced")
	for at, writes := range map[string]int{"Get " + leasePrefix: 0, "Put " + leasePrefix: 1} {
		for _, held := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				view := &script{Board: InProcess(), t: t}
				m, err := Join(t.Context(), view, short(0, 1))
				if err != nil {
					t.Fatal(err)
				}
				if held {
					set(t, view.Board, leasePrefix+"writer", hold{Version: version, Held: true, Token: 1})
				}
				n := view.asked()
				view.act(once(at, func() { m.fence(fenced) }))
				if _, err := m.Acquire(t.Context(), "writer"); !errors.Is(err, fenced) {
					t.Errorf("%s: %v", at, err)
				}
				time.Sleep(m.o.Lease)
				if got := view.times(n, "Put lease/"); got != writes {
					t.Errorf("%s, %d writes: %v", at, got, view.since(n))
				}
				closeAll(t, m)
			})
		}
	}
}

// Garbage in place of a lease is never taken for a lease that is free.
func TestGarbageAsALease(t *testing.T) {
	for _, text := range []string{"<html>", "{}", `{"version":2}`} {
		synctest.Test(t, func(t *testing.T) {
			b := InProcess()
			m, err := Join(t.Context(), b, short(0, 1))
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Holder(t.Context(), "writer")
			wants(t, err, errs.NotFound)
			set(t, b, leasePrefix+"writer", []byte(text))
			kind := errs.Corrupt
			if strings.Contains(text, "2") {
				kind = errs.Unsupported
			}
			_, err = m.Holder(t.Context(), "writer")
			wants(t, err, kind, "lease/writer")
			_, err = m.Acquire(t.Context(), "writer")
			wants(t, err, kind, "lease/writer")
			closeAll(t, m)
		})
	}
}

// Two leases of one name follow each other without a wait.
func TestLeaseAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := holdLease(t, 0)
		began := time.Now()
		for range 3 {
			if err := h.lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			var err error
			if h.lease, err = h.Acquire(t.Context(), "writer"); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > 0 || h.lease.Token() != 4 {
			t.Errorf("%v, token %d", took, h.lease.Token())
		}
		closeAll(t, h.Member)
	})
}
