package graph

import (
	"errors"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func input(t *testing.T, b *Builder, name string, outputs int, specs ...tensor.Spec) *Node {
	t.Helper()
	n, err := b.Input(name, outputs, specs)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestInputsOfWhichNothingIsKnown(t *testing.T) {
	var b Builder
	in := input(t, &b, "in", 2)
	cropped := add(t, &b, "random_resized_crop", "", op.Args{"size": 4}, Edge{Node: in})
	mixed := add(t, &b, "graphtest.batch_level", "", nil, cropped)
	bright := add(t, &b, "brightness_contrast", "", op.Args{"brightness": Edge{Node: in, Output: 1}}, mixed)
	g, err := b.Graph([]Edge{bright})
	if err != nil {
		t.Fatal(err)
	}
	if g.Known() || g.Nodes[1].Known() || g.Stages != 3 || len(g.Fed()) != 1 {
		t.Errorf("known %v, %d stages, %d inputs", g.Known(), g.Stages, len(g.Fed()))
	}
	image := tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{-1, -1, 3}, Layout: "HWC"}
	number := tensor.Spec{DType: tensor.Float32, Shape: tensor.Shape{}}
	s, err := g.Specialize([][]tensor.Spec{{image, number}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Known() || g.Known() || s.Stages != 3 {
		t.Errorf("specialised: known %v, the first %v, %d stages", s.Known(), g.Known(), s.Stages)
	}
	if got := s.Outputs[0].Spec(); got.DType != tensor.Uint8 || !got.Shape.Equal(tensor.Shape{4, 4, 3}) ||
		got.Layout != "HWC" {
		t.Errorf("output %v", got)
	}
	for _, n := range s.Nodes {
		for _, e := range n.from() {
			if s.Nodes[e.Node.Index] != e.Node {
				t.Errorf("node %s takes from a node of the other graph", n.Name)
			}
		}
	}
	for _, c := range []struct {
		name  string
		specs [][]tensor.Spec
		want  string
	}{
		{"missing", nil, "in"},
		{"outputs", [][]tensor.Spec{{image}}, "2 outputs"},
		{"unknown", [][]tensor.Spec{{image, {DType: tensor.Float32}}}, "output 1"},
		{"argument", [][]tensor.Spec{{image, {DType: tensor.Complex64, Shape: tensor.Shape{}}}}, "brightness_contrast"},
		{"input", [][]tensor.Spec{{{DType: tensor.Complex64, Shape: image.Shape, Layout: "HWC"}, number}}, "random_resized_crop"},
	} {
		if _, err := g.Specialize(c.specs, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one about %q", c.name, err, c.want)
		}
	}
}

func TestDeclaredInputs(t *testing.T) {
	image := tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{-1, -1, 3}, Layout: "HWC"}
	var b Builder
	in := input(t, &b, "in", 1, image)
	if !in.Known() {
		t.Error("a described input is not known")
	}
	g, err := b.Graph([]Edge{add(t, &b, "random_resized_crop", "", op.Args{"size": 4}, Edge{Node: in})})
	if err != nil {
		t.Fatal(err)
	}
	for field, got := range map[string]tensor.Spec{
		"dtype":                {DType: tensor.Int8, Shape: image.Shape, Layout: "HWC"},
		"number of dimensions": {DType: tensor.Uint8, Shape: tensor.Shape{2, 2}, Layout: "HW"},
		"layout":               {DType: tensor.Uint8, Shape: image.Shape},
		"shape":                {DType: tensor.Uint8, Shape: tensor.Shape{2, 2, 4}, Layout: "HWC"},
	} {
		if _, err := g.Specialize([][]tensor.Spec{{got}}, nil); !errors.Is(err, errs.Mismatch) ||
			!strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if g, err = g.Specialize([][]tensor.Spec{{image}}, nil); err != nil || !g.Known() {
		t.Error(err)
	}
}

func TestInputMistakes(t *testing.T) {
	hwc := tensor.Spec{Shape: tensor.Shape{2, 2}, Layout: "HWC"}
	for name, c := range map[string]struct {
		outputs int
		specs   []tensor.Spec
	}{
		"none": {0, nil}, "too many descriptions": {1, make([]tensor.Spec, 2)}, "layout": {1, []tensor.Spec{hwc}},
	} {
		var b Builder
		if _, err := b.Input("in", c.outputs, c.specs); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var b Builder
	input(t, &b, "in", 1)
	if _, err := b.Input("in", 1, nil); !errors.Is(err, errs.Exists) {
		t.Errorf("a name twice: %v", err)
	}
	// What needs no data is refused before it.
	in := input(t, &b, "", 1)
	for _, args := range []op.Args{{"sise": 4}, {"size": "big"}, {}} {
		_, set, err := op.Arguments(args)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Add("random_resized_crop", "", []Edge{{Node: in}}, set); !errors.Is(err, errs.Invalid) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
