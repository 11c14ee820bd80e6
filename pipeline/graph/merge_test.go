package graph

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	same := func(c *op.Config) (op.Kernel, error) { return perSample{len(c.Schema.Outputs)}, nil }
	in, out := []op.Port{{Name: "x"}, {Name: "y"}}, []op.Port{{Name: "a"}, {Name: "b"}}
	for _, s := range []op.Schema{
		{Name: "pure", Inputs: in, Outputs: out[:1]},
		{Name: "pair", Inputs: in[:1], Outputs: out},
		{Name: "stateful", Inputs: in[:1], Outputs: out[:1], Stateful: true},
		{Name: "kept", Inputs: in[:1], Outputs: out[:1], Keep: true},
	} {
		s.Module, s.New, s.Repeat = []string{"graphtest"}, same, 3
		s.Params = []op.Parameter{{Name: "k", Type: op.Int, Default: 0, PerSample: true}}
		op.Register(s)
	}
}

// perSample gives as many outputs as its operator has, each what the first input is.
type perSample struct{ outputs int }

func (k perSample) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{in[0], in[0]}[:k.outputs], nil
}
func (perSample) Run(*op.Block) error { return nil }

func names(g *Graph) string {
	var list []string
	for _, n := range g.Nodes {
		list = append(list, strings.TrimPrefix(n.Name, "graphtest."))
	}
	return strings.Join(list, " ")
}

func TestMerged(t *testing.T) {
	var b Builder
	u := add(t, &b, "random.coin_flip", "", nil)
	v := add(t, &b, "random.coin_flip", "", nil)
	x := add(t, &b, "graphtest.pure", "x1", nil, u, v) // a name of one's own
	for _, c := range []struct {
		what, name, op string
		args           op.Args
		in             []Edge
		merged         bool
	}{
		{"the same", "", "graphtest.pure", nil, []Edge{u, u}, true},
		{"the default", "", "graphtest.pure", op.Args{"k": 0}, []Edge{u, u}, false},
		{"not preserved", "", "graphtest.pure", op.Args{"preserve": false}, []Edge{u, u}, true},
		{"another name", "mine", "graphtest.pure", nil, []Edge{u, u}, false},
		{"an automatic name", "__Pure_7", "graphtest.pure", nil, []Edge{u, u}, true},
		{"another input", "", "graphtest.pure", nil, []Edge{u, v}, false},
		{"another argument", "", "graphtest.pure", op.Args{"k": 1}, []Edge{u, u}, false},
		{"an argument per sample", "", "graphtest.pure", op.Args{"k": u}, []Edge{u, u}, false},
		{"preserved", "", "graphtest.pure", op.Args{"preserve": true}, []Edge{u, u}, false},
		{"a hint", "", "graphtest.pure", op.Args{"bytes_per_sample_hint": 7}, []Edge{u, u}, false},
		{"another operator", "", "graphtest.stateful", nil, []Edge{u}, false},
	} {
		first := add(t, &b, "graphtest.pure", "", nil, u, u)
		second := add(t, &b, c.op, c.name, c.args, c.in...)
		g, err := b.Graph([]Edge{first, second, x})
		if err != nil {
			t.Fatal(err)
		}
		m, err := g.Merged(nil)
		if err != nil {
			t.Fatal(err)
		}
		if merged := m.Outputs[0] == m.Outputs[1]; merged != c.merged {
			t.Errorf("%s: merged %v: %s", c.what, merged, names(m))
		}
		if len(g.Outputs) != 3 || g.Outputs[0] == g.Outputs[1] {
			t.Errorf("%s: the graph itself changed", c.what)
		}
		for i, n := range m.Nodes {
			if n.Index != i {
				t.Errorf("%s: node %d has index %d", c.what, i, n.Index)
			}
			for _, e := range n.from() {
				if m.Nodes[e.Node.Index] != e.Node || e.Node.Index >= i {
					t.Errorf("%s: %s takes from %s of another graph", c.what, n.Name, e)
				}
			}
		}
	}
}

