package loader_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A last batch with fewer samples than ranks is told when the loader is made, and only
// then.
func TestUnevenEndIsToldAtConstruction(t *testing.T) {
	for _, c := range []struct {
		n    int
		o    options
		told bool
	}{
		{9, options{BatchSize: 2, World: 4}, true},
		{8, options{BatchSize: 2, World: 4}, false},
		{12, options{BatchSize: 2, World: 4}, false},
		{9, options{BatchSize: 2, World: 4, DropLast: true}, false},
		{9, options{BatchSize: 2}, false},
		{11, options{GlobalBatch: 5, World: 3, Rank: 1}, true},
	} {
		var warnings []string
		c.o.Warn = func(m string) { warnings = append(warnings, m) }
		open(t, ids(c.n), c.o)
		if told := slices.ContainsFunc(warnings, func(m string) bool { return strings.Contains(m, "ranks") && strings.Contains(m, "DropLast") }); told != c.told {
			t.Errorf("%d samples, %+v: %q", c.n, c.o.BatchSize, warnings)
		}
	}
}

// A state with two gaps, which batches that hang have left, loses none of them: each
// sample comes once, in whatever order and size the rest is read.
func TestNoBatchIsLostInTwoGaps(t *testing.T) {
	for _, after := range []options{{BatchSize: 2}, {BatchSize: 2, OutOfOrder: true, Workers: 3}, {BatchSize: 5, Workers: 1}} {
		l := open(t, newGate(24, 2, 6), options{BatchSize: 2, Workers: 3, PrefetchFactor: 3, OutOfOrder: true})
		first := slices.Concat(take(t, l, 5)...) // batches 1 and 3 hang
		saved := snapshot(t, l)
		if !strings.Contains(string(saved), `"bits":"0101`) || slices.Contains(first, 2) || slices.Contains(first, 6) {
			t.Fatalf("delivered %v: %s", first, saved)
		}
		next := open(t, newGate(24), after)
		restore(t, next, saved)
		more := take(t, next, 1)
		third := open(t, newGate(24), after)
		restore(t, third, snapshot(t, next))
		all := slices.Concat(first, slices.Concat(more...), slices.Concat(take(t, third, -1)...))
		slices.Sort(all)
		if diff := cmp.Diff([]int64(ids(24)), all); diff != "" {
			t.Errorf("%+v: %s", after, diff)
		}
	}
}
