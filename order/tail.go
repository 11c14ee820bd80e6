package order

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// Tail says what happens at the end of an epoch whose length is not a multiple of the global batch.
type Tail uint8

// The tails.
const (
	Short Tail = iota // the last batch is short
	Span              // batches continue into the next epoch; if the order ends, its last batch is short
	Drop              // the samples that do not fill a batch are left out
	Pad               // the last batch is filled up with the first samples of the epoch
)

// String returns the name of the tail in lower case.
func (t Tail) String() string {
	switch t {
	case Short:
		return "short"
	case Span:
		return "span"
	case Drop:
		return "drop"
	case Pad:
		return "pad"
	}
	return fmt.Sprintf("tail(%d)", uint8(t))
}

// ParseTail returns the tail with the given name. The error is of kind errs.Invalid.
func ParseTail(name string) (Tail, error) {
	for t := Short; t <= Pad; t++ {
		if t.String() == name {
			return t, nil
		}
	}
	return 0, &errs.Error{Kind: errs.Invalid, Op: "order.ParseTail", Want: "short, span, drop or pad", Got: fmt.Sprintf("%q", name)}
}

// DropLast returns Drop if drop is true, else Short.
func DropLast(drop bool) Tail {
	if drop {
		return Drop
	}
	return Short
}

// Uneven says what a rank does if it gets no sample of the last batch of an epoch.
type Uneven uint8

// The policies.
const (
	// RepeatSample delivers a sample of that batch once more. Another rank delivers it too, with the
	// same random numbers. All ranks have the same number of steps. The state counts repeated samples
	// separately: position, digest and coverage do not include them.
	RepeatSample Uneven = iota
	// EndEarly ends the epoch of such a rank one step before the other ranks. Nothing is repeated, but
	// a collective call in that last step waits forever.
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

// ParseUneven returns the policy with the given name. The error is of kind errs.Invalid.
func ParseUneven(name string) (Uneven, error) {
	if i := slices.Index(unevenNames[:], name); i >= 0 {
		return Uneven(i), nil
	}
	return 0, &errs.Error{Kind: errs.Invalid, Op: "order.ParseUneven", Want: `"repeat sample" or "end early"`, Got: fmt.Sprintf("%q", name)}
}
