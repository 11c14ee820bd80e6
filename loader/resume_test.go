package loader_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Family S1, S4, S9, S14 for Maps: interrupted anywhere, with any workers, what
// follows is what would have followed.
func TestMapGoesOnWhereItWas(t *testing.T) {
	for _, shuffle := range []bool{false, true} {
		whole := epochs(t, open(t, ids(37), options{BatchSize: 7, Shuffle: shuffle, Seed: 3}), 2)
		for _, workers := range []int{0, 1, 3} {
			for k := range 7 {
				t.Run(fmt.Sprintf("shuffle=%t workers=%d after %d", shuffle, workers, k), func(t *testing.T) {
					a := open(t, ids(37), options{BatchSize: 7, Shuffle: shuffle, Seed: 3, Workers: workers})
					got := take(t, a, k)
					b := open(t, ids(37), options{BatchSize: 7, Shuffle: shuffle, Seed: 3, Workers: 3 - workers})
					restore(t, b, snapshot(t, a))
					got = append(got, take(t, b, -1)...)
					if diff := cmp.Diff(whole[0], got); diff != "" {
						t.Errorf("first epoch: %s", diff)
					}
					if diff := cmp.Diff(whole[1], take(t, b, -1)); diff != "" {
						t.Errorf("second epoch: %s", diff)
					}
				})
			}
		}
	}
}
