//go:build !bivouac_wheel

package main

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// TestKept checks that a value is made once, again when it is old, and again after a failure.
func TestKept(t *testing.T) {
	now := time.Unix(1000, 0)
	var mu sync.Mutex
	k := kept[int]{most: 2, now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }}
	var made atomic.Int64
	find := func(context.Context) (int, error) { return int(made.Add(1)), nil }
	get := func(key string) int {
		v, err := k.get(t.Context(), key, find)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for i, key := range []string{"a", "a", "b", "a"} {
		if got, want := get(key), []int{1, 1, 2, 1}[i]; got != want {
			t.Errorf("value %s is %d, want %d", key, got, want)
		}
	}
	mu.Lock()
	now = now.Add(leastKept + 1)
	mu.Unlock()
	if get("a") != 3 || get("b") != 4 {
		t.Error("an old value is used")
	}
	if get("c") != 5 || len(k.list) != 2 || get("c") != 5 {
		t.Errorf("%d values are kept, want 2", len(k.list))
	}
	failing := func(context.Context) (int, error) { return 0, &errs.Error{Kind: errs.IO} }
	if _, err := k.get(t.Context(), "d", failing); err == nil {
		t.Error("a failure is no error")
	}
	if get("d") != 6 {
		t.Error("a failure is kept")
	}

	// One makes it, and goes away; another one that waits makes it itself.
	began, canceled := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_, err := k.get(t.Context(), "e", func(context.Context) (int, error) {
			close(began)
			<-canceled
			return 0, context.Canceled
		})
		if err != context.Canceled {
			t.Errorf("the first one got %v", err)
		}
	})
	<-began
	all.Go(func() {
		if v, err := k.get(t.Context(), "e", find); err != nil || v != 7 {
			t.Errorf("the second one got %v, %v", v, err)
		}
	})
	gone, stop := context.WithCancel(t.Context())
	stop()
	if _, err := k.get(gone, "e", find); err != context.Canceled {
		t.Errorf("one that has gone got %v", err)
	}
	close(canceled)
	all.Wait()
}
