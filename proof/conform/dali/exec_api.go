package dali

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/tensor"
)

// runAPI is a sequence of calls of a pipeline whose external source gives [i] in iteration i.
type runAPI struct {
	Sequence []string
	Opts     map[string]any
	Result   recorded `json:"trace"`
}

func (c *runAPI) expects() *recorded { return &c.Result }

func (c *runAPI) run(ctx context.Context) (any, error) {
	o := daliOptions(1, nil)
	o.Prefetch = 2
	if err := setOptions(&o, c.Opts); err != nil {
		return nil, err
	}
	p, err := newPipeline(ctx, o, func(b *pipeline.Builder) ([]pipeline.Node, error) {
		return pipeline.ExternalSource(b, pipeline.BatchFunc(func(_ context.Context, i pipeline.BatchInfo) ([]pipeline.Data, error) {
			return []pipeline.Data{[]tensor.Tensor{number32(i.Iteration)}}, nil
		}), pipeline.SourceOptions{}), nil
	})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	trace := [][]any{}
	for _, call := range c.Sequence {
		entry, err := callAPI(ctx, p, call)
		if err != nil {
			return nil, err
		}
		trace = append(trace, append([]any{call}, entry...))
	}
	c.ignoreTexts(trace)
	return trace, nil
}

// callAPI calls a method and returns its entry in the trace: the numbers of the batch, a flag,
// or the exception that stands for the error.
func callAPI(ctx context.Context, p *dali.Pipeline, call string) ([]any, error) {
	var b *pipeline.Batch
	var err error
	switch call {
	case "run":
		b, err = p.Run(ctx, nil)
	case "share_outputs":
		b, err = p.ShareOutputs(ctx)
	case "outputs":
		b, err = p.Outputs(ctx)
	case "schedule_run":
		err = p.ScheduleRun(ctx)
	case "release_outputs":
		err = p.ReleaseOutputs()
	case "reset":
		err = p.Reset()
	case "empty":
		return []any{p.Empty()}, nil
	default:
		return nil, fmt.Errorf("unknown call %q", call)
	}
	switch {
	case errors.Is(err, io.EOF):
		return []any{"StopIteration", ""}, nil
	case errors.Is(err, errs.Invalid):
		return []any{"RuntimeError", anyText}, nil
	case err != nil:
		return nil, err
	case b == nil:
		return []any{nil}, nil
	}
	numbers, err := decodeAll(samplesOf(b)[0], firstNumber)
	return []any{numbers}, err
}

// anyText stands for the text of an error, which is not compared.
const anyText = "\x00"

// ignoreTexts puts the recorded texts of errors in place of our own.
func (c *runAPI) ignoreTexts(trace [][]any) {
	want, err := suite.ParseJSON(c.Result.Value)
	list, ok := want.([]any)
	if err != nil || !ok {
		return
	}
	for i := range min(len(trace), len(list)) {
		if w, ok := list[i].([]any); ok && len(trace[i]) == 3 && len(w) == 3 && trace[i][2] == anyText {
			trace[i][2] = w[2]
		}
	}
}

// properties are what a pipeline with these options tells about itself, as texts of Python.
type properties struct {
	Opts   map[string]any
	Result recorded
}

func (c *properties) expects() *recorded { return &c.Result }

func (c *properties) run(ctx context.Context) (any, error) {
	o := daliOptions(2, nil)
	o.Seed, o.Prefetch = 0, 0
	if err := setOptions(&o, c.Opts); err != nil {
		return nil, err
	}
	p, err := newPipeline(ctx, o, func(b *pipeline.Builder) ([]pipeline.Node, error) { return b.Op("random.uniform", nil), nil })
	if err != nil {
		return nil, err
	}
	defer p.Close()
	q := p.Properties()
	depth := fmt.Sprint(q.PrefetchQueueDepth)
	if q.ExecSeparated {
		depth = fmt.Sprintf("{'cpu_size': %d, 'gpu_size': %d}", q.CPUQueueSize, q.GPUQueueSize)
	}
	none := func(isNone bool, v any) string {
		if isNone {
			return "None"
		}
		return fmt.Sprint(v)
	}
	return map[string]string{
		"exec_pipelined": python(q.ExecPipelined), "exec_async": python(q.ExecAsync), "exec_separated": python(q.ExecSeparated),
		"exec_dynamic":         map[dali.Toggle]string{dali.Default: "None", dali.On: "True", dali.Off: "False"}[q.ExecDynamic],
		"prefetch_queue_depth": depth, "cpu_queue_size": fmt.Sprint(q.CPUQueueSize), "gpu_queue_size": fmt.Sprint(q.GPUQueueSize),
		"stream_policy": none(q.StreamPolicy == dali.StreamDefault, q.StreamPolicy), "concurrency": none(q.Concurrency == dali.ConcurrencyDefault, q.Concurrency),
		"seed": none(q.Seed == 0, q.Seed), "py_num_workers": fmt.Sprint(q.PyNumWorkers), "py_start_method": q.PyStartMethod,
		"is_restored_from_checkpoint": python(q.IsRestoredFromCheckpoint), "max_streams": fmt.Sprint(q.MaxStreams),
		"default_cuda_stream_priority": fmt.Sprint(q.DefaultCUDAStreamPriority), "enable_memory_stats": python(q.EnableMemoryStats),
	}, nil
}

// python renders a bool as Python does.
func python(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// statistics are the statistics of the executor after a run.
type statistics struct {
	Opts   map[string]any
	Result recorded
}

func (c *statistics) expects() *recorded { return &c.Result }

// run checks our own expectation: one operator with one output, of which two samples of
// four float32 were made. DALI names the device, counts nodes of its executor, too, and in its
// dynamic executor, the default, nothing.
func (c *statistics) run(ctx context.Context) (any, error) {
	const sample, batch = 4 * 4, 2 * 4 * 4
	o := daliOptions(2, nil)
	o.EnableMemoryStats = true
	if err := setOptions(&o, c.Opts); err != nil {
		return nil, err
	}
	p, err := newPipeline(ctx, o, func(b *pipeline.Builder) ([]pipeline.Node, error) {
		return b.Op("random.uniform", op.Args{"shape": []int{4}}), nil
	})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if _, err := p.Run(ctx, nil); err != nil {
		return nil, err
	}
	all := p.ExecutorStatistics()
	s, ok := all["__Uniform_0"]
	if !ok || len(all) != 1 {
		return nil, fmt.Errorf("statistics of %v, want statistics of __Uniform_0", slices.Collect(maps.Keys(all)))
	}
	for _, f := range []struct {
		name     string
		got      []int64
		size     int64
		reserved bool
	}{
		{"real_memory_size", s.RealMemorySize, batch, false}, {"max_real_memory_size", s.MaxRealMemorySize, sample, false},
		{"reserved_memory_size", s.ReservedMemorySize, batch, true}, {"max_reserved_memory_size", s.MaxReservedMemorySize, sample, true},
	} {
		if len(f.got) != 1 || f.got[0] < f.size || !f.reserved && f.got[0] != f.size {
			return nil, fmt.Errorf("%s: %v, want one of %d bytes, what is reserved may be more", f.name, f.got, f.size)
		}
	}
	return nil, nil
}
