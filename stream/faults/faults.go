// Package faults says what an engine does with samples that cannot be read. It has the action, the
// policy that chooses the action, the record of a fault, and the ledger that states keep.
//
// An action is written in the same words in configurations, states and messages:
// "fail", "pass on", "skip", "replace", "zero".
package faults

import (
	"time"

	"github.com/bivouac-ml/bivouac/internal/enum"
)

// Action says what happens to a sample that cannot be read, or for which an operator fails. The
// options of each engine name the actions that it supports.
type Action uint8

// The actions.
const (
	// Fail returns the error of the sample as the error of the batch. A loader keeps its position: the
	// following call of Next tries the batch again.
	Fail Action = iota
	// PassOn returns the error instead of the batch. The following call of Next returns the next
	// batch.
	PassOn
	// Skip delivers the batch without the sample and records the fault in the ledger.
	Skip
	// Replace delivers the next sample of the data set instead, or one of the next sixteen. After an
	// operator that needs the whole batch, a sample cannot be replaced any more, and the batch fails.
	Replace
	// Zero delivers zeros instead. If only the data gives the shape, the result has no elements.
	Zero
)

var actionNames = []string{"fail", "pass on", "skip", "replace", "zero"}

// String returns the name of the action.
func (a Action) String() string {
	return enum.Name(a, actionNames, "Action(%d)")
}

// ParseAction returns the action with the given name. It also accepts "error", the name of Fail in
// documents of pipelines. The error is of kind errs.Invalid.
func ParseAction(name string) (Action, error) {
	if name == "error" {
		return Fail, nil
	}
	return enum.Parse[Action](name, actionNames, "faults.ParseAction", "fail, pass on, skip, replace or zero")
}

// MarshalText implements encoding.TextMarshaler.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Action) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAction(string(text))
	return err
}

// Policy says when samples are tried again, and what happens to samples that cannot be read. The
// zero Policy fails at once.
type Policy struct {
	// Retries is how often a sample that is read by its id is tried again before Action applies. Items
	// of an iterable data set cannot be read again.
	Retries int
	// Backoff is the wait before the first retry. It doubles with each retry.
	Backoff time.Duration
	Action  Action
}

// Fault is a sample that failed and that the policy did not treat as an error.
type Fault struct {
	Position int64  `json:"position"` // in the stream; for an iterable data set, in the stream of the data set
	Reader   string `json:"reader"`   // name of its node in a pipeline
	ID       int64  `json:"id"`       // in the data set; -1 for an item of an iterable one
	Action   Action `json:"action"`
	Reason   string `json:"reason"` // the text of the error: operator, file and what was wrong
	Err      error  `json:"-"`      // nil in a ledger
}

// Ledger counts faults and keeps the last of them in their order.
type Ledger struct {
	Count int64   `json:"count"`
	Last  []Fault `json:"last"`
}

// Add records a fault. It drops the oldest fault if the ledger already has most faults.
func (l *Ledger) Add(f Fault, most int) {
	l.Count++
	if len(l.Last) >= most {
		l.Last = l.Last[:copy(l.Last, l.Last[len(l.Last)-most+1:])]
	}
	f.Err = nil
	l.Last = append(l.Last, f)
}
