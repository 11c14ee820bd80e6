package pipeline_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/loan"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// files returns a pipeline that decodes a data set in its sorted order.
func files(dir string) func(p *pipeline.Builder) []pipeline.Node {
	return func(p *pipeline.Builder) []pipeline.Node {
		jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: dir})
		images := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{OutputType: op.Gray})
		images = fn.RandomResizedCrop(p, images, fn.RandomResizedCropArgs{Size: []int{4}})
		return []pipeline.Node{images, labels}
	}
}

func TestNoReader(t *testing.T) {
	for _, threads := range []int{1, 3} {
		p := start(t, pipeline.Options{BatchSize: 3, Workers: threads}, func(p *pipeline.Builder) []pipeline.Node {
			return []pipeline.Node{fn.RandomUniform(p, fn.RandomUniformArgs{})}
		})
		for i := range int64(50) {
			b := next(t, p)
			if b.Epoch != 0 || b.Index != i || b.Position != 3*i || len(b.IDs) != 0 || b.Outputs[0].NumSamples() != 3 {
				t.Fatalf("batch %d: %+v", i, b)
			}
		}
	}
}

func TestDefinitionErrors(t *testing.T) {
	reader := func(p *pipeline.Builder) pipeline.Node {
		jpegs, _ := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: "x"})
		return jpegs
	}
	var foreign pipeline.Node
	if _, err := pipeline.Define(pipeline.Options{}, func(p *pipeline.Builder) []pipeline.Node {
		foreign = reader(p)
		return []pipeline.Node{foreign}
	}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		define func(p *pipeline.Builder) []pipeline.Node
		kind   errs.Kind
		says   string
	}{
		"no outputs":       {func(p *pipeline.Builder) []pipeline.Node { return nil }, errs.Invalid, "output"},
		"unknown operator": {func(p *pipeline.Builder) []pipeline.Node { return p.Op("decoders.imgae", nil, reader(p)) }, errs.NotFound, `did you mean "decoders.image"?`},
		"unknown argument": {func(p *pipeline.Builder) []pipeline.Node {
			return p.Op("decoders.image", op.Args{"output_typ": op.RGB}, reader(p))
		}, errs.Invalid, `did you mean "output_type"?`},
		"wrong type":    {func(p *pipeline.Builder) []pipeline.Node { return p.Op("cast", op.Args{"dtype": 3}, reader(p)) }, errs.Invalid, "dtype"},
		"missing input": {func(p *pipeline.Builder) []pipeline.Node { return p.Op("decoders.image", nil) }, errs.Invalid, "want 1 inputs, got 0"},
		"bytes as image": {func(p *pipeline.Builder) []pipeline.Node {
			return []pipeline.Node{fn.Crop(p, reader(p), fn.CropArgs{})}
		}, errs.Invalid, "HWC"},
		"rank without layout": {func(p *pipeline.Builder) []pipeline.Node {
			return p.Op("dump_image", nil, p.Constant(pipeline.Constant{Value: uint8(1), Shape: []int{2, 2}}))
		}, errs.Invalid, "the number of dimensions of one of the layouts [HWC], got 2"},
		"foreign node": {func(p *pipeline.Builder) []pipeline.Node {
			return []pipeline.Node{fn.DecodersImage(p, foreign, fn.DecodersImageArgs{})}
		}, errs.Invalid, "graph"},
		"arguments of no kind": {func(p *pipeline.Builder) []pipeline.Node { return p.Op("random.uniform", 3) }, errs.Invalid, "random.uniform"},
		"foreign output":       {func(p *pipeline.Builder) []pipeline.Node { return []pipeline.Node{foreign} }, errs.Invalid, "output 0"},
		"zero node":            {func(p *pipeline.Builder) []pipeline.Node { return []pipeline.Node{{}} }, errs.Invalid, "output 0"},
		"duplicate names": {func(p *pipeline.Builder) []pipeline.Node {
			a := fn.RandomUniform(p, fn.RandomUniformArgs{Name: "n"})
			return []pipeline.Node{a, fn.RandomUniform(p, fn.RandomUniformArgs{Name: "n"})}
		}, errs.Exists, "node n"},
		"argument of the wrong shape": {func(p *pipeline.Builder) []pipeline.Node {
			pair := fn.RandomUniform(p, fn.RandomUniformArgs{Shape: op.Const([]int{2})})
			return []pipeline.Node{fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{Probability: op.Of[float64](pair)})}
		}, errs.Invalid, "argument probability"},
	} {
		if _, err := pipeline.Define(pipeline.Options{}, c.define); !errors.Is(err, c.kind) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want kind %v and %q", name, err, c.kind, c.says)
		}
	}
}

