package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// lateBatches is a function of a test: batch n of it is made by kinds[n % len(kinds)].
type lateBatches struct {
	kinds []func(value float32) tensor.Tensor
	calls int
	seen  []float32 // the inputs, in the order of the calls
	busy  atomic.Int32
	fails map[int]error // by the number of the call
}

func (l *lateBatches) batch(n int, in [][]tensor.Tensor) ([][]tensor.Tensor, error) {
	if l.busy.Add(1) > 1 {
		return nil, errors.New("calls overlap")
	}
	defer l.busy.Add(-1)
	call := l.calls
	l.calls++
	if err := l.fails[call]; err != nil {
		delete(l.fails, call)
		l.calls--
		return nil, err
	}
	out := make([]tensor.Tensor, n)
	for s, t := range in[0] {
		l.seen = append(l.seen, float(t))
		out[s] = l.kinds[call%len(l.kinds)](float(t))
	}
	return [][]tensor.Tensor{out}, nil
}

func asFloat(v float32) tensor.Tensor { return tensor.FromSlice([]float32{v, v}) }
func asScalar(v float32) tensor.Tensor {
	t := tensor.FromSlice([]int32{int32(v * 1000)}, 1)
	t.Shape = tensor.Shape{}
	return t
}
func asBytes(v float32) tensor.Tensor { return tensor.FromSlice([]uint8{1, uint8(v * 100)}, 1, 2) }

// describeBatch says what is in an output, kind and values.
func describeBatch(b *tensor.Batch) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%v %d %q", b.DType, b.NDim, b.Layout)
	for s := range b.NumSamples() {
		t := b.Sample(s)
		fmt.Fprintf(&text, " %v%v", t.Shape, t.Data)
	}
	return text.String()
}

// A function may return another dtype and another number of dimensions with every batch. The
// operators after it see each kind, whatever the threads and the batches ahead. It is called once
// for each batch, in order.
func TestLateOutputs(t *testing.T) {
	const batches = 12
	var want []string
	for _, o := range []pipeline.Options{
		{Workers: 1, Prefetch: pipeline.NoPrefetch}, {Workers: 1}, {Workers: 4, Prefetch: 3}, {Workers: 2, Prefetch: 7},
	} {
		o.BatchSize, o.Seed = 3, 5
		late := &lateBatches{kinds: []func(float32) tensor.Tensor{asFloat, asFloat, asScalar, asBytes, asScalar}}
		p := start(t, o, func(p *pipeline.Builder) []pipeline.Node {
			x := uniform(p, "x")
			y := p.CallLate(pipeline.LateFunction{Name: "late", Batch: late.batch, Layouts: []string{""}}, x)[0]
			z := fn.Cast(p, y, fn.CastArgs{DType: tensor.Float64})
			return []pipeline.Node{x, y, z}
		})
		var got []string
		var inputs []float32
		for range batches {
			b := next(t, p)
			for s := range b.Outputs[0].NumSamples() {
				inputs = append(inputs, float(b.Outputs[0].Sample(s)))
			}
			got = append(got, describeBatch(b.Outputs[1])+" / "+describeBatch(b.Outputs[2]))
		}
		if want == nil {
			want = got
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%+v (-first +now):\n%s", o, d)
		}
		p.Close()
		if d := cmp.Diff(inputs, late.seen[:len(inputs)]); d != "" {
			t.Errorf("%+v: calls (-want +got):\n%s", o, d)
		}
	}
	for i, kind := range []string{"float32 1", "float32 1", "int32 0", "uint8 2", "int32 0", "float32 1"} {
		if !strings.HasPrefix(want[i], kind) {
			t.Errorf("batch %d is %s, want %s", i, want[i], kind)
		}
	}
}

