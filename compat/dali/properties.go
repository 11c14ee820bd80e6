package dali

import (
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Properties are the properties of DALI's pipelines, under DALI's names.
type Properties struct {
	MaxBatchSize, NumThreads int
	DeviceID                 *int // nil: CPU only
	Seed                     uint64
	ExecPipelined, ExecAsync bool
	// ExecDynamic is Default if DALI's dynamic executor was not requested and is not eligible.
	// Bivouac's executor is the same in any case.
	ExecDynamic                Toggle
	ExecSeparated              bool
	StreamPolicy               StreamPolicy
	Concurrency                Concurrency
	SetAffinity                bool
	MaxStreams                 int // -1
	PrefetchQueueDepth         int // with separated queues, the depth of the first
	CPUQueueSize, GPUQueueSize int
	DefaultCUDAStreamPriority  int // 0
	EnableMemoryStats          bool
	PyNumWorkers               int
	PyStartMethod              string
	IsRestoredFromCheckpoint   bool
	NumOutputs                 int
	OutputDType                []tensor.DType // of each output; invalid where nothing was declared
	OutputNDim                 []int          // of each output; AnyNDim where nothing was declared
}

// Properties returns the properties of the pipeline.
func (p *Pipeline) Properties() Properties {
	o, outputs := p.options, len(p.Specs())
	q := Properties{
		MaxBatchSize: o.BatchSize, NumThreads: o.Workers, Seed: o.Seed,
		ExecPipelined: o.ExecPipelined != Off, ExecAsync: o.ExecAsync != Off, ExecDynamic: o.ExecDynamic,
		ExecSeparated: o.separated(),
		StreamPolicy:  o.StreamPolicy, Concurrency: o.Concurrency, SetAffinity: o.SetAffinity, MaxStreams: -1,
		PrefetchQueueDepth: max(1, o.Prefetch), EnableMemoryStats: o.EnableMemoryStats,
		PyNumWorkers: max(0, o.PyNumWorkers), PyStartMethod: o.PyStartMethod,
		IsRestoredFromCheckpoint: o.Checkpoint != nil, NumOutputs: outputs,
	}
	if o.DeviceID != nil && *o.DeviceID >= 0 {
		q.DeviceID = o.DeviceID
	}
	if q.ExecDynamic == Default && q.ExecPipelined && q.ExecAsync && !q.ExecSeparated {
		q.ExecDynamic = On
	}
	q.CPUQueueSize, q.GPUQueueSize = q.PrefetchQueueDepth, q.PrefetchQueueDepth
	if o.separated() {
		q.PrefetchQueueDepth, q.CPUQueueSize, q.GPUQueueSize = o.CPUQueueSize, o.CPUQueueSize, o.GPUQueueSize
	}
	for i := range outputs {
		q.OutputDType = append(q.OutputDType, declared(o.OutputDType, i, tensor.Invalid))
		q.OutputNDim = append(q.OutputNDim, declared(o.OutputNDim, i, pipeline.AnyNDim))
	}
	return q
}
