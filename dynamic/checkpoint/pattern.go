package checkpoint

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/bivouac-ml/bivouac/errs"
)

// pattern is a path with one field for a number.
type pattern struct {
	before, after string
	format        format
}

// parsePattern reads a pattern in the syntax of Python's str.format, with exactly one field {seq}.
func parsePattern(text string) (pattern, error) {
	bad := func(want, got string) (pattern, error) {
		return pattern{}, fail(errs.Invalid, "pattern", text, want, got)
	}
	var p pattern
	var literal strings.Builder
	fields := 0
	for rest := text; rest != ""; {
		at := strings.IndexAny(rest, "{}")
		if at < 0 {
			literal.WriteString(rest)
			break
		}
		literal.WriteString(rest[:at])
		brace := rest[at]
		if strings.HasPrefix(rest[at+1:], string(brace)) {
			literal.WriteByte(brace)
			rest = rest[at+2:]
			continue
		}
		end := strings.IndexByte(rest[at:], '}')
		if brace == '}' || end < 0 {
			return bad("braces in pairs", "a single "+string(brace))
		}
		name, spec, _ := strings.Cut(rest[at+1:at+end], ":")
		name, conversion, converted := strings.Cut(name, "!")
		if name != "seq" || converted && !strings.Contains("rsa", conversion) {
			return bad("only the field {seq}", "the field {"+rest[at+1:at+end]+"}")
		}
		if fields++; fields > 1 {
			return bad("one field {seq}", "two of them")
		}
		f, ok := parseFormat(spec)
		if !ok {
			return bad("a format for an integer, such as 04d or a comma", strconv.Quote(spec))
		}
		p.before, p.format = literal.String(), f
		literal.Reset()
		rest = rest[at+end+1:]
	}
	if fields == 0 {
		return bad("a pattern with {seq}", "a pattern without it")
	}
	p.after = literal.String()
	return p, nil
}

// path returns the path of number n.
func (p pattern) path(n int) string { return p.before + p.format.text(n) + p.after }

// number returns the number in the path of a directory entry whose name begins with head. deeper is
// the part of the path below the entry.
func (p pattern) number(name, head string) (n int, deeper string, ok bool) {
	tail, deeper, _ := strings.Cut(p.after, string(filepath.Separator))
	digits, ok := strings.CutPrefix(name, head)
	if !ok {
		return 0, "", false
	}
	if digits, ok = strings.CutSuffix(digits, tail); !ok {
		return 0, "", false
	}
	if n, ok = decimal(digits); !ok {
		n, ok = p.format.number(digits)
	}
	return n, filepath.ToSlash(deeper), ok
}

// decimal reads decimal digits of any script.
func decimal(digits string) (int, bool) {
	const largest = 1 << 53
	n := 0
	for _, r := range digits {
		if !unicode.Is(unicode.Nd, r) {
			return 0, false
		}
		if n = 10*n + digit(r); n > largest {
			return 0, false
		}
	}
	return n, digits != ""
}

// digit returns the value of a decimal digit. Unicode has decimal digits in groups of ten, which
// begin with the digit 0.
func digit(r rune) int {
	zero := r
	for unicode.Is(unicode.Nd, zero-1) && r-zero < 9 {
		zero--
	}
	return int(r-zero) % 10
}
