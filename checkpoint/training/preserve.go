package training

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// PreservationPolicy decides which committed checkpoints are kept.
// Implementations are values and hold no state.
type PreservationPolicy interface {
	// Preserve reports for each checkpoint whether to keep it. cs is ascending by step. A checkpoint
	// that no policy keeps is deleted after the next commit. now is the time of the call.
	Preserve(cs []Info, now time.Time) []bool
	// Validate reports parameters that make no sense.
	Validate() error
}

// PreserveAll keeps everything.
type PreserveAll struct{}

// Preserve implements PreservationPolicy.
func (PreserveAll) Preserve(cs []Info, _ time.Time) []bool {
	return slices.Repeat([]bool{true}, len(cs))
}

// Validate implements PreservationPolicy.
func (PreserveAll) Validate() error { return nil }

// Unlimited as a count keeps all checkpoints.
const Unlimited = -1

// LatestN keeps the newest N; Unlimited keeps all.
type LatestN struct{ N int }

// Preserve implements PreservationPolicy.
func (p LatestN) Preserve(cs []Info, _ time.Time) []bool {
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
func (p EveryInterval) Preserve(cs []Info, _ time.Time) []bool {
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
func (p EveryNSteps) Preserve(cs []Info, _ time.Time) []bool {
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
func (p EveryNStepsClosest) Preserve(cs []Info, _ time.Time) []bool {
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
func (p CustomSteps) Preserve(cs []Info, _ time.Time) []bool {
	listed := make(map[int64]bool, len(p))
	for _, step := range p {
		listed[step] = true
	}
	keep := make([]bool, len(cs))
	for i, c := range cs {
		keep[i] = listed[c.Step]
	}
	return keep
}

// Validate implements PreservationPolicy.
func (CustomSteps) Validate() error { return nil }

// LatestDuration keeps the oldest checkpoint that is not older than Duration, and
// what comes after it.
type LatestDuration struct{ Duration time.Duration }

// Preserve implements PreservationPolicy.
func (p LatestDuration) Preserve(cs []Info, now time.Time) []bool {
	keep := make([]bool, len(cs))
	first := slices.IndexFunc(cs, func(c Info) bool { return now.Sub(c.Time) <= p.Duration })
	for i := range keep {
		keep[i] = first >= 0 && i >= first
	}
	return keep
}

// Validate implements PreservationPolicy.
func (p LatestDuration) Validate() error {
	return positive("LatestDuration.Duration", int64(p.Duration))
}

// AnyPreservation keeps what one of its policies keeps.
type AnyPreservation []PreservationPolicy

// Preserve implements PreservationPolicy.
func (p AnyPreservation) Preserve(cs []Info, now time.Time) []bool {
	keep := make([]bool, len(cs))
	for _, q := range p {
		for i, k := range q.Preserve(cs, now) {
			keep[i] = keep[i] || k
		}
	}
	return keep
}

// Validate implements PreservationPolicy.
func (p AnyPreservation) Validate() error { return validateEach("AnyPreservation", p) }

// AllPreservation keeps what all of its policies keep. Orbax has no such policy.
type AllPreservation []PreservationPolicy

// Preserve implements PreservationPolicy.
func (p AllPreservation) Preserve(cs []Info, now time.Time) []bool {
	keep := slices.Repeat([]bool{true}, len(cs))
	for _, q := range p {
		for i, k := range q.Preserve(cs, now) {
			keep[i] = keep[i] && k
		}
	}
	return keep
}

// Validate implements PreservationPolicy. At least one policy is needed: all of
// none would keep everything.
func (p AllPreservation) Validate() error {
	return errors.Join(positive("number of policies in AllPreservation", int64(len(p))),
		validateEach("AllPreservation", p))
}

// newest clears all set flags except the last max; if max <= 0 it clears none.
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

// nearestMultiple returns the multiple of interval that is nearest to step. A tie goes to the even
// multiple.
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
	return &errs.Error{Kind: errs.Invalid, Op: "training", Subject: field, Want: "at least 0, or Unlimited",
		Got: strconv.Itoa(n)}
}
