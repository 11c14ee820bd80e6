package demo

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Whatever the instants of the kills, the number of threads and the prefetch
// depth: each demonstration passes, and all of them train the same weights.
// `make test-long` runs it.
func TestLongKillPatterns(t *testing.T) {
	patterns := 2
	if os.Getenv("BIVOUAC_LONG") != "" {
		patterns = 32
	} else if testing.Short() {
		t.Skip("trains with killed children; not in short mode")
	}
	var first *Report
	for i := range patterns {
		threads, prefetch := 1+i%4, 1+(i/4+i)%4
		t.Run(fmt.Sprintf("pattern=%d/threads=%d/prefetch=%d", i, threads, prefetch), func(t *testing.T) {
			screen := new(quiet)
			r, err := Run(context.Background(), Options{
				Dir: t.TempDir(), Command: childOf(real), Seed: 11, KillSeed: uint64(i) + 1,
				Steps: 150, SaveEvery: 10, Kills: 5, Threads: threads, Prefetch: prefetch,
			}, screen)
			if err != nil {
				t.Fatalf("%v\n%s", err, &screen.lines)
			}
			if len(r.Failures) > 0 {
				t.Fatalf("%s\n%s", strings.Join(r.Failures, "\n"), &screen.lines)
			}
			if first == nil {
				first = r
			}
			if got, want := digests(r), digests(first); got != want {
				t.Errorf("threads and prefetch changed the training: %v, want %v", got, want)
			}
			t.Logf("%d kills, %d in a commit; %d steps executed of %d, at most %d", len(r.Kills), r.inCommit(), r.Executed, r.Steps, r.Bound)
		})
	}
}

func digests(r *Report) [4]string {
	s := r.Interrupted
	return [...]string{s.Order, s.Pixels, s.Losses, s.State}
}
