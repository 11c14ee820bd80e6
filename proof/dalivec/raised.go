package dalivec

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// SameKind reports whether an error is of a kind that stands for what DALI raised: an error of
// this module whose errs.Kind fits the Python type and, for a RuntimeError, the message. Where
// DALI crashed or hung anything but a panic is right.
func SameKind(want *Raised, err error) error {
	var panicked crashed
	switch {
	case errors.As(err, &panicked):
		return err
	case want.Type == "CRASH":
		return nil
	case err == nil:
		return fmt.Errorf("no error, want %s: %.200s", want.Type, want.Message)
	}
	var e *errs.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("an error without kind: %w", err)
	}
	kinds := want.kinds()
	if !slices.ContainsFunc(kinds, func(k errs.Kind) bool { return errors.Is(err, k) }) {
		return fmt.Errorf("%w, of kind %v, want one of %v as %s: %.200s", err, errs.KindOf(err), kinds, want.Type,
			want.Message)
	}
	return nil
}

// kinds are the kinds that stand for an exception.
func (r *Raised) kinds() []errs.Kind {
	if kinds, ok := kindsOf[r.Type]; ok {
		return kinds
	}
	for _, m := range messages {
		if m.pattern.MatchString(r.Message) {
			return m.kinds
		}
	}
	return []errs.Kind{errs.Invalid, errs.Mismatch}
}

// kindsOf are the kinds that stand for a type of exception that says what is wrong.
var kindsOf = map[string][]errs.Kind{
	"TypeError":           {errs.Invalid, errs.Mismatch, errs.Unsupported},
	"ValueError":          {errs.Invalid, errs.Mismatch, errs.Exists, errs.NotFound, errs.Unsupported},
	"IndexError":          {errs.Invalid, errs.Mismatch, errs.NotFound},
	"KeyError":            {errs.Invalid, errs.NotFound},
	"AttributeError":      {errs.Invalid, errs.NotFound},
	"AssertionError":      {errs.Invalid},
	"NotImplementedError": {errs.Unsupported, errs.Invalid},
	"ZeroDivisionError":   {errs.Invalid},
}

// messages tell the kinds of a RuntimeError, which DALI raises for all that its C++ code
// refuses. The first that matches counts; what none matches is an argument or an input that is
// malformed or does not fit another.
var messages = []struct {
	pattern *regexp.Regexp
	kinds   []errs.Kind
}{
	{regexp.MustCompile(`(?i)failed to decode|nvImageCodec failure|can not read header|error parsing serialized|ParseFromArray`), []errs.Kind{errs.Corrupt, errs.Unsupported}},
	{regexp.MustCompile(`(?i)failed to open encoded data|failed to create video decoder`), []errs.Kind{errs.Corrupt, errs.Unsupported}},
	{regexp.MustCompile(`(?i)numpy size|numpy header|header length|numpy type string|delim_start|expected a non-empty`),
		[]errs.Kind{errs.Corrupt, errs.Unsupported}},
	{regexp.MustCompile(`(?i)file mapping failed|failed to open|could not open file|not found or does not expose`), []errs.Kind{errs.NotFound}},
	{regexp.MustCompile(`(?i)non-unique names`), []errs.Kind{errs.Exists}},
	{regexp.MustCompile(`(?i)doesn't recognize|there's no checkpoint`), []errs.Kind{errs.Mismatch}},
	{regexp.MustCompile(`(?i)not supported|unsupported|invalid type|requires a CUDA|could not serialize|inputs_are_integral`), []errs.Kind{errs.Unsupported, errs.Invalid}},
}
