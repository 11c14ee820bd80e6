package pipeline

import (
	"fmt"
	"log/slog"
	"reflect"
	"runtime"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// LastBatch says what becomes of the samples that do not fill the last batch of
// an epoch.
type LastBatch uint8

// The policies.
const (
	// Partial delivers them as a smaller batch; the next epoch begins with a new one.
	Partial LastBatch = iota
	// Drop leaves them out; they may well come in the next epoch, whose order is another.
	Drop
	// Fill makes up the batch with the first samples of the next epoch, which then
	// goes on behind them: every sample comes once an epoch, all batches are full.
	Fill
)

// String returns the name of the policy in lower case.
func (l LastBatch) String() string {
	return name("LastBatch", []string{"partial", "drop", "fill"}, uint8(l))
}

// NoPyWorkers as Options.PyNumWorkers makes no goroutines for parallel external sources.
const NoPyWorkers = -1

// NoPrefetch as Options.PrefetchDepth makes each batch when it is asked for.
const NoPrefetch = -1

// AnyNDim in Options.OutputNDim leaves the number of dimensions open.
const AnyNDim = -1

// Switch is a choice with a default.
type Switch uint8

// The choices.
const (
	Default Switch = iota
	On
	Off
)

// String returns "default", "on" or "off".
func (s Switch) String() string { return name("Switch", []string{"default", "on", "off"}, uint8(s)) }

// OnGPU says what becomes of operators that were to run on a GPU.
type OnGPU uint8

// The ways.
const (
	// Refuse makes it an error, of kind errs.Unsupported.
	Refuse OnGPU = iota
	// RunOnCPU runs each of them on the CPU; Definition.Moved lists which.
	RunOnCPU
)

// String returns "refuse" or "run on CPU".
func (g OnGPU) String() string { return name("OnGPU", []string{"refuse", "run on CPU"}, uint8(g)) }

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
	return name("StreamPolicy", []string{"default", "single", "per_backend", "per_operator"}, uint8(p))
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
	return name("Concurrency", []string{"default", "none", "backend", "full"}, uint8(c))
}

func name(kind string, names []string, v uint8) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", kind, v)
}

