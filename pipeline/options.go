package pipeline

import (
	"fmt"
	"reflect"
	"runtime"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// NoPrefetch as Options.Prefetch turns prefetching off: each batch is made when Next asks for it.
const NoPrefetch = -1

// AnyNDim in Options.OutputNDim leaves the number of dimensions open.
const AnyNDim = -1

// Device says what happens to operators whose argument "device" names a device other than the CPU.
type Device uint8

// The devices.
const (
	// Refuse makes such an operator an error of kind errs.Unsupported.
	Refuse Device = iota
	// RunOnCPU runs such an operator on the CPU. Definition.Moved lists these operators.
	RunOnCPU
)

// String returns "refuse" or "run on CPU".
func (d Device) String() string { return name("Device", []string{"refuse", "run on CPU"}, uint8(d)) }

func name(kind string, names []string, v uint8) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", kind, v)
}

// Options say how a pipeline runs. Fields that change what is delivered are part of the pipeline's
// identity: a state fits only pipelines in which these fields are equal. All other fields can
// change at each start. The zero Options work.
type Options struct {
	// BatchSize is the number of samples in a batch, over all ranks together. 0 means 1. Identity.
	BatchSize int
	// Seed is the seed of all random operators and readers that have no seed of their own. Identity.
	Seed uint64
	// Tail says what happens at the end of an epoch: Short, Drop or Span. With Span, the first samples
	// of the next epoch fill the last batch, and the next epoch continues after them. Identity.
	Tail order.Tail

	// Compat makes the pipeline work like another system; nil means Bivouac's own way. Identity.
	Compat Compat
	// OnError says what happens to samples that fail. The key is the name of a reader's node, or ""
	// for all other readers. Identity.
	OnError map[string]faults.Action

	// Limits bound what a sample may cost, and what the pipeline holds at once. The zero Limits suit
	// images. A sample beyond the limits fails, and OnError applies. Limits are not part of the
	// identity, so that a run that met a larger sample can continue with larger limits. With a policy
	// other than faults.Fail, they decide which samples are delivered.
	Limits Limits

	// World is the number of ranks that share each batch; 0 means 1. Rank is the rank that this
	// pipeline serves. Of a batch of n samples it delivers the samples n*Rank/World to
	// n*(Rank+1)/World. A state is valid for all ranks and for any World.
	Rank, World int
	// Workers is the number of workers that compute; 0 means one per processor.
	Workers int
	// Prefetch is the number of batches in the making or ready while one batch is in use. 0 means 2;
	// NoPrefetch turns prefetching off.
	Prefetch int
	// IOWorkers is the number of goroutines that read, 0 means 4.
	IOWorkers int
	// ReadAheadBytes limits the bytes of fetched samples that are held; 0 means 64 MiB. A single
	// larger sample still passes.
	ReadAheadBytes int64

	// SourceWorkers is the number of calls of parallel external sources that run at a time, each on a
	// goroutine. 0 means 1. With a negative number the caller of Next makes the calls, as if the
	// sources were not parallel.
	SourceWorkers int
	// BytesPerSample is the expected size of an output's sample in bytes. This memory is allocated in
	// advance.
	BytesPerSample int
	// SetAffinity ties the workers to threads of the operating system.
	SetAffinity bool
	// EnableMemoryStats counts the memory of each operator for Pipeline.Operators.
	EnableMemoryStats bool
	// EnableTiming counts the time of each operator, and how long the consumer waited.
	EnableTiming bool
	// OnEvent is called for each event, unless it is nil.
	OnEvent func(Event)
	// OutputDType, OutputNDim and OutputLayout declare the outputs: one entry for each output, or one
	// entry for all. The zero dtype, AnyNDim and the empty layout allow anything. Define checks what
	// is known about the graph. Each batch is checked for the rest.
	OutputDType  []tensor.DType
	OutputNDim   []int
	OutputLayout []string

	// TolerateUnused delivers a batch although an operator failed that no output needs: one that is
	// kept for its effects, or that only such operators need. The operators behind it do not compute
	// for the samples that failed. An OperatorTolerated event tells the first failure of each
	// operator. Operators that do not take their inputs fail like this too, unless the layout or the
	// number of dimensions is wrong. Failures of readers, external sources and limits are not
	// tolerated. Define needs the option; New does not change it.
	TolerateUnused bool
	// Device says what happens to operators that name a device other than the CPU.
	Device Device

	// Memory is where the outputs of batches are made, so that their memory can be detached and kept.
	// nil means memory of the pipeline's own.
	Memory Memory

	// BeforeBatch is called before each batch is begun, unless it is nil. It can feed the graph's
	// inputs. io.EOF ends the epoch.
	BeforeBatch func(*Pipeline) error
}

