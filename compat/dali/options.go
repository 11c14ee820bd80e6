package dali

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Bits of executor_type and executor_flags.
const (
	execPipelined, execAsync, execSeparated, execDynamic = 1, 2, 4, 8

	flagAffinity               = 1
	flagNoConcurrency          = 2
	flagBackend                = 4 // what DALI writes by default
	flagFull                   = 6
	maskConcurrency            = 6
	flagSingle, flagPerBackend = 16, 32
	flagPerOperator            = 48
	maskStreams                = 0x70
)

// optionsOf returns the options that a serialized pipeline contains.
func optionsOf(p *pipeproto.Pipeline) (PipelineOptions, error) {
	o := PipelineOptions{Options: pipeline.Options{BatchSize: int(p.BatchSize), Workers: 4, Prefetch: 2}}
	if p.BatchSize < 1 {
		return o, &errs.Error{Kind: errs.Invalid, Subject: "batch_size", Want: "at least 1",
			Got: fmt.Sprint(p.BatchSize)}
	}
	if p.NumThreads != nil {
		if o.Workers = int(*p.NumThreads); o.Workers < 1 {
			return o, &errs.Error{Kind: errs.Invalid, Subject: "num_threads", Want: "at least 1",
				Got: fmt.Sprint(o.Workers)}
		}
	}
	if p.Seed != nil && *p.Seed != -1 {
		o.Seed = uint64(*p.Seed)
	}
	if p.DeviceID != nil {
		id := int(*p.DeviceID)
		o.DeviceID = &id
	}
	o.EnableCheckpointing = p.EnableCheckpointing != nil && *p.EnableCheckpointing
	if p.BytesPerSampleHint != nil {
		o.BytesPerSample = int(max(0, *p.BytesPerSampleHint))
	}
	for name, depth := range map[string]*int32{"prefetch_queue_depth_cpu": p.PrefetchCPU,
		"prefetch_queue_depth_gpu": p.PrefetchGPU} {
		if depth != nil && *depth < 1 {
			return o, &errs.Error{Kind: errs.Invalid, Subject: name, Want: "at least 1", Got: fmt.Sprint(*depth)}
		}
	}
	executorOf(p, &o)
	for _, e := range p.Outputs {
		ndim, dtype := pipeline.AnyNDim, tensor.Invalid
		if e.NDim != nil && *e.NDim >= 0 {
			ndim = int(*e.NDim)
		}
		if e.DType != nil {
			dtype, _ = dtypeOf(int64(*e.DType))
		}
		o.OutputNDim, o.OutputDType, o.OutputLayout = append(o.OutputNDim, ndim), append(o.OutputDType,
			dtype), append(o.OutputLayout, e.Layout)
	}
	return o, nil
}

// executorOf sets options from the executor type, flags and queues.
func executorOf(p *pipeproto.Pipeline, o *PipelineOptions) {
	depth := func(field *int32) int {
		if field == nil {
			return 2
		}
		return int(*field)
	}
	o.Prefetch = depth(p.PrefetchCPU)
	if p.ExecutorType != nil {
		t := *p.ExecutorType
		off := func(bit int32) Toggle {
			if t&bit == 0 {
				return Off
			}
			return Default
		}
		o.ExecPipelined, o.ExecAsync, o.ExecDynamic = off(execPipelined), off(execAsync), off(execDynamic)
		if t&execSeparated != 0 {
			o.CPUQueueSize, o.GPUQueueSize = depth(p.PrefetchCPU), depth(p.PrefetchGPU)
		}
	}
	if p.ExecutorFlags == nil {
		return
	}
	flags := *p.ExecutorFlags
	o.SetAffinity = flags&flagAffinity != 0
	o.Concurrency = map[int32]Concurrency{flagNoConcurrency: ConcurrencyNone,
		flagFull: ConcurrencyFull}[flags&maskConcurrency]
	o.StreamPolicy = map[int32]StreamPolicy{
		flagSingle: StreamSingle, flagPerBackend: StreamPerBackend, flagPerOperator: StreamPerOperator,
	}[flags&maskStreams]
}

// describe sets the fields of a serialized pipeline from the options.
func describe(p *pipeproto.Pipeline, o PipelineOptions) {
	threads, seed, device := int32(max(1, o.Workers)), int64(o.Seed), int32(pipeproto.NoDevice)
	hint, checkpointing := int64(o.BytesPerSample), o.EnableCheckpointing
	p.NumThreads, p.BatchSize, p.Seed, p.DeviceID = &threads, int32(max(1, o.BatchSize)), &seed, &device
	p.BytesPerSampleHint, p.EnableCheckpointing = &hint, &checkpointing

	depth := int32(o.Prefetch)
	if depth < 1 {
		depth = 2
	}
	cpu, gpu := depth, depth
	kind := int32(execPipelined | execAsync)
	if o.ExecPipelined == Off || o.Prefetch == pipeline.NoPrefetch {
		kind = 0
	} else if o.ExecAsync == Off {
		kind = execPipelined
	}
	switch {
	case o.CPUQueueSize > 0:
		kind |= execSeparated
		cpu, gpu = int32(o.CPUQueueSize), int32(o.GPUQueueSize)
	case kind == execPipelined|execAsync && o.ExecDynamic != Off:
		kind |= execDynamic
	}
	flags := int32(flagBackend)
	switch o.Concurrency {
	case ConcurrencyNone:
		flags = flagNoConcurrency
	case ConcurrencyFull:
		flags = flagFull
	}
	switch o.StreamPolicy {
	case StreamSingle:
		flags |= flagSingle
	case StreamPerBackend:
		flags |= flagPerBackend
	case StreamPerOperator:
		flags |= flagPerOperator
	}
	if o.SetAffinity {
		flags |= flagAffinity
	}
	p.ExecutorType, p.ExecutorFlags, p.PrefetchCPU, p.PrefetchGPU = &kind, &flags, &cpu, &gpu
}
