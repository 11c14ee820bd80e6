package growth_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/proof/growth"
)

// told is a test that only notes what it is told.
type told struct {
	growth.TB
	faults []string
}

func (t *told) Errorf(format string, args ...any) {
	t.faults = append(t.faults, fmt.Sprintf(format, args...))
}

var sink []byte

// An operation that copies all it has for each element is found; one that is linear, or
// sorts, is not. That a search is found is seen by package gate, whose program counts steps.
func TestCheckFindsQuadratic(t *testing.T) {
	for _, c := range []struct {
		name  string
		run   func(n int)
		fault string
	}{
		{"linear", func(n int) {
			for range n {
				sink = make([]byte, 100)
			}
		}, ""},
		{"sorts", func(n int) {
			s := make([]int, n)
			for i := range s {
				s[i] = i * 7919 % n
			}
			slices.SortFunc(s, func(a, b int) int { return a - b })
		}, ""},
		{"grows by copies", func(n int) {
			s := ""
			for range n {
				s += "four"
			}
			sink = []byte(s)
		}, "allocated bytes"},
		{"allocates for each pair", func(n int) {
			for i := range n {
				for range i {
					sink = make([]byte, 1)
				}
			}
		}, "allocations"},
	} {
		got := &told{TB: t}
		growth.Check(got, growth.Op{Name: c.name, N: 500, Prepare: func(_ growth.TB, n int) func() error {
			return func() error { c.run(n); return nil }
		}})
		if all := strings.Join(got.faults, "\n"); (c.fault == "") != (all == "") || !strings.Contains(all, c.fault) {
			t.Errorf("%s: told %q, want %q", c.name, all, c.fault)
		}
	}
}
