package lines

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Kind is the kind of a value in a record.
type Kind uint8

// The kinds of values.
const (
	Missing Kind = iota // there is no such member
	Null
	Bool
	Number
	Text
	List
	Object
	Within // a member of something that is no object
	Bare   // a field of CSV without quotes
	Quoted // a field of CSV with quotes
)

var kindNames = [...]string{"no value", "null", "a bool", "a number", "a text", "a list", "an object",
	"a value without members", "a field", "a field in quotes"}

// String returns the kind in words.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "an unknown kind"
}

// Value is a value in a record. It shares the memory of the record.
type Value struct {
	Kind  Kind
	Raw   []byte // as in the record, with its quotes
	quote byte   // of a Quoted field
}

// Empty reports whether there is no value: no such member, null, or an empty field without quotes.
func (v Value) Empty() bool {
	return v.Kind == Missing || v.Kind == Null || v.Kind == Bare && len(v.Raw) == 0
}

// Takes reports whether values can become elements of a type.
func Takes(d tensor.DType) bool {
	switch d {
	case tensor.Bool, tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64:
		return true
	}
	return d.IsInteger() && d.Bits() >= 8
}

// Append appends the elements of a value to dst: the bytes of a text, one number or bool, or the
// elements of a list. text says that a field of CSV is a text; a text of JSON always is. A value of
// another kind is an error of kind errs.Mismatch, and a number that the type cannot hold is one of
// kind errs.Invalid.
func (v Value) Append(dst []byte, d tensor.DType, text bool) ([]byte, error) {
	switch v.Kind {
	case Bare, Quoted:
		if text {
			return v.appendText(dst)
		}
		raw, err := v.appendText(nil)
		if err != nil {
			return dst, err
		}
		return appendWord(dst, d, bytes.Trim(raw, " \t"), true)
	case Text:
		if d != tensor.Uint8 {
			return dst, v.other(d, "a text becomes uint8")
		}
		return v.appendText(dst)
	case Number, Bool:
		return appendWord(dst, d, v.Raw, false)
	case List:
		return v.appendList(dst, d)
	}
	return dst, v.other(d, "")
}

// other returns the error for a value of the wrong kind.
func (v Value) other(d tensor.DType, remedy string) error {
	want := "a number or a list of numbers for " + d.String()
	switch d {
	case tensor.Bool:
		want = "true, false or a list of them for bool"
	case tensor.Uint8:
		want = "a text, a number or a list of numbers for uint8"
	}
	return &errs.Error{Kind: errs.Mismatch, Want: want, Got: v.describe(), Remedy: remedy}
}

// describe returns the kind and the start of a value.
func (v Value) describe() string {
	if len(v.Raw) == 0 {
		return v.Kind.String()
	}
	return v.Kind.String() + " " + brief(v.Raw)
}

// brief returns the start of a text.
func brief(b []byte) string {
	const most = 40
	if len(b) <= most {
		return string(b)
	}
	b = b[:most]
	for len(b) > 0 && !utf8.Valid(b) {
		b = b[:len(b)-1]
	}
	return string(b) + "…"
}

func (v Value) appendText(dst []byte) ([]byte, error) {
	switch v.Kind {
	case Bare:
		return append(dst, v.Raw...), nil
	case Quoted:
		for raw := v.Raw[1 : len(v.Raw)-1]; ; {
			n := bytes.IndexByte(raw, v.quote)
			if n < 0 {
				return append(dst, raw...), nil
			}
			dst = append(dst, raw[:n+1]...)
			raw = raw[n+2:] // the second of two quotes
		}
	}
	return appendUnquoted(dst, v.Raw)
}

// appendList appends the elements of a list of JSON, which was checked.
func (v Value) appendList(dst []byte, d tensor.DType) ([]byte, error) {
	p := parser{b: v.Raw, at: 1}
	var err error
	for i := 0; ; i++ {
		p.space()
		if p.b[p.at] == ']' {
			return dst, nil
		}
		if i > 0 {
			p.at++ // the comma
			p.space()
		}
		begin := p.at
		kind, _ := p.skip(0) // was checked
		if kind != Number && kind != Bool {
			e := Value{Kind: kind, Raw: p.b[begin:p.at]}
			return dst, &errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("element %d", i),
				Want: "a list of numbers or bools", Got: e.describe()}
		}
		if dst, err = appendWord(dst, d, p.b[begin:p.at], false); err != nil {
			return dst, errs.Wrap("", fmt.Sprintf("element %d", i), err)
		}
	}
}

