package serve

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// TestLane: one call at a time is let through, in the order in which they joined, also if some are
// cancelled while they wait.
func TestLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		var l lane
		var mu sync.Mutex // of what follows
		var order []int
		inside, canceled := 0, 0
		for i := range 200 {
			turn, wait, work := l.join(), random.IntN(3), time.Duration(random.IntN(5))*time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+random.IntN(400))*time.Millisecond)
			go func() {
				defer cancel()
				defer turn.leave()
				time.Sleep(time.Duration(wait) * time.Millisecond)
				err := turn.wait(ctx)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					if !errors.Is(err, errs.Canceled) {
						t.Errorf("got %v, want canceled", err)
					}
					canceled++
					return
				}
				if inside++; inside > 1 {
					t.Error("two calls at once")
				}
				order = append(order, i)
				mu.Unlock()
				time.Sleep(work)
				mu.Lock()
				inside--
			}()
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if len(order)+canceled != 200 || canceled == 0 || len(order) < 20 {
			t.Fatalf("%d calls were let through, %d cancelled", len(order), canceled)
		}
		for k := 1; k < len(order); k++ {
			if order[k] < order[k-1] {
				t.Fatalf("order %v", order)
			}
		}
	})
}

// TestGiveWay: a wait ends when another call comes, before or after it began.
func TestGiveWay(t *testing.T) {
	for _, early := range []bool{true, false} {
		var l lane
		first := l.join()
		if early {
			l.join()
		}
		ctx, stop := first.giveWay(t.Context())
		defer stop()
		if !early {
			if ctx.Err() != nil {
				t.Fatal("the wait has ended before another call came")
			}
			l.join()
		}
		if ctx.Err() == nil {
			t.Fatal("the wait goes on although another call came")
		}
	}
	ctx, stop := (*turn)(nil).giveWay(t.Context())
	if ctx.Err() != nil {
		t.Fatal(ctx.Err())
	}
	stop()
}

// TestEarlyCalls: calls that came before their pipeline was open, and so have no place yet, are
// carried out one at a time too.
func TestEarlyCalls(t *testing.T) {
	c := &connection{}
	c.pipelines.add(&piped{engine: &definedEngine{}})
	inside := 0 // the race detector sees two calls at once
	op := withPipeline(noArguments, func(*call, *piped, struct{}) (reply, error) {
		inside++
		defer func() { inside-- }()
		time.Sleep(time.Millisecond)
		if inside != 1 {
			t.Errorf("%d calls at once", inside)
		}
		return nothing(nil)
	})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			k := &call{connection: c, ctx: t.Context(), args: newArgs([]byte(`{"pipeline":1}`)), op: "pipeline.progress"}
			if _, err := op(k); err != nil {
				t.Error(err)
			}
			k.turn.leave()
		})
	}
	all.Wait()
}
