package dalivec

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Subject is what the rules of tolerances.json look at. What does not apply stays empty.
type Subject struct {
	Section string // "" for ops
	Group   string
	Op      string
	DType   string // DALI's name
	Args    map[string]any
	Expr    string
	File    string // of the sample
	Case    string
	Graph   string
	Output  int
}

// Tolerance says how exactly values have to be met. The zero Tolerance means bit by bit, except for
// the bits of NaN and the sign of zero.
type Tolerance struct {
	Abs      float64
	Rel      float64
	RelMax   float64  `json:"rel_max"` // of the largest finite number that is wanted
	Mismatch *float64 `json:"max_mismatch_fraction"`
	// Bias bounds the absolute value of the signed mean of all differences. Without it the
	// mean must be indistinguishable from chance, see bounds.
	Bias *float64 `json:"max_bias"`
	// Rounding is what an element may differ by without counting towards the default share, where
	// both results went through several roundings, as in decoded video. Such a rule bounds the bias.
	Rounding float64
	// Unbounded asks only for the fraction of elements that may differ.
	Unbounded bool
	Why       string `json:"-"`
}

// exact reports whether nothing may differ.
func (t Tolerance) exact() bool {
	return t.Abs == 0 && t.Rel == 0 && t.RelMax == 0 && t.Mismatch == nil && !t.Unbounded
}

type rule struct {
	Match struct {
		Section string
		Group   string
		Op      []string
		DType   []string
		Args    map[string]any
		Expr    string
		File    string
		Case    []string
		Graph   []string
		Output  []int
	}
	Check     json.RawMessage
	Why       string
	expr      *regexp.Regexp
	unsolved  bool
	tolerance Tolerance
}

func (r *rule) prepare() (err error) {
	if r.expr, err = regexp.Compile(r.Match.Expr); err != nil {
		return err
	}
	var word string
	switch {
	case json.Unmarshal(r.Check, &word) != nil:
		err = json.Unmarshal(r.Check, &r.tolerance)
	case word == "unsolved":
		r.unsolved = true
	case word != "exact":
		err = fmt.Errorf("unknown check %q", word)
	}
	r.tolerance.Why = r.Why
	if m := r.tolerance.Mismatch; m != nil {
		*m = min(*m, largestShare)
	}
	return err
}

// Tolerance returns what the first rule that fits asks for. Rules that call cases
// unsolved, which need not be met, are passed over: Bivouac meets the next.
func (s *Set) Tolerance(x Subject) Tolerance {
	for i := range s.rules {
		if r := &s.rules[i]; !r.unsolved && r.fits(x) {
			return r.tolerance
		}
	}
	return Tolerance{}
}

func (r *rule) fits(x Subject) bool {
	m := &r.Match
	for name, want := range m.Args {
		if got, ok := x.Args[name]; !ok || !oneOf(want, got) {
			return false
		}
	}
	return (m.Section == "" || m.Section == x.Section) &&
		(m.Group == "" || m.Group == x.Group) &&
		(m.Op == nil || x.Op != "" && matches(m.Op, x.Op)) &&
		(m.DType == nil || slices.Contains(m.DType, x.DType)) &&
		(m.Expr == "" || x.Expr != "" && r.expr.MatchString(x.Expr)) &&
		(m.File == "" || x.File != "" && matches(strings.Split(m.File, "|"), x.File)) &&
		(m.Case == nil || slices.Contains(m.Case, x.Case)) &&
		(m.Graph == nil || slices.Contains(m.Graph, x.Graph)) &&
		(m.Output == nil || slices.Contains(m.Output, x.Output))
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// oneOf reports whether an argument has one of the values that a rule lists; the
// rule writes enums by name.
func oneOf(want, got any) bool {
	if want == "any" {
		return true
	}
	if m, ok := got.(map[string]any); ok {
		got = m["type"]
	}
	list, _ := want.([]any)
	return slices.ContainsFunc(list, func(w any) bool { return fmt.Sprint(w) == fmt.Sprint(got) })
}