// appendWord appends a number or bool. loose allows the forms that CSV has: True, 1, +5 and nan.
func appendWord(dst []byte, d tensor.DType, raw []byte, loose bool) ([]byte, error) {
	bad := func(kind errs.Kind, want string) error {
		got := brief(raw)
		if got == "" {
			got = "an empty field"
		}
		return &errs.Error{Kind: kind, Want: want, Got: got}
	}
	if d == tensor.Bool {
		switch string(raw) {
		case "true":
			return append(dst, 1), nil
		case "false":
			return append(dst, 0), nil
		case "True", "TRUE", "1":
			if loose {
				return append(dst, 1), nil
			}
		case "False", "FALSE", "0":
			if loose {
				return append(dst, 0), nil
			}
		}
		return dst, bad(errs.Mismatch, "true or false for bool")
	}
	if !number(raw, loose) {
		return dst, bad(errs.Mismatch, "a number for "+d.String())
	}
	if d.IsFloat() {
		bits := 64
		if d == tensor.Float32 {
			bits = 32
		}
		v, err := strconv.ParseFloat(string(raw), bits)
		if errors.Is(err, strconv.ErrRange) {
			return dst, bad(errs.Invalid, "a number that "+d.String()+" can hold")
		}
		if err != nil {
			return dst, bad(errs.Mismatch, "a number for "+d.String())
		}
		return appendFloat(dst, d, v), nil
	}
	negative, size, kind := integer(raw)
	if kind == errs.Mismatch {
		return dst, bad(errs.Mismatch, "an integer for "+d.String())
	}
	// The largest magnitude that the type holds with this sign.
	most := uint64(math.MaxUint64) >> (64 - d.Bits())
	if d.IsSigned() {
		if most >>= 1; negative {
			most++
		}
	} else if negative {
		most = 0
	}
	if size > most || kind != errs.Other {
		return dst, bad(errs.Invalid, "a number that "+d.String()+" can hold")
	}
	if negative {
		size = -size
	}
	return appendBits(dst, size, d.Size()), nil
}

func appendBits(dst []byte, v uint64, size int) []byte {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return append(dst, b[:size]...)
}

func appendFloat(dst []byte, d tensor.DType, v float64) []byte {
	switch d {
	case tensor.Float32:
		return appendBits(dst, uint64(math.Float32bits(float32(v))), 4)
	case tensor.Float64:
		return appendBits(dst, math.Float64bits(v), 8)
	}
	bits, _ := d.EncodeFloat(v) // float16 and bfloat16 have infinities and NaN
	return appendBits(dst, bits, d.Size())
}

// number reports whether a word is a number. A word of JSON that begins like one was checked.
func number(raw []byte, loose bool) bool {
	if len(raw) == 0 {
		return false
	}
	switch string(bytes.ToLower(bytes.TrimLeft(raw, "+-"))) {
	case "nan", "inf", "infinity":
		return loose || raw[0] == 'N' || raw[0] == 'I' || raw[0] == '-'
	}
	digits := false
	for i, c := range raw {
		switch {
		case c >= '0' && c <= '9':
			digits = true
		case c == '.', c == 'e' && digits, c == 'E' && digits:
		case c == '+' || c == '-':
			if i > 0 && raw[i-1]|0x20 != 'e' {
				return false
			}
		default:
			return false
		}
	}
	return digits
}

// integer returns the magnitude of a word that is a whole number; 3.0 and 1e3 are whole numbers.
// The kind is errs.Mismatch for another word, and errs.Invalid for a number beyond 64 bits.
func integer(raw []byte) (negative bool, size uint64, kind errs.Kind) {
	digits := raw
	if digits[0] == '-' || digits[0] == '+' {
		negative, digits = digits[0] == '-', digits[1:]
	}
	for i, c := range digits {
		if c < '0' || c > '9' {
			v, err := strconv.ParseFloat(string(digits), 64)
			if err != nil || v != math.Trunc(v) || v >= 1<<53 { // larger ones may have been rounded
				return negative, 0, errs.Mismatch
			}
			return negative, uint64(v), errs.Other
		}
		if i >= 19 && size > (math.MaxUint64-uint64(c-'0'))/10 {
			kind = errs.Invalid
		}
		size = 10*size + uint64(c-'0')
	}
	return negative, size, kind
}

// DType returns the type that a value of JSON suggests: uint8 for a text, bool, int64 or float64,
// and Invalid for an empty list. A value that has no type is an error of kind errs.Mismatch.
func (v Value) DType() (tensor.DType, error) {
	switch v.Kind {
	case Text:
		return tensor.Uint8, nil
	case Bool:
		return tensor.Bool, nil
	case Number:
		if bytes.ContainsAny(v.Raw, ".eEN") || bytes.Contains(v.Raw, []byte("In")) {
			return tensor.Float64, nil
		}
		return tensor.Int64, nil
	case List:
		if _, err := v.appendList(nil, tensor.Bool); err == nil && len(bytes.Trim(v.Raw, "[] \t")) > 0 {
			return tensor.Bool, nil
		}
		b, err := v.appendList(nil, tensor.Float64)
		switch {
		case err != nil:
			return tensor.Invalid, err
		case len(b) == 0:
			return tensor.Invalid, nil
		case bytes.ContainsAny(v.Raw, ".eEN"):
			return tensor.Float64, nil
		}
		return tensor.Int64, nil
	}
	return tensor.Invalid, v.other(tensor.Uint8, "")
}
