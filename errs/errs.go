// Package errs is the one error type of Bivouac.
//
// Every error that reaches a caller says what was being done (Op), to what
// (Subject), what was expected and what was found (Want, Got), and what the
// caller can do about it (Remedy). Callers branch on the Kind:
//
//	if errors.Is(err, errs.NotFound) { … }
//
// A Kind is itself an error, so that errors.Is works against it without a
// sentinel for every case.
package errs

import (
	"errors"
	"strings"
)

// Kind classifies an error. The zero Kind, Other, matches nothing.
type Kind uint8

// The kinds. Each says when it is returned.
const (
	Other       Kind = iota
	NotFound         // the named thing does not exist
	Exists           // the target exists and was not to be replaced
	Invalid          // an argument, option or name is malformed
	Mismatch         // two things that must agree do not: shape, dtype, fingerprint, structure
	Corrupt          // stored bytes are damaged: checksum, bound, order or magic is wrong
	Unsupported      // legal, but not something this build can do
	Exhausted        // a limit was reached: disk, memory budget, quota
	Canceled         // the context ended or the operation was cancelled
	Permission       // the system refused access
	IO               // the system failed for another reason
	Closed           // the object was used after Close
	Busy             // another operation or process holds the resource
	Sequence         // the call does not fit the state of the object: too early, too late, or twice
)

var kindNames = [...]string{
	"error", "not found", "already exists", "invalid", "mismatch", "corrupt", "unsupported",
	"exhausted", "canceled", "permission denied", "i/o error", "closed", "busy",
	"out of sequence",
}

// String returns the kind in words.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "error"
}

// Error makes a Kind usable as the target of errors.Is.
func (k Kind) Error() string { return k.String() }

// Error is a failure with its circumstances. All fields but Kind may be empty.
type Error struct {
	Kind    Kind
	Op      string // what was being done: "checkpoint.Load"
	Subject string // the object: a path, a key path, an operator
	Want    string // what was expected
	Got     string // what was found
	Remedy  string // what the caller can do
	Err     error  // the cause
}

// Error renders the error on one line:
//
//	op: subject: kind: want W, got G: cause (remedy)
func (e *Error) Error() string {
	var b strings.Builder
	part := func(s string) {
		if s == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(s)
	}
	part(e.Op)
	part(e.Subject)
	if e.Kind != Other {
		part(e.Kind.String())
	}
	switch {
	case e.Want != "" && e.Got != "":
		part("want " + e.Want + ", got " + e.Got)
	case e.Want != "":
		part("want " + e.Want)
	case e.Got != "":
		part(e.Got)
	}
	if e.Err != nil {
		part(e.Err.Error())
	}
	if e.Remedy != "" {
		b.WriteString(" (" + e.Remedy + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the Kind of e.
func (e *Error) Is(target error) bool {
	k, ok := target.(Kind)
	return ok && k != Other && k == e.Kind
}

// KindOf returns the Kind of the outermost *Error in err's chain that has one, or Other.
func KindOf(err error) Kind {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return Other
		}
		if e.Kind != Other {
			return e.Kind
		}
		err = e.Err
	}
	return Other
}

// Wrap adds op and subject to err and keeps its kind. It returns nil for a nil err.
func Wrap(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Subject: subject, Err: err}
}
