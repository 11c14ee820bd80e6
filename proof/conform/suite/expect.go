package suite

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"sort"
	"strconv"
)

// Object is a JSON object whose members must all be taken: what nobody looked
// at is a failure, so that an expectation cannot be passed over by oversight.
type Object struct {
	r       *Report
	Where   string
	Members map[string]any
	taken   map[string]bool
	Text    json.RawMessage // what m was decoded from, where the order of members counts
}

// Expectation reads a file as an object. Numbers are kept exact.
func Expectation(r *Report, file string) (*Object, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m, err := Decode(b)
	if err != nil {
		return nil, err
	}
	return NewObject(r, "", m), nil
}

// Decode reads a JSON object. Numbers are kept exact.
func Decode(b []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var m map[string]any
	return m, dec.Decode(&m)
}

// NewObject returns v as an Object. It fails the case if v is no object.
func NewObject(r *Report, where string, v any) *Object {
	m, ok := v.(map[string]any)
	if !ok {
		r.Fail("%s: want an object", where)
	}
	return &Object{r: r, Where: where, Members: m, taken: map[string]bool{}}
}

// Has takes a member without looking at it and says whether it is there.
func (o *Object) Has(key string) bool {
	_, ok := o.Members[key]
	o.taken[key] = true
	return ok
}

// Get takes a member, nil when it is absent or null.
func (o *Object) Get(key string) any {
	o.taken[key] = true
	return o.Members[key]
}

// Str takes a text, "" if it is absent.
func (o *Object) Str(key string) string {
	s, _ := o.Get(key).(string)
	return s
}

// Integer takes an integer. It fails the case if the member is something else.
func (o *Object) Integer(key string) int64 {
	n, _ := o.Get(key).(json.Number)
	v, err := n.Int64()
	if err != nil {
		o.r.Fail("%s%s: want an integer, got %v", o.Where, key, o.Members[key])
	}
	return v
}

// Boolean takes a truth value, false if it is absent.
func (o *Object) Boolean(key string) bool {
	b, _ := o.Get(key).(bool)
	return b
}

// List takes a list, nil if it is absent.
func (o *Object) List(key string) []any {
	l, _ := o.Get(key).([]any)
	return l
}

// Strings takes a list of texts.
func (o *Object) Strings(key string) []string {
	var out []string
	for _, v := range o.List(key) {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

// Ints takes a list of integers.
func (o *Object) Ints(key string) []int {
	var out []int
	for _, v := range o.List(key) {
		n, _ := v.(json.Number)
		i, _ := n.Int64()
		out = append(out, int(i))
	}
	return out
}

// Child takes a member that is an object.
func (o *Object) Child(key string) *Object {
	return NewObject(o.r, o.Where+key+".", o.Get(key))
}

// Raw takes a member as JSON.
func (o *Object) Raw(key string) json.RawMessage {
	b, err := json.Marshal(o.Get(key))
	if err != nil {
		o.r.Fail("%s%s: %v", o.Where, key, err)
	}
	return b
}

// Done fails for each member that was not taken and is not on the ignored list.
func (o *Object) Done() {
	var left []string
	for k := range o.Members {
		if _, ok := o.r.Ignored[k]; !ok && !o.taken[k] {
			left = append(left, k)
		}
	}
	sort.Strings(left)
	for _, k := range left {
		o.r.Fail("unknown member %s%s", o.Where, k)
	}
}

// SameJSON compares two decoded values; numbers by value, 1 equals 1.0.
func SameJSON(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		if !ok {
			return false
		}
		p, ok1 := new(big.Rat).SetString(x.String())
		q, ok2 := new(big.Rat).SetString(y.String())
		return ok1 && ok2 && p.Cmp(q) == 0
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !SameJSON(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !SameJSON(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return a == b
}

// ParseJSON decodes what the API returned, for sameJSON.
func ParseJSON(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	return v, dec.Decode(&v)
}

// NumbersOf returns a list of integers, or of their texts. where names it in failures.
func NumbersOf(r *Report, where string, v any) []int64 {
	l, _ := v.([]any)
	out := make([]int64, len(l))
	for i, x := range l {
		n, err := strconv.ParseInt(fmt.Sprint(x), 10, 64)
		if err != nil {
			r.Fail("%s[%d]: %v", where, i, err)
		}
		out[i] = n
	}
	return out
}

// HexOf is the hex of the bytes of numbers, little-endian.
func HexOf(numbers ...float64) string {
	var b []byte
	for _, x := range numbers {
		for bits, i := math.Float64bits(x), 0; i < 8; i++ {
			b = append(b, byte(bits>>(8*i)))
		}
	}
	return hex.EncodeToString(b)
}

// IntegerOf reads a member that is an integer or the text of one.
func (o *Object) IntegerOf(key string) int64 {
	if s, ok := o.Get(key).(string); ok {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			o.r.Fail("%s%s: %v", o.Where, key, err)
		}
		return n
	}
	return o.Integer(key)
}

// Numbers reads a list of integers, or of their texts.
func (o *Object) Numbers(key string) []int64 { return NumbersOf(o.r, o.Where+key, o.Get(key)) }

// Uint32Of reads a member that is a seed of 32 bits; ok is false if it does not fit.
func (o *Object) Uint32Of(key string) (seed uint32, ok bool) {
	n, err := strconv.ParseUint(fmt.Sprint(o.Get(key)), 10, 32)
	return uint32(n), err == nil
}

// Refusal judges an error against one that was recorded; it tells whether either is
// there, so that nothing else is to be compared.
func (o *Object) Refusal(err error) bool {
	want := o.Has("error")
	switch {
	case want && err == nil:
		o.r.Fail("accepted, want %v", o.Members["error"])
	case !want && err != nil:
		o.r.Fail("refused: %v", err)
	}
	return want || err != nil
}

// Seed reads the text of a seed, which may be negative.
func (o *Object) Seed(key string) uint64 {
	text := o.Str(key)
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		o.r.Fail("%s: %v", key, err)
	}
	return uint64(n)
}