func TestOptions(t *testing.T) {
	for field, o := range map[string]pipeline.Options{
		"BatchSize": {BatchSize: -1}, "Workers": {Workers: -1}, "Prefetch": {Prefetch: -2}, "Tail": {Tail: order.Pad},
		"World": {BatchSize: 2, World: 3}, "Rank": {BatchSize: 2, World: 2, Rank: 2}, "IOWorkers": {IOWorkers: -1}, "ReadAheadBytes": {ReadAheadBytes: -1},
	} {
		if err := o.Validate(); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "Options."+field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
	d, err := pipeline.Define(pipeline.Options{BatchSize: 100, Tail: order.Drop}, files(dataset(t, 5)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.New(context.Background(), nil); !errors.Is(err, errs.Invalid) ||
		!strings.Contains(err.Error(), "5 samples") {
		t.Errorf("an epoch without a batch: got %v", err)
	}
	p, err := d.New(context.Background(), &pipeline.Options{BatchSize: 2, Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if o := p.Options(); o.BatchSize != 2 || o.Workers != 3 || o.Tail != order.Drop || o.World != 1 {
		t.Errorf("options in force: %+v", o)
	}
}

func TestOutputs(t *testing.T) {
	dir := dataset(t, 6)
	p := start(t, pipeline.Options{BatchSize: 6}, training(dir))
	b := next(t, p)
	images, err := b.Outputs[0].Tensor()
	if err != nil || images.DType != tensor.Float32 || !images.Shape.Equal(tensor.Shape{6, 3, 9, 8}) ||
		images.Layout != "NCHW" {
		t.Errorf("images: %s %q, %v", images, images.Layout, err)
	}
	labels, err := b.Outputs[1].Tensor()
	if err != nil {
		t.Fatal(err)
	}
	l, err := tensor.Of[int32](labels)
	if err != nil {
		t.Fatal(err)
	}
	for s, id := range b.IDs {
		if want := int32(id / 2); l[s] != want { // two files a class, sorted
			t.Errorf("sample %d has label %d, want %d", id, l[s], want)
		}
		if b.Outputs[2].Sample(s).Layout != "HWC" {
			t.Errorf("decoded: %s", b.Outputs[2].Sample(s))
		}
	}
	for i, out := range b.Outputs {
		if err := out.Check(); err != nil {
			t.Errorf("output %d: %v", i, err)
		}
	}
}

func TestReadAheadIsBounded(t *testing.T) {
	dir := dataset(t, 40)
	const limit = 4000
	p := start(t, pipeline.Options{BatchSize: 10, Prefetch: 8, ReadAheadBytes: limit, IOWorkers: 8}, files(dir))
	for range 12 {
		next(t, p)
	}
	if peak := p.Statistics().ReadAheadPeak; peak > limit || peak == 0 {
		t.Errorf("up to %d bytes were held, the limit is %d", peak, limit)
	}
}

// TestAllocations bounds what a sample costs in steady state: the standard
// library's decoder and opening a file allocate, the engine does not.
func TestAllocations(t *testing.T) {
	if loan.Debug {
		t.Skip("memory that was handed out is not used again, with bivouac_debug")
	}
	const batch = 16
	measure := func(define func(p *pipeline.Builder) []pipeline.Node, prefetch int) float64 {
		p := start(t, pipeline.Options{BatchSize: batch, Workers: 2, Prefetch: prefetch}, define)
		for range 20 {
			next(t, p)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const rounds = 50
		for range rounds {
			next(t, p)
		}
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs-before.Mallocs) / (rounds * batch)
	}
	if n := measure(func(p *pipeline.Builder) []pipeline.Node {
		return []pipeline.Node{fn.RandomUniform(p, fn.RandomUniformArgs{Shape: op.Const([]int{5})}),
			fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{})}
	}, 2); n > 0.1 {
		t.Errorf("%.2f allocations a sample without a reader", n)
	}
	if n := measure(training(dataset(t, 64)), 2); n > 24 {
		t.Errorf("%.2f allocations a sample of the training pipeline", n)
	}
}
