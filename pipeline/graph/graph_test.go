package graph

import (
	"errors"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/op/decoders"
	_ "github.com/bivouac-ml/bivouac/op/image"
	_ "github.com/bivouac-ml/bivouac/op/random"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{Name: "batch_level", Module: []string{"graphtest"}, Inputs: []op.Port{{Name: "in"}},
		Outputs: []op.Port{{Name: "out"}},
		New:     func(*op.Config) (op.Kernel, error) { return batchLevel{}, nil }})
}

type batchLevel struct{}

func (batchLevel) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return in, nil }
func (batchLevel) Batched() bool                                 { return true }
func (batchLevel) Run(*op.Block) error                           { return nil }

func add(t *testing.T, b *Builder, operator, name string, args op.Args, in ...Edge) Edge {
	t.Helper()
	_, set, err := op.Arguments(args)
	if err != nil {
		t.Fatal(err)
	}
	n, err := b.Add(operator, name, in, set)
	if err != nil {
		t.Fatal(err)
	}
	return Edge{Node: n}
}

func TestGraph(t *testing.T) {
	var b Builder
	jpegs := add(t, &b, "readers.file", "", op.Args{"file_root": "somewhere", "random_shuffle": true})
	unused := add(t, &b, "random.uniform", "", nil)
	images := add(t, &b, "decoders.image", "decode", nil, jpegs)
	small := add(t, &b, "random_resized_crop", "", op.Args{"size": 4, "seed": 11}, images)
	mixed := add(t, &b, "graphtest.batch_level", "", nil, small)
	flip := add(t, &b, "random.uniform", "", op.Args{"range": []float64{0.5, 1.5}})
	bright := add(t, &b, "brightness_contrast", "", op.Args{"brightness": flip, "contrast": 2}, mixed)
	again := add(t, &b, "graphtest.batch_level", "", nil, bright)
	g, err := b.Graph([]Edge{again, {Node: jpegs.Node, Output: 1}})
	if err != nil {
		t.Fatal(err)
	}
	stages := map[string]int{"readers.file": 0, "decode": 0, "random_resized_crop": 0, "graphtest.batch_level": 1,
		"random.uniform#2":    0,
		"brightness_contrast": 2, "graphtest.batch_level#2": 3}
	if len(g.Nodes) != len(stages) || g.Stages != 4 || len(g.Readers()) != 1 || !g.Readers()[0].Shuffled() {
		t.Errorf("%d nodes, %d stages, %d readers", len(g.Nodes), g.Stages, len(g.Readers()))
	}
	for i, n := range g.Nodes {
		if stage, ok := stages[n.Name]; !ok || stage != n.Stage || n.Index != i {
			t.Errorf("node %d %q is in stage %d", n.Index, n.Name, n.Stage)
		}
		for _, e := range append(n.Inputs, n.Args...) {
			if g.Nodes[e.Node.Index] != e.Node || e.Node.Index >= i {
				t.Errorf("%s takes its input from a node that is not before it", n.Name)
			}
		}
		if n.Name == unused.Node.Name {
			t.Error("a node that nobody needs is kept")
		}
		if n.Seeded != (n.Name == "random_resized_crop") {
			t.Errorf("%s: seeded %t", n.Name, n.Seeded)
		}
	}
	for i, want := range []string{"readers.file() random_shuffle=true", "decoders.image(readers.file[0]) by ", "random_resized_crop(decode) size=[4] seed=11",
		"graphtest.batch_level(random_resized_crop)", "random.uniform() range=[0.5 1.5]",
		"brightness_contrast(graphtest.batch_level) brightness=random.uniform#2 contrast=2"} {
		if got := g.Nodes[i].Identity(); got != want && !(strings.HasSuffix(want, " by ") && strings.HasPrefix(got, want)) {
			t.Errorf("identity %q, want %q", got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	var b, other Builder
	jpegs := add(t, &b, "readers.file", "", op.Args{"file_root": "x"})
	foreign := add(t, &other, "readers.file", "", op.Args{"file_root": "x"})
	for name, c := range map[string]struct {
		operator string
		in       []Edge
		args     op.Args
		kind     errs.Kind
		says     string
	}{
		"number of inputs": {"decoders.image", []Edge{jpegs, jpegs}, nil, errs.Invalid, "want 1 inputs, got 2"},
		"dtype of input":   {"decoders.image", []Edge{{Node: jpegs.Node, Output: 1}}, nil, errs.Invalid, "input 0 (encoded)"},
		"foreign input":    {"decoders.image", []Edge{foreign}, nil, errs.Invalid, "another graph"},
		"no such output":   {"decoders.image", []Edge{{Node: jpegs.Node, Output: 2}}, nil, errs.Invalid, "graph"},
		"foreign argument": {"random.coin_flip", nil, op.Args{"probability": foreign}, errs.Invalid, "argument probability"},
	} {
		_, set, err := op.Arguments(c.args)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = b.Add(c.operator, "", c.in, set); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := b.Graph([]Edge{foreign}); !errors.Is(err, errs.Invalid) {
		t.Errorf("a foreign output: %v", err)
	}
}

// Naming a node asks as many times whether a name is taken, however many nodes there are.
func TestNamesAreFoundAtOnce(t *testing.T) {
	asked := 0
	var b Builder
	s, err := op.Lookup("random.coin_flip")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{"random.coin_flip#3": true, "random.coin_flip#900": true} // given by the user
	const n = 4000
	for i := range n {
		name := b.numbered(s, func(name string) bool { asked++; return names[name] })
		if i < 50 {
			if want := NumberedName(s, i, func(name string) bool { return names[name] }); name != want {
				t.Fatalf("node %d is %q, want %q", i, name, want)
			}
		}
		if names[name] {
			t.Fatalf("node %d has the name %q of another", i, name)
		}
		names[name] = true
	}
	if asked > 2*n+2 {
		t.Errorf("%d nodes asked %d times", n, asked)
	}
}
