package dali

import (
	"fmt"
	"log/slog"
	"reflect"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/enum"
	"github.com/bivouac-ml/bivouac/internal/toggle"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// PipelineOptions are the arguments of DALI's Pipeline and pipeline_def: arguments that the engine
// has too, and arguments that only DALI has. The zero PipelineOptions work.
type PipelineOptions struct {
	pipeline.Options // Compat is Mode, unless Compat or Native is set

	// Native keeps Bivouac's own names, orders, random numbers and states. Only the method names are
	// DALI's.
	Native bool
	// EnableCheckpointing makes the pipeline return and accept states in DALI's mode. It changes the
	// order of readers with shuffle_after_epoch. Bivouac's own mode does not need it.
	EnableCheckpointing bool
	// Checkpoint is the state at which to begin. nil means the beginning.
	Checkpoint []byte

	// ExecPipelined says whether batches are made ahead of their use. ExecAsync says whether other
	// goroutines make them. Both are the default.
	ExecPipelined, ExecAsync Toggle
	// ExecDynamic Off makes Run fail permanently if a batch was not fed before it begins, even if it
	// begins ahead of its use. Otherwise Run fails while it has no batch, and continues when a batch
	// is fed.
	ExecDynamic Toggle
	// CPUQueueSize and GPUQueueSize are the separated queues and are set together. The first is the
	// number of batches ahead, like Prefetch. The second has no effect.
	CPUQueueSize, GPUQueueSize int
	// PyNumWorkers is the engine's SourceWorkers: how many calls of parallel external sources run
	// at a time. 0 means 1; NoPyWorkers makes no goroutines for them.
	PyNumWorkers int
	// DeviceID is the GPU to use. nil and negative numbers mean no GPU. Other values are errors.
	DeviceID *int

	// The following options can be read back and have no effect. The log says so once.

	MaxStreams                int
	DefaultCUDAStreamPriority int
	StreamPolicy              StreamPolicy
	Concurrency               Concurrency
	PyStartMethod             string // fork (the default) or spawn
	PyCallbackPickler         any    // needs spawn

	// Log takes warnings; nil is slog.Default.
	Log *slog.Logger
}

// NoPyWorkers as PipelineOptions.PyNumWorkers makes no goroutines for parallel external sources.
const NoPyWorkers = -1

// defaultDepth is the engine's default of Prefetch.
const defaultDepth = 2

// Toggle is a choice that may be not set.
type Toggle = toggle.Toggle

// The choices.
const (
	Default = toggle.Default
	On      = toggle.On
	Off     = toggle.Off
)

// StreamPolicy is DALI's choice of CUDA streams.
type StreamPolicy uint8

// The policies.
const (
	StreamDefault StreamPolicy = iota
	StreamSingle
	StreamPerBackend
	StreamPerOperator
)

// String returns DALI's name in lower case.
func (p StreamPolicy) String() string {
	return enum.Name(p, []string{"default", "single", "per_backend", "per_operator"}, "StreamPolicy(%d)")
}

// Concurrency is DALI's choice of operators that run at the same time.
type Concurrency uint8

// The choices.
const (
	ConcurrencyDefault Concurrency = iota
	ConcurrencyNone
	ConcurrencyBackend
	ConcurrencyFull
)

// String returns DALI's name in lower case.
func (c Concurrency) String() string {
	return enum.Name(c, []string{"default", "none", "backend", "full"}, "Concurrency(%d)")
}

// Override returns o with the fields that are set in by replaced. nil replaces nothing.
func (o PipelineOptions) Override(by *PipelineOptions) PipelineOptions {
	if by == nil {
		return o
	}
	over := *by
	fields, defaults := reflect.ValueOf(&over).Elem(), reflect.ValueOf(o)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			fields.Field(i).Set(defaults.Field(i))
		}
	}
	over.Options = o.Options.Override(&by.Options)
	return over
}

