package wire

import (
	"encoding/hex"
	"reflect"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bivouac-ml/bivouac/errs"
)

// Words returns a layout in words, one word per occurrence, in their order. A word is one of:
//
//   - the name of the field;
//   - name=0x… with the bytes of an occurrence that is not in canonical form; for a message, the
//     bytes of its tag and length;
//   - 0x… with bytes that are kept.
//
// Canonical form has no words.
func (l Layout) Words(s *Schema) []string {
	var out []string
	for _, m := range l.marks {
		var words []string
		if m.field != other {
			words = append(words, s.Fields[m.field].Name)
		}
		if m.raw != nil {
			words = append(words, "0x"+hex.EncodeToString(m.raw))
		}
		out = append(out, strings.Join(words, "="))
	}
	return out
}

// ParseWords makes the layout that the words say. Errors are of kind errs.Invalid.
func ParseWords(s *Schema, words []string) (Layout, error) {
	l := Layout{kept: true}
	for _, w := range words {
		m, ok := parseWord(s, w)
		if !ok {
			return Layout{}, &errs.Error{Kind: errs.Invalid, Op: "wire.ParseWords", Subject: s.Type.Name(),
				Want: "the name of a field, 0x and the bytes of a field, or both with = between", Got: w}
		}
		l.marks = append(l.marks, m)
	}
	return l, nil
}

func parseWord(s *Schema, word string) (m mark, ok bool) {
	name, digits, isRaw := strings.Cut(word, "0x")
	if isRaw {
		var err error
		if m.raw, err = hex.DecodeString(digits); err != nil {
			return m, false
		}
	}
	if name == "" {
		m.field = other
		return m, isRaw && isField(m.raw)
	}
	if isRaw && !strings.HasSuffix(name, "=") {
		return m, false
	}
	m.field, ok = s.name[strings.TrimSuffix(name, "=")]
	if !ok || !isRaw {
		m.count = 1
		return m, ok && !strings.HasSuffix(name, "=")
	}
	f := &s.Fields[m.field]
	if f.Kind == Message {
		m.count = 1
		return m, f.isHeader(m.raw)
	}
	m.count = len(f.decode(m.raw))
	return m, isField(m.raw) && f.canHold(m)
}

func isField(raw []byte) bool {
	_, _, n := protowire.ConsumeField(raw)
	return n == len(raw)
}

// isHeader reports whether raw is a tag of f and a length.
func (f *Field) isHeader(raw []byte) bool {
	number, typ, n := protowire.ConsumeTag(raw)
	if n < 0 || number != f.Number || typ != protowire.BytesType {
		return false
	}
	_, size := protowire.ConsumeVarint(raw[n:])
	return size == len(raw)-n
}

// canHold reports whether the occurrence is one of f with whole values.
func (f *Field) canHold(m mark) bool {
	number, typ, n := protowire.ConsumeTag(m.raw)
	ok, packed := f.accepts(typ)
	if number != f.Number || !ok {
		return false
	}
	if packed {
		_, ok = f.unpack(m.raw[n:], len(m.raw), func() reflect.Value { return reflect.New(f.elem).Elem() })
	}
	return ok
}
