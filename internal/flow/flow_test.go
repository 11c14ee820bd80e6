package flow

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// item is a slot of the test's stage: a number that follows the one before.
type item struct {
	value  int
	busy   bool
	failed error
}

// counter makes the numbers 0 to end-1; the token is the next number.
type counter struct {
	t       *rapid.T
	end     int
	starved int // the number that is not there at the first attempt
	fail    map[int]error
	busy    int
	most    int
}

func (c *counter) Start(_ context.Context, s *item, at int, _ bool) (int, Outcome) {
	switch {
	case at == c.end:
		return at, Ended
	case at == c.starved:
		c.starved = -1 // the next attempt finds it
		return at, Starved
	}
	if s.busy {
		c.t.Fatal("a slot is started twice")
	}
	*s = item{value: at, busy: true, failed: c.fail[at]}
	c.busy++
	c.most = max(c.most, c.busy)
	return at + 1, Started
}

func (c *counter) Wait(ctx context.Context, s *item) error {
	if !s.busy {
		c.t.Fatal("waiting for a slot that was not started")
	}
	return ctx.Err()
}

func (c *counter) Err(s *item) error { return s.failed }

func (c *counter) Abandon(s *item) {
	if !s.busy {
		c.t.Fatal("a slot is abandoned that is not in use")
	}
	s.busy = false
	c.busy--
}

// TestRing compares a ring with the plain sequence, through errors,
// cancellations and moves.
func TestRing(t *testing.T) {
	broken := errors.New("broken")
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	rapid.Check(t, func(t *rapid.T) {
		c := &counter{t: t, end: rapid.IntRange(0, 20).Draw(t, "end"), starved: rapid.IntRange(-1, 9).Draw(t, "starved"), fail: map[int]error{}}
		depth := rapid.IntRange(0, 4).Draw(t, "depth")
		r := NewRing[*item, int](c, depth, func() *item { return &item{} }, 0)
		at := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				at = rapid.IntRange(0, c.end).Draw(t, "to")
				r.Reset(at)
			case 1:
				if _, ok, err := r.Next(canceled); ok || err == nil && at < c.end && r.Outcome() != Starved {
					t.Fatal("a canceled context is ignored")
				}
			case 3:
				i, flight := rapid.IntRange(0, 3).Draw(t, "peek"), r.InFlight()
				got, ok, err := r.Peek(context.Background(), i)
				switch {
				case i >= flight:
					if ok || err != nil {
						t.Fatalf("value %d of %d: %v %v", i, flight, ok, err)
					}
				case c.fail[at+i] != nil:
					if ok || !errors.Is(err, broken) || i > 0 && r.InFlight() != flight || i == 0 && r.InFlight() != 0 {
						t.Fatalf("value %d: got %v, %v; %d of %d are in flight", at+i, ok, err, r.InFlight(), flight)
					}
				case !ok || err != nil || got.value != at+i || r.InFlight() != flight:
					t.Fatalf("value %d: got %+v, %v, %v", at+i, got, ok, err)
				}
			case 2: // breaks from here on are seen when their values are started
				r.Reset(at)
				c.fail = map[int]error{rapid.IntRange(0, 20).Draw(t, "broken"): broken}
			default:
				got, ok, err := r.Next(context.Background())
				switch {
				case !ok && err == nil && r.Outcome() == Starved:
				case at == c.end:
					if ok || err != nil || r.Outcome() != Ended {
						t.Fatalf("at the end: %v %v", ok, err)
					}
				case c.fail[at] != nil:
					if !errors.Is(err, broken) {
						t.Fatalf("value %d: got %v", at, err)
					}
				case !ok || err != nil || got.value != at:
					t.Fatalf("value %d: got %+v, %v, %v", at, got, ok, err)
				default:
					at++
				}
			}
			if r.Token() != at {
				t.Fatalf("token %d, want %d", r.Token(), at)
			}
			if c.most > depth+1 || r.InFlight() > max(1, depth) {
				t.Fatalf("depth %d, %d in use, %d in flight", depth, c.most, r.InFlight())
			}
		}
		r.Reset(0)
		if c.busy != 0 {
			t.Fatalf("%d slots in use after Reset", c.busy)
		}
	})
}

