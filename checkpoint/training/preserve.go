package training

import (
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// PreservationPolicy decides which committed checkpoints are kept.
// Implementations are values and hold no state.
type PreservationPolicy interface {
	// Preserve returns one answer for each checkpoint, which are ascending by
	// step; what no policy keeps is deleted after the next commit.
	Preserve(cs []Info) []bool
	// Validate reports parameters that make no sense.
	Validate() error
}

// PreserveAll keeps everything.
type PreserveAll struct{}

// Preserve implements PreservationPolicy.
func (PreserveAll) Preserve(cs []Info) []bool { return fill(len(cs), true) }

// Validate implements PreservationPolicy.
func (PreserveAll) Validate() error { return nil }

// Unlimited as a count keeps all.
const Unlimited = -1

// LatestN keeps the newest N; Unlimited keeps all.
type LatestN struct{ N int }

// Preserve implements PreservationPolicy.
func (p LatestN) Preserve(cs []Info) []bool {
	keep := make([]bool, len(cs))
	for i := range keep {
		keep[i] = p.N == Unlimited || i >= len(cs)-p.N
	}
	return keep
}

// Validate implements PreservationPolicy.
func (p LatestN) Validate() error { return count("LatestN.N", p.N) }

// EveryInterval keeps the first checkpoint and then each that was committed at
// least Interval after the last one kept.
type EveryInterval struct{ Interval time.Duration }

// Preserve implements PreservationPolicy.
func (p EveryInterval) Preserve(cs []Info) []bool {
	keep := make([]bool, len(cs))
	last := -1
	for i, c := range cs {
		if last < 0 || c.Time.Sub(cs[last].Time) >= p.Interval {
			keep[i], last = true, i
		}
	}
	return keep
}

// Validate implements PreservationPolicy.
func (EveryInterval) Validate() error { return nil }

// EveryNSteps keeps steps that are multiples of Interval; when Inexact, the
// first one and then each that is at least Interval steps after the last one
// kept. Max bounds how many of these are kept, the newest; 0 and Unlimited
// keep all.
type EveryNSteps struct {
	Interval int64
	Inexact  bool
	Max      int
}

// Preserve implements PreservationPolicy.
func (p EveryNSteps) Preserve(cs []Info) []bool {
	keep := make([]bool, len(cs))
	last := -1
	for i, c := range cs {
		if p.Inexact {
			keep[i] = last < 0 || c.Step-cs[last].Step >= p.Interval
		} else {
			keep[i] = p.Interval > 0 && c.Step%p.Interval == 0
		}
		if keep[i] {
			last = i
		}
	}
	return newest(keep, p.Max)
}

// Validate implements PreservationPolicy.
func (p EveryNSteps) Validate() error { return positive("EveryNSteps.Interval", p.Interval) }

// EveryNStepsClosest assigns each step to its nearest multiple of Interval
// (halfway to the even one, as Python rounds) and
// keeps, for each multiple, the step closest to it (the later one of two), and
// always the newest checkpoint; of all these at most Max, the newest.
type EveryNStepsClosest struct {
	Interval int64
	Max      int // 0 and Unlimited keep all
}

// Preserve implements PreservationPolicy.
func (p EveryNStepsClosest) Preserve(cs []Info) []bool {
	keep := make([]bool, len(cs))
	if len(cs) == 0 || p.Interval <= 0 {
		return keep
	}
	closest := map[int64]int{} // nearest multiple → index of its closest step so far
	for i, c := range cs {
		target := nearestMultiple(c.Step, p.Interval)
		best, ok := closest[target]
		if !ok || abs(c.Step-target) <= abs(cs[best].Step-target) {
			closest[target] = i
		}
	}
	for _, i := range closest {
		keep[i] = true
	}
	keep[len(cs)-1] = true
	return newest(keep, p.Max)
}

// Validate implements PreservationPolicy.
func (p EveryNStepsClosest) Validate() error {
	return positive("EveryNStepsClosest.Interval", p.Interval)
}

// CustomSteps keeps the listed steps.
type CustomSteps []int64

// Preserve implements PreservationPolicy.
func (p CustomSteps) Preserve(cs []Info) []bool {
	keep := make([]bool, len(cs))
	for i, c := range cs {
		keep[i] = slices.Contains(p, c.Step)
	}
	return keep
}

// Validate implements PreservationPolicy.
func (CustomSteps) Validate() error { return nil }

// BestN keeps the N checkpoints with the highest metric; the later one of two
// equals.
type BestN struct {
	// Metric returns the value to rank by; ok is false when there is none.
	Metric func(Info) (value float64, ok bool)
	// Lowest ranks low values first.
	Lowest bool
	N      int // Unlimited keeps all, 0 none at all
	// DropWithoutMetrics does not keep checkpoints that have no metric, unless
	// there are no more than N in all.
	DropWithoutMetrics bool
}

// MetricNamed ranks by one member of the metrics.
func MetricNamed(name string) func(Info) (float64, bool) {
	return func(c Info) (float64, bool) {
		v, ok := c.Metrics[name]
		return v, ok
	}
}

// Preserve implements PreservationPolicy.
func (p BestN) Preserve(cs []Info) []bool {
	if p.N == Unlimited || len(cs) <= p.N {
		return fill(len(cs), true)
	}
	keep := make([]bool, len(cs))
	if p.N == 0 {
		return keep
	}
	type ranked struct {
		i int
		v float64
	}
	var with []ranked
	for i, c := range cs {
		if v, ok := p.Metric(c); ok {
			with = append(with, ranked{i, v})
		} else {
			keep[i] = !p.DropWithoutMetrics
		}
	}
	sort.SliceStable(with, func(a, b int) bool {
		if p.Lowest {
			return with[a].v > with[b].v
		}
		return with[a].v < with[b].v
	})
	for k, r := range with {
		if k >= len(with)-p.N {
			keep[r.i] = true
		}
	}
	return keep
}

// Validate implements PreservationPolicy.
func (p BestN) Validate() error {
	if p.Metric == nil {
		return &errs.Error{Kind: errs.Invalid, Op: "training", Subject: "BestN.Metric", Got: "nil", Remedy: "use MetricNamed or a function"}
	}
	return count("BestN.N", p.N)
}

// best returns the index of the checkpoint that ranks first, -1 when none has
// the metric.
func (p BestN) best(cs []Info) int {
	best, value := -1, 0.0
	for i, c := range cs {
		v, ok := p.Metric(c)
		if ok && (best < 0 || v == value || (v > value) != p.Lowest) {
			best, value = i, v
		}
	}
	return best
}

// ranking finds the BestN in a policy, if there is one.
func ranking(p PreservationPolicy) (BestN, bool) {
	switch q := p.(type) {
	case BestN:
		return q, true
	case AnyPreservation:
		for _, sub := range q {
			if b, ok := ranking(sub); ok {
				return b, true
			}
		}
	}
	return BestN{}, false
}

// AnyPreservation keeps what one of its policies keeps.
type AnyPreservation []PreservationPolicy

// Preserve implements PreservationPolicy.
func (p AnyPreservation) Preserve(cs []Info) []bool {
	keep := make([]bool, len(cs))
	for _, q := range p {
		for i, k := range q.Preserve(cs) {
			keep[i] = keep[i] || k
		}
	}
	return keep
}

// Validate implements PreservationPolicy.
func (p AnyPreservation) Validate() error {
	for _, q := range p {
		if err := q.Validate(); err != nil {
			return err
		}
	}
	return nil
}

func fill(n int, v bool) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// newest clears all but the last max set flags; max <= 0 clears none.
func newest(keep []bool, max int) []bool {
	if max <= 0 {
		return keep
	}
	kept := 0
	for i := len(keep) - 1; i >= 0; i-- {
		if !keep[i] {
			continue
		}
		kept++
		keep[i] = kept <= max
	}
	return keep
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// nearestMultiple rounds half to the even multiple.
func nearestMultiple(step, interval int64) int64 {
	q, rest := step/interval, step%interval
	if rest < 0 {
		q, rest = q-1, rest+interval
	}
	if 2*rest > interval || 2*rest == interval && q%2 != 0 {
		q++
	}
	return q * interval
}

func count(field string, n int) error {
	if n >= Unlimited {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Op: "training", Subject: field, Want: "at least 0, or Unlimited", Got: strconv.Itoa(n)}
}
