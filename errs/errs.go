// Package errs has the one error type of Bivouac.
//
// Every error that reaches a caller says what was being done (Op), to which object (Subject), what
// was wanted and what was found (Want, Got), and what the caller can do about it (Remedy). Callers
// branch on the Kind:
//
//	if errors.Is(err, errs.NotFound) { … }
//
// A Kind is itself an error, so errors.Is works with it and no case needs a sentinel of its own.
package errs

import (
	"errors"
	"slices"
	"strings"
)

// Kind classifies an error. The zero Kind, Other, matches nothing.
type Kind uint8

// The kinds. The comment of each says when it is returned.
const (
	Other       Kind = iota
	NotFound         // the named thing does not exist
	Exists           // the target exists and must not be replaced
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

// Error is a failure with its circumstances. All fields except Kind may be empty.
type Error struct {
	Kind    Kind
	Op      string // what was being done: "checkpoint.Load"
	Subject string // what it was done to: a path, a key path, an operator
	Want    string // what was wanted
	Got     string // what was found
	Remedy  string // what the caller can do
	Err     error  // the cause
}

// Error renders the error on one line:
//
//	op: subject: kind: want W, got G: cause (remedy)
//
// A URL in Subject is shown without its secrets.
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
	part(WithoutSecrets(e.Subject))
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

// CheckPath returns an error for a path that people and shells do not read as a file: the URL of
// another store ("gs://bucket/run", "file:///run") or a home directory ("~/run"). The file system
// would make directories of these names.
func CheckPath(path string) error {
	e := &Error{Kind: Unsupported, Op: "path", Subject: path, Want: "a path of the local file system"}
	if scheme, _, ok := strings.Cut(path, ":/"); ok && isScheme(scheme) {
		e.Got, e.Remedy = "a URL of scheme "+scheme, "give a store.Store for another storage; ./"+path+" is a directory of that name"
		if scheme == "file" {
			e.Remedy = "give the path without file://"
		}
		return e
	}
	if strings.HasPrefix(path, "~") {
		e.Got, e.Remedy = "a ~, which only a shell makes a home directory of", "give the whole path; ./"+path+" is a directory of that name"
		return e
	}
	return nil
}

// isScheme reports whether s may be the scheme of a URL. One letter is a drive.
func isScheme(s string) bool {
	if len(s) < 2 || s[0]|0x20 < 'a' || s[0]|0x20 > 'z' {
		return false
	}
	return strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789+.-") == ""
}

// Nearest returns the entry of names that is most like name, or "" if there is no such entry. At
// most a third of the letters may differ. A name without its prefix is like the whole name: "image"
// is like "decoders.image". If several entries are equally like name, Nearest returns the first in
// alphabetical order.
func Nearest(name string, names []string) string {
	best, least := "", 1+len(name)/3
	for _, n := range names {
		d := 0
		if !strings.HasSuffix(n, "."+name) {
			d = distance(name, n, least)
		}
		if d < least || d == least && (best == "" || n < best) {
			best, least = n, d
		}
	}
	return best
}

// DidYouMean returns a remedy, `did you mean "x"?`, with the Nearest of names, or "" if Nearest
// returns "".
func DidYouMean(name string, names []string) string {
	if best := Nearest(name, names); best != "" {
		return `did you mean "` + best + `"?`
	}
	return ""
}

// distance is the Levenshtein distance of two short names, or some number above most if the
// distance exceeds most.
func distance(a, b string, most int) int {
	if max(len(a), len(b))-min(len(a), len(b)) > most {
		return most + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
		if slices.Min(row) > most {
			return most + 1
		}
	}
	return row[len(b)]
}
