package dali_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/dalivec"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// declared are the graphs of DALI's vectors as programs in Go.
var declared = map[string]func(b *pipeline.Builder) []pipeline.Node{
	"g04_arith": func(b *pipeline.Builder) []pipeline.Node {
		x := b.Op("random.uniform", op.Args{"range": []float64{0, 1}, "shape": 3})[0]
		c := b.Op("random.coin_flip", op.Args{"dtype": tensor.Int32})[0]
		return []pipeline.Node{
			x.Mul(2).Add(c).Div(3).Sub(1.5),
			pipeline.Sqrt(x),
			c.Greater(0).And(pipeline.Constant{Value: true}),
			c.Neg(),
		}
	},
	"g05_conditional": func(b *pipeline.Builder) []pipeline.Node {
		x := b.Op("random.uniform", op.Args{"range": []float64{0, 1}})[0]
		y := b.If(x.Greater(0.5),
			func() []pipeline.Node { return b.Op("random.uniform", op.Args{"range": []float64{10, 20}}) },
			func() []pipeline.Node { return []pipeline.Node{x.Neg()} })
		return []pipeline.Node{x, y[0]}
	},
	"g06_conditional_nested": func(b *pipeline.Builder) []pipeline.Node {
		x := b.Op("random.uniform", op.Args{"range": []float64{0, 1}})[0]
		c := b.Op("random.coin_flip", op.Args{"dtype": tensor.Bool})[0]
		plus := func(n int) func() []pipeline.Node { return func() []pipeline.Node { return []pipeline.Node{x.Add(n)} } }
		y := b.If(b.AndThen(c, func() pipeline.Node { return b.Not(x.Greater(0.8)) }), plus(1),
			func() []pipeline.Node {
				return b.If(b.OrElse(x.Greater(0.5), func() pipeline.Node { return c }), plus(2), plus(3))
			})
		return []pipeline.Node{x, c, y[0]}
	},
	"g10_subscript_layout": func(b *pipeline.Builder) []pipeline.Node {
		x := b.Op("random.uniform", op.Args{"range": []float64{0, 1}, "shape": []int{4, 5}})[0]
		return []pipeline.Node{
			x.Index(pipeline.Range{Start: 1, Stop: 3}, pipeline.Range{Step: -1}),
			x.Index(0),
			b.Op("reshape", op.Args{"layout": "AB"}, x)[0],
			b.Op("transpose", op.Args{"perm": []int{1, 0}}, x)[0],
			x.Index(pipeline.Range{}, pipeline.NewAxis{}, 2),
		}
	},
	"g14_cse": func(b *pipeline.Builder) []pipeline.Node {
		x := b.Op("random.uniform", op.Args{"range": []float64{0, 1}, "shape": 2, "seed": 5})[0]
		cast := func() pipeline.Node { return b.Op("cast", op.Args{"dtype": tensor.Int32}, x.Mul(4))[0] }
		return []pipeline.Node{cast(), cast(), b.Op("reductions.sum", nil, x)[0], b.Op("one_hot", op.Args{"num_classes": 4}, cast())[0]}
	},
}

// What is declared in Go is what DALI makes of the same program, names and all.
func TestDeclaredInGo(t *testing.T) {
	dir, _, ok := dalivec.Find()
	if !ok {
		t.Skip("no vectors")
	}
	for name, define := range declared {
		d, err := pipeline.Define(pipeline.Options{BatchSize: 3, Seed: 1234, Compat: dali.Mode()}, define)
		if errors.Is(err, errs.NotFound) {
			t.Logf("%s: %v", name, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := os.ReadFile(filepath.Join(dir, "graph", name, "graph_tensors.dot"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(d.DOT(pipeline.DotOptions{Tensors: true, Colors: true}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
