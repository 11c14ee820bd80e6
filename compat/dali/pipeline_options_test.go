package dali_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

func number(p *pipeline.Builder) []pipeline.Node {
	return []pipeline.Node{fn.RandomUniform(p, fn.RandomUniformArgs{Name: "x"})}
}

func two(p *pipeline.Builder) []pipeline.Node {
	return append(number(p), fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{Shape: op.Const([]int{2}), DType: tensor.Uint8}))
}

func TestProperties(t *testing.T) {
	zero, gpu := 0, -99999
	base := dali.Properties{
		MaxBatchSize: 4, NumThreads: 1, ExecPipelined: true, ExecAsync: true, ExecDynamic: dali.On, MaxStreams: -1,
		PrefetchQueueDepth: 2, CPUQueueSize: 2, GPUQueueSize: 2, PyNumWorkers: 1, PyStartMethod: "fork",
		NumOutputs: 2, OutputDType: make([]tensor.DType, 2), OutputNDim: []int{pipeline.AnyNDim, pipeline.AnyNDim},
	}
	for name, c := range map[string]struct {
		set  func(o *dali.PipelineOptions)
		want func(p *dali.Properties)
	}{
		"defaults": {func(*dali.PipelineOptions) {}, func(*dali.Properties) {}},
		"no GPU":   {func(o *dali.PipelineOptions) { o.DeviceID = &gpu }, func(*dali.Properties) {}},
		"on CPU": {func(o *dali.PipelineOptions) { o.DeviceID, o.Device = &zero, pipeline.RunOnCPU },
			func(p *dali.Properties) { p.DeviceID = &zero }},
		"not pipelined": {func(o *dali.PipelineOptions) { o.ExecPipelined, o.ExecAsync = dali.Off, dali.Off },
			func(p *dali.Properties) {
				p.ExecPipelined, p.ExecAsync, p.ExecDynamic = false, false, dali.Default
			}},
		"not async": {func(o *dali.PipelineOptions) { o.ExecAsync = dali.Off },
			func(p *dali.Properties) { p.ExecAsync, p.ExecDynamic = false, dali.Default }},
		"not dynamic": {func(o *dali.PipelineOptions) { o.ExecDynamic = dali.Off },
			func(p *dali.Properties) { p.ExecDynamic = dali.Off }},
		"separated": {func(o *dali.PipelineOptions) { o.CPUQueueSize, o.GPUQueueSize = 3, 2 },
			func(p *dali.Properties) {
				p.ExecSeparated, p.ExecDynamic, p.PrefetchQueueDepth, p.CPUQueueSize = true, dali.Default, 3, 3
			}},
		"deep": {func(o *dali.PipelineOptions) { o.Prefetch = 5 },
			func(p *dali.Properties) { p.PrefetchQueueDepth, p.CPUQueueSize, p.GPUQueueSize = 5, 5, 5 }},
		"hints": {func(o *dali.PipelineOptions) {
			o.StreamPolicy, o.Concurrency, o.MaxStreams, o.DefaultCUDAStreamPriority = dali.StreamSingle, dali.ConcurrencyFull, 3, 1
			o.SetAffinity, o.EnableMemoryStats, o.PyStartMethod, o.PyCallbackPickler = true, true, "spawn", 1
		}, func(p *dali.Properties) {
			p.StreamPolicy, p.Concurrency, p.SetAffinity, p.EnableMemoryStats, p.PyStartMethod = dali.StreamSingle, dali.ConcurrencyFull, true, true, "spawn"
		}},
		"declared": {func(o *dali.PipelineOptions) {
			o.OutputDType, o.OutputNDim = []tensor.DType{tensor.Float32, tensor.Uint8}, []int{pipeline.AnyNDim, 1}
		}, func(p *dali.Properties) {
			p.OutputDType, p.OutputNDim = []tensor.DType{tensor.Float32, tensor.Uint8}, []int{pipeline.AnyNDim, 1}
		}},
	} {
		o := dali.PipelineOptions{Options: pipeline.Options{BatchSize: 4, Workers: 1}, Native: true,
			Log: slog.New(slog.DiscardHandler)}
		c.set(&o)
		want := base
		c.want(&want)
		p := startPipe(t, o, two)
		if _, err := p.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, p.Properties()); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestPipelineOptionMistakes(t *testing.T) {
	zero := 0
	for field, o := range map[string]dali.PipelineOptions{
		"ExecAsync":         {CPUQueueSize: 2, GPUQueueSize: 2, ExecAsync: dali.Off},
		"CPUQueueSize":      {GPUQueueSize: 2},
		"ExecPipelined":     {ExecPipelined: 9},
		"ExecDynamic":       {ExecDynamic: 9},
		"PyStartMethod":     {PyStartMethod: "forkserver"},
		"PyCallbackPickler": {PyCallbackPickler: 1},
		"BytesPerSample":    {Options: pipeline.Options{BytesPerSample: -1}},
		"StreamPolicy":      {StreamPolicy: 9},
		"Concurrency":       {Concurrency: 9},
		"Device":            {Options: pipeline.Options{Device: 9}},
		"PyNumWorkers":      {PyNumWorkers: -2},
		"DeviceID":          {DeviceID: &zero},
		"OutputDType":       {Options: pipeline.Options{OutputDType: []tensor.DType{255}}},
		"OutputNDim":        {Options: pipeline.Options{OutputNDim: []int{-2}}},
		"OutputLayout":      {Options: pipeline.Options{OutputNDim: []int{1}, OutputLayout: []string{"HWC"}}},
	} {
		want := errs.Invalid
		if field == "DeviceID" {
			want = errs.Unsupported
		}
		if _, err := dali.Define(o, two); !errors.Is(err, want) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestOptionsWithoutEffectAreSaidOnce(t *testing.T) {
	var text bytes.Buffer
	o := dali.PipelineOptions{MaxStreams: 2, ExecDynamic: dali.Off, Log: slog.New(slog.NewTextHandler(&text, nil))}
	startPipe(t, o, number)
	if got := text.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "MaxStreams") {
		t.Errorf("said %q", got)
	}
	text.Reset()
	startPipe(t, dali.PipelineOptions{Log: o.Log}, number)
	if text.Len() > 0 {
		t.Errorf("said %q", text.String())
	}
}
