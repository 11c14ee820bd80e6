package dali_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// declared are the graphs of DALI's vectors as programs in Go.
var declared = map[string]func(b *pipeline.Builder) []pipeline.Node{
	"g04_arith": func(b *pipeline.Builder) []pipeline.Node {
		x := b.Op("random.uniform", op.Args{"range": []float64{0, 1}, "shape": 3})[0]
		c := b.Op("random.coin_flip", op.Args{"dtype": tensor.Int32})[0]
		return []pipeline.Node{
			x.Mul(2).Add(c).Div(3).Sub(1.5),
			fn.Sqrt(x),
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
	"g08_multi_output": func(b *pipeline.Builder) []pipeline.Node {
		read := b.Op("readers.file", op.Args{"name": "Reader", "file_root": ".", "files": []string{"a.jpg", "b.jpg"}, "shard_id": 1, "num_shards": 2, "pad_last_batch": true})
		shape := b.Op("peek_image_shape", nil, read[0])[0]
		box := b.Constant(pipeline.Constant{Value: []float64{0.1, 0.1, 0.5, 0.5}, Shape: []int{1, 4}})
		crop := b.Op("random_bbox_crop", op.Args{"name": "rbc", "thresholds": []float64{0.1, 0.5}}, box)
		return []pipeline.Node{shape, read[1], crop[0], crop[1]}
	},
	"g09_argument_inputs": func(b *pipeline.Builder) []pipeline.Node {
		var values []uint8
		for i := range 60 {
			values = append(values, uint8(i))
		}
		x := b.Constant(pipeline.Constant{Value: values, Shape: []int{4, 5, 3}})
		a := b.Op("random.uniform", op.Args{"range": []float64{0.5, 1.5}})[0]
		image := func() pipeline.Node { return b.Op("reshape", op.Args{"layout": "HWC"}, x)[0] }
		bright := b.Op("brightness_contrast", op.Args{"brightness": a, "contrast": 1.2}, image())[0]
		second := image()
		size := b.Op("cast", op.Args{"dtype": tensor.Float32}, b.Op("random.uniform", op.Args{"range": []float64{3, 8}, "shape": 2})[0])[0]
		return []pipeline.Node{bright, b.Op("resize", op.Args{"size": size}, second)[0]}
	},
	"g12_simple_executor": func(b *pipeline.Builder) []pipeline.Node {
		x := b.Op("random.uniform", op.Args{"name": "fixed_seed", "range": []float64{0, 1}, "seed": 77})[0]
		cast := b.Op("cast", op.Args{"dtype": tensor.Uint8}, x.Mul(100))[0]
		first := b.Op("stack", nil, x, x)[0]
		return []pipeline.Node{cast, b.Op("cat", op.Args{"axis": 0}, first, b.Op("stack", nil, x, x.Add(1))[0])[0]}
	},
	"g13_transforms": func(b *pipeline.Builder) []pipeline.Node {
		angle := b.Op("random.uniform", op.Args{"range": []float64{-30, 30}})[0]
		m := b.Op("transforms.combine", nil, b.Op("transforms.rotation", op.Args{"angle": angle})[0],
			b.Op("transforms.translation", op.Args{"offset": []float64{1, 2}})[0])[0]
		points := b.Constant(pipeline.Constant{Value: []float64{1, 2, 3, 4}, Shape: []int{2, 2}})
		return []pipeline.Node{m, b.Op("coord_transform", op.Args{"MT": m}, points)[0]}
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
		d, err := dali.Define(dali.PipelineOptions{Options: pipeline.Options{BatchSize: 3, Seed: 1234}}, define)
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

// A conditional of several values in another, as DALI 2.4.0 drew this program:
//
//	if b:
//	    y, z = x + 1, x
//	    if c: y = y * 2
//	    else: z = z * 3
//	else:
//	    y, z = x, x + 5
//	return y, z, x
func TestSeveralValuesInBranches(t *testing.T) {
	type nodes = []pipeline.Node
	d, err := dali.Define(dali.PipelineOptions{Options: pipeline.Options{BatchSize: 3}}, func(p *pipeline.Builder) nodes {
		x := p.Op("random.uniform", op.Args{"range": []float64{0, 1}})[0]
		b := p.Op("random.coin_flip", op.Args{"dtype": tensor.Bool})[0]
		c := p.Op("random.coin_flip", op.Args{"dtype": tensor.Bool})[0]
		out := p.If(b, func() nodes {
			y := x.Add(1)
			return p.If(c, func() nodes { return nodes{y.Mul(2), x} }, func() nodes { return nodes{y, x.Mul(3)} })
		}, func() nodes { return nodes{x, x.Add(5)} })
		return append(out, x)
	})
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "drawings", "several_values.dot"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(d.DOT(pipeline.DotOptions{Tensors: true, Colors: true}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
