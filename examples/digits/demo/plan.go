package demo

import (
	"slices"

	"github.com/bivouac-ml/bivouac/rng"
)

// kill is one planned death.
type kill struct {
	// At is the step from which on the trigger is armed.
	At int64
	// InCommit: the trigger is the begin of a save, and the instant lies in its
	// commit. Otherwise it is the end of a step, and the instant lies in the next.
	InCommit bool
	// Phase is where in that span, from 0 to 1.
	Phase float64
}

// commitKills is how many of n kills must hit a commit.
func commitKills(n int) int { return min(n, 2) }

// shortest is the least number of steps that n kills fit into.
func shortest(n int, saveEvery int64) int64 {
	if n <= 0 {
		return 1
	}
	return 5*saveEvery + lead + int64(n)
}

// planKills spreads n kills over the training. The first comes when a step was
// committed for sure, since a save waits for the one before; the last when the
// child cannot have reached its end, and those aimed at a commit when there are
// three more to try.
func planKills(random *rng.Philox, n int, steps, saveEvery int64) []kill {
	kills := make([]kill, n)
	first, last := 2*saveEvery, steps-lead
	for i := range kills {
		from := first + (last-first)*int64(i)/int64(n)
		to := first + (last-first)*int64(i+1)/int64(n)
		kills[i] = kill{At: from + int64(random.Float64()*float64(to-from)), Phase: random.Float64()}
	}
	for range commitKills(n) {
		open := slices.DeleteFunc(indices(n), func(i int) bool { return kills[i].InCommit })
		k := &kills[open[random.Intn(len(open))]]
		k.InCommit, k.At = true, min(k.At, steps-3*saveEvery)
	}
	return kills
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
