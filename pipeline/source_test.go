package pipeline_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// external is a graph that delivers what a source gives, and random numbers.
func external(src pipeline.Source, o pipeline.SourceOptions) func(b *pipeline.Builder) []pipeline.Node {
	return func(b *pipeline.Builder) []pipeline.Node {
		return append(pipeline.ExternalSource(b, src, o), fn.RandomUniform(b, fn.RandomUniformArgs{}))
	}
}

// told is a source of what it is told; an epoch has n samples.
func told(n int64) pipeline.Source {
	return pipeline.SampleFunc(func(_ context.Context, i pipeline.SampleInfo) ([]tensor.Tensor, error) {
		if i.IdxInEpoch >= n {
			return nil, io.EOF
		}
		if i.IdxInBatch%2 == 0 {
			runtime.Gosched()
		}
		return []tensor.Tensor{ints(int32(i.IdxInEpoch), int32(i.IdxInBatch), int32(i.Iteration), int32(i.EpochIdx))}, nil
	})
}

func values(t testing.TB, b *pipeline.Batch) (list [][]int32) {
	t.Helper()
	for s := range b.Outputs[0].NumSamples() {
		v, err := tensor.Of[int32](b.Outputs[0].Sample(s))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, append([]int32(nil), v...))
	}
	return list
}

