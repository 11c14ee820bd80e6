package layout

import (
	"slices"
	"testing"
)

// Every index comes once, and what comes at once is apart.
func TestApart(t *testing.T) {
	for n := 1; n < 70; n++ {
		for streams := 1; streams <= n; streams++ {
			var all []int
			for i := range n {
				all = append(all, apart(i, n, streams))
			}
			for k := 1; k < min(streams, n); k++ {
				if all[k]-all[k-1] < n/streams {
					t.Fatalf("%d of %d begin with %v", streams, n, all[:streams])
				}
			}
			slices.Sort(all)
			for i, at := range all {
				if at != i {
					t.Fatalf("%d indices in %d streams are %v", n, streams, all)
				}
			}
		}
	}
}
