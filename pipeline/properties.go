package pipeline

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/bivouac-ml/bivouac/tensor"
)

// Properties are what DALI's pipelines tell about themselves, by its names.
type Properties struct {
	MaxBatchSize, NumThreads int
	DeviceID                 *int // nil: CPU only
	Seed                     uint64
	ExecPipelined, ExecAsync bool
	// ExecDynamic is Default where DALI's dynamic executor was not asked for and is
	// not eligible. Bivouac's executor is the same in any case.
	ExecDynamic                Switch
	ExecSeparated              bool
	StreamPolicy               StreamPolicy
	Concurrency                Concurrency
	SetAffinity                bool
	MaxStreams                 int // -1
	PrefetchQueueDepth         int // of separated queues, that of the first
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

// Properties returns what DALI's pipelines tell about themselves.
func (p *Pipeline) Properties() Properties { return p.options.properties(len(p.Specs())) }

func (o Options) properties(outputs int) Properties {
	ask := o
	o = o.withDefaults()
	q := Properties{
		MaxBatchSize: o.BatchSize, NumThreads: o.NumThreads, Seed: o.Seed,
		ExecPipelined: o.ExecPipelined != Off, ExecAsync: o.ExecAsync != Off, ExecDynamic: ask.ExecDynamic, ExecSeparated: o.separated(),
		StreamPolicy: o.StreamPolicy, Concurrency: o.Concurrency, SetAffinity: o.SetAffinity, MaxStreams: -1,
		PrefetchQueueDepth: max(1, o.PrefetchDepth), EnableMemoryStats: o.EnableMemoryStats,
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
		ndim := AnyNDim
		if len(o.OutputNDim) > 0 {
			ndim = at(o.OutputNDim, i)
		}
		q.OutputDType, q.OutputNDim = append(q.OutputDType, at(o.OutputDType, i)), append(q.OutputNDim, ndim)
	}
	return q
}

// separated reports whether the queues are DALI's separated ones.
func (o Options) separated() bool { return o.CPUQueueSize > 0 }

// ahead returns how many batches are in the making while one is in use.
func (o Options) ahead() int {
	switch {
	case o.ExecPipelined == Off || o.ExecAsync == Off:
		return 0
	case o.separated():
		return o.CPUQueueSize
	}
	return max(0, o.PrefetchDepth)
}

// withoutEffect returns the names of the options that are set and change nothing.
func (o Options) withoutEffect() []string {
	var names []string
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"DeviceID", o.DeviceID != nil && *o.DeviceID >= 0},
		{"GPUQueueSize", o.GPUQueueSize != 0},
		{"MaxStreams", o.MaxStreams != 0},
		{"DefaultCUDAStreamPriority", o.DefaultCUDAStreamPriority != 0},
		{"StreamPolicy", o.StreamPolicy != StreamDefault},
		{"Concurrency", o.Concurrency != ConcurrencyDefault},
		{"PyStartMethod", o.PyStartMethod == "spawn"},
		{"PyCallbackPickler", o.PyCallbackPickler != nil},
	} {
		if f.set {
			names = append(names, f.name)
		}
	}
	return names
}

// warn says once what has no effect.
func (o Options) warn() {
	names := o.withoutEffect()
	if len(names) == 0 {
		return
	}
	log := o.Log
	if log == nil {
		log = slog.Default()
	}
	log.Warn(fmt.Sprintf("pipeline: options without effect on the CPU: %s", strings.Join(names, ", ")))
}
