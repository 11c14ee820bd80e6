package orbax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/tree"
)

// TupleRepr renders the key strings of p as Python's repr of a tuple of str:
// the outer keys of tree_metadata. Partial saves of Orbax parse it back with
// ast.literal_eval, so it must be exact.
func TupleRepr(p tree.Path) string { return string(appendTupleRepr(nil, p)) }

func appendTupleRepr(dst []byte, p tree.Path) []byte {
	dst = append(dst, '(')
	for i, k := range p {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendRepr(dst, k.Name)
	}
	if len(p) == 1 {
		dst = append(dst, ',')
	}
	return append(dst, ')')
}

// appendRepr appends s as Python's repr of a str: in double quotes only when s
// has a single quote and no double quote; what is not printable is escaped.
func appendRepr(dst []byte, s string) []byte {
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	dst = append(dst, quote)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			// Python keeps undecodable bytes as lone surrogates.
			dst = fmt.Appendf(dst, `\udc%02x`, s[i])
		case r == rune(quote) || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case unicode.IsPrint(r):
			dst = append(dst, s[i:i+n]...)
		case r < 0x100:
			dst = fmt.Appendf(dst, `\x%02x`, r)
		case r < 0x10000:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = fmt.Appendf(dst, `\U%08x`, r)
		}
		i += n
	}
	return append(dst, quote)
}
