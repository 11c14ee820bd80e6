package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// paced is two members, with boards that tell of changes or do not.
type paced struct {
	t        *testing.T
	views    []*script
	watchers []*watching
	all      []*Member
	told     []error
	mu       sync.Mutex
}

// pacedLease is so long that nothing may wait for a sign of life by chance.
const pacedLease = 40 * time.Second

func newPaced(t *testing.T, world int, watch bool, change func(p *paced)) *paced {
	t.Helper()
	p, b := &paced{t: t}, InProcess()
	var boards []Board
	for range world {
		view := &script{Board: b, t: t, slow: time.Millisecond}
		w := &watching{script: view}
		p.views, p.watchers = append(p.views, view), append(p.watchers, w)
		if watch {
			boards = append(boards, w)
		} else {
			boards = append(boards, view)
		}
	}
	if change != nil {
		change(p)
	}
	p.all = joinAll(t, boards, p.options)
	time.Sleep(pacedLease) // until all know that all are there
	return p
}

func (p *paced) options(o *Options) {
	o.Lease, o.Deadline = pacedLease, time.Hour
	o.OnError = func(err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.told = append(p.told, err)
	}
}

// errors returns the errors that were told since it was called last.
func (p *paced) errors() (told []error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	told, p.told = p.told, nil
	return told
}

// quiet checks that no error was told.
func (p *paced) quiet() {
	p.t.Helper()
	if told := p.errors(); len(told) > 0 {
		p.t.Errorf("told: %v", told)
	}
}

// spends checks what a member asked behind its first n requests: each kind at least and at most so
// often, and nothing else.
func (p *paced) spends(what string, rank, n int, want map[string][2]int) {
	p.t.Helper()
	got := map[string]int{}
	for _, r := range p.views[rank].since(n) {
		got[r.String()]++
	}
	for text, bounds := range want {
		if got[text] < bounds[0] || got[text] > bounds[1] {
			p.t.Errorf("%s: rank %d asked %q %d times, want %d to %d", what, rank, text, got[text], bounds[0], bounds[1])
		}
		delete(got, text)
	}
	if len(got) > 0 {
		p.t.Errorf("%s: rank %d also asked %v", what, rank, got)
	}
}

// What members ask while nothing happens, and while one waits for another.
func TestPaceOfMembers(t *testing.T) {
	const beats = 40
	const long = beats * pacedLease / 4
	once := [2]int{beats - 1, beats + 1}
	for _, watch := range []bool{false, true} {
		t.Run(fmt.Sprintf("watch=%v", watch), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPaced(t, 2, watch, nil)
				// Rank 0 looks for processes that join: eight times between two signs of life, or less
				// often if the board wants that.
				idle0 := map[string][2]int{"Put member/000000": once, "Get job": once, "List member/": {190, 250}}
				idle1 := map[string][2]int{"Put member/000001": once, "Get job": once}
				n0, n1 := p.views[0].asked(), p.views[1].asked()
				time.Sleep(long)
				p.spends("nothing happens", 0, n0, idle0)
				p.spends("nothing happens", 1, n1, idle1)
				for waits := range 2 {
					done := make(chan error, 1)
					n0, n1 = p.views[0].asked(), p.views[1].asked()
					go func() { done <- p.all[waits].Barrier(t.Context(), "k") }()
					time.Sleep(long)
					looks := [2]int{beats - 1, 3 * beats} // also at each change, which its own signs of life are
					if !watch {
						looks = [2]int{190, 300}
					}
					own := [2]int{beats - 1, beats + 2}
					if waits == 0 {
						p.spends("rank 0 waits", 0, n0,
							map[string][2]int{"Put member/000000": own, "Get job": once, "List member/": looks})
						p.spends("rank 0 waits", 1, n1, idle1)
					} else {
						idle0["Put round"] = [2]int{0, 1} // in which the barrier before is not named any more
						p.spends("rank 1 waits", 0, n0, idle0)
						p.spends("rank 1 waits", 1, n1,
							map[string][2]int{"Put member/000001": own, "Get job": once, "Get round": looks})
					}
					began := time.Now()
					if err := errors.Join(p.all[1-waits].Barrier(t.Context(), "k"), <-done); err != nil {
						t.Error(err)
					}
					if took := time.Since(began); watch && took > 50*time.Millisecond || took > 2100*time.Millisecond {
						t.Errorf("rank %d waited, and the barrier took %v", waits, took)
					}
				}
				p.quiet()
				for rank, w := range p.watchers {
					if n := w.subscriptions(); watch && n != 1 {
						t.Errorf("rank %d has asked for changes %d times", rank, n)
					}
				}
				closeAll(t, p.all...)
				p.quiet()
			})
		})
	}
}

