package training

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// NameFormat says how a step is spelled as a directory name, as Orbax's
// standard_name_format does: "23", "0023", "step_23", "step_0023". The zero
// value is plain integers.
type NameFormat struct {
	// Prefix, when not nil, stands before the number with an underscore between.
	Prefix *string
	// FixedLength pads the number with zeros to this many digits; 0 does not pad.
	FixedLength int
}

// Name returns the directory name of a step.
func (f NameFormat) Name(step int64) string {
	s := strconv.FormatInt(step, 10)
	if f.FixedLength > 0 {
		s = fmt.Sprintf("%0*d", f.FixedLength, step)
	}
	if f.Prefix != nil {
		s = *f.Prefix + "_" + s
	}
	return s
}

// Parse returns the step that name spells. It is strict: a name that Name
// would not have produced is no step, staging names never are.
func (f NameFormat) Parse(name string) (step int64, ok bool) {
	if store.IsStaging(name) {
		return 0, false
	}
	digits := name
	if f.Prefix != nil {
		if digits, ok = strings.CutPrefix(name, *f.Prefix+"_"); !ok {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || f.Name(n) != name {
		return 0, false
	}
	return n, true
}

// Validate reports a format that cannot name directories.
func (f NameFormat) Validate() error {
	if f.FixedLength < 0 || f.FixedLength > 19 {
		return &errs.Error{Kind: errs.Invalid, Op: "training.NameFormat", Subject: "FixedLength", Want: "0 to 19", Got: strconv.Itoa(f.FixedLength)}
	}
	if f.Prefix != nil && (strings.ContainsAny(*f.Prefix, "/\\\x00") || store.IsStaging(*f.Prefix)) {
		return &errs.Error{Kind: errs.Invalid, Op: "training.NameFormat", Subject: "Prefix", Got: strconv.Quote(*f.Prefix), Remedy: "use a prefix without separators"}
	}
	return nil
}
