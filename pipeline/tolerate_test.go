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

// effects is a graph with one output and with operators that no output needs. It counts the calls
// of functions.
type effects struct {
	calls map[string]int
	fails func(call string, n int) error // of the n-th call
}

// called returns a function of batches that is counted.
func (e *effects) called(name string) func([][]tensor.Tensor) ([][]tensor.Tensor, error) {
	return func(in [][]tensor.Tensor) ([][]tensor.Tensor, error) {
		e.calls[name]++
		return in, e.fails(name, e.calls[name]-1)
	}
}

func (e *effects) late(p *pipeline.Builder, name string, in pipeline.Node) pipeline.Node {
	call := e.called(name)
	batch := func(_ int, in [][]tensor.Tensor) ([][]tensor.Tensor, error) { return call(in) }
	return p.CallLate(pipeline.LateFunction{Name: name, Batch: batch, Layouts: []string{""}}, in)[0]
}

// run takes batches of a pipeline whose graph appends the effects of a row of random numbers. It
// returns the nodes that failed, in the order of the events, or the error of the first batch.
func (e *effects) run(
	t *testing.T, o pipeline.Options, batches int, graph func(p *pipeline.Builder, row pipeline.Node) pipeline.Node,
) (failed []string, err error) {
	t.Helper()
	e.calls = map[string]int{}
	if e.fails == nil {
		e.fails = func(string, int) error { return nil }
	}
	o.BatchSize, o.Seed = 4, 3
	o.OnEvent = func(e pipeline.Event) {
		if e.Kind == pipeline.OperatorTolerated {
			failed = append(failed, e.Operator+": "+e.Err.Error())
		}
	}
	d, err := pipeline.Define(o, func(p *pipeline.Builder) []pipeline.Node {
		row := fn.RandomUniform(p, fn.RandomUniformArgs{Shape: op.Const([]int{3})})
		return []pipeline.Node{graph(p, row)}
	})
	if err != nil {
		return nil, err
	}
	pipe, err := d.New(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	defer pipe.Close()
	for range batches {
		b, err := pipe.Next(context.Background())
		if err != nil {
			return failed, err
		}
		if n := b.Outputs[0].NumSamples(); n != 4 {
			t.Errorf("a batch has %d samples, want 4", n)
		}
	}
	return failed, nil
}

// TestTolerateUnused checks that the failure of an operator that no output needs fails the batch,
// unless TolerateUnused is set: then the operators behind it do not compute for this batch.
func TestTolerateUnused(t *testing.T) {
	broken := errors.New("it is broken")
	second := func(call string, n int) error {
		if call == "a" && n == 1 {
			return broken
		}
		return nil
	}
	kept := op.Args{"preserve": true}
	for _, c := range []struct {
		name   string
		fails  func(string, int) error
		graph  func(e *effects, p *pipeline.Builder, row pipeline.Node) pipeline.Node
		calls  map[string]int
		failed string // what the event says
	}{
		{name: "a late function", fails: second, calls: map[string]int{"a": 4, "b": 3, "c": 4}, failed: "a: func: node a",
			graph: func(e *effects, p *pipeline.Builder, row pipeline.Node) pipeline.Node {
				e.late(p, "b", e.late(p, "a", row))
				e.late(p, "c", row)
				return row
			}},
		{name: "a late function before samples", fails: second, calls: map[string]int{"a": 4, "b": 3}, failed: "a: func",
			graph: func(e *effects, p *pipeline.Builder, row pipeline.Node) pipeline.Node {
				sum := p.Op("reductions.sum", op.Args{"axes": []int{0}}, e.late(p, "a", row))[0]
				e.late(p, "b", sum)
				return row
			}},
		{name: "samples", calls: map[string]int{"c": 4}, failed: "crop: crop: position 0",
			graph: func(e *effects, p *pipeline.Builder, row pipeline.Node) pipeline.Node {
				image := p.Op("reshape", op.Args{"shape": []int{1, 1, 3}, "layout": "HWC"}, row)[0]
				crop := p.Op("crop", op.Args{"name": "crop", "crop": []float64{9, 9}}, image)[0]
				e.late(p, "b", p.Op("flip", kept, crop)[0])
				e.late(p, "c", image)
				return row
			}},
		{name: "refused at the definition", calls: map[string]int{}, failed: "min: reductions.min: node min, input 0",
			graph: func(e *effects, p *pipeline.Builder, row pipeline.Node) pipeline.Node {
				wide := p.Op("cast", op.Args{"dtype": tensor.Float64}, row)[0]
				e.late(p, "b", p.Op("reductions.min", op.Args{"name": "min"}, wide)[0])
				return row
			}},
		{name: "refused behind a late function", calls: map[string]int{"a": 4}, failed: "min: reductions.min: node min, input 0",
			graph: func(e *effects, p *pipeline.Builder, row pipeline.Node) pipeline.Node {
				wide := e.late(p, "a", p.Op("cast", op.Args{"dtype": tensor.Float64}, row)[0])
				e.late(p, "b", p.Op("reductions.min", op.Args{"name": "min"}, wide)[0])
				return row
			}},
	} {
		for _, prefetch := range []int{pipeline.NoPrefetch, 3} {
			e := &effects{fails: c.fails}
			graph := func(p *pipeline.Builder, row pipeline.Node) pipeline.Node { return c.graph(e, p, row) }
			failed, err := e.run(t, pipeline.Options{TolerateUnused: true, Prefetch: prefetch, Workers: 2}, 4, graph)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if len(failed) != 1 || !strings.HasPrefix(failed[0], c.failed) {
				t.Errorf("%s: events of %q, want one of %q", c.name, failed, c.failed)
			}
			for name, calls := range c.calls { // batches ahead are made too
				if got := e.calls[name]; got < calls || prefetch < 0 && got != calls {
					t.Errorf("%s, prefetch %d: %d calls of %s, want %d", c.name, prefetch, got, name, calls)
				}
			}
			if c.calls["b"] == 0 && e.calls["b"] > 0 {
				t.Errorf("%s: b was called behind the failure", c.name)
			}
			if _, err := e.run(t, pipeline.Options{Prefetch: prefetch}, 4, graph); err == nil {
				t.Errorf("%s: without TolerateUnused there is no error", c.name)
			}
		}
	}
}

// TestToleratesNoOthers checks that failures fail the batch if an output needs the operator, or if
// they are not the operator's own.
func TestToleratesNoOthers(t *testing.T) {
	fails := func(err error) func(string, int) error {
		return func(string, int) error { return err }
	}
	broken := errors.New("it is broken")
	late := func(e *effects, p *pipeline.Builder, row pipeline.Node) pipeline.Node {
		e.late(p, "a", row)
		return row
	}
	for _, c := range []struct {
		name  string
		fails func(string, int) error
		graph func(e *effects, p *pipeline.Builder, row pipeline.Node) pipeline.Node
		kind  error
	}{
		{"an output", fails(broken), func(e *effects, p *pipeline.Builder, row pipeline.Node) pipeline.Node {
			made := e.late(p, "a", row)
			e.late(p, "b", made)
			return made
		}, broken},
		{"an end", fails(&errs.Error{Kind: errs.Canceled}), late, errs.Canceled},
		{"a limit", fails(&errs.Error{Kind: errs.Exhausted}), late, errs.Exhausted},
		{"refused for an output", nil, func(_ *effects, p *pipeline.Builder, row pipeline.Node) pipeline.Node {
			wide := p.Op("cast", op.Args{"dtype": tensor.Float64}, row)[0]
			return p.Op("reductions.min", nil, wide)[0]
		}, errs.Unsupported},
		{"a layout", nil, func(_ *effects, p *pipeline.Builder, row pipeline.Node) pipeline.Node {
			p.Op("crop", op.Args{"crop": []float64{1, 1}, "preserve": true}, row)
			return row
		}, errs.Invalid},
		{"a constant", nil, func(_ *effects, p *pipeline.Builder, row pipeline.Node) pipeline.Node {
			p.Op("cast", op.Args{"dtyp": tensor.Float64, "preserve": true}, row)
			return row
		}, errs.Invalid},
	} {
		e := &effects{fails: c.fails}
		graph := func(p *pipeline.Builder, row pipeline.Node) pipeline.Node { return c.graph(e, p, row) }
		failed, err := e.run(t, pipeline.Options{TolerateUnused: true}, 2, graph)
		if !errors.Is(err, c.kind) || len(failed) > 0 {
			t.Errorf("%s: got %v and events of %q, want %v", c.name, err, failed, c.kind)
		}
	}
}

// TestToleratedOutputs checks that outputs do not depend on failures beside them.
func TestToleratedOutputs(t *testing.T) {
	take := func(tolerate bool) (values [][]float32) {
		d, err := pipeline.Define(pipeline.Options{BatchSize: 3, Seed: 5, TolerateUnused: tolerate},
			func(p *pipeline.Builder) []pipeline.Node {
				row := fn.RandomUniform(p, fn.RandomUniformArgs{Shape: op.Const([]int{2})})
				if tolerate {
					image := p.Op("reshape", op.Args{"shape": []int{1, 2, 1}, "layout": "HWC"}, row)[0]
					p.Op("crop", op.Args{"crop": []float64{9, 9}, "preserve": true}, image)
				}
				return []pipeline.Node{row}
			})
		if err != nil {
			t.Fatal(err)
		}
		pipe, err := d.New(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer pipe.Close()
		for range 5 {
			b, err := pipe.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for s := range 3 {
				row, err := tensor.Of[float32](b.Outputs[0].Sample(s))
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, append([]float32{}, row...))
			}
		}
		return values
	}
	if d := cmp.Diff(take(false), take(true)); d != "" {
		t.Error(d)
	}
}
