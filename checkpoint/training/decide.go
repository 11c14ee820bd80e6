package training

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// alike reports whether a policy decides the same on all processes that have saved the same steps.
// It does not if it depends on the clock, a save in progress or a signal.
func alike(p SavePolicy) bool {
	switch p := p.(type) {
	case FixedInterval, SpecificSteps, InitialSave:
		return true
	case AnySave:
		return !slices.ContainsFunc(p, func(q SavePolicy) bool { return !alike(q) })
	case AllSave:
		return !slices.ContainsFunc(p, func(q SavePolicy) bool { return !alike(q) })
	}
	return false
}

// Decision is what a SavePolicy decides on.
type Decision struct {
	Step     int64
	Now      time.Time
	Previous []Info // checkpoints that exist, ascending by step
	Saving   bool   // a save is in progress
	Preempt  bool   // the process was told that it will be stopped: Options.Preempted
}

// SavePolicy decides whether a step is saved. Implementations are values and
// hold no state.
type SavePolicy interface {
	// ShouldSave reports whether to save, and the reason in words.
	ShouldSave(d Decision) (save bool, reason string)
	// Validate reports parameters that make no sense.
	Validate() error
}

// FixedInterval saves steps that are multiples of Steps.
type FixedInterval struct{ Steps int64 }

// ShouldSave implements SavePolicy.
func (p FixedInterval) ShouldSave(d Decision) (bool, string) {
	if p.Steps > 0 && d.Step%p.Steps == 0 {
		return true, "a multiple of " + strconv.FormatInt(p.Steps, 10)
	}
	return false, "not a multiple of " + strconv.FormatInt(p.Steps, 10)
}

// Validate implements SavePolicy.
func (p FixedInterval) Validate() error { return positive("FixedInterval.Steps", p.Steps) }

// SpecificSteps saves the listed steps.
type SpecificSteps []int64

// ShouldSave implements SavePolicy.
func (p SpecificSteps) ShouldSave(d Decision) (bool, string) {
	if slices.Contains(p, d.Step) {
		return true, "a listed step"
	}
	return false, "not a listed step"
}

// Validate implements SavePolicy.
func (p SpecificSteps) Validate() error { return nil }

// InitialSave saves when there is no checkpoint yet.
type InitialSave struct{}

// ShouldSave implements SavePolicy.
func (InitialSave) ShouldSave(d Decision) (bool, string) {
	if len(d.Previous) == 0 {
		return true, "the first save"
	}
	return false, "not the first save"
}

// Validate implements SavePolicy.
func (InitialSave) Validate() error { return nil }

// Continuous saves whenever no save is in progress and MinInterval has passed
// since the last checkpoint was committed.
type Continuous struct{ MinInterval time.Duration }

// ShouldSave implements SavePolicy.
func (p Continuous) ShouldSave(d Decision) (bool, string) {
	if d.Saving {
		return false, "a save is in progress"
	}
	if n := len(d.Previous); n > 0 && p.MinInterval > 0 && d.Now.Sub(d.Previous[n-1].Time) < p.MinInterval {
		return false, "less than " + p.MinInterval.String() + " after the last checkpoint"
	}
	return true, "no save is in progress"
}

// Validate implements SavePolicy.
func (Continuous) Validate() error { return nil }

// Preemption saves when the process was told that it will be stopped: see
// Options.Preempted, without which it never is.
type Preemption struct{}

// ShouldSave implements SavePolicy.
func (Preemption) ShouldSave(d Decision) (bool, string) {
	if d.Preempt {
		return true, "preemption was signalled"
	}
	return false, "no preemption was signalled"
}

// Validate implements SavePolicy.
func (Preemption) Validate() error { return nil }

// AnySave saves when one of its policies does.
type AnySave []SavePolicy

// ShouldSave implements SavePolicy.
func (p AnySave) ShouldSave(d Decision) (bool, string) {
	var reasons []string
	for _, q := range p {
		ok, reason := q.ShouldSave(d)
		if ok {
			return true, reason
		}
		reasons = append(reasons, reason)
	}
	if len(p) == 0 {
		return false, "no policy"
	}
	return false, strings.Join(reasons, "; ")
}

// Validate implements SavePolicy.
func (p AnySave) Validate() error { return validateEach("AnySave", p) }

// AllSave saves when all of its policies do. Orbax has no such policy.
type AllSave []SavePolicy

// ShouldSave implements SavePolicy.
func (p AllSave) ShouldSave(d Decision) (bool, string) {
	var reasons []string
	for _, q := range p {
		ok, reason := q.ShouldSave(d)
		if !ok {
			return false, reason
		}
		reasons = append(reasons, reason)
	}
	return len(p) > 0, strings.Join(reasons, "; ")
}

// Validate implements SavePolicy. At least one policy is needed.
func (p AllSave) Validate() error {
	return errors.Join(positive("number of policies in AllSave", int64(len(p))), validateEach("AllSave", p))
}

// validateEach validates the parts of a policy.
func validateEach[P interface{ Validate() error }](of string, parts []P) error {
	for i, q := range parts {
		if any(q) == nil {
			return &errs.Error{Kind: errs.Invalid, Op: "training", Subject: of + "[" + strconv.Itoa(i) + "]", Got: "nil"}
		}
		if err := q.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// DefaultSave is Orbax's default: the first step, then whenever no save is in
// progress, and on preemption.
func DefaultSave() SavePolicy { return AnySave{InitialSave{}, Continuous{}, Preemption{}} }

func positive(field string, n int64) error {
	if n > 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Op: "training", Subject: field, Want: "at least 1",
		Got: strconv.FormatInt(n, 10)}
}