// An error of a function leaves the stream where it was. Nothing is called for the batches behind
// it, and the next try calls the function for that batch again.
func TestLateFails(t *testing.T) {
	for _, prefetch := range []int{pipeline.NoPrefetch, 1, 4} {
		late := &lateBatches{kinds: []func(float32) tensor.Tensor{asFloat}, fails: map[int]error{
			0: errors.New("oh dear"), 3: errors.New("oh no")}}
		p := start(t, pipeline.Options{BatchSize: 2, Seed: 5, Workers: 3, Prefetch: prefetch},
			func(p *pipeline.Builder) []pipeline.Node {
				x := uniform(p, "x")
				return append(p.CallLate(pipeline.LateFunction{Batch: late.batch, Layouts: []string{"A"}}, x), x)
			})
		var says []string
		var inputs []float32
		for len(inputs) < 12 {
			b, err := p.Next(context.Background())
			if err != nil {
				says = append(says, err.Error())
				continue
			}
			for s := range 2 {
				inputs = append(inputs, float(b.Outputs[1].Sample(s)))
			}
			if b.Outputs[0].Layout != "A" {
				t.Errorf("layout %q", b.Outputs[0].Layout)
			}
		}
		p.Close()
		if len(says) != 2 || !strings.Contains(says[0], "oh dear") || !strings.Contains(says[1], "oh no") {
			t.Errorf("prefetch %d: errors %q", prefetch, says)
		}
		if d := cmp.Diff(inputs, late.seen[:len(inputs)]); d != "" {
			t.Errorf("prefetch %d: calls (-want +got):\n%s", prefetch, d)
		}
	}
}

// A batch that fails after the function is made again from what the function has made.
func TestLateMadeOnce(t *testing.T) {
	late := &lateBatches{kinds: []func(float32) tensor.Tensor{asFloat}}
	broken := true
	p := start(t, pipeline.Options{BatchSize: 2, Workers: 2, Prefetch: 3}, func(p *pipeline.Builder) []pipeline.Node {
		y := p.CallLate(pipeline.LateFunction{Batch: late.batch, Layouts: []string{""}}, uniform(p, "x"))[0]
		spec := tensor.Spec{DType: tensor.Float32, Shape: tensor.Shape{-1}}
		return fn.Func(p, fn.FuncArgs{Stateful: true, Outputs: []tensor.Spec{spec},
			Batch: func(in [][]tensor.Tensor) ([][]tensor.Tensor, error) {
				if broken {
					broken = false
					return nil, errors.New("once")
				}
				return in, nil
			}}, y)
	})
	if _, err := p.Next(context.Background()); err == nil || !strings.Contains(err.Error(), "once") {
		t.Fatalf("got %v", err)
	}
	got := describeBatch(next(t, p).Outputs[0])
	p.Close()
	if want := describeBatch(batchOf(asFloat(late.seen[0]), asFloat(late.seen[1]))); got != want {
		t.Errorf("got %s, want what the first call has made, %s", got, want)
	}
	for i := 2; i < len(late.seen); i++ {
		if late.seen[i] == late.seen[0] {
			t.Errorf("input %d is of the first batch again", i)
		}
	}
}

// batchOf returns a batch of samples.
func batchOf(samples ...tensor.Tensor) *tensor.Batch {
	var b tensor.Batch
	b.Reset(samples[0].DType, len(samples[0].Shape), "")
	for _, t := range samples {
		if err := b.Append(t); err != nil {
			panic(err)
		}
	}
	return &b
}

// An operator that does not take what the function has made is an error, and the stream stays.
func TestLateRefused(t *testing.T) {
	late := &lateBatches{kinds: []func(float32) tensor.Tensor{asFloat}}
	p := start(t, pipeline.Options{BatchSize: 2}, func(p *pipeline.Builder) []pipeline.Node {
		y := p.CallLate(pipeline.LateFunction{Name: "late", Batch: late.batch, Layouts: []string{""}}, uniform(p, "x"))[0]
		return fn.Resize(p, y, fn.ResizeArgs{ResizeX: op.Const(2.0)})
	})
	for range 2 {
		if _, err := p.Next(context.Background()); err == nil || !strings.Contains(err.Error(), "resize") {
			t.Fatalf("got %v, want an error of resize", err)
		}
	}
	if late.calls != 1 {
		t.Errorf("%d calls, want one: no other batch is begun", late.calls)
	}
}

