package loader

import (
	"fmt"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Action says what becomes of a sample that cannot be read.
type Action uint8

// The actions.
const (
	// Fail makes it the error of Next, which keeps the position: the next Next tries
	// that batch again.
	Fail Action = iota
	// PassOn makes it the error of Next at the position of its batch, as torch does;
	// the next Next goes on behind the batch.
	PassOn
	// Skip delivers the batch without the sample, and notes it in the ledger. A batch
	// of which nothing is left is not delivered.
	Skip
)

var actionNames = [...]string{"fail", "pass on", "skip"}

// String returns the name of the action.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// ParseAction returns the action of that name.
func ParseAction(name string) (Action, error) {
	if i := slices.Index(actionNames[:], name); i >= 0 {
		return Action(i), nil
	}
	return 0, &errs.Error{Kind: errs.Invalid, Op: "loader.ParseAction", Want: `"fail", "pass on" or "skip"`, Got: fmt.Sprintf("%q", name)}
}

// Policy says what becomes of samples that cannot be read. The zero Policy fails.
type Policy struct {
	// Retries is how often a sample of a Map is tried again before Action is taken.
	// Items of an Iterable cannot be read again.
	Retries int
	// Backoff is the wait before the first retry; it doubles each time.
	Backoff time.Duration
	Action  Action
}

// Fault is a sample that failed and was skipped.
type Fault struct {
	Position int64 // in the stream; of an Iterable, in its lane
	ID       int64 // in the data set; -1 for an item of an Iterable
	Worker   int
	Err      error
}
