package order

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A keySet returns the least key from a bound on, like a sorted list. No run is longer than
// keysOfRun.
func TestKeySet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, span := range []uint64{10, 5000, 1 << 40} {
		var set keySet
		var list []uint64
		for i := range 30_000 {
			key := r.Uint64N(span)
			at, there := slices.BinarySearch(list, key)
			if r.IntN(5) < 3-i/15_000*2 {
				if !there {
					set.add(key)
					list = slices.Insert(list, at, key)
				}
			} else {
				got, ok := set.takeFrom(key)
				if ok != (at < len(list)) || ok && got != list[at] {
					t.Fatalf("after %d: from %d on is %d, %v", i, key, got, ok)
				}
				if ok {
					list = slices.Delete(list, at, at+1)
				}
			}
			if i%1000 == 0 && (!slices.Equal(slices.Concat(set.runs...), list) || slices.ContainsFunc(set.runs, func(run []uint64) bool { return len(run) == 0 || len(run) > keysOfRun })) {
				t.Fatalf("after %d: %d runs do not hold the %d keys", i, len(set.runs), len(list))
			}
		}
	}
}
