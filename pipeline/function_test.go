package pipeline_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

var byteSpec = []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{-1}}}

func TestFunc(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 5, Workers: 3}, func(p *pipeline.Builder) []pipeline.Node {
		x := uniform(p, "x")
		same := fn.Func(p, fn.FuncArgs{Deterministic: true,
			Outputs: []tensor.Spec{{DType: tensor.Float32, Shape: tensor.Shape{}}},
			Sample:  func(in []tensor.Tensor) ([]tensor.Tensor, error) { return in, nil }}, x)
		sizes := fn.Func(p, fn.FuncArgs{Deterministic: true, Outputs: byteSpec,
			Batch: func(in [][]tensor.Tensor) ([][]tensor.Tensor, error) {
				out := make([]tensor.Tensor, len(in[0]))
				for s := range out {
					out[s] = tensor.FromSlice([]uint8{uint8(len(out)), uint8(s)})
				}
				return [][]tensor.Tensor{out}, nil
			}}, x)
		return []pipeline.Node{x, same[0], sizes[0]}
	})
	for range 10 {
		b := next(t, p)
		for s := range 5 {
			if float(b.Outputs[0].Sample(s)) != float(b.Outputs[1].Sample(s)) {
				t.Errorf("sample %d is not itself", s)
			}
			if d := cmp.Diff([]byte{5, byte(s)}, b.Outputs[2].Sample(s).Data); d != "" {
				t.Errorf("sample %d (-want +got):\n%s", s, d)
			}
		}
	}
}

// A function without outputs is called, in order, though nothing needs it.
func TestStatefulFunc(t *testing.T) {
	calls, running := 0, atomic.Int32{}
	p := start(t, pipeline.Options{BatchSize: 4, Workers: 4, Prefetch: pipeline.NoPrefetch},
		func(p *pipeline.Builder) []pipeline.Node {
			x := uniform(p, "x")
			fn.Func(p, fn.FuncArgs{Stateful: true, Name: "tap", Sample: func(in []tensor.Tensor) ([]tensor.Tensor, error) {
				if running.Add(1) > 1 {
					t.Error("calls overlap")
				}
				calls++
				running.Add(-1)
				return nil, nil
			}}, x)
			n := byte(0)
			count := fn.FuncArgs{Stateful: true, Outputs: byteSpec, Sample: func([]tensor.Tensor) ([]tensor.Tensor, error) {
				n++
				return []tensor.Tensor{tensor.FromSlice([]uint8{n})}, nil
			}}
			return append(fn.Func(p, count), x)
		})
	for i := range 5 {
		b := next(t, p)
		for s := range 4 {
			if got := b.Outputs[0].Sample(s).Data[0]; int(got) != 4*i+s+1 {
				t.Errorf("call %d was %d", 4*i+s+1, got)
			}
		}
	}
	if calls != 20 {
		t.Errorf("%d calls", calls)
	}
}

func TestFuncMistakes(t *testing.T) {
	nothing := func([]tensor.Tensor) ([]tensor.Tensor, error) { return nil, nil }
	batch := func([][]tensor.Tensor) ([][]tensor.Tensor, error) { return nil, nil }
	for name, f := range map[string]fn.FuncArgs{
		"no function":   {Stateful: true},
		"two functions": {Stateful: true, Sample: nothing, Batch: batch},
		"undeclared":    {Sample: nothing},
		"both":          {Sample: nothing, Stateful: true, Deterministic: true},
		"no dtype":      {Sample: nothing, Stateful: true, Outputs: make([]tensor.Spec, 1)},
	} {
		if _, err := pipeline.Define(pipeline.Options{}, func(p *pipeline.Builder) []pipeline.Node {
			return append(fn.Func(p, f), uniform(p, ""))
		}); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "Function.") {
			t.Errorf("%s: %v", name, err)
		}
	}
	short := tensor.FromSlice([]uint8{1})
	for name, c := range map[string]struct {
		f    fn.FuncArgs
		says string
	}{
		"fails":   {fn.FuncArgs{Sample: func([]tensor.Tensor) ([]tensor.Tensor, error) { return nil, errors.New("oh dear") }}, "oh dear"},
		"panics":  {fn.FuncArgs{Sample: func([]tensor.Tensor) ([]tensor.Tensor, error) { panic("oh no") }}, "oh no"},
		"outputs": {fn.FuncArgs{Sample: nothing}, "1 outputs"},
		"dtype": {fn.FuncArgs{Sample: func([]tensor.Tensor) ([]tensor.Tensor, error) {
			return []tensor.Tensor{tensor.FromSlice([]int8{1})}, nil
		}}, "uint8"},
		"shape": {fn.FuncArgs{Sample: func([]tensor.Tensor) ([]tensor.Tensor, error) {
			return []tensor.Tensor{tensor.New(tensor.Uint8, 1, 1)}, nil
		}}, "uint8"},
		"malformed": {fn.FuncArgs{Sample: func([]tensor.Tensor) ([]tensor.Tensor, error) {
			return []tensor.Tensor{{DType: tensor.Uint8, Shape: tensor.Shape{7}}}, nil
		}}, "output 0"},
		"batch fails":   {fn.FuncArgs{Batch: func([][]tensor.Tensor) ([][]tensor.Tensor, error) { return nil, errors.New("oh dear") }}, "oh dear"},
		"batch outputs": {fn.FuncArgs{Batch: batch}, "1 outputs"},
		"batch samples": {fn.FuncArgs{Batch: func([][]tensor.Tensor) ([][]tensor.Tensor, error) { return [][]tensor.Tensor{{short}}, nil }}, "2 samples"},
	} {
		c.f.Deterministic, c.f.Outputs = true, byteSpec
		p := start(t, pipeline.Options{BatchSize: 2}, func(p *pipeline.Builder) []pipeline.Node {
			return fn.Func(p, c.f,
				uniform(p, ""))
		})
		if _, err := p.Next(context.Background()); err == nil || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), "func") {
			t.Errorf("%s: %v, want one that says %q", name, err, c.says)
		}
	}
}
