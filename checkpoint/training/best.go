package training

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// BestN keeps the N best checkpoints. Of two equal checkpoints the later one is better. One of
// Metric, Value and Compare ranks them.
type BestN struct {
	// Metric is the name of the number in the metrics to rank by.
	Metric string
	// Value returns the number to rank by; ok is false for a step without a number. NaN counts as no
	// number.
	Value func(Info) (value float64, ok bool)
	// Compare returns a negative number if a is worse than b, and a positive one if a is better. It is
	// called for checkpoints with metrics.
	Compare func(a, b Info) int
	// Lowest ranks low values first. With Compare it reverses the order.
	Lowest bool
	N      int // Unlimited keeps all, 0 none at all
	// DropWithoutMetrics does not keep checkpoints without a metric, unless there are at most N
	// checkpoints in all.
	DropWithoutMetrics bool
}

// Preserve implements PreservationPolicy.
func (p BestN) Preserve(cs []Info, _ time.Time) []bool {
	if p.N == Unlimited || len(cs) <= p.N {
		return slices.Repeat([]bool{true}, len(cs))
	}
	keep := make([]bool, len(cs))
	if p.N == 0 {
		return keep
	}
	ranked := p.ranked(cs)
	for i := range keep {
		keep[i] = !p.DropWithoutMetrics
	}
	for _, i := range ranked {
		keep[i] = false
	}
	for _, i := range ranked[max(0, len(ranked)-p.N):] {
		keep[i] = true
	}
	return keep
}

// ranked returns the indices of the checkpoints that can be ranked, the best last.
func (p BestN) ranked(cs []Info) []int {
	compare, ok := p.order()
	var out []int
	for i, c := range cs {
		if ok(c) {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int {
		if p.Lowest {
			a, b = b, a
		}
		return compare(cs[a], cs[b])
	})
	return out
}

// order returns the comparison, and a function that reports whether a checkpoint can be ranked.
func (p BestN) order() (compare func(a, b Info) int, ok func(Info) bool) {
	if p.Compare != nil {
		return p.Compare, func(c Info) bool { return c.Metrics != nil }
	}
	value := p.Value
	if value == nil {
		value = func(c Info) (float64, bool) { v, ok := c.Metrics[p.Metric]; return v, ok }
	}
	compare = func(a, b Info) int {
		x, _ := value(a)
		y, _ := value(b)
		return cmp.Compare(x, y)
	}
	return compare, func(c Info) bool { v, ok := value(c); return ok && v == v }
}

// Validate implements PreservationPolicy.
func (p BestN) Validate() error {
	given := 0
	for _, set := range []bool{p.Metric != "", p.Value != nil, p.Compare != nil} {
		if set {
			given++
		}
	}
	if given != 1 {
		return &errs.Error{Kind: errs.Invalid, Op: "training", Subject: "BestN", Want: "one of Metric, Value and Compare",
			Got: strconv.Itoa(given)}
	}
	return count("BestN.N", p.N)
}

// best returns the index of the best checkpoint, or -1 if no checkpoint can be ranked.
func (p BestN) best(cs []Info) int {
	ranked := p.ranked(cs)
	if len(ranked) == 0 {
		return -1
	}
	return ranked[len(ranked)-1]
}

// ranking finds the first BestN in a policy, if there is one.
func ranking(p PreservationPolicy) (BestN, bool) {
	var parts []PreservationPolicy
	switch q := p.(type) {
	case BestN:
		return q, true
	case AnyPreservation:
		parts = q
	case AllPreservation:
		parts = q
	}
	for _, sub := range parts {
		if b, ok := ranking(sub); ok {
			return b, true
		}
	}
	return BestN{}, false
}
