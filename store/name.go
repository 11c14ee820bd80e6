package store

import (
	"io/fs"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// stagingMark is the text by which Orbax recognises a temporary name.
const stagingMark = ".orbax-checkpoint-tmp"

// StagingName returns the name under which a transaction for the name final is built. nonce has 16
// hexadecimal digits.
func StagingName(final, nonce string) string { return final + stagingMark + "-" + nonce }

// IsStaging reports whether the last element of name is a staging name, of Bivouac or of Orbax: it
// contains ".orbax-checkpoint-tmp". An object with such a name is never committed.
func IsStaging(name string) bool { return strings.Contains(base(name), stagingMark) }

// IsLeftover reports whether the last element of name is a name that may be removed once no process
// works on it. Such a name is a final name and the mark, followed by nothing or by "-" and
// hexadecimal digits. The digits are the nonce of Bivouac or the time stamp of older Orbax
// versions. IsLeftover is stricter than IsStaging on purpose. Orbax keeps unfinished partial saves,
// which are worth keeping, under "<final>.partial_save.orbax-checkpoint-tmp". A name that only
// contains the mark was chosen by another program.
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

// CheckName returns an error of kind errs.Invalid, for the operation op, unless name is a legal
// name of an object or a directory. A legal name has slash-separated elements in UTF-8. No element
// is empty, "." or "..", or contains NUL or a backslash. The root, "", is not a legal name: methods
// that accept the root say so.
func CheckName(op, name string) error {
	switch {
	case name == "." || !fs.ValidPath(name):
	case strings.ContainsAny(name, "\x00\\"):
	default:
		return nil
	}
	return &errs.Error{
		Kind: errs.Invalid, Op: op, Subject: name,
		Want: "a relative, slash-separated name in UTF-8 without an empty element, \".\", \"..\", NUL or a backslash",
	}
}

// CheckFinalName works like CheckName, for names under which an object is committed. It also
// returns an error if an element is a staging name.
func CheckFinalName(op, name string) error {
	if err := CheckName(op, name); err != nil {
		return err
	}
	if strings.Contains(name, stagingMark) {
		return &errs.Error{
			Kind: errs.Invalid, Op: op, Subject: name,
			Want: "a name without " + stagingMark, Remedy: "choose another name: names with this text are temporary and are removed",
		}
	}
	return nil
}
