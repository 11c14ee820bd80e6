package surgery_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/surgery"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// node is the tree of a Go value.
func node(t interface{ Fatal(...any) }, v any) *tree.Node {
	n, err := tree.From(v)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// eager reads what is lazy.
func eager(t interface{ Fatal(...any) }, n *tree.Node) *tree.Node {
	out := &tree.Node{Kind: n.Kind, Keys: n.Keys, Type: n.Type, Value: n.Value}
	if l, ok := n.Value.(checkpoint.Lazy); ok {
		x, err := l.Tensor(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		out.Value = x
	}
	for _, c := range n.Items {
		out.Items = append(out.Items, eager(t, c))
	}
	return out
}

func ints(shape ...int) tensor.Tensor {
	v := make([]int32, tensor.Shape(shape).Len())
	for i := range v {
		v[i] = int32(i)
	}
	return tensor.FromSlice(v, shape...)
}

func of(v []int32, shape ...int) tensor.Tensor { return tensor.FromSlice(v, shape...) }

type dict = map[string]any

// What each rule makes, and that it prints as what Parse reads.
func TestRules(t *testing.T) {
	zero := 0.0
	abc := func(text string) surgery.Match { return surgery.Match{Pattern: text} }
	for _, c := range []struct {
		name  string
		rules []surgery.Rule
		in    any
		want  any
	}{
		{"rename keeps lists", []surgery.Rule{surgery.Rename{abc(`params\.(.*)`), "model.$1"}},
			dict{"params": dict{"layers": []any{dict{"w": 1}, dict{"w": 2}}}}, dict{"model": dict{"layers": []any{dict{"w": 1}, dict{"w": 2}}}}},
		{"rename in lists", []surgery.Rule{surgery.Rename{abc(`(.*)\.w`), "$1.weight"}},
			dict{"layers": []any{dict{"w": 1}, dict{"w": 2}}}, dict{"layers": []any{dict{"weight": 1}, dict{"weight": 2}}}},
		{"rename swaps", []surgery.Rule{surgery.Rename{abc(`(a|b)(c|d)`), "$2$1"}}, dict{"ac": "x", "bd": nil}, dict{"ca": "x", "db": nil}},
		{"copy", []surgery.Rule{surgery.Copy{abc("embed"), "head.w"}}, dict{"embed": 1}, dict{"embed": 1, "head": dict{"w": 1}}},
		{"drop", []surgery.Rule{surgery.Drop{abc(`opt\..*`)}}, dict{"opt": dict{"m": 1, "v": dict{}}, "w": 2}, dict{"w": 2}},
		{"drop from a list", []surgery.Rule{surgery.Drop{abc(`l\.1`)}}, dict{"l": []any{"a", "b", "c"}}, dict{"l": dict{"0": "a", "2": "c"}}},
		{"optional", []surgery.Rule{surgery.Drop{surgery.Match{Pattern: "x", Optional: true}}}, dict{"w": 2}, dict{"w": 2}},
		{"cast", []surgery.Rule{surgery.Cast{abc("[ab]"), tensor.Float32}}, dict{"a": []int8{1, -2}, "b": 3}, dict{"a": []float32{1, -2}, "b": tensor.ScalarOf(float32(3))}},
		{"transpose", []surgery.Rule{surgery.Transpose{Match: abc("w")}}, dict{"w": ints(2, 3)}, dict{"w": of([]int32{0, 3, 1, 4, 2, 5}, 3, 2)}},
		{"transpose axes", []surgery.Rule{surgery.Transpose{abc("w"), []int{1, 2, 0}}}, dict{"w": ints(2, 1, 2)}, dict{"w": of([]int32{0, 2, 1, 3}, 1, 2, 2)}},
		{"repeat", []surgery.Rule{surgery.Repeat{abc("w"), -1, 2, false}}, dict{"w": ints(2, 2)}, dict{"w": of([]int32{0, 0, 1, 1, 2, 2, 3, 3}, 2, 4)}},
		{"repeat whole", []surgery.Rule{surgery.Repeat{abc("w"), 1, 2, true}}, dict{"w": ints(2, 2)}, dict{"w": of([]int32{0, 1, 0, 1, 2, 3, 2, 3}, 2, 4)}},
		{"stack", []surgery.Rule{surgery.Stack{Match: abc(`layers\.(\d+)\.(.*)`), To: "layers.$2"}},
			dict{"layers": []any{dict{"w": []int32{1, 2}, "b": 1}, dict{"w": []int32{3, 4}, "b": 2}}},
			dict{"layers": dict{"w": of([]int32{1, 2, 3, 4}, 2, 2), "b": []int64{1, 2}}}},
		{"stack by value of the index", []surgery.Rule{surgery.Stack{Match: abc(`w(\d+)`), To: "w", Axis: -1, Count: 11}},
			dict{"w0": 0, "w1": 1, "w2": 2, "w3": 3, "w4": 4, "w5": 5, "w6": 6, "w7": 7, "w8": 8, "w9": 9, "w10": 10}, dict{"w": []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}},
		{"stack fills", []surgery.Rule{surgery.Stack{abc(`(?P<x>w)\.(?P<index>\d)`), "$x", 1, 3, &zero}}, dict{"w": dict{"1": []int32{5, 6}}}, dict{"w": of([]int32{0, 5, 0, 0, 6, 0}, 2, 3)}},
		{"unstack", []surgery.Rule{surgery.Unstack{Match: abc(`layers\.(.*)`), To: "layers.${index}.$1", Axis: 1, Count: 2}},
			dict{"layers": dict{"w": of([]int32{1, 3, 2, 4}, 2, 2)}}, dict{"layers": []any{dict{"w": []int32{1, 2}}, dict{"w": []int32{3, 4}}}}},
		{"unstack to names", []surgery.Rule{surgery.Unstack{Match: abc("w"), To: "w${index}"}}, dict{"w": []int32{1, 2}},
			dict{"w0": tensor.ScalarOf(int32(1)), "w1": tensor.ScalarOf(int32(2))}},
		{"fuse keys", []surgery.Rule{surgery.Fuse{Keys: []string{"v", "k"}, To: "kv", Axis: -1}}, dict{"k": ints(2, 1), "v": ints(2, 2)}, dict{"kv": of([]int32{0, 1, 0, 2, 3, 1}, 2, 3)}},
		{"fuse parts", []surgery.Rule{surgery.Fuse{Pattern: `(.*)\.(?P<part>q|k)`, Parts: []string{"q", "k"}, To: "$1.qk"}},
			dict{"a": dict{"k": []int8{1}, "q": []int8{2, 3}}, "b": dict{"k": []int8{4}, "q": []int8{5}}}, dict{"a": dict{"qk": []int8{2, 3, 1}}, "b": dict{"qk": []int8{5, 4}}}},
		{"fuse indices", []surgery.Rule{surgery.Fuse{Pattern: `w(\d)`, To: "w"}}, dict{"w0": []int8{1}, "w1": []int8{2, 3}}, dict{"w": []int8{1, 2, 3}}},
		{"split", []surgery.Rule{surgery.Split{abc(`(.*)\.qkv`), []string{"$1.q", "$1.k", "$1.v"}, 1, nil}}, dict{"a": dict{"qkv": ints(2, 3)}},
			dict{"a": dict{"q": of([]int32{0, 3}, 2, 1), "k": of([]int32{1, 4}, 2, 1), "v": of([]int32{2, 5}, 2, 1)}}},
		{"split sizes", []surgery.Rule{surgery.Split{abc(`w`), []string{"a", "b"}, 0, []int{1, 3}}}, dict{"w": ints(4)}, dict{"a": of([]int32{0}, 1), "b": of([]int32{1, 2, 3}, 3)}},
		{"in a row", []surgery.Rule{surgery.Rename{abc("w"), "x"}, surgery.Cast{abc("x"), tensor.Int8}, surgery.Repeat{abc("x"), 0, 2, false}}, dict{"w": []int32{1, 2}}, dict{"x": []int8{1, 1, 2, 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			script := surgery.Script{Rules: c.rules}
			parsed, err := surgery.Parse([]byte(script.String()))
			if err != nil {
				t.Fatalf("%v\n%s", err, script)
			}
			if parsed.String() != script.String() {
				t.Errorf("printed and read: %s, want %s", parsed, script)
			}
			in := node(t, c.in)
			got, err := parsed.Transform(t.Context(), []*tree.Node{in})
			if err != nil {
				t.Fatal(err)
			}
			if d := tree.Diff(node(t, c.want), eager(t, got)); len(d) > 0 {
				t.Errorf("\n%s", tree.FormatDiff(d))
			}
			if d := tree.Diff(node(t, c.in), in); len(d) > 0 {
				t.Errorf("the source was changed:\n%s", tree.FormatDiff(d))
			}
		})
	}
}

// Types of containers stay with the leaves that keep their keys.
func TestContainersStay(t *testing.T) {
	in := tree.NewDict().Set("opt", &tree.Node{Kind: tree.Tuple, Items: []*tree.Node{
		{Kind: tree.Named, Type: "optax.Adam", Keys: []string{"mu", "nu"},
			Items: []*tree.Node{tree.NewLeaf(1), tree.NewLeaf(2)}}, {Kind: tree.Named, Type: "optax.Empty"}}})
	for _, c := range []struct {
		rule surgery.Rule
		want string
	}{
		{surgery.Rename{surgery.Match{Pattern: `opt\.(.*)`}, "state.opt.$1"}, "dict{state:dict{opt:tuple[optax.Adam{mu:1,nu:2},optax.Empty{}]}}"},
		{surgery.Rename{surgery.Match{Pattern: `opt\.0\.mu`}, "opt.0.m"}, "dict{opt:tuple[dict{m:1,nu:2},optax.Empty{}]}"},
		{surgery.Drop{surgery.Match{Pattern: `opt\.0\..*`}}, "dict{opt:dict{1:optax.Empty{}}}"},
	} {
		got, err := surgery.Script{Rules: []surgery.Rule{c.rule}}.Transform(t.Context(), []*tree.Node{in})
		if err != nil {
			t.Fatal(err)
		}
		if s := show(got); s != c.want {
			t.Errorf("%v: %s, want %s", c.rule, s, c.want)
		}
	}
}

// show spells a tree out.
func show(n *tree.Node) string {
	var items []string
	for i, c := range n.Items {
		s := show(c)
		if n.Kind == tree.Dict || n.Kind == tree.Named {
			s = n.Keys[i] + ":" + s
		}
		items = append(items, s)
	}
	inner := strings.Join(items, ",")
	switch n.Kind {
	case tree.Leaf:
		return fmt.Sprint(n.Value)
	case tree.Named:
		return n.Type + "{" + inner + "}"
	case tree.Dict:
		return "dict{" + inner + "}"
	}
	return n.Kind.String() + "[" + inner + "]"
}

// What cannot be applied is refused, and the error names rule and leaf.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		rules string
		in    any
		want  errs.Kind
		says  string
	}{
		{`rename: {pattern: 'x\..*', to: y}`, dict{"w": 1}, errs.NotFound, `pattern "x\\..*"`},
		{`rename: {pattern: '(a|b)', to: c}`, dict{"a": 1, "b": 2}, errs.Exists, `leaf "c"`},
		{`rename: {pattern: 'a', to: b}`, dict{"a": 1, "b": 2}, errs.Exists, `leaf "b"`},
		{`rename: {pattern: 'a', to: b.c}`, dict{"a": 1, "b": 2}, errs.Exists, `leaf "b"`},
		{`rename: {pattern: 'a(.*)', to: 'b.$1'}`, dict{"a": 1}, errs.Invalid, `leaf "a"`},
		{`copy: {pattern: 'a', to: a}`, dict{"a": 1}, errs.Exists, `leaf "a"`},
		{`cast: {pattern: 'a', dtype: int8}`, dict{"a": "text"}, errs.Mismatch, `leaf "a"`},
		{`transpose: {pattern: 'a', axes: [1, 0]}`, dict{"a": ints(3)}, errs.Mismatch, `leaf "a"`},
		{`repeat: {pattern: 'a', times: 2}`, dict{"a": 1}, errs.Mismatch, `leaf "a"`},
		{`repeat: {pattern: 'a', times: 4611686018427387904}`, dict{"a": ints(3)}, errs.Mismatch, `leaf "a"`},
		{`stack: {pattern: 'a(\d)', to: a}`, dict{"a0": ints(2), "a2": ints(2)}, errs.Mismatch, `leaf "a": mismatch: want index 1 of 3`},
		{`stack: {pattern: 'a(\d)', to: a, count: 3}`, dict{"a0": ints(2), "a1": ints(2)}, errs.Mismatch, `index 2 of 3`},
		{`stack: {pattern: 'a(\d)', to: a, count: 1}`, dict{"a0": ints(2), "a1": ints(2)}, errs.Mismatch, `leaf "a1"`},
		{`stack: {pattern: 'a(\d+)', to: a}`, dict{"a0": ints(2), "a00": ints(2)}, errs.Mismatch, `leaf "a00"`},
		{`stack: {pattern: 'a(.)', to: a}`, dict{"a0": ints(2), "ax": ints(2)}, errs.Mismatch, `leaf "ax"`},
		{`stack: {pattern: 'a(.*)', to: a}`, dict{"a99999999": ints(2)}, errs.Mismatch, `leaf "a99999999"`},
		{`stack: {pattern: 'a(\d)', to: a}`, dict{"a0": ints(2), "a1": ints(3)}, errs.Mismatch, `leaf "a1": mismatch: want int32[2], as "a0", got int32[3]`},
		{`stack: {pattern: 'a(\d)', to: a}`, dict{"a0": ints(2), "a1": []int8{1, 2}}, errs.Mismatch, `leaf "a1"`},
		{`stack: {pattern: 'a(\d)', to: a, axis: 2}`, dict{"a0": ints(2)}, errs.Mismatch, `leaf "a0": mismatch: want axis 2`},
		{`stack: {pattern: 'a(\d)', to: a, fill: 0.5, count: 2}`, dict{"a0": ints(2)}, errs.Mismatch, `fill`},
		{`unstack: {pattern: 'a', to: 'a${index}', count: 3}`, dict{"a": ints(2)}, errs.Mismatch, `leaf "a"`},
		{`unstack: {pattern: 'a', to: 'a${index}'}`, dict{"a": ints(0, 2)}, errs.Mismatch, `leaf "a"`},
		{`unstack: {pattern: 'a', to: 'a${index}', axis: -2}`, dict{"a": ints(2)}, errs.Mismatch, `leaf "a"`},
		{`fuse: {keys: [a, b], to: c}`, dict{"a": ints(2)}, errs.NotFound, `leaf "b"`},
		{`fuse: {keys: [a, b], to: c}`, dict{"a": ints(2), "b": ints(2, 2)}, errs.Mismatch, `leaf "b"`},
		{`fuse: {keys: [a, b], to: c, axis: 1}`, dict{"a": ints(2, 1), "b": ints(3, 1)}, errs.Mismatch, `leaf "b"`},
		{`fuse: {keys: [a, b], to: c}`, dict{"a": ints(2), "b": []int8{1}}, errs.Mismatch, `leaf "b"`},
		{`fuse: {keys: [a], to: c}`, dict{"a": 1}, errs.Mismatch, `leaf "a"`},
		{`fuse: {pattern: '(?P<part>.*)', parts: [a, b], to: c}`, dict{"a": ints(2)}, errs.Mismatch, `part "b"`},
		{`fuse: {pattern: '(?P<part>.*)', parts: [b], to: c}`, dict{"a": ints(2)}, errs.Mismatch, `leaf "a"`},
		{`fuse: {pattern: '(?P<part>.)\d', parts: [a], to: c}`, dict{"a1": ints(2), "a2": ints(2)}, errs.Mismatch, `leaf "a2"`},
		{`split: {pattern: 'a', to: [b, c]}`, dict{"a": ints(3)}, errs.Mismatch, `leaf "a"`},
		{`split: {pattern: 'a', to: [b, c], sizes: [1, 1]}`, dict{"a": ints(3)}, errs.Mismatch, `leaf "a"`},
		{`split: {pattern: 'a', to: [b, c], axis: 1}`, dict{"a": ints(4)}, errs.Mismatch, `leaf "a"`},
		{`split: {pattern: 'a', to: [b, b]}`, dict{"a": ints(4)}, errs.Exists, `leaf "b"`},
	} {
		script, err := surgery.Parse([]byte("rules:\n- " + c.rules))
		if err != nil {
			t.Errorf("%s: %v", c.rules, err)
			continue
		}
		_, err = script.Transform(t.Context(), []*tree.Node{node(t, c.in)})
		if errs.KindOf(err) != c.want || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v, want %v: %s", c.rules, err, c.want, c.says)
		}
		if kind := script.Rules[0].String(); err != nil && c.want == errs.Mismatch && !strings.Contains(err.Error(), kind) {
			t.Errorf("%s: %v does not name the rule", kind, err)
		}
	}
}

