package checkpoint

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// format is Python's format of an integer:
//
//	[[fill]align][sign][#][0][width][grouping][type]
//
// with align one of < > ^ =, sign one of + - and space, grouping a comma or an underscore, and
// type one of b d n o x X.
type format struct {
	fill      string
	align     byte
	sign      string // written before numbers: "", "+" or " "
	prefix    string // of the base, if the format has a #
	width     int
	grouping  string
	every     int // digits between two separators
	base      int
	upperCase bool
}

// mostWidth is the greatest width of a format.
const mostWidth = 64

// parseFormat reads a format. ok is false if Python raises an error for it, or if its type does not
// write an integer.
func parseFormat(spec string) (f format, ok bool) {
	f = format{fill: " ", align: '>', base: 10, every: 3}
	const aligns = "<>^="
	filled, aligned := false, false
	if _, n := utf8.DecodeRuneInString(spec); n > 0 && len(spec) > n && strings.IndexByte(aligns, spec[n]) >= 0 {
		f.fill, f.align, spec, filled, aligned = spec[:n], spec[n], spec[n+1:], true, true
	} else if spec != "" && strings.IndexByte(aligns, spec[0]) >= 0 {
		f.align, spec, aligned = spec[0], spec[1:], true
	}
	if spec != "" && strings.IndexByte("+- ", spec[0]) >= 0 {
		if f.sign = spec[:1]; f.sign == "-" {
			f.sign = ""
		}
		spec = spec[1:]
	}
	spec, alternate := strings.CutPrefix(spec, "#")
	if strings.HasPrefix(spec, "0") {
		spec = spec[1:]
		if !filled {
			f.fill = "0"
		}
		if !aligned {
			f.align = '='
		}
	}
	digits := len(spec) - len(strings.TrimLeft(spec, "0123456789"))
	if digits > 0 {
		width, err := strconv.Atoi(spec[:digits])
		if f.width = width; err != nil || width > mostWidth {
			return f, false
		}
		spec = spec[digits:]
	}
	if spec != "" && (spec[0] == ',' || spec[0] == '_') {
		f.grouping, spec = spec[:1], spec[1:]
	}
	switch spec {
	case "", "d":
	case "n":
		return f, f.grouping == ""
	case "b", "o", "x", "X":
		f.base = map[string]int{"b": 2, "o": 8, "x": 16, "X": 16}[spec]
		f.upperCase, f.every = spec == "X", 4
		if alternate {
			f.prefix = "0" + spec
		}
		return f, f.grouping != ","
	default:
		return f, false
	}
	return f, true
}

// text formats a number that is not negative.
func (f format) text(n int) string {
	digits := strconv.FormatInt(int64(n), f.base)
	if f.upperCase {
		digits = strings.ToUpper(digits)
	}
	front := f.sign + f.prefix
	if f.grouping != "" {
		least := 0
		if f.fill == "0" && f.align == '=' {
			least = f.width - len(front)
		}
		digits = f.group(digits, least)
	}
	pad := max(0, f.width-len(front)-len(digits))
	switch f.align {
	case '<':
		return front + digits + strings.Repeat(f.fill, pad)
	case '^':
		return strings.Repeat(f.fill, pad/2) + front + digits + strings.Repeat(f.fill, pad-pad/2)
	case '=':
		return front + strings.Repeat(f.fill, pad) + digits
	}
	return strings.Repeat(f.fill, pad) + front + digits
}

// group puts separators between digits, and zeros before them until the text has at least `least`
// bytes.
func (f format) group(digits string, least int) string {
	for {
		var b strings.Builder
		for i := range len(digits) {
			if i > 0 && (len(digits)-i)%f.every == 0 {
				b.WriteString(f.grouping)
			}
			b.WriteByte(digits[i])
		}
		if b.Len() >= least {
			return b.String()
		}
		digits = "0" + digits
	}
}

// number reads a text that has padding, a sign or separators, which decimal does not accept. DALI
// does not find such files again: it continues with the newest file whose number has only digits.
func (f format) number(text string) (int, bool) {
	if f.base != 10 {
		return 0, false
	}
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
	n, ok := decimal(digits)
	return n, ok && f.text(n) == text
}
