package writer

import (
	"cmp"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Any list is sorted as slices.SortStableFunc sorts it.
func TestSortRuns(t *testing.T) {
	type pair struct{ key, at int }
	rapid.Check(t, func(t *rapid.T) {
		a := make([]pair, rapid.IntRange(0, 300).Draw(t, "n"))
		keys := rapid.IntRange(1, 400).Draw(t, "keys")
		for i := range a {
			a[i] = pair{rapid.IntRange(0, keys).Draw(t, "key"), i}
		}
		if sorted := rapid.IntRange(0, len(a)).Draw(t, "sorted"); sorted > 0 {
			slices.SortFunc(a[:sorted], func(x, y pair) int { return cmp.Compare(x.key, y.key) })
		}
		want := slices.Clone(a)
		slices.SortStableFunc(want, func(x, y pair) int { return cmp.Compare(x.key, y.key) })
		sortRuns(a, func(x, y pair) int { return cmp.Compare(x.key, y.key) })
		if !slices.Equal(a, want) {
			t.Fatalf("%v, want %v", a, want)
		}
	})
}

// Numbers in their order take a few comparisons each to sort as texts, however many there are.
func TestSortRunsOfNumbers(t *testing.T) {
	for _, n := range []int{1000, 100_000} {
		names := make([]string, n)
		for i := range names {
			names[i] = strconv.Itoa(i)
		}
		compared := 0
		sortRuns(names, func(x, y string) int { compared++; return cmp.Compare(x, y) })
		if !slices.IsSorted(names) || compared > 4*n {
			t.Errorf("%d names: %d comparisons", n, compared)
		}
	}
}