// What barriers in a row cost, and that none waits.
func TestCostOfBarriers(t *testing.T) {
	const barriers = 100
	synctest.Test(t, func(t *testing.T) {
		p := newPaced(t, 2, true, nil)
		began, n0, n1 := time.Now(), p.views[0].asked(), p.views[1].asked()
		for range barriers {
			done := make(chan error, 1)
			go func() { done <- p.all[0].Barrier(t.Context(), "k") }()
			if err := errors.Join(p.all[1].Barrier(t.Context(), "k"), <-done); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > barriers*20*time.Millisecond {
			t.Errorf("%d barriers took %v", barriers, took)
		}
		each := [2]int{barriers, barriers + 5}
		p.spends("barriers", 0, n0, map[string][2]int{"Put member/000000": each, "Get job": {0, 2},
			"List member/": {barriers, 4 * barriers}, "Put round": {barriers, barriers + 5}})
		p.spends("barriers", 1, n1, map[string][2]int{"Put member/000001": each, "Get job": {0, 2},
			"Get round": {barriers, 4 * barriers}})
		// The calls do not stay in the documents.
		time.Sleep(pacedLease)
		for rank := range 2 {
			d, err := p.views[rank].Board.Get(t.Context(), seatKey(rank))
			if err != nil || strings.Contains(string(d.Value), "nonce") {
				t.Errorf("rank %d: %s, %v", rank, d.Value, err)
			}
		}
		closeAll(t, p.all...)
		p.quiet()
	})
}

// A process that comes back finds rank 0 soon, whenever that is.
func TestComingBackToAnIdleBoard(t *testing.T) {
	for _, watch := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPaced(t, 2, watch, nil)
			for range 5 {
				closeAll(t, p.all[1])
				time.Sleep(2300 * time.Millisecond)
				o := short(1, 2)
				p.options(&o)
				began := time.Now()
				var err error
				if p.all[1], err = Join(t.Context(), p.views[1], o); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 4500*time.Millisecond {
					t.Errorf("it took %v", took)
				}
			}
			closeAll(t, p.all...)
			p.quiet()
		})
	}
}

// Once one member has joined, rank 0 expects the others soon, and looks often.
func TestNewsMakeTheNextLookSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, views := InProcess(), []*script(nil)
		for range 3 {
			views = append(views, &script{Board: b, t: t, slow: time.Millisecond})
		}
		all, failed := make([]*Member, 3), make([]error, 3)
		var wait sync.WaitGroup
		join := func(rank int) {
			wait.Go(func() {
				o := short(rank, 3)
				o.Lease = pacedLease
				all[rank], failed[rank] = Join(t.Context(), views[rank], o)
			})
		}
		join(0)
		time.Sleep(17 * time.Second) // by now it looks every 2 seconds
		n := views[0].asked()
		time.Sleep(6 * time.Second)
		if looks := views[0].times(n, "List"); looks < 2 || looks > 5 {
			t.Errorf("it looks %d times in 6 seconds", looks)
		}
		join(1)
		for n = views[0].times(0, "Put round"); views[0].times(0, "Put round") == n; {
			time.Sleep(time.Millisecond)
		}
		n = views[0].asked()
		time.Sleep(500 * time.Millisecond)
		if looks := views[0].times(n, "List"); looks < 4 {
			t.Errorf("it looks %d times in half a second", looks)
		}
		join(2)
		wait.Wait()
		if err := errors.Join(failed...); err != nil {
			t.Fatal(err)
		}
		closeAll(t, all...)
	})
}

// A board that fails is asked less and less often, and each failure is told.
func TestPaceOnABoardThatFails(t *testing.T) {
	for _, what := range []string{"", "List", "Get round", "Get job", "Put member"} {
		for _, watch := range []bool{false, true} {
			t.Run(fmt.Sprintf("%q,watch=%v", what, watch), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPaced(t, 2, watch, nil)
					rank := 0
					if what == "Get round" {
						rank = 1
					}
					n := p.views[rank].asked()
					p.views[rank].act(func(r request) error {
						if strings.HasPrefix(r.String(), what) {
							return injected(errs.IO)
						}
						return nil
					})
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
					defer cancel()
					err := p.all[rank].Barrier(ctx, "k")
					wants(t, err, errs.Canceled)
					if what != "" && what != "List" && !errors.Is(err, errInjected) {
						t.Error(err)
					}
					failed := p.views[rank].times(n, what)
					// The looks for those who are late are tries as well, and are not told.
					if told := len(p.errors()); told < 90 || told > 115 || failed < told || failed > told+40 {
						t.Errorf("%d failures, %d were told", failed, told)
					}
					p.views[rank].act(nil)
					both := make(chan error, 2)
					for _, m := range p.all {
						go func() { both <- m.Barrier(t.Context(), "k") }()
					}
					if err := errors.Join(<-both, <-both); err != nil {
						t.Error(err)
					}
					closeAll(t, p.all...)
				})
			})
		}
	}
}

