package pipeline_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

func number(p *pipeline.Builder) []pipeline.Node { return []pipeline.Node{uniform(p, "x")} }

func two(p *pipeline.Builder) []pipeline.Node {
	return []pipeline.Node{uniform(p, "x"), fn.RandomCoinFlip(p,
		fn.RandomCoinFlipArgs{Shape: op.Const([]int{2}), DType: tensor.Uint8})}
}

func TestOptionMistakes(t *testing.T) {
	for field, o := range map[string]pipeline.Options{
		"BytesPerSample": {BytesPerSample: -1},
		"SourceWorkers":  {SourceWorkers: 1 << 13},
		"Device":         {Device: 9},
		"OutputDType":    {OutputDType: []tensor.DType{255}},
		"OutputNDim":     {OutputNDim: []int{-2}},
		"OutputLayout":   {OutputNDim: []int{1}, OutputLayout: []string{"HWC"}},
	} {
		if _, err := pipeline.Define(o, two); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestOutputDeclarations(t *testing.T) {
	for name, c := range map[string]struct {
		o    pipeline.Options
		says string // empty: fits
	}{
		"dtype of all":   {pipeline.Options{OutputDType: []tensor.DType{tensor.Float32}}, "output 1, dtype"},
		"dtypes":         {pipeline.Options{OutputDType: []tensor.DType{tensor.Float32, tensor.Uint8}}, ""},
		"wildcard":       {pipeline.Options{OutputDType: []tensor.DType{tensor.Invalid, tensor.Uint8}}, ""},
		"too many":       {pipeline.Options{OutputDType: make([]tensor.DType, 3)}, "for each of 2 outputs"},
		"ndim":           {pipeline.Options{OutputNDim: []int{0, 2}}, "output 1, number of dimensions"},
		"ndims":          {pipeline.Options{OutputNDim: []int{0, 1}}, ""},
		"layout":         {pipeline.Options{OutputLayout: []string{"", "X"}}, "output 1, layout"},
		"layout is open": {pipeline.Options{OutputLayout: []string{""}}, ""},
	} {
		_, err := pipeline.Define(c.o, two)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want one that says %q", name, err, c.says)
		}
	}
}

// An empty output list would be an error of the pipeline's user; a rank that is
// known only from the data is checked in each batch.
func TestOutputDeclarationsOfTheData(t *testing.T) {
	p := start(t, pipeline.Options{OutputNDim: []int{2}}, func(p *pipeline.Builder) []pipeline.Node {
		return p.Op("pipelinetest.rankless", nil, uniform(p, ""))
	})
	if _, err := p.Next(context.Background()); !errors.Is(err, errs.Mismatch) ||
		!strings.Contains(err.Error(), "the declared 2") {
		t.Error(err)
	}
}

func TestOverrides(t *testing.T) {
	d, err := pipeline.Define(pipeline.Options{BatchSize: 4, Seed: 5, World: 2, Rank: 1, OutputNDim: []int{0}}, number)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		over *pipeline.Options
		want func(o *pipeline.Options)
	}{
		"none":  {nil, func(*pipeline.Options) {}},
		"empty": {&pipeline.Options{}, func(*pipeline.Options) {}},
		"one":   {&pipeline.Options{BatchSize: 6}, func(o *pipeline.Options) { o.BatchSize = 6 }},
		"world": {&pipeline.Options{World: 3}, func(o *pipeline.Options) { o.World, o.Rank = 3, 0 }},
	} {
		p, err := d.New(context.Background(), c.over)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := p.Options()
		want.BatchSize, want.Seed, want.World, want.Rank, want.OutputNDim = 4, 5, 2, 1, []int{0}
		c.want(&want)
		if d := cmp.Diff(want, p.Options()); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		p.Close()
	}
	if _, err := d.New(context.Background(), &pipeline.Options{OutputNDim: []int{1}}); !errors.Is(err, errs.Mismatch) {
		t.Error(err)
	}
	zero, err := d.With(func(o *pipeline.Options) { o.Seed = 0 })
	if err != nil || zero.Options().Seed != 0 || zero.Options().BatchSize != 4 || d.Options().Seed != 5 {
		t.Errorf("%v: %+v of %+v", err, zero.Options(), d.Options())
	}
	if _, err := d.With(func(o *pipeline.Options) { o.BatchSize = -1 }); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	if _, err := d.With(func(o *pipeline.Options) { o.OutputNDim = []int{3} }); !errors.Is(err, errs.Mismatch) {
		t.Error(err)
	}
}
