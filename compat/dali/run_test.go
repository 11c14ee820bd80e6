package dali_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// recordedExec reads a list of what DALI did from the vectors, or skips the test.
func recordedExec[T any](t *testing.T, name string) []T {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "vectors", "dali", "exec.json"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no vectors here")
	}
	var all map[string]json.RawMessage
	var list []T
	if err := errors.Join(err, json.Unmarshal(b, &all)); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(all[name], &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// outcome is what DALI returned, or how it failed.
type outcome[T any] struct {
	OK    bool   `json:"ok"`
	Value T      `json:"value"`
	Type  string `json:"type"`
}

// options of a recorded pipeline: a simple executor makes each batch when it is asked for.
func recordedOptions(batch, prefetch int, opts map[string]any) dali.PipelineOptions {
	o := pipeline.Options{BatchSize: batch, Prefetch: prefetch, Workers: 1}
	if opts["exec_pipelined"] == false {
		o.Prefetch = pipeline.NoPrefetch
	}
	return native(o)
}

// native are options of a pipeline of which only the calls are DALI's.
func native(o pipeline.Options) dali.PipelineOptions {
	return dali.PipelineOptions{Options: o, Native: true}
}

func startPipe(t testing.TB, o dali.PipelineOptions, define func(p *pipeline.Builder) []pipeline.Node) *dali.Pipeline {
	t.Helper()
	d, err := dali.Define(o, define)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// numbersOf returns the numbers of each sample.
func numbersOf(t testing.TB, b *pipeline.Batch) (list [][]int32) {
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

func ints(v ...int32) tensor.Tensor { return tensor.FromSlice(v, len(v)) }

// firsts returns the first number of each sample.
func firsts(t testing.TB, b *pipeline.Batch) []any {
	t.Helper()
	list := []any{}
	for s := range b.Outputs[0].NumSamples() {
		v, err := tensor.Of[int32](b.Outputs[0].Sample(s))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, float64(v[0]))
	}
	return list
}

func TestRunAPIAsDALI(t *testing.T) {
	ctx := context.Background()
	type c struct {
		Sequence []string
		Opts     map[string]any
		Trace    outcome[[][]any]
	}
	for _, c := range recordedExec[c](t, "run_api") {
		p := startPipe(t, recordedOptions(1, 2, c.Opts), func(b *pipeline.Builder) []pipeline.Node {
			return pipeline.ExternalSource(b, pipeline.BatchFunc(func(_ context.Context, info pipeline.BatchInfo) ([]pipeline.Data, error) {
				return []pipeline.Data{[]tensor.Tensor{ints(int32(info.Iteration))}}, nil
			}), pipeline.SourceOptions{})
		})
		var got [][]any
		for _, call := range c.Sequence {
			var b *pipeline.Batch
			var value any
			var err error
			switch call {
			case "schedule_run":
				err = p.ScheduleRun(ctx)
			case "share_outputs":
				b, err = p.ShareOutputs(ctx)
			case "outputs":
				b, err = p.Outputs(ctx)
			case "release_outputs":
				err = p.ReleaseOutputs()
			case "run":
				b, err = p.Run(ctx, nil)
			case "reset":
				err = p.Reset()
			case "empty":
				value = p.Empty()
			}
			switch {
			case errors.Is(err, io.EOF):
				got = append(got, []any{call, "StopIteration", ""})
				continue
			case errors.Is(err, errs.Invalid):
				got = append(got, []any{call, "RuntimeError"})
				continue
			case err != nil:
				t.Fatal(err)
			case b != nil:
				value = firsts(t, b)
			}
			got = append(got, []any{call, value})
		}
		want := c.Trace.Value
		for i := range want {
			if want[i][1] == "RuntimeError" {
				want[i] = want[i][:2]
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v %v (-want +got):\n%s", c.Sequence, c.Opts, d)
		}
		p.Close()
	}
}

func TestFeedInputAsDALI(t *testing.T) {
	type value struct {
		Count int `json:"input_feed_count"`
		Trace [][]any
	}
	type c struct {
		Batch    int `json:"batch_size"`
		Prefetch int
		Batches  [][]int32
		Opts     map[string]any
		Result   outcome[value]
	}
	for _, c := range recordedExec[c](t, "feed_input") {
		p := startPipe(t, recordedOptions(c.Batch, c.Prefetch, c.Opts), func(b *pipeline.Builder) []pipeline.Node {
			return pipeline.ExternalSource(b, pipeline.Source{}, pipeline.SourceOptions{Name: "in"})
		})
		n, err := p.InputFeedCount("in")
		if err != nil {
			t.Fatal(err)
		}
		var failed error
		for _, batch := range c.Batches {
			var list []tensor.Tensor
			for _, v := range batch {
				list = append(list, ints(v))
			}
			failed = errors.Join(failed, p.FeedInput("in", list, nil))
		}
		if !c.Result.OK {
			if !errors.Is(failed, errs.Invalid) {
				t.Errorf("%v: got %v", c, failed)
			}
			continue
		}
		got := value{Count: n}
		for range c.Batches {
			b, err := p.Run(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			got.Trace = append(got.Trace, firsts(t, b))
		}
		if d := cmp.Diff(c.Result.Value, got); d != "" {
			t.Errorf("%+v (-want +got):\n%s", c, d)
		}
		p.Close()
	}
}

func TestCyclesAsDALI(t *testing.T) {
	cycles := map[any]pipeline.SourceOptions{nil: {}, false: {}, "no": {}, true: {Endless: true}, "quiet": {Endless: true},
		"raise": {EachEpoch: true}}
	type c struct {
		Items     int
		BatchSize int `json:"batch_size"`
		Cycle     any
		Batch     bool
		Trace     outcome[[]any] `json:"trace_reset_after_stop"`
	}
	for _, c := range recordedExec[c](t, "external_source_cycle") {
		var items []tensor.Tensor
		for i := range c.Items {
			items = append(items, ints(int32(i)))
		}
		src := pipeline.SampleSeq(sequence(slices.Collect(slices.Chunk(items, 1))))
		if c.Batch {
			var list [][]pipeline.Data
			for batch := range slices.Chunk(items, c.BatchSize) {
				list = append(list, []pipeline.Data{batch})
			}
			src = pipeline.BatchSeq(sequence(list))
		}
		p := startPipe(t, native(pipeline.Options{BatchSize: c.BatchSize}), func(b *pipeline.Builder) []pipeline.Node {
			return pipeline.ExternalSource(b, src, cycles[c.Cycle])
		})
		var got []any
		for range c.Trace.Value {
			b, err := p.Run(context.Background(), nil)
			switch {
			case errors.Is(err, io.EOF):
				got = append(got, "StopIteration")
				if err := p.Reset(); err != nil {
					t.Fatal(err)
				}
			case err != nil:
				t.Fatal(err)
			default:
				got = append(got, firsts(t, b))
			}
		}
		if d := cmp.Diff(c.Trace.Value, got); d != "" {
			t.Errorf("%+v (-want +got):\n%s", c, d)
		}
		p.Close()
	}
}

// sequence yields the values of a list.
func sequence[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// TestMissingBatchOfStaticExecutor holds Run with ExecDynamic off against DALI 2.4.0: the first run
// begins as many batches as are prefetched, and each one after it another. What was not fed by then
// fails the pipeline for good. What was begun before is delivered first.
func TestMissingBatchOfStaticExecutor(t *testing.T) {
	for _, c := range []struct {
		depth, fed int
		runs       string // one letter a run
		executor   dali.Toggle
	}{
		{1, 0, "xx", dali.Off},
		{1, 1, ".xx", dali.Off},
		{1, 3, "...xx", dali.Off},
		{2, 0, "xx", dali.Off},
		{2, 1, "xx", dali.Off},
		{2, 3, "...xx", dali.Off},
		{3, 2, "xx", dali.Off},
		{2, 1, ".", dali.Default},
	} {
		p := startPipe(t, dali.PipelineOptions{Options: pipeline.Options{BatchSize: 2, Prefetch: c.depth}, Native: true,
			ExecDynamic: c.executor}, func(b *pipeline.Builder) []pipeline.Node {
			return append(pipeline.ExternalSource(b, pipeline.Source{}, pipeline.SourceOptions{Name: "x"}),
				fn.RandomUniform(b, fn.RandomUniformArgs{}))
		})
		feed := func(v int32) {
			t.Helper()
			if err := p.FeedInput("x", []tensor.Tensor{ints(v), ints(v)}, nil); err != nil {
				t.Fatal(err)
			}
		}
		for i := range c.fed {
			feed(int32(i))
		}
		got := ""
		for i := range c.runs {
			b, err := p.Run(context.Background(), nil)
			if err != nil {
				got += "x"
				if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "node x") {
					t.Errorf("depth %d, %d fed: %v", c.depth, c.fed, err)
				}
				feed(9) // too late
				continue
			}
			got += "."
			if v := numbersOf(t, b); v[0][0] != int32(i) {
				t.Errorf("depth %d, %d fed: run %d gives %v", c.depth, c.fed, i, v)
			}
		}
		if got != c.runs {
			t.Errorf("depth %d, %d fed: runs %s, want %s", c.depth, c.fed, got, c.runs)
		}
		if c.executor == dali.Default {
			if _, err := p.Run(context.Background(), nil); err == nil {
				t.Error("a batch that was not fed")
			}
			feed(5)
			if _, err := p.Run(context.Background(), nil); err != nil {
				t.Errorf("a batch that was fed later: %v", err)
			}
		}
		p.Close()
	}
}
