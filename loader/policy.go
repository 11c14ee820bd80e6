package loader

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

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
