package ahead_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bivouac-ml/bivouac/internal/ahead"
)

// TestReport holds that a failure is reported once, when the call has failed and the program has
// made it, in any order. A call that is not made ahead is reported at once.
func TestReport(t *testing.T) {
	n := 0
	report := func() { n++ }
	ahead.Report(context.Background(), report)
	if n != 1 {
		t.Errorf("%d reports of a call that is not made ahead, want 1", n)
	}
	for _, order := range []string{"made failed", "failed made", "failed", "made"} {
		n = 0
		c := &ahead.Call{}
		ctx := ahead.With(context.Background(), c)
		want := 1
		switch order {
		case "made failed":
			if !ahead.Pending(ctx) || ahead.Pending(context.Background()) {
				t.Error("a call is pending until the program makes it, if it is made ahead")
			}
			c.Made()
			if ahead.Pending(ctx) {
				t.Error("a call that the program has made is pending")
			}
			ahead.Report(ctx, report)
		case "failed made":
			ahead.Report(ctx, report)
			if n != 0 {
				t.Error("a report of a call that the program has not made")
			}
			c.Made()
			c.Made()
		case "failed":
			ahead.Report(ctx, report)
			want = 0
		case "made":
			c.Made()
			want = 0
		}
		if n != want {
			t.Errorf("%s: %d reports, want %d", order, n, want)
		}
	}
}

// TestReportConcurrently holds that a failure is reported once if the call fails while the program
// makes it.
func TestReportConcurrently(t *testing.T) {
	for range 200 {
		var n atomic.Int32
		c := &ahead.Call{}
		var wg sync.WaitGroup
		wg.Go(func() { ahead.Report(ahead.With(context.Background(), c), func() { n.Add(1) }) })
		wg.Go(c.Made)
		wg.Wait()
		if n.Load() != 1 {
			t.Fatalf("%d reports, want 1", n.Load())
		}
	}
}
