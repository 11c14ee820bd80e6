package training

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// NameFormat spells steps as names of directories. Names that Name makes are
// read by Parse, and are no names of staging directories.
type NameFormat interface {
	// Name returns the name under which a step is saved.
	Name(step int64) string
	// Names returns all names that a step may have, the preferred name first.
	Names(step int64) []string
	// Parse returns the step that name spells. It is strict: a name that is not one of Names is not a
	// step.
	Parse(name string) (step int64, ok bool)
	// Validate returns an error for a format that cannot name directories.
	Validate() error
}

// StandardNames spells steps as Orbax's standard_name_format does: "23", "0023",
// "step_23", "step_0023". The zero value is plain integers.
type StandardNames struct {
	// Prefix, when not nil, stands before the number with an underscore between.
	Prefix *string
	// FixedLength pads the number with zeros to this many digits; 0 does not pad.
	FixedLength int
}

// Name implements NameFormat.
func (f StandardNames) Name(step int64) string {
	s := strconv.FormatInt(step, 10)
	if f.FixedLength > 0 {
		s = fmt.Sprintf("%0*d", f.FixedLength, step)
	}
	if f.Prefix != nil {
		s = *f.Prefix + "_" + s
	}
	return s
}

// Names implements NameFormat: there is one.
func (f StandardNames) Names(step int64) []string { return []string{f.Name(step)} }

// Parse implements NameFormat.
func (f StandardNames) Parse(name string) (step int64, ok bool) {
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

// Validate implements NameFormat.
func (f StandardNames) Validate() error {
	if f.FixedLength < 0 || f.FixedLength > 19 {
		return &errs.Error{Kind: errs.Invalid, Op: "training.StandardNames", Subject: "FixedLength", Want: "0 to 19",
			Got: strconv.Itoa(f.FixedLength)}
	}
	if f.Prefix != nil && (strings.ContainsAny(*f.Prefix, "/\\\x00") || store.IsStaging(*f.Prefix)) {
		return &errs.Error{Kind: errs.Invalid, Op: "training.StandardNames", Subject: "Prefix", Got: strconv.Quote(*f.Prefix),
			Remedy: "use a prefix without separators"}
	}
	return nil
}

// CompositeNames reads several formats and writes one, as Orbax's
// composite_name_format: a directory that changed its format, for example. Where
// a step lies under two names the format that stands first in Read counts. A step
// that is overwritten keeps its name.
type CompositeNames struct {
	Write NameFormat
	Read  []NameFormat // must include Write
}

// Name implements NameFormat.
func (f CompositeNames) Name(step int64) string { return f.Write.Name(step) }

// Names implements NameFormat.
func (f CompositeNames) Names(step int64) []string {
	var out []string
	for _, r := range f.Read {
		for _, name := range r.Names(step) {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// Parse implements NameFormat.
func (f CompositeNames) Parse(name string) (step int64, ok bool) {
	for _, r := range f.Read {
		if step, ok := r.Parse(name); ok {
			return step, true
		}
	}
	return 0, false
}

// Validate implements NameFormat.
func (f CompositeNames) Validate() error {
	fail := func(want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: "training.CompositeNames", Subject: "Write", Want: want, Got: got}
	}
	if f.Write == nil {
		return fail("a format", "nil")
	}
	if err := validateEach("CompositeNames.Read", append([]NameFormat{f.Write}, f.Read...)); err != nil {
		return err
	}
	for _, step := range []int64{0, 7, 1234567} { // numbers that the formats of one family spell differently
		if name := f.Write.Name(step); !slices.Contains(f.Names(step), name) {
			return fail("one of the formats in Read", "one that writes "+strconv.Quote(name))
		}
	}
	return nil
}

// Resolve returns the steps that names of directories spell, each with the name
// that the format prefers, and the other names of these steps.
func Resolve(f NameFormat, names []string) (steps map[int64]string, others []string) {
	steps = map[int64]string{}
	for _, name := range names {
		step, ok := f.Parse(name)
		if !ok {
			continue
		}
		before, both := steps[step]
		if both {
			if spelled := f.Names(step); slices.Index(spelled, before) < slices.Index(spelled, name) {
				before, name = name, before
			}
			others = append(others, before)
		}
		steps[step] = name
	}
	return steps, others
}