// Validate returns an error that names the first wrong field.
func (o PipelineOptions) Validate() error {
	queues := fmt.Sprintf("%d and %d", o.CPUQueueSize, o.GPUQueueSize)
	switch {
	case o.ExecPipelined > Off:
		return invalid("ExecPipelined", "Default, On or Off", o.ExecPipelined)
	case o.ExecAsync > Off:
		return invalid("ExecAsync", "Default, On or Off", o.ExecAsync)
	case o.ExecDynamic > Off:
		return invalid("ExecDynamic", "Default, On or Off", o.ExecDynamic)
	case (o.CPUQueueSize == 0) != (o.GPUQueueSize == 0):
		return invalid("CPUQueueSize", "GPUQueueSize with it, or neither", queues)
	case o.CPUQueueSize < 0 || o.CPUQueueSize > 1<<10 || o.GPUQueueSize < 0:
		return invalid("CPUQueueSize", "1 to 1024", queues)
	case o.separated() && o.ExecAsync == Off:
		return invalid("ExecAsync", "not Off with separated queues", o.ExecAsync)
	case o.PyNumWorkers < NoPyWorkers || o.PyNumWorkers > 1<<12:
		return invalid("PyNumWorkers", "1 to 4096, or NoPyWorkers", o.PyNumWorkers)
	case o.PyStartMethod != "" && o.PyStartMethod != "fork" && o.PyStartMethod != "spawn":
		return invalid("PyStartMethod", "fork or spawn", o.PyStartMethod)
	case o.PyCallbackPickler != nil && o.PyStartMethod != "spawn":
		pickler := fmt.Sprintf("%T", o.PyCallbackPickler)
		return invalid("PyCallbackPickler", `nothing unless PyStartMethod is "spawn"`, pickler)
	case o.StreamPolicy > StreamPerOperator:
		return invalid("StreamPolicy", "a policy", o.StreamPolicy)
	case o.Concurrency > ConcurrencyFull:
		return invalid("Concurrency", "a kind of concurrency", o.Concurrency)
	case o.DeviceID != nil && *o.DeviceID >= 0 && o.Device != pipeline.RunOnCPU:
		return &errs.Error{Kind: errs.Unsupported, Op: "dali", Subject: "PipelineOptions.DeviceID",
			Want: "none, as there is no GPU here", Got: fmt.Sprint(*o.DeviceID),
			Remedy: "leave it out, or set Device to pipeline.RunOnCPU"}
	}
	return o.engine().Validate()
}

func invalid(field, want string, got any) error {
	return &errs.Error{Kind: errs.Invalid, Op: "dali", Subject: "PipelineOptions." + field, Want: want,
		Got: fmt.Sprint(got)}
}

// separated reports whether the queues are the separated ones.
func (o PipelineOptions) separated() bool { return o.CPUQueueSize > 0 }

// engine returns the options of the engine's pipeline.
func (o PipelineOptions) engine() pipeline.Options {
	e := o.Options
	if e.Compat == nil && !o.Native {
		e.Compat = Mode()
	}
	if e.Compat == Mode() && o.EnableCheckpointing {
		e.Compat = CheckpointMode()
	}
	switch {
	case o.ExecPipelined == Off || o.ExecAsync == Off:
		e.Prefetch = pipeline.NoPrefetch
	case o.separated():
		e.Prefetch = o.CPUQueueSize
	}
	if o.PyNumWorkers != 0 {
		e.SourceWorkers = o.PyNumWorkers
	}
	return e
}

// inForce returns o with the defaults of the engine.
func (o PipelineOptions) inForce(e pipeline.Options) PipelineOptions {
	e.Prefetch, e.OnEvent, e.BeforeBatch = o.Prefetch, o.OnEvent, o.BeforeBatch
	if e.Prefetch == 0 {
		e.Prefetch = defaultDepth
	}
	o.Options, o.PyNumWorkers = e, e.SourceWorkers
	if o.PyStartMethod == "" {
		o.PyStartMethod = "fork"
	}
	return o
}

// withoutEffect returns the names of the options that are set and change nothing.
func (o PipelineOptions) withoutEffect() []string {
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
