package pipeline

import (
	"fmt"
	"runtime"

	"github.com/bivouac-ml/bivouac/errs"
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

var lastBatchNames = [...]string{"partial", "drop", "fill"}

// String returns the name of the policy in lower case.
func (l LastBatch) String() string {
	if int(l) < len(lastBatchNames) {
		return lastBatchNames[l]
	}
	return fmt.Sprintf("LastBatch(%d)", uint8(l))
}

// NoPrefetch as Options.PrefetchDepth makes each batch when it is asked for.
const NoPrefetch = -1

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
	// EnableCheckpointing is DALI's; Bivouac's own way needs no such word. With
	// shuffle_after_epoch DALI's orders differ with it.
	EnableCheckpointing bool

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
}

// withDefaults replaces the zeros.
func (o Options) withDefaults() Options {
	set(&o.BatchSize, 1)
	set(&o.World, 1)
	set(&o.NumThreads, runtime.GOMAXPROCS(0))
	set(&o.PrefetchDepth, 2)       // one being computed while one waits: hides the jitter of sizes
	set(&o.IOThreads, 4)           // a read of a cached file costs a few per cent of decoding it
	set(&o.ReadAheadBytes, 64<<20) // hundreds of photographs
	return o
}

// compat returns the way in which the pipeline works.
func (o Options) compat() Compat {
	if o.Compat == nil {
		return native{}
	}
	return o.Compat
}

// overlay returns o with the fields that are set in by replaced.
func (o Options) overlay(by *Options) Options {
	if by == nil {
		return o
	}
	over := *by
	set(&over.BatchSize, o.BatchSize)
	set(&over.Seed, o.Seed)
	set(&over.LastBatch, o.LastBatch)
	set(&over.Compat, o.Compat)
	set(&over.EnableCheckpointing, o.EnableCheckpointing)
	if over.World == 0 {
		over.Rank, over.World = o.Rank, o.World
	}
	set(&over.NumThreads, o.NumThreads)
	set(&over.PrefetchDepth, o.PrefetchDepth)
	set(&over.IOThreads, o.IOThreads)
	set(&over.ReadAheadBytes, o.ReadAheadBytes)
	return over
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
	case o.ReadAheadBytes < 1:
		return invalid("ReadAheadBytes", "1 or more", o.ReadAheadBytes)
	}
	return nil
}

func invalid(field, want string, got any) error {
	return &errs.Error{Kind: errs.Invalid, Op: "pipeline", Subject: "Options." + field, Want: want, Got: fmt.Sprint(got)}
}
