package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/state"
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

func TestDamagedSampleIsAnErrorAtItsPosition(t *testing.T) {
	dir := dataset(t, 12)
	victim := filepath.Join(dir, classes[1], "0004.jpg") // id 5 in sorted order: batch 1
	whole, err := os.ReadFile(victim)
	if err != nil {
		t.Fatal(err)
	}
	for what, damage := range map[string]struct {
		change func() error
		kind   errs.Kind
		op     string
	}{
		"cut":   {func() error { return os.WriteFile(victim, whole[:len(whole)/2], 0o666) }, errs.Corrupt, "decoders.image"},
		"text":  {func() error { return os.WriteFile(victim, []byte("hello"), 0o666) }, errs.Corrupt, "decoders.image"},
		"empty": {func() error { return os.WriteFile(victim, nil, 0o666) }, errs.Corrupt, "decoders.image"},
	} {
		if err := damage.change(); err != nil {
			t.Fatal(err)
		}
		for _, prefetch := range []int{pipeline.NoPrefetch, 1, 4} {
			p := start(t, pipeline.Options{BatchSize: 3, NumThreads: 2, PrefetchDepth: prefetch}, files(dir))
			next(t, p)
			before := save(t, p)
			for range 2 { // the position is kept: trying again finds the same
				_, err := p.Next(context.Background())
				if !errors.Is(err, damage.kind) {
					t.Fatalf("%s: got %v, want kind %v", what, err, damage.kind)
				}
				for _, part := range []string{damage.op, victim, "position 5", "jpeg"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%s: %v does not name %q", what, err, part)
					}
				}
				if after := save(t, p); !bytes.Equal(before, after) {
					t.Errorf("%s: the state moved from\n%s\nto\n%s", what, before, after)
				}
			}
			if err := p.Skip(); err != nil {
				t.Fatal(err)
			}
			if b := next(t, p); b.Position != 6 || b.Index != 2 {
				t.Errorf("%s: after Skip comes position %d", what, b.Position)
			}
			p.Close()
		}
		// Repaired, the same Next succeeds.
		p := start(t, pipeline.Options{BatchSize: 3}, files(dir))
		next(t, p)
		if _, err := p.Next(context.Background()); err == nil {
			t.Fatalf("%s: no error", what)
		}
		p.Close()
	}
}

func TestVanishedFile(t *testing.T) {
	dir := dataset(t, 4)
	p := start(t, pipeline.Options{BatchSize: 4, PrefetchDepth: pipeline.NoPrefetch}, files(dir))
	gone := filepath.Join(dir, classes[0], "0000.jpg")
	whole, err := os.ReadFile(gone)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Next(context.Background()); !errors.Is(err, errs.NotFound) || !strings.Contains(err.Error(), gone) || !strings.Contains(err.Error(), "readers.file") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(gone, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	if b := next(t, p); b.Position != 0 {
		t.Errorf("once the file is back comes position %d", b.Position)
	}
}

func TestMissingData(t *testing.T) {
	for dir, kind := range map[string]errs.Kind{filepath.Join(t.TempDir(), "none"): errs.NotFound, t.TempDir(): errs.Invalid} {
		d, err := pipeline.Define(pipeline.Options{}, files(dir))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.New(context.Background(), nil); !errors.Is(err, kind) || !strings.Contains(err.Error(), dir) {
			t.Errorf("got %v, want kind %v", err, kind)
		}
	}
}

func TestStateOfAnotherStreamIsRefused(t *testing.T) {
	dir, other := dataset(t, 7), dataset(t, 8)
	o := pipeline.Options{BatchSize: 2, Seed: 3}
	p := start(t, o, training(dir))
	next(t, p)
	st := save(t, p)
	change := func(f func(o *pipeline.Options)) pipeline.Options { c := o; f(&c); return c }
	for _, c := range []struct {
		name   string
		o      pipeline.Options
		define func(p *pipeline.Builder) []pipeline.Node
		says   []string
	}{
		{"seed", change(func(o *pipeline.Options) { o.Seed = 4 }), training(dir), []string{"seed"}},
		{"batch size", change(func(o *pipeline.Options) { o.BatchSize = 3 }), training(dir), []string{"batch_size", "3", "2"}},
		{"last batch", change(func(o *pipeline.Options) { o.LastBatch = pipeline.Fill }), training(dir), []string{"last_batch", "fill", "partial"}},
		{"data set", o, training(other), []string{"data set fingerprint"}},
		{"graph", o, files(dir), []string{"node"}},
	} {
		q := start(t, c.o, c.define)
		next(t, q)
		before := save(t, q)
		err := q.SetState(st)
		if !errors.Is(err, errs.Mismatch) {
			t.Errorf("%s: got %v", c.name, err)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not name %q", c.name, err, part)
			}
		}
		if !bytes.Equal(before, save(t, q)) {
			t.Errorf("%s: a refused state moved the pipeline", c.name)
		}
		next(t, q)
	}
	moved := start(t, change(func(o *pipeline.Options) {
		o.NumThreads, o.PrefetchDepth, o.IOThreads, o.ReadAheadBytes = 3, 7, 2, 1000
	}), training(dir))
	if err := moved.SetState(st); err != nil {
		t.Errorf("tuning is no identity: %v", err)
	}
}

