package journal

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// MaxScalars is how many names of scalars an attempt may have.
const MaxScalars = 1000

// MaxName is the largest number of bytes of the name of a scalar.
const MaxName = 200

// Scalars collects the scalars of the step under way. The zero value is ready for use. Its methods
// are for one goroutine.
type Scalars struct {
	index map[string]int
	slots []slot
}

// slot is a name that was used, with its value in the step under way.
type slot struct {
	name  string
	key   []byte // the name as it begins a member: `"loss":`
	value float64
	set   bool
}

// Set records a scalar. The last value of a step counts. The error is of kind errs.Invalid for an
// empty or too long name, and errs.Exhausted if there are MaxScalars other names already; then
// nothing is recorded.
func (s *Scalars) Set(name string, v float64) error {
	i, ok := s.index[name]
	if !ok {
		switch {
		case name == "" || len(name) > MaxName:
			return &errs.Error{Kind: errs.Invalid, Op: "journal.Set", Subject: "name of a scalar",
				Want: "1 to " + strconv.Itoa(MaxName) + " bytes", Got: strconv.Itoa(len(name)) + " bytes",
				Remedy: "use a short name, such as \"loss\""}
		case len(s.slots) >= MaxScalars:
			return &errs.Error{Kind: errs.Exhausted, Op: "journal.Set", Subject: "scalar " + strconv.Quote(name),
				Want: "at most " + strconv.Itoa(MaxScalars) + " names of scalars", Got: "one more",
				Remedy: "use the same names at each step: the number of the step is recorded anyway"}
		}
		if s.index == nil {
			s.index = map[string]int{}
		}
		valid := strings.ToValidUTF8(name, "\uFFFD")
		key, err := json.Marshal(valid)
		if err != nil {
			return &errs.Error{Kind: errs.Invalid, Op: "journal.Set", Subject: "name of a scalar", Err: err}
		}
		name = strings.Clone(name)
		if i, ok = s.index[valid]; !ok {
			i = len(s.slots)
			valid = strings.Clone(valid)
			s.index[valid] = i
			s.slots = append(s.slots, slot{name: valid, key: append(key, ':')})
		}
		if name != valid && len(s.index) < 2*MaxScalars {
			s.index[name] = i
		}
	}
	s.slots[i].value, s.slots[i].set = v, true
	return nil
}

// All yields the scalars of the step under way, in the order of their first use.
func (s *Scalars) All() iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for i := range s.slots {
			if s.slots[i].set && !yield(s.slots[i].name, s.slots[i].value) {
				return
			}
		}
	}
}

// Clear forgets the values, for the next step.
func (s *Scalars) Clear() {
	for i := range s.slots {
		s.slots[i].set = false
	}
}

// scalarList reads an object of numbers and keeps its order.
type scalarList []Scalar

// UnmarshalJSON implements json.Unmarshaler. If a name occurs twice, its last value counts.
func (l *scalarList) UnmarshalJSON(b []byte) error {
	wrong := func(got string) error {
		return &errs.Error{Kind: errs.Corrupt, Subject: "scalars", Want: "an object of numbers", Got: got}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return wrong(excerpt(b))
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return wrong(excerpt(b))
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return wrong(excerpt(b))
		}
		v, ok := parseFloat(value)
		if !ok {
			return wrong(strconv.Quote(name) + " is " + excerpt(value))
		}
		l.set(name, v)
	}
	return nil
}

func (l *scalarList) set(name string, v float64) {
	for i := range *l {
		if (*l)[i].Name == name {
			(*l)[i].Value = v
			return
		}
	}
	*l = append(*l, Scalar{name, v})
}