// One failure is made good soon, and costs no look at the seat.
func TestOneFailureOfASign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaced(t, 2, true, nil)
		done := false
		p.views[0].act(func(r request) error {
			if r.op == "Put" && !done {
				done = true
				return injected(errs.IO)
			}
			return nil
		})
		began, n := time.Now(), p.views[0].asked()
		both := make(chan error, 2)
		for _, m := range p.all {
			go func() { both <- m.Barrier(t.Context(), "k") }()
		}
		if err := errors.Join(<-both, <-both); err != nil || time.Since(began) > time.Second {
			t.Errorf("%v, after %v", err, time.Since(began))
		}
		if looks, told := p.views[0].times(n, "Get "+seatKey(0)), p.errors(); looks > 0 || len(told) != 1 {
			t.Errorf("%d looks, told %v", looks, told)
		}
		closeAll(t, p.all...)
	})
}

// What time does not mend ends the call that waits, though rank 0 can still read.
func TestSignThatFailsForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaced(t, 2, true, nil)
		p.views[0].act(func(r request) error {
			if r.String() == "Put "+seatKey(0) {
				return injected(errs.Permission)
			}
			return nil
		})
		began := time.Now()
		err := p.all[0].Barrier(t.Context(), "k")
		wants(t, err, errs.Permission, "injected")
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		p.views[0].act(nil)
		closeAll(t, p.all...)
	})
}

// A board that cannot tell of changes is asked again at each sign of life. Meanwhile the members
// look for themselves.
func TestChangesThatEnd(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	for name, changes := range map[string]func(context.Context, string) (<-chan struct{}, error){
		"they fail":      func(context.Context, string) (<-chan struct{}, error) { return closed, injected(errs.IO) },
		"they end":       func(context.Context, string) (<-chan struct{}, error) { return closed, nil },
		"there are none": func(context.Context, string) (<-chan struct{}, error) { return nil, injected(errs.Unsupported) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPaced(t, 2, true, func(p *paced) {
					for _, w := range p.watchers {
						w.changes = changes
					}
				})
				p.errors()
				asked, n := p.watchers[1].subscriptions(), p.views[1].asked()
				done := make(chan error, 1)
				go func() { done <- p.all[1].Barrier(t.Context(), "k") }()
				const beats = 40
				time.Sleep(beats * pacedLease / 4)
				if got := p.watchers[1].subscriptions() - asked; got < beats/2 || got > beats+2 {
					t.Errorf("it asked for changes %d times", got)
				}
				if got := p.views[1].times(n, "Get round"); got < 150 || got > 400 {
					t.Errorf("it looked %d times", got)
				}
				if told := p.errors(); strings.Contains(name, "end") != (len(told) == 0) {
					t.Errorf("told: %v", told)
				}
				began := time.Now()
				err := errors.Join(p.all[0].Barrier(t.Context(), "k"), <-done)
				if took := time.Since(began); err != nil || took > 2100*time.Millisecond {
					t.Errorf("%v, after %v", err, took)
				}
				closeAll(t, p.all...)
			})
		})
	}
}

// Only the member that opened the board closes it.
func TestWhoClosesTheBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened []*closing
		scheme := "z-counted-" + nonce()
		Register(scheme, func(context.Context, string) (Board, error) {
			opened = append(opened, &closing{Board: InProcess()})
			return opened[len(opened)-1], nil
		})
		m, err := Open(t.Context(), scheme+"://board", Options{})
		if err != nil {
			t.Fatal(err)
		}
		closeAll(t, m)
		closeAll(t, m)
		if opened[0].closed != 1 {
			t.Errorf("it was closed %d times", opened[0].closed)
		}
		own := &closing{Board: InProcess()}
		if m, err = Join(t.Context(), own, Options{}); err != nil {
			t.Fatal(err)
		}
		closeAll(t, m)
		if own.closed != 0 {
			t.Errorf("the board of the caller was closed %d times", own.closed)
		}
	})
}

// closing counts how often it is closed.
type closing struct {
	Board
	closed int
}

func (b *closing) Close() error { b.closed++; return b.Board.Close() }
