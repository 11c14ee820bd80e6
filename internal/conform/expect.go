package main

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"sort"
)

// object is a JSON object whose members must all be taken: what nobody looked
// at is a failure, so that an expectation cannot be passed over by oversight.
type object struct {
	r     *report
	where string
	m     map[string]any
	taken map[string]bool
	text  json.RawMessage // what m was decoded from, where the order of members counts
}

// expectation reads a file as an object. Numbers are kept exact.
func expectation(r *report, file string) (*object, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m, err := decode(b)
	if err != nil {
		return nil, err
	}
	return newObject(r, "", m), nil
}

func decode(b []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var m map[string]any
	return m, dec.Decode(&m)
}

func newObject(r *report, where string, v any) *object {
	m, ok := v.(map[string]any)
	if !ok {
		r.fail("%s: want an object", where)
	}
	return &object{r: r, where: where, m: m, taken: map[string]bool{}}
}

// has takes a member without looking at it and says whether it is there.
func (o *object) has(key string) bool {
	_, ok := o.m[key]
	o.taken[key] = true
	return ok
}

// get takes a member, nil when it is absent or null.
func (o *object) get(key string) any {
	o.taken[key] = true
	return o.m[key]
}

func (o *object) str(key string) string {
	s, _ := o.get(key).(string)
	return s
}

func (o *object) integer(key string) int64 {
	n, _ := o.get(key).(json.Number)
	v, err := n.Int64()
	if err != nil {
		o.r.fail("%s%s: want an integer, got %v", o.where, key, o.m[key])
	}
	return v
}

func (o *object) boolean(key string) bool {
	b, _ := o.get(key).(bool)
	return b
}

func (o *object) list(key string) []any {
	l, _ := o.get(key).([]any)
	return l
}

func (o *object) strings(key string) []string {
	var out []string
	for _, v := range o.list(key) {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

func (o *object) ints(key string) []int {
	var out []int
	for _, v := range o.list(key) {
		n, _ := v.(json.Number)
		i, _ := n.Int64()
		out = append(out, int(i))
	}
	return out
}

// child takes a member that is an object.
func (o *object) child(key string) *object {
	return newObject(o.r, o.where+key+".", o.get(key))
}

// raw takes a member as JSON.
func (o *object) raw(key string) json.RawMessage {
	b, err := json.Marshal(o.get(key))
	if err != nil {
		o.r.fail("%s%s: %v", o.where, key, err)
	}
	return b
}

// done fails for each member that was not taken and is not on the ignored list.
func (o *object) done() {
	var left []string
	for k := range o.m {
		if _, ok := o.r.ignored[k]; !ok && !o.taken[k] {
			left = append(left, k)
		}
	}
	sort.Strings(left)
	for _, k := range left {
		o.r.fail("unknown member %s%s", o.where, k)
	}
}

// sameJSON compares two decoded values; numbers by value, 1 equals 1.0.
func sameJSON(a, b any) bool {
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
			if !ok || !sameJSON(v, w) {
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
			if !sameJSON(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return a == b
}

// parseJSON decodes what the API returned, for sameJSON.
func parseJSON(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	return v, dec.Decode(&v)
}