func TestPoolRunsEverythingOnce(t *testing.T) {
	for workers := 1; workers <= 4; workers++ {
		const n = 1000
		var runs [n]atomic.Int32
		var all sync.WaitGroup
		all.Add(n)
		p := NewPool(workers, func(w, task int) {
			if w < 0 || w >= workers {
				t.Errorf("worker %d of %d", w, workers)
			}
			runs[task].Add(1)
			all.Done()
		})
		for i := 0; i < n; i += 10 {
			p.Submit(slices.Collect(func(yield func(int) bool) {
				for j := range 10 {
					if !yield(i + j) {
						return
					}
				}
			})...)
		}
		all.Wait()
		p.Close()
		p.Close()
		p.Submit(1, 2, 3) // dropped
		for i := range runs {
			if runs[i].Load() != 1 {
				t.Fatalf("task %d ran %d times", i, runs[i].Load())
			}
		}
	}
}

func TestPoolCloseWaits(t *testing.T) {
	started, release := make(chan bool), make(chan bool)
	done := false
	p := NewPool(1, func(int, int) {
		close(started)
		<-release
		done = true
	})
	p.Submit(1)
	<-started
	go close(release)
	p.Close()
	if !done {
		t.Error("Close did not wait for the running task")
	}
}

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(10)
		never := func() bool { return false }
		if !b.Acquire(25, never) {
			t.Fatal("a large sample alone is refused")
		}
		var got atomic.Int32
		var stopped atomic.Bool
		for range 3 {
			go func() {
				if b.Acquire(4, stopped.Load) {
					got.Add(1)
				}
			}()
		}
		synctest.Wait()
		if got.Load() != 0 {
			t.Fatal("more than the budget is out")
		}
		b.Release(25)
		synctest.Wait()
		if got.Load() != 2 {
			t.Fatalf("%d of 2 that fit got their bytes", got.Load())
		}
		stopped.Store(true)
		b.Wake()
		synctest.Wait()
		if now, peak := b.Used(); got.Load() != 2 || now != 8 || peak != 25 {
			t.Fatalf("%d got bytes, %d are out, the peak was %d", got.Load(), now, peak)
		}
	})
}

func BenchmarkPool(b *testing.B) {
	var all sync.WaitGroup
	p := NewPool(2, func(int, int) { all.Done() })
	defer p.Close()
	tasks := make([]int, 64)
	b.ReportAllocs()
	for b.Loop() {
		all.Add(len(tasks))
		p.Submit(tasks...)
		all.Wait()
	}
}

// TestRingByHand begins, takes and gives back values in any order of the three.
func TestRingByHand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &counter{t: t, end: rapid.IntRange(0, 20).Draw(t, "end"), starved: -1, fail: map[int]error{}}
		r := NewRing[*item, int](c, 2, func() *item { return &item{} }, 0)
		begun, taken, held := 0, 0, 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				want := Started
				if begun == c.end {
					want = Ended
				} else {
					begun++
				}
				if got := r.Schedule(context.Background(), true); got != want {
					t.Fatalf("Schedule: %v, want %v", got, want)
				}
			case 1:
				got, ok, err := r.Share(context.Background())
				if err != nil || ok != (taken < begun) || ok && got.value != taken {
					t.Fatalf("value %d of %d: %+v, %v, %v", taken, begun, got, ok, err)
				}
				if ok {
					taken, held = taken+1, held+1
				}
			case 2:
				r.Release()
				held = max(0, held-1)
			case 3:
				if rapid.IntRange(0, 9).Draw(t, "move") == 0 {
					begun = rapid.IntRange(0, c.end).Draw(t, "to")
					taken, held = begun, 0
					r.Reset(begun)
				}
			}
			if r.Token() != taken || r.InFlight() != begun-taken || c.busy != begun-taken+held {
				t.Fatalf("token %d, %d in flight, %d in use; want %d, %d, %d", r.Token(), r.InFlight(), c.busy, taken, begun-taken, begun-taken+held)
			}
		}
		r.Reset(0)
		if c.busy != 0 {
			t.Fatalf("%d slots in use after Reset", c.busy)
		}
	})
}