// Equal nodes whose inputs are equal nodes are merged. Nodes with a state or random numbers are
// not.
func TestMergedChains(t *testing.T) {
	var b Builder
	u := add(t, &b, "random.coin_flip", "", nil)
	chain := func(operator string) Edge {
		p := add(t, &b, "graphtest.pair", "", nil, u)
		s := add(t, &b, operator, "", nil, Edge{p.Node, 1})
		return add(t, &b, "graphtest.pure", "", op.Args{"k": p}, s, p)
	}
	for operator, want := range map[string]string{
		"graphtest.pair":     "random.coin_flip pair pair#2 pure",
		"graphtest.stateful": "random.coin_flip pair stateful pure stateful#2 pure#2",
	} {
		b = Builder{}
		u = add(t, &b, "random.coin_flip", "", nil)
		g, err := b.Graph([]Edge{chain(operator), chain(operator)})
		if err != nil {
			t.Fatal(err)
		}
		m, err := g.Merged(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(m); got != want {
			t.Errorf("%s: %s, want %s", operator, got, want)
		}
		again, err := m.Merged(nil)
		if err != nil || again != m {
			t.Errorf("merging once more changes something: %v", err)
		}
	}
}

// The first of all stays, preserved or not.
func TestMergedIntoPreserved(t *testing.T) {
	var b Builder
	u := add(t, &b, "random.coin_flip", "", nil)
	one := func(preserve bool) Edge {
		return add(t, &b, "graphtest.pure", "", op.Args{"preserve": preserve}, u, u)
	}
	g, err := b.Graph([]Edge{one(true), one(false), one(true)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := g.Merged(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(m), "random.coin_flip pure pure#3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The mode decides whether two nodes that draw random numbers are merged.
func TestMergedDraws(t *testing.T) {
	var b Builder
	u, v := add(t, &b, "random.coin_flip", "", op.Args{"seed": 3}), add(t, &b, "random.coin_flip", "", op.Args{"seed": 3})
	w := add(t, &b, "random.coin_flip", "", nil)
	g, err := b.Graph([]Edge{u, v, w, add(t, &b, "random.coin_flip", "", nil)})
	if err != nil {
		t.Fatal(err)
	}
	for want, alike := range map[int]func(n *Node) bool{4: nil, 3: func(n *Node) bool { return n.Seeded }} {
		m, err := g.Merged(alike)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Nodes) != want {
			t.Errorf("%s, want %d nodes", names(m), want)
		}
	}
}

func TestPruning(t *testing.T) {
	var b Builder
	u := add(t, &b, "random.coin_flip", "", nil)
	add(t, &b, "graphtest.pure", "pruned", nil, u, u)
	add(t, &b, "graphtest.kept", "kept", nil, add(t, &b, "graphtest.pure", "needed by kept", nil, u, u))
	add(t, &b, "graphtest.pure", "preserved", op.Args{"preserve": true}, u, u)
	sink := add(t, &b, "graphtest.pure", "sink", nil, u, u)
	g, err := b.Graph([]Edge{u}, sink)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("random.coin_flip needed by kept kept preserved sink", names(g)); d != "" {
		t.Error(d)
	}
	var other Builder
	if _, err := b.Graph([]Edge{u}, add(t, &other, "random.coin_flip", "", nil)); err == nil ||
		!strings.Contains(err.Error(), "sink 0") {
		t.Errorf("a sink of another graph: %v", err)
	}
}

// An output keeps the name of the node that was declared, whichever of the nodes that are
// written the same stays.
func TestMergedOutputsKeepTheirNames(t *testing.T) {
	var b Builder
	u := add(t, &b, "random.coin_flip", "", nil)
	early, late := add(t, &b, "graphtest.pure", "__Pure_1", nil, u, u), add(t, &b, "graphtest.pure", "__Pure_2", nil, u, u)
	user := add(t, &b, "graphtest.pure", "__Pure_3", nil, early, u)
	g, err := b.Graph([]Edge{user, late, early})
	if err != nil {
		t.Fatal(err)
	}
	m, err := g.Merged(nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Outputs[1] != m.Outputs[2] || m.Outputs[1].Node.Name != "__Pure_1" {
		t.Fatalf("outputs %v", m.Outputs)
	}
	got := []string{m.Delivered(0), m.Delivered(1), m.Delivered(2)}
	if !cmp.Equal(got, []string{"__Pure_3", "__Pure_2", "__Pure_1"}) {
		t.Errorf("delivered as %v", got)
	}
	dot := string(m.DOT(DotOptions{}))
	if !strings.Contains(dot, "__Pure_1 -> __MakeContiguous_CpuToCpu___Pure_2;") ||
		strings.Contains(dot, "CpuToCpu___Pure_1") {
		t.Errorf("drawn as\n%s", dot)
	}
}
