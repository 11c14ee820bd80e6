package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func value(n int, bytes int64, made *atomic.Int64) func(context.Context) (int, int64, error) {
	return func(context.Context) (int, int64, error) { made.Add(1); return n, bytes, nil }
}

// The values that were used last stay, within the budget, and the newest stays whatever its size.
func TestKeepsWhatWasUsedLast(t *testing.T) {
	ctx, c := context.Background(), New[string, int](10)
	var made atomic.Int64
	get := func(key string, bytes int64) {
		t.Helper()
		if v, err := c.Get(ctx, key, value(len(key), bytes, &made)); err != nil || v != len(key) {
			t.Errorf("%s: %d, %v", key, v, err)
		}
	}
	get("a", 4)
	get("bb", 4)
	get("a", 4)
	get("ccc", 4) // drops bb
	if made.Load() != 3 || c.Bytes() != 8 {
		t.Errorf("%d values were made, %d bytes are kept; want 3 and 8", made.Load(), c.Bytes())
	}
	get("a", 4)
	get("bb", 4)
	if made.Load() != 4 {
		t.Errorf("%d values were made, want 4: a stays, bb is made again", made.Load())
	}
	get("large", 100)
	if c.Bytes() != 100 {
		t.Errorf("%d bytes are kept, want the newest value alone", c.Bytes())
	}
	c.Clear()
	if c.Bytes() != 0 {
		t.Errorf("%d bytes are kept after Clear", c.Bytes())
	}
}

// Many callers at once make each value once, and an error is not kept.
func TestMakesEachValueOnce(t *testing.T) {
	ctx, c := context.Background(), New[int, int](1<<20)
	var made atomic.Int64
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 100 {
				key := (i + g) % 10
				if v, err := c.Get(ctx, key, value(key, 1, &made)); v != key || err != nil {
					t.Errorf("%d: %d, %v", key, v, err)
				}
			}
		})
	}
	group.Wait()
	if made.Load() != 10 {
		t.Errorf("%d values were made, want 10", made.Load())
	}
	broken := fmt.Errorf("broken")
	if _, err := c.Get(ctx, 99, func(context.Context) (int, int64, error) { return 0, 0, broken }); !errors.Is(err,
		broken) {
		t.Errorf("got %v", err)
	}
	if v, err := c.Get(ctx, 99, value(5, 1, &made)); v != 5 || err != nil {
		t.Errorf("after an error: %d, %v", v, err)
	}
}

// A caller that gives up does not fail the others, nor does a panic leave them waiting.
func TestOthersGoOn(t *testing.T) {
	c := New[int, int](1 << 20)
	first, cancel := context.WithCancel(context.Background())
	started, made := make(chan struct{}), atomic.Int64{}
	go c.Get(first, 1, func(ctx context.Context) (int, int64, error) { //nolint:errcheck // it is cancelled
		close(started)
		<-ctx.Done()
		return 0, 0, &errs.Error{Kind: errs.IO, Got: "an interrupted read"}
	})
	<-started
	done := make(chan error)
	go func() {
		v, err := c.Get(context.Background(), 1, value(7, 1, &made))
		if v != 7 {
			err = fmt.Errorf("got %d, %w", v, err)
		}
		done <- err
	}()
	over, stop := context.WithCancel(context.Background())
	stop()
	if _, err := c.Get(over, 1, value(7, 1, &made)); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller whose context is over: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	func() {
		defer func() { recover() }() //nolint:errcheck // the panic is the test's
		c.Get(context.Background(), 2, func(context.Context) (int, int64,
			error) {
			panic("test")
		}) //nolint:errcheck // it panics
	}()
	if v, err := c.Get(context.Background(), 2, value(3, 1, &made)); v != 3 || err != nil {
		t.Errorf("after a panic: %d, %v", v, err)
	}
}