// Several sources are told apart by names, or joined where their names differ.
func TestSources(t *testing.T) {
	a, b := node(t, dict{"w": 1, "x": 2}), node(t, dict{"w": 3})
	both := []*tree.Node{a, b}
	if _, err := (surgery.Script{}).Transform(t.Context(), both); errs.KindOf(err) != errs.Exists ||
		!strings.Contains(err.Error(), "sources: [a, b]") {
		t.Error(err)
	}
	got, err := surgery.Script{Sources: []string{"a", "b"},
		Rules: []surgery.Rule{surgery.Rename{surgery.Match{Pattern: `a\.(.*)`}, "$1"}}}.Transform(t.Context(), both)
	if err != nil {
		t.Fatal(err)
	}
	if d := tree.Diff(node(t, dict{"w": 1, "x": 2, "b": dict{"w": 3}}), got); len(d) > 0 {
		t.Errorf("\n%s", tree.FormatDiff(d))
	}
	if _, err := (surgery.Script{Sources: []string{"a"}}).Transform(t.Context(), both); errs.KindOf(err) != errs.Invalid {
		t.Error(err)
	}
	got, err = surgery.Script{}.Transform(t.Context(), []*tree.Node{a, node(t, dict{"y": 4})})
	if err != nil || !tree.Equal(node(t, dict{"w": 1, "x": 2, "y": 4}), got) {
		t.Error(got, err)
	}
}
