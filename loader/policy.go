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
	// PassOn makes it the error of Next at the position of its batch; the next Next goes on
	// behind the batch.
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

// Uneven says what a rank does that gets no sample of the last batch of an epoch.
type Uneven uint8

// The policies.
const (
	// RepeatSample delivers a sample of that batch, which another rank delivers too, with
	// the same random numbers. All ranks have the same number of steps. The state counts
	// repeated samples apart; they are in neither position, digest nor coverage.
	RepeatSample Uneven = iota
	// EndEarly ends the epoch of such a rank a step before that of the others: nothing is
	// repeated, and a collective call in that step waits for ever.
	EndEarly
)

var unevenNames = [...]string{"repeat sample", "end early"}

// String returns the name of the policy.
func (u Uneven) String() string {
	if int(u) < len(unevenNames) {
		return unevenNames[u]
	}
	return fmt.Sprintf("Uneven(%d)", uint8(u))
}

// ParseUneven returns the policy of that name.
func ParseUneven(name string) (Uneven, error) {
	if i := slices.Index(unevenNames[:], name); i >= 0 {
		return Uneven(i), nil
	}
	return 0, &errs.Error{Kind: errs.Invalid, Op: "loader.ParseUneven", Want: `"repeat sample" or "end early"`, Got: fmt.Sprintf("%q", name)}
}

// BatchInfo tells of a batch what the batch itself does not.
type BatchInfo struct {
	// Position is that of its first sample in the stream, over all ranks. Of an Iterable
	// it is 0.
	Position int64
	// Samples is how many samples were collated.
	Samples int
	// Repeated is how many of them another rank delivers too, so that all ranks have the
	// same number of steps: give them no weight where each sample must count once.
	Repeated int
}

// Fault is a sample that failed and was skipped.
type Fault struct {
	Position int64 // in the stream; of an Iterable, in its lane
	ID       int64 // in the data set; -1 for an item of an Iterable
	Worker   int
	Err      error
}
