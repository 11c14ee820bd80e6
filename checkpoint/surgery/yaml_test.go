package surgery_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint/surgery"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

const everything = `# all that there is
sources: [base, "a b"]
rules:
- rename: {pattern: 'base\.(.*)', to: '$1'}
- copy:
    pattern: x
    to: y
    optional: true
- drop: {pattern: '.*: .*'}
- cast: {pattern: '.*', dtype: bfloat16}
- transpose: {pattern: w, axes: [1, 0]}
- repeat: {pattern: w, times: 3, axis: -1, whole: true}
- stack: {pattern: 'l\.(\d+)', to: l, axis: 1, count: 4, fill: .nan}
- unstack: {pattern: l, to: 'l.${index}', axis: 1, count: 4}
- fuse: {pattern: '(?P<part>q|k)', parts: [q, k], to: qk}
- fuse: {keys: [a, 'b: c'], to: c, axis: 1, optional: true}
- split: {pattern: qk, to: [q, k], sizes: [1, 2]}
`

func TestParse(t *testing.T) {
	s, err := surgery.Parse([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Rules[3]); got != "cast: {pattern: .*, dtype: bfloat16}" {
		t.Error(got)
	}
	if want := (surgery.Cast{Match: surgery.Match{Pattern: ".*"},
		DType: tensor.BFloat16}); s.Rules[3] != surgery.Rule(want) {
		t.Error(s.Rules[3])
	}
	again, err := surgery.Parse([]byte(s.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, s)
	}
	if d := cmp.Diff(s.String(), again.String()); d != "" {
		t.Error(d)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "rules: 1", "rule: []", "rules: []\n---\nrules: []", "rules: [{}]", "rules: [null]", "[", "rules: [{rename: {pattern: a, to: b}, drop: {pattern: c}}]",
		"rules: [{rename: {pattern: a, to: b, form: c}}]", "rules: [{rename: {pattern: '(', to: b}}]", "rules: [{rename: {pattern: a}}]",
		"rules: [{rename: {pattern: a, pattern: b, to: c}}]", "rules: [{move: {pattern: a, to: b}}]",
		"rules: [{cast: {pattern: a, dtype: int3}}]", "rules: [{cast: {pattern: a, type: int8}}]",
		"rules: [{transpose: {pattern: a, axes: [0, 2]}}]", "rules: [{transpose: {pattern: a, axes: [0, 0]}}]",
		"rules: [{repeat: {pattern: a}}]", "rules: [{repeat: {pattern: a, times: -1}}]",
		"rules: [{stack: {pattern: a, to: b}}]", "rules: [{stack: {pattern: (a), to: b, count: -1}}]", "rules: [{stack: {pattern: (a)}}]",
		"rules: [{unstack: {pattern: a, to: b}}]", "rules: [{unstack: {pattern: a, to: 'b${index}', count: -1}}]",
		"rules: [{fuse: {to: a}}]", "rules: [{fuse: {pattern: a, keys: [b], to: c}}]", "rules: [{fuse: {keys: [a, a], to: c}}]", "rules: [{fuse: {keys: [a]}}]",
		"rules: [{fuse: {pattern: a, to: b}}]", "rules: [{fuse: {pattern: (a), parts: [a, a], to: b}}]", "rules: [{fuse: {keys: [a], parts: [b], to: c}}]",
		"rules: [{split: {pattern: a}}]", "rules: [{split: {pattern: a, to: [b], sizes: [1, 2]}}]", "rules: [{split: {pattern: a, to: [b, c], sizes: [-1, 2]}}]",
		"sources: [a.b]", "sources: [a, a]", "sources: ['']",
	} {
		if s, err := surgery.Parse([]byte(text)); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
}

// A mistake is told by its line, in words of this package, with the name that was meant.
func TestParseTells(t *testing.T) {
	for text, want := range map[string]string{
		"rules:\n- renam: {pattern: a, to: b}":        `surgery.Parse: line 2: invalid: want one of rename, copy, drop, cast, transpose, repeat, stack, unstack, fuse, split in rules, got "renam" (did you mean "rename"?)`,
		"rules:\n- rename:\n    patern: a\n    to: b": `surgery.Parse: line 3: invalid: want one of pattern, optional, to in rename, got "patern" (did you mean "pattern"?)`,
		"rulse: []":             `surgery.Parse: line 1: invalid: want one of sources, rules, got "rulse" (did you mean "rules"?)`,
		"rules: {rename: {}}":   `surgery.Parse: line 1: invalid: want a list in rules, got a mapping`,
		"rules:\n- rename: [a]": `surgery.Parse: line 2: invalid: want a mapping in rename, got a list`,
		"rules:\n- transpose: {pattern: a, axes: [0, x]}": `surgery.Parse: line 2: invalid: want an integer in axes, got "x"`,
		"rules:\n- drop: {pattern: a, optional: perhaps}": `surgery.Parse: line 2: invalid: want true or false in optional, got "perhaps"`,
		"rules:\n- drop:\n    pattern: a\n    pattern: b": `surgery.Parse: line 4: invalid: want each member once, got "pattern" twice`,
		"rules:\n- drop: {pattern: a\n- copy: {}":         `surgery.Parse: line 1: invalid: want rules in YAML, got text that is not YAML (see docs/guide/surgery.md)`,
		"": `surgery.Parse: invalid: want rules in YAML, got nothing (see docs/guide/surgery.md)`,
		"rules: [{rename: {pattern: a, to: b}, drop: {pattern: c}}]": `surgery.Parse: rule 1: invalid: want one of rename, copy, drop, cast, transpose, repeat, stack, unstack, fuse or split, got 2 of them`,
	} {
		if _, err := surgery.Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// What is read prints as what reads the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte("rules: [{fuse: {keys: [\"\\u2028\\x01\", ~], to: '#'}}]"))
	f.Add([]byte("rules: []"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := surgery.Parse(b)
		if err != nil {
			return
		}
		again, err := surgery.Parse([]byte(s.String()))
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q is printed as %q: %v", b, s, err)
		}
	})
}
