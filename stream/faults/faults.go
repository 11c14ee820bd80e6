// Package faults says what happens to samples that cannot be read, for every engine. It has the
// action, the policy that chooses it, the fault that is noted, and the ledger that states keep.
//
// An action is written in the same words in configurations, states and messages:
// "fail", "pass on", "skip", "replace", "zero".
package faults

import (
	"time"

	"github.com/bivouac-ml/bivouac/internal/enum"
)

// Action says what becomes of a sample that cannot be read, or at which an operator fails.
// Each engine takes those that its options name.
type Action uint8

// The actions.
const (
	// Fail makes the sample's error the error of the batch. A loader keeps its position: the next Next
	// tries the batch again.
	Fail Action = iota
	// PassOn makes it the error at the position of the batch; the next Next goes on behind
	// the batch.
	PassOn
	// Skip delivers the batch without the sample, and notes it in the ledger.
	Skip
	// Replace puts the sample that follows in the data set into its place, or one of the next
	// sixteen. Behind an operator that needs the whole batch it is too late: there the batch
	// fails.
	Replace
	// Zero delivers zeros in its place, without elements where only the data tells how many.
	Zero
)

var actionNames = []string{"fail", "pass on", "skip", "replace", "zero"}

// String returns the name of the action.
func (a Action) String() string {
	return enum.Name(a, actionNames, "Action(%d)")
}

// ParseAction returns the action of that name. It also reads "error", which documents of
// pipelines have for Fail. The error is of kind errs.Invalid.
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

// Policy says when samples are tried again, and what becomes of those that cannot be read.
// The zero Policy fails at once.
type Policy struct {
	// Retries is how often a sample that is read by its id is tried again before Action is
	// taken. Items of an iterable data set cannot be read again.
	Retries int
	// Backoff is the wait before the first retry; it doubles each time.
	Backoff time.Duration
	Action  Action
}

// Fault is a sample that failed, and that a policy excused.
type Fault struct {
	Position int64  `json:"position"` // in the stream; of an iterable data set, in its stream
	Reader   string `json:"reader"`   // name of its node in a pipeline
	ID       int64  `json:"id"`       // in the data set; -1 for an item of an iterable one
	Action   Action `json:"action"`
	Reason   string `json:"reason"` // the text of the error: operator, file and what was wrong
	Err      error  `json:"-"`      // nil in a ledger
}

// Ledger is what is remembered of faults: how many there were, and the last of them in
// their order.
type Ledger struct {
	Count int64   `json:"count"`
	Last  []Fault `json:"last"`
}

// Add notes a fault. The oldest goes if there are most already.
func (l *Ledger) Add(f Fault, most int) {
	l.Count++
	if len(l.Last) >= most {
		l.Last = l.Last[:copy(l.Last, l.Last[len(l.Last)-most+1:])]
	}
	f.Err = nil
	l.Last = append(l.Last, f)
}
