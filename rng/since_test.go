package rng

import (
	"math"
	"testing"
)

// TestSince is that Since counts the words that Skip skips, and refuses places before it and of
// other keys.
func TestSince(t *testing.T) {
	for _, at := range []Philox{NewPhilox(7, 0, 0), NewPhilox(7, 3, 5), NewPhilox(7, 9, math.MaxUint64)} {
		for _, n := range []uint64{0, 1, 3, 4, 7, 1000003, 1 << 40} {
			further := at
			further.Skip(n)
			if got, ok := further.Since(at); !ok || got != n {
				t.Errorf("%v: got %d %v, want %d", at, got, ok, n)
			}
			if _, ok := at.Since(further); ok && n > 0 {
				t.Errorf("%v is before %v", at, further)
			}
		}
		if _, ok := at.Since(NewPhilox(8, at.Sequence(), 0)); ok {
			t.Errorf("%v: another key", at)
		}
	}
}
