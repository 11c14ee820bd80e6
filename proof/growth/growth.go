package growth

import (
	"context"
	"fmt"
	"runtime"
	"slices"
)

// Factor is the most that a cost may grow by when the input doubles.
const Factor = 2.5

// doublings of the smallest size that an operation is tried at.
const doublings = 3

// TB is what Check needs of a *testing.T, so that a program can have it too.
type TB interface {
	Helper()
	Context() context.Context
	TempDir() string
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

// Op is an operation under the law.
type Op struct {
	Name string
	N    int // the smallest size; the largest is eight times as much
	// Prepare makes an input of size n and returns the operation. What Prepare does
	// is not counted. The operation is run twice and the cheaper run counts, so it
	// must be able to run again.
	Prepare func(tb TB, n int) func() error
}

// Check fails tb unless the cost of op grows by no more than Factor a doubling. It
// returns the sizes and the costs.
func Check(tb TB, op Op) ([]int, []Cost) {
	tb.Helper()
	costs := make([]Cost, doublings+1)
	sizes := make([]int, doublings+1)
	for i := range costs {
		sizes[i] = op.N << i
		run := op.Prepare(tb, sizes[i])
		for again := range 2 {
			cost, err := Measure(run)
			if err != nil {
				tb.Fatalf("%s at %d: %v", op.Name, sizes[i], err)
			}
			if again == 0 {
				costs[i] = cost
			} else {
				costs[i] = costs[i].least(cost)
			}
		}
	}
	for _, fault := range faults(sizes, costs) {
		tb.Errorf("%s: %s", op.Name, fault)
	}
	return sizes, costs
}

// Cost is what one run of an operation took.
type Cost struct {
	Allocs uint64 // allocations
	Bytes  uint64 // allocated in all, given back or not
	Steps  Steps  // empty in a build that does not count them
}

// Measure runs an operation and returns its cost, to which everything that runs at
// the same time in the process adds.
func Measure(run func() error) (Cost, error) {
	var before, after runtime.MemStats
	runtime.GC()
	first, err := countSteps()
	if err != nil {
		return Cost{}, err
	}
	runtime.ReadMemStats(&before)
	if err := run(); err != nil {
		return Cost{}, err
	}
	runtime.ReadMemStats(&after)
	last, err := countSteps()
	if err != nil {
		return Cost{}, err
	}
	return Cost{after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc, last.minus(first)}, nil
}

func (c Cost) least(d Cost) Cost {
	c.Allocs, c.Bytes = min(c.Allocs, d.Allocs), min(c.Bytes, d.Bytes)
	for block, n := range c.Steps {
		if m := d.Steps[block]; m < n {
			c.Steps[block] = m
		}
	}
	return c
}

// What is spent on less than this is not judged: rounding, and buffers of a fixed size.
const (
	fewAllocs = 2000
	fewBytes  = 1 << 20
	fewRuns   = 64 // of a block, for each element of the input
)

// faults says which costs grow too fast.
func faults(sizes []int, costs []Cost) []string {
	var out []string
	row := func(what string, few uint64, of func(Cost) uint64) {
		ns := make([]uint64, len(costs))
		for i, c := range costs {
			ns[i] = of(c)
		}
		if tooFast(ns, few) {
			out = append(out, fmt.Sprintf("%s at %v are %v: want at most %.1f times as many a doubling", what, sizes, ns,
				Factor))
		}
	}
	row("allocations", fewAllocs, func(c Cost) uint64 { return c.Allocs })
	row("allocated bytes", fewBytes, func(c Cost) uint64 { return c.Bytes })
	last := len(costs) - 1
	for _, b := range costs[last].Steps.most() {
		row("runs of "+b.String(), fewRuns*uint64(sizes[last]), func(c Cost) uint64 { return c.Steps[b] })
	}
	return out
}

// tooFast says whether costs grow by more than Factor a doubling, up to the last one
// from whichever size: so a cost that jumps once is not, such as one that depends on
// chance or begins to be needed.
func tooFast(costs []uint64, few uint64) bool {
	last := len(costs) - 1
	if costs[last] <= few {
		return false
	}
	most := float64(costs[last])
	for _, c := range slices.Backward(costs[:last]) {
		if most /= Factor; float64(c) >= most {
			return false
		}
	}
	return true
}