// In a branch the function gets the samples of the branch, and no call without any. The kind that
// it returns is known late there too.
func TestLateInBranch(t *testing.T) {
	for _, prefetch := range []int{pipeline.NoPrefetch, 3} {
		late := &lateBatches{kinds: []func(float32) tensor.Tensor{func(v float32) tensor.Tensor {
			d := asFloat(v + 1)
			d.Shape, d.Data = tensor.Shape{}, d.Data[:4]
			return d
		}}}
		p := start(t, pipeline.Options{BatchSize: 4, Seed: 2, Prefetch: prefetch}, func(p *pipeline.Builder) []pipeline.Node {
			x := uniform(p, "x")
			y := p.If(x.Greater(float32(0.9)), func() []pipeline.Node {
				return p.CallLate(pipeline.LateFunction{Batch: late.batch, Layouts: []string{""}}, x)
			}, func() []pipeline.Node { return []pipeline.Node{x} })
			return append(y, x)
		})
		empty := 0
		for range 20 {
			b := next(t, p)
			high := 0
			for s := range 4 {
				v, want := float(b.Outputs[0].Sample(s)), float(b.Outputs[1].Sample(s))
				if want > 0.9 {
					want, high = want+1, high+1
				}
				if v != want {
					t.Errorf("sample %d is %g, want %g", s, v, want)
				}
			}
			if high == 0 {
				empty++
			}
		}
		p.Close()
		if empty == 0 || len(late.seen) == 0 {
			t.Errorf("%d batches without the branch, %d calls: the test tests nothing", empty, late.calls)
		}
		for _, v := range late.seen {
			if v <= 0.9 {
				t.Errorf("the function got %g", v)
			}
		}
	}
}

// A state in the middle continues with the same batches.
func TestLateResumes(t *testing.T) {
	define := func() *pipeline.Pipeline {
		late := &lateBatches{kinds: []func(float32) tensor.Tensor{asFloat}}
		return start(t, pipeline.Options{BatchSize: 2, Seed: 9, Prefetch: 3}, func(p *pipeline.Builder) []pipeline.Node {
			return p.CallLate(pipeline.LateFunction{Batch: late.batch, Layouts: []string{""}}, uniform(p, "x"))
		})
	}
	p := define()
	next(t, p)
	state, err := p.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := describeBatch(next(t, p).Outputs[0])
	if err := p.SetState(state); err != nil {
		t.Fatal(err)
	}
	if got := describeBatch(next(t, p).Outputs[0]); got != want {
		t.Errorf("moved back: got %s, want %s", got, want)
	}
	q := define()
	if err := q.SetState(state); err != nil {
		t.Fatal(err)
	}
	if got := describeBatch(next(t, q).Outputs[0]); got != want {
		t.Errorf("resumed: got %s, want %s", got, want)
	}
}

func TestLateMistakes(t *testing.T) {
	if _, err := pipeline.Define(pipeline.Options{}, func(p *pipeline.Builder) []pipeline.Node {
		return p.CallLate(pipeline.LateFunction{Layouts: []string{""}}, uniform(p, "x"))
	}); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "Late.Batch") {
		t.Errorf("no function: %v", err)
	}
	two := func(a, b tensor.Tensor) [][]tensor.Tensor { return [][]tensor.Tensor{{a, b}} }
	for says, made := range map[string][][]tensor.Tensor{
		"1 outputs":    {},
		"2 samples":    {{asFloat(1)}},
		"first sample": two(asBytes(1), asFloat(1)),
		"sample 1":     two(asBytes(1), tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{1, 7}}),
		"layout AB":    two(asFloat(1), asFloat(1)),
	} {
		p := start(t, pipeline.Options{BatchSize: 2}, func(p *pipeline.Builder) []pipeline.Node {
			f := func(int, [][]tensor.Tensor) ([][]tensor.Tensor, error) { return made, nil }
			return p.CallLate(pipeline.LateFunction{Layouts: []string{"AB"}, Batch: f}, uniform(p, "x"))
		})
		if _, err := p.Next(context.Background()); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), "func") {
			t.Errorf("%v, want one that says %q", err, says)
		}
	}
	p := start(t, pipeline.Options{BatchSize: 2}, func(p *pipeline.Builder) []pipeline.Node {
		f := func(int, [][]tensor.Tensor) ([][]tensor.Tensor, error) { panic("oh no") }
		return p.CallLate(pipeline.LateFunction{Layouts: []string{""}, Batch: f}, uniform(p, "x"))
	})
	if _, err := p.Next(context.Background()); err == nil || !strings.Contains(err.Error(), "oh no") {
		t.Errorf("a panic: %v", err)
	}
}