func TestSampleFuncIsTold(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 3}, external(told(10), pipeline.SourceOptions{}))
	var got [][]int32
	for range 2 {
		for b, err := range p.Batches(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if b.Epoch != int64(values(t, b)[0][3]) || b.Index != int64(values(t, b)[0][2]) {
				t.Errorf("the batch calls itself %d of %d", b.Index, b.Epoch)
			}
			got = append(got, values(t, b)...)
		}
	}
	var want [][]int32
	for epoch := range int32(2) {
		for i := range int32(9) { // the tenth does not fill a batch
			want = append(want, []int32{i, i % 3, i / 3, epoch})
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// run returns the digests of n batches, over ends of epochs.
func run(t testing.TB, p *pipeline.Pipeline, n int) (list []string) {
	t.Helper()
	for len(list) < n {
		b, err := p.Next(context.Background())
		if errors.Is(err, io.EOF) {
			if err := p.Reset(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, digestOf(b))
	}
	return list
}

// reading is a source with a state: the number of the next batch.
type reading struct{ next int32 }

func (r *reading) ReadBatch(context.Context) ([]pipeline.Data, error) {
	if r.next%5 == 4 {
		r.next++
		return nil, io.EOF
	}
	r.next++
	return []pipeline.Data{ints(r.next, 2*r.next)}, nil
}

func (r *reading) AppendState(dst []byte) ([]byte, error) {
	return binary.LittleEndian.AppendUint32(dst, uint32(r.next)), nil
}

func (r *reading) SetState(b []byte) error {
	if len(b) != 4 {
		return &errs.Error{Kind: errs.Corrupt}
	}
	r.next = int32(binary.LittleEndian.Uint32(b))
	return nil
}

func TestSourcesResume(t *testing.T) {
	for name, make := range map[string]func() pipeline.Source{
		"samples": func() pipeline.Source { return told(10) },
		"batches": func() pipeline.Source {
			return pipeline.BatchFunc(func(_ context.Context, i pipeline.BatchInfo) ([]pipeline.Data, error) {
				if i.Iteration == 4 {
					return nil, io.EOF
				}
				return []pipeline.Data{[]tensor.Tensor{ints(int32(i.Iteration)), ints(int32(i.EpochIdx))}[:1+i.Iteration%2]}, nil
			})
		},
		"state": func() pipeline.Source { return pipeline.From(&reading{}) },
	} {
		const n = 12
		o := pipeline.Options{BatchSize: 2, Seed: 3}
		p := start(t, o, external(make(), pipeline.SourceOptions{}))
		var want, states []string
		for range n {
			states = append(states, string(save(t, p)))
			want = append(want, run(t, p, 1)...)
		}
		for at, st := range states {
			for _, parallel := range []bool{false, true} {
				o.Prefetch, o.SourceWorkers = 1+at%3, 1+at%4
				q := start(t, o, external(make(), pipeline.SourceOptions{Parallel: parallel && name != "state", Prefetch: at % 3}))
				if at%2 == 0 && name != "state" {
					run(t, q, 1)
				}
				if err := q.SetState([]byte(st)); err != nil {
					t.Fatal(err)
				}
				if at == n-1 { // of a pipeline that nothing was asked before
					q = start(t, o, external(make(), pipeline.SourceOptions{}))
					if err := q.SetState([]byte(st)); err != nil {
						t.Fatal(err)
					}
				}
				if again := string(save(t, q)); again != st {
					t.Fatalf("%s, batch %d: the state was\n%s\nand is\n%s", name, at, st, again)
				}
				if d := cmp.Diff(want[at:], run(t, q, n-at)); d != "" {
					t.Fatalf("%s, interrupted before batch %d (-want +got):\n%s", name, at, d)
				}
				q.Close()
			}
		}
	}
}

func TestSourcesThatCannotResume(t *testing.T) {
	seq := func(yield func([]pipeline.Data, error) bool) {
		for yield([]pipeline.Data{ints(1)}, nil) {
		}
	}
	for name, src := range map[string]pipeline.Source{
		"sequence": pipeline.BatchSeq(seq),
		"function": pipeline.Func(func(context.Context) ([]pipeline.Data, error) { return []pipeline.Data{ints(1)}, nil }),
	} {
		p := start(t, pipeline.Options{}, external(src, pipeline.SourceOptions{Name: "s"}))
		first := save(t, p)
		if err := p.SetState(first); err != nil {
			t.Errorf("%s: at its beginning: %v", name, err)
		}
		next(t, p)
		err := start(t, pipeline.Options{}, external(src, pipeline.SourceOptions{Name: "s"})).SetState(save(t, p))
		if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "node s") ||
			!strings.Contains(err.Error(), "BatchFunc") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRanksShareASource(t *testing.T) {
	alone := start(t, pipeline.Options{BatchSize: 5}, external(told(20), pipeline.SourceOptions{}))
	var ranks []*pipeline.Pipeline
	for r := range 3 {
		ranks = append(ranks, start(t, pipeline.Options{BatchSize: 5, Rank: r, World: 3},
			external(told(20), pipeline.SourceOptions{Parallel: r == 1})))
	}
	for range 4 {
		want := values(t, next(t, alone))
		var got [][]int32
		for _, p := range ranks {
			got = append(got, values(t, next(t, p))...)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

// TestTryingAgainLosesNothing: what a sequence gave is there when its batch is made again.
func TestTryingAgainLosesNothing(t *testing.T) {
	bad := 2
	numbers := func(yield func([]pipeline.Data, error) bool) {
		for i := 0; ; i++ {
			var err error
			if i == bad {
				err = errs.Invalid
			}
			if !yield([]pipeline.Data{ints(int32(i))}, err) {
				return
			}
		}
	}
	for _, prefetch := range []int{pipeline.NoPrefetch, 1, 4} {
		p := start(t, pipeline.Options{Prefetch: prefetch},
			external(pipeline.BatchSeq(numbers), pipeline.SourceOptions{}))
		var got []int32
		failed := 0
		for len(got) < 6 {
			b, err := p.Next(context.Background())
			if errors.Is(err, errs.Invalid) {
				failed++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, values(t, b)[0][0])
		}
		if d := cmp.Diff([]int32{0, 1, 3, 4, 5, 6}, got); d != "" || failed != 1 {
			t.Errorf("prefetch %d: %d failures (-want +got):\n%s", prefetch, failed, d)
		}
	}
}

func TestRefusedData(t *testing.T) {
	give := func(data ...pipeline.Data) pipeline.Source {
		return pipeline.Func(func(context.Context) ([]pipeline.Data, error) { return data, nil })
	}
	i := int32(0)
	turns := pipeline.Func(func(context.Context) ([]pipeline.Data, error) {
		if i++; i == 1 {
			return []pipeline.Data{ints(1, 2)}, nil
		}
		return []pipeline.Data{tensor.FromSlice([]float32{1, 2}, 2)}, nil
	})
	layout := tensor.New(tensor.Uint8, 2, 3, 4, 3)
	layout.Layout = "HWC"
	for name, c := range map[string]struct {
		src  pipeline.Source
		o    pipeline.SourceOptions
		says string
	}{
		"too many":          {give([]tensor.Tensor{ints(1), ints(1), ints(1)}), pipeline.SourceOptions{}, "at most 2 samples"},
		"none":              {give([]tensor.Tensor{}), pipeline.SourceOptions{}, "at least one sample"},
		"dtypes":            {give([]tensor.Tensor{ints(1), tensor.FromSlice([]float32{1}, 1)}), pipeline.SourceOptions{}, "sample 1"},
		"ranks":             {give([]tensor.Tensor{ints(1), tensor.FromSlice([]int32{1}, 1, 1)}), pipeline.SourceOptions{}, "sample 1"},
		"outputs":           {give(ints(1), ints(1)), pipeline.SourceOptions{}, "data for 1 outputs"},
		"sizes":             {give(ints(1), ints(1, 2)), pipeline.SourceOptions{Outputs: 2}, "output 1"},
		"no data":           {give(7), pipeline.SourceOptions{}, "tensor.Tensor"},
		"no samples":        {give(tensor.New(tensor.Int32)), pipeline.SourceOptions{}, "first axis"},
		"declared dtype":    {give(ints(1)), pipeline.SourceOptions{Specs: []tensor.Spec{{DType: tensor.Uint8}}}, "dtype"},
		"declared rank":     {give(ints(1)), pipeline.SourceOptions{Specs: []tensor.Spec{{Shape: tensor.Shape{-1, -1}}}}, "dimensions"},
		"declared layout":   {give(layout), pipeline.SourceOptions{Specs: []tensor.Spec{{Layout: "CHW"}}}, "layout"},
		"another dtype now": {turns, pipeline.SourceOptions{}, "dtype"},
		"malformed":         {give([]tensor.Tensor{{DType: tensor.Int32, Shape: tensor.Shape{3}}}), pipeline.SourceOptions{}, "12 bytes"},
		"panic":             {pipeline.BatchFunc(func(context.Context, pipeline.BatchInfo) ([]pipeline.Data, error) { panic("ouch") }), pipeline.SourceOptions{Parallel: true}, "ouch"},
	} {
		c.o.Name = "s"
		p := start(t, pipeline.Options{BatchSize: 2}, external(c.src, c.o))
		var err error
		for range 3 {
			if _, err = p.Next(context.Background()); err != nil {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.says) ||
			name != "panic" && !strings.Contains(err.Error(), "node s") {
			t.Errorf("%s: got %v", name, err)
		}
		p.Close()
	}
}

func TestRefusedSources(t *testing.T) {
	for name, c := range map[string]struct {
		src pipeline.Source
		o   pipeline.SourceOptions
	}{
		"Endless":    {told(1), pipeline.SourceOptions{Endless: true}},
		"RepeatLast": {told(1), pipeline.SourceOptions{RepeatLast: true}},
		"Parallel":   {pipeline.Source{}, pipeline.SourceOptions{Parallel: true}},
		"Outputs":    {told(1), pipeline.SourceOptions{Outputs: -1}},
		"Specs":      {told(1), pipeline.SourceOptions{Outputs: 3, Specs: make([]tensor.Spec, 2)}},
		"Prefetch":   {told(1), pipeline.SourceOptions{Prefetch: -1}},
	} {
		if _, err := pipeline.Define(pipeline.Options{}, external(c.src, c.o)); !errors.Is(err, errs.Invalid) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestFeeding(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 4, Prefetch: 1}, func(b *pipeline.Builder) []pipeline.Node {
		in := pipeline.ExternalSource(b, pipeline.Source{}, pipeline.SourceOptions{Name: "in", RepeatLast: true})
		return append(in, b.Op("cast", op.Args{"dtype": tensor.Float32}, in[0])...)
	})
	if _, err := p.Next(context.Background()); !errors.Is(err, errs.Invalid) ||
		!strings.Contains(err.Error(), "feed one batch") {
		t.Errorf("nothing was fed: got %v", err)
	}
	data := tensor.FromSlice([]uint8{1, 2, 3, 4, 5, 6}, 3, 2)
	if err := p.Feed("in", []pipeline.Data{data}, &pipeline.FeedOptions{Layout: "C"}); err != nil {
		t.Fatal(err)
	}
	data.Data[0] = 99 // it was copied
	for range 3 {
		b := next(t, p)
		whole, err := b.Outputs[1].Tensor()
		if err != nil {
			t.Fatal(err)
		}
		v, err := tensor.Of[float32](whole)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]float32{1, 2, 3, 4, 5, 6}, v); d != "" || b.Outputs[0].Layout != "C" {
			t.Errorf("layout %q (-want +got):\n%s", b.Outputs[0].Layout, d)
		}
	}
	batch := tensor.NewBatch(tensor.Uint8, 1, 5)
	batch.Layout = "C"
	if err := p.Feed("in", []pipeline.Data{batch}, nil); err != nil {
		t.Fatal(err)
	}
	next(t, p) // the one before again, which was begun already
	if b := next(t, p); b.Outputs[0].NumSamples() != 1 || b.Outputs[0].Shape(0)[0] != 5 {
		t.Errorf("a batch of another size comes as %d of %v", b.Outputs[0].NumSamples(), b.Outputs[0].Shape(0))
	}
	for _, err := range []error{
		p.Feed("out", []pipeline.Data{data}, nil),
		p.Feed("in", []pipeline.Data{tensor.FromSlice([]int8{1}, 1, 1)}, nil),
		p.Feed("in", []pipeline.Data{tensor.New(tensor.Uint8, 5, 2)}, &pipeline.FeedOptions{Layout: "C"}),
		p.Feed("in", []pipeline.Data{data}, &pipeline.FeedOptions{Layout: "HWC"}),
	} {
		if err == nil {
			t.Error("bad data is taken")
		}
	}
}

// TestPipelinesOfOneDefinition are fed data of several kinds, at the same time.
func TestPipelinesOfOneDefinition(t *testing.T) {
	def, err := pipeline.Define(pipeline.Options{BatchSize: 2}, func(b *pipeline.Builder) []pipeline.Node {
		in := pipeline.ExternalSource(b, pipeline.Source{}, pipeline.SourceOptions{Name: "in"})
		return b.Op("cast", op.Args{"dtype": tensor.Float32}, in[0])
	})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 9 {
		all.Go(func() {
			p, err := def.New(context.Background(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer p.Close()
			data := []pipeline.Data{ints(7, 8), tensor.FromSlice([]uint8{7, 8}, 2, 1), tensor.FromSlice([]float64{7, 8}, 2)}[i%3]
			if err := p.Feed("in", []pipeline.Data{data}, nil); err != nil {
				t.Error(err)
				return
			}
			b, err := p.Next(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			if v, err := tensor.Of[float32](b.Outputs[0].Sample(1)); err != nil || v[0] != 8 || b.Outputs[0].NDim != i%3%2 {
				t.Errorf("%v of %d axes, %v", v, b.Outputs[0].NDim, err)
			}
		})
	}
	all.Wait()
}

func TestFeedingWithoutCopy(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 2}, func(b *pipeline.Builder) []pipeline.Node {
		return pipeline.ExternalSource(b, pipeline.Source{}, pipeline.SourceOptions{Name: "in"})
	})
	data := ints(1, 2)
	if err := p.Feed("in", []pipeline.Data{data}, &pipeline.FeedOptions{NoCopy: true}); err != nil {
		t.Fatal(err)
	}
	data.Data[0] = 9
	if v := firsts(t, next(t, p)); v[0] != 9.0 {
		t.Errorf("the data was copied: %v", v)
	}
}
