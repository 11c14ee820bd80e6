package orbax

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/tree"
)

// Tree is the content of an item's _METADATA.
type Tree struct {
	Entries  []Entry // in file order
	UseOCDBT *bool   // nil if absent: then look for manifest.ocdbt
	UseZarr3 bool    // absent means zarr v2
	// StoreFill says that chunks equal to the fill value were stored, so that a
	// missing chunk is lost data and not a fill value.
	StoreFill bool
	Custom    json.RawMessage // nil when absent or null
	Rich      *Rich           // containers with their types, nil when not recorded
	// Numbered makes Append name the entries by index instead of by their keys, which each entry has
	// anyway: for documents that Orbax does not read. ParseTree reads both forms.
	Numbered bool
}

// Entry is one leaf or empty container.
type Entry struct {
	Path       tree.Path
	ValueType  string
	Skip       bool  // nothing is stored for it: None and empty containers
	WriteShape []int // shape of one written fragment; only for jax.Array, else nil
}

// Append appends the document as Orbax spells it, but without blanks between tokens: a checkpoint
// of many small leaves consists mostly of this document.
func (t Tree) Append(dst []byte) []byte {
	dst = slices.Grow(dst, t.size())
	dst = append(dst, `{"tree_metadata":{`...)
	var repr []byte
	for i, e := range t.Entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		if t.Numbered {
			dst = append(strconv.AppendInt(append(dst, '"'), int64(i), 10), '"')
		} else {
			repr = appendTupleRepr(repr[:0], e.Path)
			dst = appendString(dst, string(repr))
		}
		dst = append(dst, `:{"key_metadata":[`...)
		for j, k := range e.Path {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `{"key":`...)
			dst = appendString(dst, k.Name)
			dst = append(dst, `,"key_type":`...)
			if k.Kind == tree.KeyIndex {
				dst = append(dst, "1}"...)
			} else {
				dst = append(dst, "2}"...)
			}
		}
		dst = append(dst, `],"value_metadata":{"value_type":`...)
		dst = appendString(dst, e.ValueType)
		dst = append(dst, `,"skip_deserialize":`...)
		dst = strconv.AppendBool(dst, e.Skip)
		if e.WriteShape != nil {
			dst = appendShape(append(dst, `,"write_shape":`...), e.WriteShape)
		}
		dst = append(dst, "}}"...)
	}
	dst = append(dst, `},"use_ocdbt":`...)
	dst = strconv.AppendBool(dst, t.UseOCDBT == nil || *t.UseOCDBT)
	dst = append(dst, `,"use_zarr3":`...)
	dst = strconv.AppendBool(dst, t.UseZarr3)
	dst = append(dst, `,"store_array_data_equal_to_fill_value":`...)
	dst = strconv.AppendBool(dst, t.StoreFill)
	dst = append(dst, `,"custom_metadata":`...)
	if t.Custom == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, t.Custom...)
	}
	if t.Rich != nil {
		dst = appendString(append(dst, `,"value_metadata_tree":`...), string(appendRich(nil, t.Rich, t.Entries)))
	}
	return append(dst, '}')
}

// size returns an estimate of the size of the document, rather too large, so that it need not be
// copied while it grows.
func (t Tree) size() int {
	n := 256 + len(t.Custom)
	for i := range t.Entries {
		e := &t.Entries[i]
		n += 100 + len(e.ValueType) + 8*len(e.WriteShape)
		for _, k := range e.Path {
			n += 28 + 2*len(k.Name)
		}
	}
	return n
}

// appendShape appends a list of extents without blanks.
func appendShape(dst []byte, shape []int) []byte {
	dst = append(dst, '[')
	for i, n := range shape {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	return append(dst, ']')
}

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

// appendRepr appends s as Python's repr of a str. It is in double quotes only if s has a single
// quote and no double quote. Characters that are not printable are escaped.
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
