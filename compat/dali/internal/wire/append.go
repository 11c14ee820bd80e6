package wire

import (
	"reflect"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Append appends the message in its layout. Of a message from Parse that has not
// been changed these are the bytes that were parsed.
func (c Codec[M]) Append(dst []byte, m *M) []byte {
	return appendMessage(dst, c.schema, reflect.ValueOf(m).Elem())
}

func appendMessage(dst []byte, s *Schema, v reflect.Value) []byte {
	layout := s.Layout(v)
	if !layout.kept {
		for i := range s.Fields {
			f := &s.Fields[i]
			dst = f.appendAll(dst, f.Elements(v, f.Always))
		}
		return dst
	}
	return appendKept(dst, s, v, layout.marks)
}

// appendKept walks the marks; rest holds the elements that none has taken yet.
func appendKept(dst []byte, s *Schema, v reflect.Value, marks []mark) []byte {
	rest := make([][]reflect.Value, len(s.Fields))
	last := make([]int, len(s.Fields)) // 1 + the last mark of the field
	for i, m := range marks {
		if m.field != other {
			last[m.field] = i + 1
		}
	}
	for i := range s.Fields {
		rest[i] = s.Fields[i].Elements(v, last[i] > 0)
	}
	for i, m := range marks {
		if m.field == other {
			dst = append(dst, m.raw...)
			continue
		}
		f := &s.Fields[m.field]
		n := min(m.count, len(rest[m.field]))
		dst = f.appendMark(dst, m, rest[m.field][:n])
		rest[m.field] = rest[m.field][n:]
		if last[m.field] == i+1 {
			dst = f.appendAll(dst, rest[m.field])
			rest[m.field] = nil
		}
	}
	for i := range s.Fields {
		dst = s.Fields[i].appendAll(dst, rest[i])
	}
	return dst
}

// appendMark writes the elements of one occurrence as it was, where they are still
// what it held.
func (f *Field) appendMark(dst []byte, m mark, elements []reflect.Value) []byte {
	switch {
	case m.raw == nil || len(elements) != m.count:
		return f.appendAll(dst, elements)
	case f.Kind == Message:
		start := len(dst)
		dst = appendMessage(dst, f.Message, elements[0])
		return slices.Insert(dst, start, f.header(m.raw, len(dst)-start)...)
	case f.holds(m.raw, elements):
		return append(dst, m.raw...)
	}
	return f.appendAll(dst, elements)
}

func (f *Field) appendAll(dst []byte, elements []reflect.Value) []byte {
	for _, e := range elements {
		dst = f.append(dst, e)
	}
	return dst
}

// append writes one element in canonical form.
func (f *Field) append(dst []byte, v reflect.Value) []byte {
	if f.Kind == Message {
		start := len(dst)
		dst = appendMessage(dst, f.Message, v)
		return slices.Insert(dst, start, f.header(nil, len(dst)-start)...)
	}
	dst = append(dst, f.tag...)
	switch f.Kind {
	case String:
		return protowire.AppendString(dst, v.String())
	case Bytes:
		return protowire.AppendBytes(dst, v.Bytes())
	case Bool:
		return protowire.AppendVarint(dst, protowire.EncodeBool(v.Bool()))
	case Float32:
		return protowire.AppendFixed32(dst, bits(v))
	}
	return protowire.AppendVarint(dst, uint64(v.Int()))
}

// header returns tag and length of a message of size bytes: those it had, where
// they still say so.
func (f *Field) header(raw []byte, size int) []byte {
	if _, _, n := protowire.ConsumeTag(raw); n > 0 {
		if was, _ := protowire.ConsumeVarint(raw[n:]); was == uint64(size) {
			return raw
		}
	}
	return protowire.AppendVarint(slices.Clip(f.tag), uint64(size))
}

// holds reports whether the occurrence raw says just the elements.
func (f *Field) holds(raw []byte, elements []reflect.Value) bool {
	decoded := f.decode(raw)
	return slices.EqualFunc(decoded, elements, f.same)
}

// decode returns the elements of an occurrence, none where it is not one of f.
func (f *Field) decode(raw []byte) []reflect.Value {
	number, typ, n := protowire.ConsumeTag(raw)
	if n < 0 || number != f.Number {
		return nil
	}
	var out []reflect.Value
	next := func() reflect.Value {
		out = append(out, reflect.New(f.elem).Elem())
		return out[len(out)-1]
	}
	switch ok, packed := f.accepts(typ); {
	case packed:
		f.unpack(raw[n:], len(raw), next)
	case ok:
		f.set(next(), raw[n:])
	}
	return out
}
