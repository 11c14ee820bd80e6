package pipeline_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// runs counts how often each node of pipelinetest.counted ran.
var runs [8]atomic.Int32

func init() {
	op.Register(op.Schema{Name: "counted", Module: []string{"pipelinetest"}, Doc: "Passes a value on and counts.",
		Inputs: []op.Port{{Name: "in"}}, Outputs: []op.Port{{Name: "out"}},
		Params: []op.Parameter{{Name: "which", Type: op.Int, Required: true}},
		New:    func(c *op.Config) (op.Kernel, error) { return countedRuns(op.Get[int](c, "which")), nil }})
}

type countedRuns int

func (countedRuns) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return in, nil }
func (k countedRuns) Run(b *op.Block) error {
	for s := range b.Len() {
		runs[k].Add(1)
		b.Alias(0, s, b.In(0, s))
	}
	return nil
}

// What nothing needs does not run, unless it is kept; what is there twice runs once.
func TestWhatRuns(t *testing.T) {
	for i := range runs {
		runs[i].Store(0)
	}
	count := func(p *pipeline.Builder, which int, x pipeline.Node, args op.Args) pipeline.Node {
		all := op.Args{"which": which}
		for k, v := range args {
			all[k] = v
		}
		return p.Op("pipelinetest.counted", all, x)[0]
	}
	p := start(t, pipeline.Options{BatchSize: 3, Prefetch: pipeline.NoPrefetch},
		func(p *pipeline.Builder) []pipeline.Node {
			x := uniform(p, "x")
			count(p, 0, x, nil)
			count(p, 1, x, op.Args{"preserve": true})
			p.AddSink(count(p, 2, x, nil))
			fn.Func(p, fn.FuncArgs{Deterministic: true,
				Sample: func([]tensor.Tensor) ([]tensor.Tensor, error) { return nil, nil }}, count(p, 3, x, nil))
			a, b := count(p, 4, x, nil), count(p, 4, x, nil)
			c := count(p, 5, x, op.Args{"name": "of its own"})
			return []pipeline.Node{a.Add(1), b.Add(1), c, count(p, 5, x, nil), x}
		})
	b := next(t, p)
	var got []int
	for i := range runs {
		got = append(got, int(runs[i].Load()))
	}
	if d := cmp.Diff([]int{0, 3, 3, 3, 3, 6, 0, 0}, got); d != "" {
		t.Errorf("runs (-want +got):\n%s", d)
	}
	for s := range 3 {
		if float(b.Outputs[0].Sample(s)) != float(b.Outputs[1].Sample(s)) ||
			float(b.Outputs[4].Sample(s))+1 != float(b.Outputs[0].Sample(s)) {
			t.Errorf("sample %d: outputs that are one node are not", s)
		}
	}
}

// A sink and an effect in a branch are for the samples that take it.
func TestSinkInABranch(t *testing.T) {
	runs[6].Store(0)
	p := start(t, pipeline.Options{BatchSize: 50, Prefetch: pipeline.NoPrefetch},
		func(p *pipeline.Builder) []pipeline.Node {
			c, x := coin(p, ""), uniform(p, "x")
			out := p.If(c, func() []pipeline.Node {
				p.AddSink(p.Op("pipelinetest.counted", op.Args{"which": 6}, x)[0])
				return []pipeline.Node{x}
			}, func() []pipeline.Node { return []pipeline.Node{x} })
			return append(out, c)
		})
	b, taken := next(t, p), int32(0)
	for s := range 50 {
		taken += int32(b.Outputs[1].Sample(s).Data[0])
	}
	if got := runs[6].Load(); got != taken || taken == 0 || taken == 50 {
		t.Errorf("ran %d times of %d samples that took the branch", got, taken)
	}
}

// Nested conditions over arithmetic are what Go decides, for any number of
// threads, batch sizes and batches ahead.
func TestConditionsAreWhatGoDecides(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		limits := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 4).Draw(r, "limits")
		o := pipeline.Options{
			BatchSize: rapid.IntRange(1, 9).Draw(r, "batch"), Workers: rapid.IntRange(1, 4).Draw(r, "threads"),
			Prefetch: rapid.SampledFrom([]int{pipeline.NoPrefetch, 1, 3}).Draw(r, "prefetch"),
			Seed:     rapid.Uint64().Draw(r, "seed"),
		}
		d, err := pipeline.Define(o, func(p *pipeline.Builder) []pipeline.Node {
			x := uniform(p, "x")
			var level func(i int) []pipeline.Node
			level = func(i int) []pipeline.Node {
				if i == len(limits) {
					return []pipeline.Node{x.Neg(), p.Constant(pipeline.Constant{Value: i})}
				}
				return p.If(x.Greater(limits[i]),
					func() []pipeline.Node { return []pipeline.Node{x.Add(i), p.Constant(pipeline.Constant{Value: i})} },
					func() []pipeline.Node { return level(i + 1) })
			}
			return append(level(0), x)
		})
		if err != nil {
			r.Fatal(err)
		}
		p, err := d.New(context.Background(), nil)
		if err != nil {
			r.Fatal(err)
		}
		defer p.Close()
		for range 3 {
			b, err := p.Next(context.Background())
			if err != nil {
				r.Fatal(err)
			}
			for s := range o.BatchSize {
				x := float(b.Outputs[2].Sample(s))
				branch, want := len(limits), -x
				for i, limit := range limits {
					if x > float32(limit) {
						branch, want = i, x+float32(i)
						break
					}
				}
				if got := float(b.Outputs[0].Sample(s)); got != want || int(b.Outputs[1].Sample(s).Data[0]) != branch {
					r.Fatalf("%v with %v: %v from branch %d, want %v from %d", x, limits, got, b.Outputs[1].Sample(s).Data[0], want,
						branch)
				}
			}
		}
	})
}

// The graph that is declared is the same each time, whatever the order of maps.
func TestDefinitionsAreReproducible(t *testing.T) {
	draw := func() string {
		d, err := pipeline.Define(pipeline.Options{}, func(p *pipeline.Builder) []pipeline.Node {
			a, b, c := uniform(p, "a"), uniform(p, "b"), uniform(p, "c")
			image := p.Constant(pipeline.Constant{Value: uint8(1), Shape: []int{4, 4, 3}, Layout: "HWC"})
			return p.If(coin(p, "d"),
				func() []pipeline.Node {
					return p.Op("brightness_contrast", op.Args{"brightness": a, "contrast": b, "contrast_center": c}, image)
				},
				func() []pipeline.Node { return []pipeline.Node{image} })
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(d.DOT(pipeline.DotOptions{Tensors: true}))
	}
	first := draw()
	for range 20 {
		if d := cmp.Diff(first, draw()); d != "" {
			t.Fatal(d)
		}
	}
	if !strings.Contains(first, "_conditional.split#4") {
		t.Error(first)
	}
}

func TestByHand(t *testing.T) {
	b, err := pipeline.NewBuilder(pipeline.Options{BatchSize: 3})
	if err != nil {
		t.Fatal(err)
	}
	b.SetOutputs(uniform(b, "x"))
	d, err := b.Definition()
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := next(t, p).Outputs[0].NumSamples(); got != 3 {
		t.Errorf("%d samples", got)
	}
	if _, err := pipeline.NewBuilder(pipeline.Options{BatchSize: -1}); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	if _, err := pipeline.Define(pipeline.Options{}, func(p *pipeline.Builder) []pipeline.Node {
		p.SetOutputs(uniform(p, "x"))
		return []pipeline.Node{uniform(p, "y")}
	}); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "one call of SetOutputs") {
		t.Errorf("outputs twice: %v", err)
	}
}