// Options say how a pipeline runs. Fields that change what is delivered are
// part of its identity: a state fits only pipelines that agree in them. The
// others can be chosen anew at each start. The zero Options work.
type Options struct {
	// BatchSize is the number of samples in a batch, over all ranks together. 0 means 1. Identity.
	BatchSize int
	// Seed of everything random that has no seed of its own. Identity.
	Seed uint64
	// LastBatch is the policy at the end of an epoch. Identity.
	LastBatch LastBatch

	// Compat makes the pipeline work as another system does; nil is Bivouac's own
	// way. Identity.
	Compat Compat
	// EnableCheckpointing is DALI's; Bivouac's own way needs no such word. Without it
	// there are no states in DALI's, whose orders with shuffle_after_epoch differ with it.
	EnableCheckpointing bool

	// OnError says, for readers by the name of their node and with "" for all others, what
	// becomes of samples that fail. Identity.
	OnError map[string]ErrorPolicy

	// Limits bound what a sample may cost, and what the pipeline holds at once; the zero Limits are sane for pictures. A sample beyond them is an
	// error by OnError. They are not part of the identity, so that a run which met a larger sample can go
	// on with larger limits; with another policy than FailOnError they decide which samples are delivered.
	Limits Limits

	// World is the number of ranks that share each batch, 0 means 1, and Rank the
	// one that this pipeline serves: samples n*Rank/World to n*(Rank+1)/World of a
	// batch of n. A state is that of all ranks and can go on in another world.
	Rank, World int
	// NumThreads is the number of workers that compute; 0 is one a processor.
	NumThreads int
	// PrefetchDepth is how many batches are in the making or ready while one is
	// in use; 0 means 2, NoPrefetch none.
	PrefetchDepth int
	// IOThreads is the number of goroutines that read, 0 means 4.
	IOThreads int
	// ReadAheadBytes limits what they hold; 0 means 64 MiB. A single larger sample still passes.
	ReadAheadBytes int64

	// ExecPipelined and ExecAsync say whether batches are made ahead of their use,
	// and beside the caller; both by default.
	ExecPipelined, ExecAsync Switch
	// ExecDynamic Off has Run fail for good, as in DALI, when a batch was not fed by the time it is begun, be it ahead of its
	// use; otherwise Run fails when it has no batch, and goes on when that is fed.
	ExecDynamic Switch
	// CPUQueueSize and GPUQueueSize, given together, are DALI's separated queues: the
	// first is the number of batches ahead, as PrefetchDepth, the second has no effect.
	CPUQueueSize, GPUQueueSize int
	// PyNumWorkers is how many calls of parallel external sources run at a time, each on a goroutine; 0
	// means 1, and with NoPyWorkers they are made by the caller of Next, as if they were not parallel.
	PyNumWorkers int
	// BytesPerSample is how many bytes a sample of an output is expected to take: memory set aside.
	BytesPerSample int
	// SetAffinity ties the workers to threads of the operating system.
	SetAffinity bool
	// EnableMemoryStats counts the memory of each operator for ExecutorStatistics.
	EnableMemoryStats bool
	// EnableTiming counts the time of each operator, and how long the consumer waited.
	EnableTiming bool
	// OnEvent, when not nil, is told what happens.
	OnEvent func(Event)
	// Checkpoint is the state to begin at; nil is the beginning.
	Checkpoint []byte

	// OutputDType, OutputNDim and OutputLayout declare the outputs, one each or one
	// for all; zero dtypes, AnyNDim and empty layouts leave it open. What is known of
	// the graph is held against them in Define, the rest in each batch.
	OutputDType  []tensor.DType
	OutputNDim   []int
	OutputLayout []string

	// DeviceID is the GPU to use; nil and negative numbers mean none, and there is no other.
	DeviceID *int
	// OnGPU says what becomes of operators that were to run on a GPU.
	OnGPU OnGPU

	// What follows is taken for the sake of programs written for DALI, can be read
	// back, and has no effect, which the log says once.

	MaxStreams                int
	DefaultCUDAStreamPriority int
	StreamPolicy              StreamPolicy
	Concurrency               Concurrency
	PyStartMethod             string // fork (the default) or spawn
	PyCallbackPickler         any    // needs spawn

	// Log takes warnings; nil is slog.Default.
	Log *slog.Logger
}

// Limits bound what a sample may cost; see op.Limits.
type Limits = op.Limits

// NoLimit as a field of Limits lifts the limit.
const NoLimit = op.NoLimit

// withDefaults replaces the zeros.
func (o Options) withDefaults() Options {
	set(&o.BatchSize, 1)
	set(&o.World, 1)
	set(&o.NumThreads, runtime.GOMAXPROCS(0))
	set(&o.PrefetchDepth, 2) // one being computed while one waits: hides the jitter of sizes
	set(&o.PyNumWorkers, 1)
	set(&o.IOThreads, 4)           // a read of a cached file costs a few per cent of decoding it
	set(&o.ReadAheadBytes, 64<<20) // hundreds of photographs
	set(&o.PyStartMethod, "fork")
	return o
}

// compat returns the way in which the pipeline works.
func (o Options) compat() Compat {
	if o.Compat == nil {
		return native{}
	}
	return o.Compat
}

// Override returns o with the fields that are set in by replaced; nil replaces none.
func (o Options) Override(by *Options) Options {
	if by == nil {
		return o
	}
	over := *by
	if over.World == 0 {
		over.Rank = 0 // it goes with World
	}
	fields, defaults := reflect.ValueOf(&over).Elem(), reflect.ValueOf(o)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			fields.Field(i).Set(defaults.Field(i))
		}
	}
	if by.World != 0 {
		over.Rank = by.Rank
	}
	over.Limits = mergeLimits(by.Limits, o.Limits)
	return over
}

// mergeLimits returns l with the limits of missing where it has none.
func mergeLimits(l, missing Limits) Limits {
	set(&l.MaxPixels, missing.MaxPixels)
	set(&l.MaxBytes, missing.MaxBytes)
	set(&l.MaxTotalBytes, missing.MaxTotalBytes)
	set(&l.MaxTime, missing.MaxTime)
	return l
}

// set gives a field its default when it is zero.
func set[T comparable](field *T, def T) {
	var zero T
	if *field == zero {
		*field = def
	}
}