// Memory gives a pipeline the memory of its outputs. Several goroutines call the methods.
type Memory interface {
	// Allocate returns n bytes at an address aligned to 8. Their content does not matter.
	Allocate(n int) []byte
	// Free takes memory back that a batch does not need any more. Memory that a closed pipeline still
	// has does not come back.
	Free(b []byte)
}

// Limits bound what a sample may cost; see op.Limits.
type Limits = op.Limits

// NoLimit as a field of Limits lifts the limit.
const NoLimit = op.NoLimit

// withDefaults replaces zero fields by their defaults.
func (o Options) withDefaults() Options {
	set(&o.BatchSize, 1)
	set(&o.World, 1)
	set(&o.Workers, runtime.GOMAXPROCS(0))
	set(&o.Prefetch, 2) // one is computed while one waits: hides the different sizes of samples
	set(&o.SourceWorkers, 1)
	set(&o.IOWorkers, 4)           // a read of a cached file costs a few per cent of decoding it
	set(&o.ReadAheadBytes, 64<<20) // hundreds of photographs
	return o
}

// compat returns the mode of the pipeline.
func (o Options) compat() Compat {
	if o.Compat == nil {
		return native{}
	}
	return o.Compat
}

// Override returns o with each field replaced that is set in by. A nil by replaces nothing.
func (o Options) Override(by *Options) Options {
	if by == nil {
		return o
	}
	over := *by
	if over.World == 0 {
		over.Rank = 0 // Rank is replaced together with World
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

// mergeLimits returns l, with its zero fields taken from missing.
func mergeLimits(l, missing Limits) Limits {
	set(&l.MaxPixels, missing.MaxPixels)
	set(&l.MaxBytes, missing.MaxBytes)
	set(&l.MaxTotalBytes, missing.MaxTotalBytes)
	set(&l.MaxTime, missing.MaxTime)
	return l
}

// set sets a zero field to its default.
func set[T comparable](field *T, def T) {
	var zero T
	if *field == zero {
		*field = def
	}
}

// Validate returns an error that names the first invalid field.
func (o Options) Validate() error {
	o = o.withDefaults()
	const largest = 1 << 24
	switch {
	case o.BatchSize < 1 || o.BatchSize > largest:
		return invalid("BatchSize", fmt.Sprintf("1 to %d", largest), o.BatchSize)
	case o.Tail > order.Drop:
		return invalid("Tail", "order.Short, order.Drop or order.Span (pad_last_batch of a reader pads)", o.Tail)
	case o.World < 1 || o.World > o.BatchSize:
		return invalid("World", fmt.Sprintf("1 to BatchSize, which is %d", o.BatchSize), o.World)
	case o.Rank < 0 || o.Rank >= o.World:
		return invalid("Rank", fmt.Sprintf("0 to %d", o.World-1), o.Rank)
	case o.Workers < 1 || o.Workers > 1<<12:
		return invalid("Workers", "1 to 4096", o.Workers)
	case o.Prefetch < NoPrefetch || o.Prefetch > 1<<10:
		return invalid("Prefetch", "1 to 1024, or NoPrefetch", o.Prefetch)
	case o.IOWorkers < 1 || o.IOWorkers > 1<<12:
		return invalid("IOWorkers", "1 to 4096", o.IOWorkers)
	case o.SourceWorkers > 1<<12:
		return invalid("SourceWorkers", "at most 4096", o.SourceWorkers)
	case o.ReadAheadBytes < 1:
		return invalid("ReadAheadBytes", "1 or more", o.ReadAheadBytes)
	case o.BytesPerSample < 0:
		return invalid("BytesPerSample", "0 or more", o.BytesPerSample)
	case o.Device > RunOnCPU:
		return invalid("Device", "Refuse or RunOnCPU", o.Device)
	}
	return o.declared().validate()
}

// ahead returns the number of batches in the making while one is in use.
func (o Options) ahead() int { return max(0, o.Prefetch) }

func invalid(field, want string, got any) error {
	return &errs.Error{Kind: errs.Invalid, Op: "pipeline", Subject: "Options." + field, Want: want, Got: fmt.Sprint(got)}
}
