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
func TupleRepr(p tree.Path) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, k := range p {
		if i > 0 {
			b.WriteString(", ")
		}
		strRepr(&b, k.Name)
	}
	if len(p) == 1 {
		b.WriteByte(',')
	}
	b.WriteByte(')')
	return b.String()
}

// strRepr renders s as Python's repr of a str: double quotes only when s has a
// single quote and no double quote; what is not printable is escaped.
func strRepr(b *strings.Builder, s string) {
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	b.WriteByte(quote)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			// Python keeps undecodable bytes as lone surrogates.
			fmt.Fprintf(b, `\udc%02x`, s[i])
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(byte(r))
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case unicode.IsPrint(r):
			b.WriteString(s[i : i+n])
		case r < 0x100:
			fmt.Fprintf(b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
		i += n
	}
	b.WriteByte(quote)
}
