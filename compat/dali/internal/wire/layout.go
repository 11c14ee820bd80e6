package wire

import (
	"bytes"
	"reflect"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Layout is how a message lay in the bytes that it was parsed from. Messages in canonical form, and
// messages made in Go, have the zero Layout. A Layout may be copied; what it refers to never
// changes.
type Layout struct {
	kept  bool // not canonical
	marks []mark
}

// mark is one occurrence of a field.
type mark struct {
	field int    // index in the schema; other: bytes that are kept as they are
	count int    // elements that it holds
	raw   []byte // the occurrence, of a message tag and length alone; nil: in canonical form
}

const other = -1

// IsCanonical reports whether the message is written in canonical form.
func (l Layout) IsCanonical() bool { return !l.kept }

// Equal reports whether two layouts are the same.
func (l Layout) Equal(m Layout) bool {
	return l.kept == m.kept && slices.EqualFunc(l.marks, m.marks, func(a, b mark) bool {
		return a.field == b.field && a.count == b.count && bytes.Equal(a.raw, b.raw) && (a.raw == nil) == (b.raw == nil)
	})
}

// settle makes a Layout of what was found in a message. Occurrences lose their
// bytes where canonical form has the same, and all of them are dropped when the
// whole message is canonical.
func settle(s *Schema, message reflect.Value, found []mark) Layout {
	rest := make([][]reflect.Value, len(s.Fields))
	for i := range s.Fields {
		rest[i] = s.Fields[i].Elements(message, true)
	}
	for i := range found {
		m := &found[i]
		if m.field == other {
			continue
		}
		if m.count == 1 && s.Fields[m.field].isCanonical(m.raw, rest[m.field][0]) {
			m.raw = nil
		}
		rest[m.field] = rest[m.field][m.count:]
	}
	if isCanonical(s, message, found) {
		return Layout{}
	}
	return Layout{kept: true, marks: slices.Clone(found)}
}

// isCanonical reports whether raw is what Append writes for the element, or of a
// message before it.
func (f *Field) isCanonical(raw []byte, element reflect.Value) bool {
	if f.Kind != Message {
		return bytes.Equal(raw, f.append(nil, element))
	}
	_, _, n := protowire.ConsumeTag(raw)
	size, _ := protowire.ConsumeVarint(raw[n:])
	return bytes.Equal(raw, protowire.AppendVarint(slices.Clip(f.tag), size))
}

func isCanonical(s *Schema, message reflect.Value, found []mark) bool {
	i := 0
	for at := range s.Fields {
		f := &s.Fields[at]
		for range f.Elements(message, f.Always) {
			if i == len(found) || found[i].field != at || found[i].raw != nil {
				return false
			}
			i++
		}
	}
	return i == len(found)
}