func TestDamagedState(t *testing.T) {
	dir := dataset(t, 5)
	p := start(t, pipeline.Options{BatchSize: 2}, files(dir))
	next(t, p)
	st := save(t, p)
	for cut := range len(st) {
		if err := p.SetState(st[:cut]); err == nil {
			t.Fatalf("a state cut to %d of %d bytes is taken", cut, len(st))
		}
	}
	for name, change := range map[string]func(m map[string]any){
		"inside a batch": func(m map[string]any) { m["position"] = 3 },
		"negative":       func(m map[string]any) { m["position"] = -2 },
		"newer version":  func(m map[string]any) { m["version"] = 99 },
		"another kind":   func(m map[string]any) { m["kind"] = "loader" },
		"bad digest":     func(m map[string]any) { m["digest"] = "zzz" },
	} {
		var m map[string]any
		if err := json.Unmarshal(st, &m); err != nil {
			t.Fatal(err)
		}
		change(m)
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.SetState(b); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	d, err := state.Unmarshal(st)
	if err != nil {
		t.Fatal(err)
	}
	for range 12 { // what is put together from pieces is the document, in canonical form
		if again, err := d.Marshal(); err != nil || !bytes.Equal(again, save(t, p)) {
			t.Errorf("the state is\n%s\nits document\n%s, %v", save(t, p), again, err)
		}
		next(t, p)
		if d, err = state.Unmarshal(save(t, p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.SetState(st); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(st, save(t, p)) {
		t.Error("a refused state moved the pipeline")
	}
	if b := next(t, p); b.Position != 2 {
		t.Errorf("goes on at %d, want 2", b.Position)
	}
}

func TestCancellation(t *testing.T) {
	dir := dataset(t, 5)
	p := start(t, pipeline.Options{BatchSize: 2}, files(dir))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 3 {
		if _, err := p.Next(ctx); err != nil && !errors.Is(err, errs.Canceled) || err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
	at := p.Position()
	if b := next(t, p); b.Position != at {
		t.Errorf("goes on at %d, want %d", b.Position, at)
	}
}

func TestClosed(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 2, PrefetchDepth: 4}, files(dataset(t, 5)))
	next(t, p)
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := p.Next(context.Background())
	for _, err := range []error{err, p.SetState(nil), p.Skip()} {
		if !errors.Is(err, errs.Closed) {
			t.Errorf("got %v", err)
		}
	}
}

func TestNoReader(t *testing.T) {
	for _, threads := range []int{1, 3} {
		p := start(t, pipeline.Options{BatchSize: 3, NumThreads: threads}, func(p *pipeline.Builder) []pipeline.Node {
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
			pair := fn.RandomUniform(p, fn.RandomUniformArgs{Shape: []int{2}})
			return []pipeline.Node{fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{Probability: op.Of[float64](pair)})}
		}, errs.Invalid, "argument probability"},
	} {
		if _, err := pipeline.Define(pipeline.Options{}, c.define); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want kind %v and %q", name, err, c.kind, c.says)
		}
	}
}

func TestOptions(t *testing.T) {
	for field, o := range map[string]pipeline.Options{
		"BatchSize": {BatchSize: -1}, "NumThreads": {NumThreads: -1}, "PrefetchDepth": {PrefetchDepth: -2}, "LastBatch": {LastBatch: 9},
		"World": {BatchSize: 2, World: 3}, "Rank": {BatchSize: 2, World: 2, Rank: 2}, "IOThreads": {IOThreads: -1}, "ReadAheadBytes": {ReadAheadBytes: -1},
	} {
		if err := o.Validate(); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "Options."+field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
	d, err := pipeline.Define(pipeline.Options{BatchSize: 100, LastBatch: pipeline.Drop}, files(dataset(t, 5)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.New(context.Background(), nil); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "5 samples") {
		t.Errorf("an epoch without a batch: got %v", err)
	}
	p, err := d.New(context.Background(), &pipeline.Options{BatchSize: 2, NumThreads: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if o := p.Options(); o.BatchSize != 2 || o.NumThreads != 3 || o.LastBatch != pipeline.Drop || o.World != 1 {
		t.Errorf("options in force: %+v", o)
	}
}

func TestOutputs(t *testing.T) {
	dir := dataset(t, 6)
	p := start(t, pipeline.Options{BatchSize: 6}, training(dir))
	b := next(t, p)
	images, err := b.Outputs[0].Tensor()
	if err != nil || images.DType != tensor.Float32 || !images.Shape.Equal(tensor.Shape{6, 3, 9, 8}) || images.Layout != "NCHW" {
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
	p := start(t, pipeline.Options{BatchSize: 10, PrefetchDepth: 8, ReadAheadBytes: limit, IOThreads: 8}, files(dir))
	for range 12 {
		next(t, p)
	}
	if _, peak := p.ReadAhead(); peak > limit || peak == 0 {
		t.Errorf("up to %d bytes were held, the limit is %d", peak, limit)
	}
}

// TestAllocations bounds what a sample costs in steady state: the standard
// library's decoder and opening a file allocate, the engine does not.
func TestAllocations(t *testing.T) {
	const batch = 16
	measure := func(define func(p *pipeline.Builder) []pipeline.Node, prefetch int) float64 {
		p := start(t, pipeline.Options{BatchSize: batch, NumThreads: 2, PrefetchDepth: prefetch}, define)
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
		return []pipeline.Node{fn.RandomUniform(p, fn.RandomUniformArgs{Shape: []int{5}}), fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{})}
	}, 2); n > 0.1 {
		t.Errorf("%.2f allocations a sample without a reader", n)
	}
	if n := measure(training(dataset(t, 64)), 2); n > 24 {
		t.Errorf("%.2f allocations a sample of the training pipeline", n)
	}
}
