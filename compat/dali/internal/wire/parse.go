package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bivouac-ml/bivouac/errs"
)

// Limits bounds what Parse takes.
type Limits struct {
	Bytes  int // of input
	Depth  int // of messages in each other, the outermost counted
	Fields int // occurrences of fields and packed elements, in all messages together
}

// Codec reads and writes messages of type M, a struct. It may be used by
// several goroutines at once.
type Codec[M any] struct {
	op     string
	limits Limits
	schema *Schema
}

// NewCodec makes the codec of a struct whose tags say what its fields are. Errors
// name op. It panics where a tag is wrong.
func NewCodec[M any](op string, limits Limits) Codec[M] {
	return Codec[M]{op, limits, schemaOf(reflect.TypeFor[M](), map[reflect.Type]*Schema{})}
}

// Schema returns the fields of M.
func (c Codec[M]) Schema() *Schema { return c.schema }

// Parse reads one message, which takes all of b. The message holds no memory of
// b. Errors are of kind errs.Corrupt where bytes are wrong, errs.Exhausted where a
// limit is reached, and errs.Unsupported where a message that should be there once
// is there twice.
func (c Codec[M]) Parse(b []byte) (*M, error) {
	if len(b) > c.limits.Bytes {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: c.op, Want: fmt.Sprintf("at most %d bytes", c.limits.Bytes),
			Got: strconv.Itoa(len(b))}
	}
	m := new(M)
	p := parser{buf: bytes.Clone(b), limits: c.limits}
	if f := p.message(c.schema, reflect.ValueOf(m).Elem(), 0, len(b), 1); f != nil {
		return nil, &errs.Error{Kind: f.kind, Op: c.op, Subject: f.subject(), Want: f.want, Got: f.got, Err: f.err}
	}
	return m, nil
}

// fault is an error whose path grows while it goes up.
type fault struct {
	kind      errs.Kind
	at        int
	path      string
	want, got string
	err       error
}

func (f *fault) subject() string {
	if f.path == "" {
		return fmt.Sprintf("byte %d", f.at)
	}
	return fmt.Sprintf("%s at byte %d", f.path, f.at)
}

func (f *fault) in(path string) *fault {
	if f.path != "" {
		path += "." + f.path
	}
	f.path = path
	return f
}

// reason says what a negative length of protowire means. Its own messages begin with
// "proto:" and a space or a no-break space, by chance.
func reason(n int) error {
	err := protowire.ParseError(n)
	if text, ok := strings.CutPrefix(err.Error(), "proto:"); ok {
		return errors.New(strings.Trim(text, " \u00a0"))
	}
	return err
}

type parser struct {
	buf    []byte
	limits Limits
	fields int
	found  []mark // a stack: of the messages that are being read
}

// message reads buf[pos:end] into v.
func (p *parser) message(s *Schema, v reflect.Value, pos, end, depth int) *fault {
	if depth > p.limits.Depth {
		return &fault{kind: errs.Exhausted, at: pos, want: fmt.Sprintf("at most %d messages in each other", p.limits.Depth)}
	}
	base := len(p.found)
	last := make([]int, len(s.Fields)) // 1 + mark of the last occurrence
	for pos < end {
		size, f := p.occurrence(s, v, last, pos, end, depth)
		if f != nil {
			return f
		}
		pos += size
	}
	for i := range s.Fields {
		if s.Fields[i].Required && last[i] == 0 {
			return (&fault{kind: errs.Corrupt, at: end, want: "the field, which is required", got: "none"}).in(s.Fields[i].Name)
		}
	}
	*s.Layout(v) = settle(s, v, p.found[base:])
	p.found = p.found[:base]
	return nil
}