// Validate returns an error that names the first field at fault.
func (o Options) Validate() error {
	o = o.withDefaults()
	const largest = 1 << 24
	switch {
	case o.BatchSize < 1 || o.BatchSize > largest:
		return invalid("BatchSize", fmt.Sprintf("1 to %d", largest), o.BatchSize)
	case o.LastBatch > Fill:
		return invalid("LastBatch", "Partial, Drop or Fill", o.LastBatch)
	case o.World < 1 || o.World > o.BatchSize:
		return invalid("World", fmt.Sprintf("1 to BatchSize, which is %d", o.BatchSize), o.World)
	case o.Rank < 0 || o.Rank >= o.World:
		return invalid("Rank", fmt.Sprintf("0 to %d", o.World-1), o.Rank)
	case o.NumThreads < 1 || o.NumThreads > 1<<12:
		return invalid("NumThreads", "1 to 4096", o.NumThreads)
	case o.PrefetchDepth < NoPrefetch || o.PrefetchDepth > 1<<10:
		return invalid("PrefetchDepth", "1 to 1024, or NoPrefetch", o.PrefetchDepth)
	case o.IOThreads < 1 || o.IOThreads > 1<<12:
		return invalid("IOThreads", "1 to 4096", o.IOThreads)
	case o.PyNumWorkers < NoPyWorkers || o.PyNumWorkers > 1<<12:
		return invalid("PyNumWorkers", "1 to 4096, or NoPyWorkers", o.PyNumWorkers)
	case o.ReadAheadBytes < 1:
		return invalid("ReadAheadBytes", "1 or more", o.ReadAheadBytes)
	}
	return o.validateExecution()
}

// validateExecution checks what DALI's constructor takes besides.
func (o Options) validateExecution() error {
	switch {
	case o.ExecPipelined > Off:
		return invalid("ExecPipelined", "Default, On or Off", o.ExecPipelined)
	case o.ExecAsync > Off:
		return invalid("ExecAsync", "Default, On or Off", o.ExecAsync)
	case o.ExecDynamic > Off:
		return invalid("ExecDynamic", "Default, On or Off", o.ExecDynamic)
	case (o.CPUQueueSize == 0) != (o.GPUQueueSize == 0):
		return invalid("CPUQueueSize", "GPUQueueSize with it, or neither", fmt.Sprintf("%d and %d", o.CPUQueueSize, o.GPUQueueSize))
	case o.CPUQueueSize < 0 || o.CPUQueueSize > 1<<10 || o.GPUQueueSize < 0:
		return invalid("CPUQueueSize", "1 to 1024", fmt.Sprintf("%d and %d", o.CPUQueueSize, o.GPUQueueSize))
	case o.separated() && o.ExecAsync == Off:
		return invalid("ExecAsync", "not Off with separated queues", o.ExecAsync)
	case o.BytesPerSample < 0:
		return invalid("BytesPerSample", "0 or more", o.BytesPerSample)
	case o.PyStartMethod != "" && o.PyStartMethod != "fork" && o.PyStartMethod != "spawn":
		return invalid("PyStartMethod", "fork or spawn", o.PyStartMethod)
	case o.PyCallbackPickler != nil && o.PyStartMethod != "spawn":
		return invalid("PyCallbackPickler", `nothing unless PyStartMethod is "spawn"`, fmt.Sprintf("%T", o.PyCallbackPickler))
	case o.StreamPolicy > StreamPerOperator:
		return invalid("StreamPolicy", "a policy", o.StreamPolicy)
	case o.Concurrency > ConcurrencyFull:
		return invalid("Concurrency", "a kind of concurrency", o.Concurrency)
	case o.OnGPU > RunOnCPU:
		return invalid("OnGPU", "Refuse or RunOnCPU", o.OnGPU)
	case o.DeviceID != nil && *o.DeviceID >= 0 && o.OnGPU != RunOnCPU:
		return &errs.Error{Kind: errs.Unsupported, Op: "pipeline", Subject: "Options.DeviceID", Want: "none, as there is no GPU here",
			Got: fmt.Sprint(*o.DeviceID), Remedy: "leave it out, or set OnGPU to RunOnCPU"}
	}
	return o.declared().validate()
}

func invalid(field, want string, got any) error {
	return &errs.Error{Kind: errs.Invalid, Op: "pipeline", Subject: "Options." + field, Want: want, Got: fmt.Sprint(got)}
}
