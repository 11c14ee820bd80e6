package store

import (
	"io/fs"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// stagingMark is the text that makes a name temporary for Orbax.
const stagingMark = ".orbax-checkpoint-tmp"

// StagingName is the name under which a transaction with the final name
// final and the 16 hexadecimal digits nonce is built.
func StagingName(final, nonce string) string { return final + stagingMark + "-" + nonce }

// IsStaging reports whether the last element of name is a staging name, ours or Orbax's: whether it
// contains ".orbax-checkpoint-tmp". An object with such a name is never committed.
func IsStaging(name string) bool { return strings.Contains(base(name), stagingMark) }

// IsLeftover reports whether the last element of name is a name that may be removed once no process
// works on it: a final name, the mark, and nothing or "-" with hexadecimal digits (our nonce, the
// time stamp of older Orbax versions). It is stricter than IsStaging on purpose: Orbax keeps
// unfinished partial saves, which are worth keeping, under
// "<final>.partial_save.orbax-checkpoint-tmp", and a name that merely contains the mark was chosen
// by another program.
func IsLeftover(name string) bool {
	name = base(name)
	i := strings.LastIndex(name, stagingMark)
	if i <= 0 || strings.HasSuffix(name[:i], ".partial_save") {
		return false
	}
	nonce, dash := strings.CutPrefix(name[i+len(stagingMark):], "-")
	return strings.Trim(nonce, "0123456789abcdef") == "" && dash == (nonce != "")
}

func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// CheckName returns an error of kind Invalid, for the operation op, unless name is a legal name of
// an object or a directory: slash-separated elements in UTF-8, none empty, "." or "..", without NUL
// and backslash. The root, "", is not a legal name: methods that accept the root say so.
func CheckName(op, name string) error {
	switch {
	case name == "." || !fs.ValidPath(name):
	case strings.ContainsAny(name, "\x00\\"):
	default:
		return nil
	}
	return &errs.Error{
		Kind: errs.Invalid, Op: op, Subject: name,
		Want: "a relative, slash-separated name in UTF-8 without empty elements, \".\", \"..\", NUL and backslash",
	}
}

// CheckFinalName works like CheckName, for names under which an object is committed: no element may
// be a staging name.
func CheckFinalName(op, name string) error {
	if err := CheckName(op, name); err != nil {
		return err
	}
	if strings.Contains(name, stagingMark) {
		return &errs.Error{
			Kind: errs.Invalid, Op: op, Subject: name,
			Want: "a name without " + stagingMark, Remedy: "names that contain it are temporary and are cleaned up",
		}
	}
	return nil
}