// occurrence reads what is at pos and returns its size.
func (p *parser) occurrence(s *Schema, v reflect.Value, last []int, pos, end, depth int) (int, *fault) {
	number, typ, n := protowire.ConsumeTag(p.buf[pos:end])
	if n < 0 {
		return 0, &fault{kind: errs.Corrupt, at: pos, want: "a field", err: reason(n)}
	}
	at, ok := s.number[number]
	path := "field " + strconv.Itoa(int(number))
	if ok {
		path = s.Fields[at].Name
	}
	size := protowire.ConsumeFieldValue(number, typ, p.buf[pos+n:end])
	if size < 0 {
		return 0, (&fault{kind: errs.Corrupt, at: pos, want: "a value of wire type " + strconv.Itoa(int(typ)), err: reason(size)}).in(path)
	}
	if p.fields++; p.fields > p.limits.Fields {
		return 0, p.tooMany(pos).in(path)
	}
	whole := p.buf[pos : pos+n+size : pos+n+size]
	var packed bool
	if ok {
		ok, packed = s.Fields[at].accepts(typ)
	}
	if !ok {
		p.found = append(p.found, mark{other, 0, whole})
		return len(whole), nil
	}
	m, f := p.known(&s.Fields[at], v, mark{at, 1, whole}, packed, last[at], pos, n, depth)
	if f != nil {
		return 0, f
	}
	p.found = append(p.found, m)
	last[at] = len(p.found)
	return len(whole), nil
}

// known reads an occurrence of a field of the schema. Of a field that is not
// repeated the last one counts; that before it, whose mark is before-1, is kept
// as bytes.
func (p *parser) known(f *Field, v reflect.Value, m mark, packed bool, before, pos, tag, depth int) (mark, *fault) {
	if !f.Repeated && before > 0 {
		if f.Kind == Message {
			return m, (&fault{kind: errs.Unsupported, at: pos, want: "the message once", got: "another"}).in(f.Name)
		}
		p.found[before-1].field, p.found[before-1].count = other, 0
	}
	path := f.Name
	if f.Repeated {
		path += "[" + strconv.Itoa(v.Field(f.Index).Len()) + "]"
	}
	switch {
	case f.Kind == Message:
		_, n := protowire.ConsumeVarint(m.raw[tag:])
		end := pos + len(m.raw)
		m.raw = m.raw[: tag+n : tag+n]
		if fault := p.message(f.Message, f.Next(v), pos+tag+n, end, depth+1); fault != nil {
			return m, fault.in(path)
		}
	case packed:
		count, ok := f.unpack(m.raw[tag:], p.limits.Fields-p.fields, func() reflect.Value { return f.Next(v) })
		if !ok {
			return m, (&fault{kind: errs.Corrupt, at: pos, want: "whole values, one behind the other"}).in(path)
		}
		if p.fields += count; p.fields > p.limits.Fields {
			return m, p.tooMany(pos).in(path)
		}
		m.count = count
	default:
		f.set(f.Next(v), m.raw[tag:])
	}
	return m, nil
}

func (p *parser) tooMany(pos int) *fault {
	return &fault{kind: errs.Exhausted, at: pos, want: fmt.Sprintf("at most %d fields in all", p.limits.Fields),
		got: "more"}
}

// set gives a scalar the value whose bytes are at the start of b and returns
// their number, which is negative where they are no value.
func (f *Field) set(element reflect.Value, b []byte) int {
	switch f.Kind {
	case String, Bytes:
		v, n := protowire.ConsumeBytes(b)
		if n >= 0 && f.Kind == String {
			element.SetString(string(v))
		} else if n >= 0 {
			element.SetBytes(bytes.Clone(v))
		}
		return n
	case Float32:
		v, n := protowire.ConsumeFixed32(b)
		if n >= 0 {
			element.Set(reflect.ValueOf(math.Float32frombits(v)))
		}
		return n
	}
	v, n := protowire.ConsumeVarint(b)
	switch {
	case n < 0:
	case f.Kind == Bool:
		element.SetBool(v != 0)
	case f.Kind == Int32:
		element.SetInt(int64(int32(v)))
	default:
		element.SetInt(int64(v))
	}
	return n
}

// unpack reads packed numbers, each to a place that next gives, and stops behind
// one more than limit.
func (f *Field) unpack(b []byte, limit int, next func() reflect.Value) (count int, ok bool) {
	b, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return 0, false
	}
	for ; len(b) > 0 && count <= limit; count++ {
		n := f.set(next(), b)
		if n < 0 {
			return count, false
		}
		b = b[n:]
	}
	return count, true
}
