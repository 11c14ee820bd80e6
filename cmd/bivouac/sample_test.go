package main

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Spans of time are read as people write them, and other words are refused.
func TestParseAge(t *testing.T) {
	const day = 24 * time.Hour
	for s, want := range map[string]time.Duration{"90m": 90 * time.Minute, "36h": 36 * time.Hour, "7d": 7 * day,
		"2w": 14 * day, "1y6mo": 545 * day,
		"1d12h": 36 * time.Hour, "1.5h": 90 * time.Minute, "0s": 0, "5m": 5 * time.Minute} {
		if got, err := parseAge(s); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "7", "d", "-1h", "7dd", "1h2d", "300y", "99999999999999999999d", "1 d", "x"} {
		if got, err := parseAge(s); err == nil {
			t.Errorf("%q: %v, want an error", s, got)
		}
	}
}

// The parts of a run are disjoint, and together they are all its steps. A share is at least one
// step, has no step twice, and keeps their order.
func TestSample(t *testing.T) {
	for _, n := range []int{1, 2, 20, 131} {
		var steps []resolved
		for i := range n {
			steps = append(steps, resolved{path: filepath.Join("run", strconv.Itoa(i)), run: true})
		}
		seen := map[string]int{}
		for part := 1; part <= 7; part++ {
			s := sample{part: part, parts: 7}
			for _, r := range s.of(steps) {
				seen[r.path]++
			}
		}
		for _, r := range steps {
			if seen[r.path] != 1 {
				t.Errorf("%d steps: %s is in %d parts", n, r.path, seen[r.path])
			}
		}
		for percent, want := range map[float64]int{5: (n + 19) / 20, 50: (n + 1) / 2, 100: n} {
			s := sample{share: percent / 100}
			got := s.of(steps)
			if len(got) != want {
				t.Errorf("%d steps: %g%% are %d, want %d", n, percent, len(got), want)
			}
			last := -1
			for _, r := range got {
				i, err := strconv.Atoi(filepath.Base(r.path))
				if err != nil || i <= last {
					t.Errorf("%d steps: %g%% have step %s after %d", n, percent, r.path, last)
				}
				last = i
			}
		}
	}
}
