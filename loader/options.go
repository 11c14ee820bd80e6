package loader

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/internal/document"
	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// NoBatching as Options.BatchSize makes the loader hand out samples and not batches.
const NoBatching = -1

// SnapshotNever as Options.SnapshotEvery takes snapshots only at the beginning of an epoch.
const SnapshotNever = -1

// Options say how a loader reads, and what it delivers. The zero Options deliver each sample in a
// batch of its own, in the order of ids, and read in the caller's goroutine.
type Options[S, B any] struct {
	// BatchSize is the number of samples in a batch of one rank. 0 means 1.
	BatchSize int
	// Shuffle gives each epoch an order of its own. Maps only.
	Shuffle bool
	// Sampler defines the order instead. Maps only; not with Shuffle.
	Sampler order.Sampler
	// BatchSampler defines the batches instead. Maps only; not with BatchSize, Shuffle, Sampler or
	// Tail.
	BatchSampler order.BatchSampler
	// Workers is the number of goroutines that read. With 0 the caller's goroutine reads.
	Workers int
	// Collate makes a batch from samples. It must not keep the slice. With workers several goroutines
	// call it. nil means DefaultCollate, or without batching the sample itself.
	Collate func([]S) (B, error)
	// CollatePacks makes a batch from packs. Each pack holds the samples of one pack of Order, which
	// must be an order.Packer such as order.Packs. BatchSize and GlobalBatch then count packs: with
	// BatchSize 1 a pack is a batch. PackTokens returns such a function. CollatePacks replaces Collate
	// and has the same rules.
	CollatePacks func(packs [][]S) (B, error)
	// Pinned moves the tensors of a batch, and batches that are a Pinner, to memory that is aligned to
	// pages and locked. The memory belongs to the loader, which reuses it after the next call of Next.
	// If the system refuses to lock it, there is one warning.
	Pinned bool
	// Tail is the policy for the end of an epoch: Short, or Drop, which leaves out the last batch if
	// it is short. If Drop leaves no batch of the samples of an epoch, New fails.
	Tail order.Tail
	// EmptyEpochs makes New warn where it would fail because Drop leaves no batch: each epoch then
	// ends at once, as in torch.
	EmptyEpochs bool
	// Timeout bounds the wait for one batch. It needs workers. 0 means no bound.
	Timeout time.Duration
	// WorkerInit is called in each worker after the worker is seeded and before it reads.
	// WorkerInfoOf(ctx) tells which worker it is.
	WorkerInit func(ctx context.Context) error
	// Generator, if not nil, supplies the seed if Seed is 0.
	Generator *rng.Philox
	// Prefetch is the number of batches in flight for each worker. 0 means 2. It needs workers.
	Prefetch int
	// Persistent keeps the data sets of workers from epoch to epoch. It needs workers.
	Persistent bool
	// SnapshotEvery is the number of batches from one snapshot of the state of a data set or iterator
	// to the next. When a run continues, batches after the snapshot are read again and dropped. 0
	// means 1. It has no effect if the state is only a position. SnapshotNever reads the whole epoch
	// again. From a state of an Iterable between two snapshots only the same number of ranks can
	// continue; from a state at a snapshot any number of ranks can.
	SnapshotEvery int
	// OutOfOrder hands out first what is ready first. With several ranks a state between two settled
	// steps (SettleEvery) belongs to its rank.
	OutOfOrder bool

	// Seed keys the order and all random numbers.
	Seed uint64
	// Name tells the loaders of one program apart. It enters the order of Shuffle and the random
	// numbers. So two data sets of equal length, such as anchors and negatives, have different orders
	// under one seed. "" is a valid name.
	Name string
	// Order, if not nil, defines the order. If it never ends, it covers one epoch after the other. An
	// epoch has its EpochLen() positions if it has that method, else the length of the data set.
	Order order.Order
	// GlobalBatch, if not 0, is the size of a batch over all ranks, and replaces BatchSize*World.
	// World need not divide it.
	GlobalBatch int
	// Rank and World select a slice of the global batches. World 0 means 1. All ranks of a Map have
	// the same number of steps in each epoch; see Uneven. Ranks of an Iterable read their own streams,
	// and the epoch of each rank ends with its streams.
	Rank, World int
	// Uneven says what a rank does if it gets no sample of the last batch of an epoch, because the
	// batch has fewer samples than the world has ranks. The zero Uneven repeats a sample, so that no
	// collective call waits for a rank that has ended. New warns if this will happen, and LastBatch
	// tells which samples are repeated.
	Uneven order.Uneven
	// SettleEvery limits how far batches overtake each other with OutOfOrder: only within SettleEvery
	// steps of an epoch. After each SettleEvery steps, exactly the batches of these steps have been
	// handed out. The states of all ranks are the same then, and any number of ranks can continue from
	// them. Set it to the interval of checkpoints. 0 means no limit.
	SettleEvery int
	// Streams is the number of streams that read an iterable data set, or a data set with a state. It
	// is part of the state. 0 means the number of workers, at least 1.
	Streams int
	// OnError says what happens to samples that cannot be read: Fail, PassOn or Skip. A batch that has
	// no samples left is not delivered.
	OnError faults.Policy
	// Extend makes SetState accept states from before the run was extended, as Loader.Extend does. Set
	// it if another component sets the state, like a bivouac.Job.
	Extend bool
	// NoDigest leaves digest and coverage out of the state. They cover the ids of all ranks, which
	// costs a few nanoseconds an id.
	NoDigest bool
	// Protocol replaces Bivouac's own protocol, to imitate another system. nil means Bivouac's own.
	Protocol protocol.Protocol
	// Log is given warnings, each once. nil is slog.Default() at the time of the warning.
	Log *slog.Logger
}

func (o *Options[S, B]) world() int { return max(1, o.World) }

// check returns the first error: in options of workers, then of the ids, then of everything else.
func (o *Options[S, B]) check(iterable bool) error {
	for _, rule := range slices.Concat(o.workerRules(), o.samplerRules(iterable), o.ownRules(iterable)) {
		if rule.broken {
			return invalid(rule.field, rule.want, rule.got)
		}
	}
	return nil
}

type rule struct {
	broken      bool
	field, want string
	got         any
}

func (o *Options[S, B]) workerRules() []rule {
	return []rule{
		{o.Workers < 0, "Workers", "at least 0", o.Workers},
		{o.Timeout < 0, "Timeout", "at least 0", o.Timeout},
		{o.Workers == 0 && o.Prefetch != 0, "Prefetch", "workers, for batches to be prefetched", "Workers 0"},
		{o.Prefetch < 0, "Prefetch", "at least 0", o.Prefetch},
		{o.Persistent && o.Workers == 0, "Persistent", "workers, to be persistent", "Workers 0"},
	}
}

func (o *Options[S, B]) samplerRules(iterable bool) []rule {
	_, packs := o.Order.(order.Packer)
	own := o.BatchSize != 0 && o.BatchSize != 1 || o.Shuffle || o.Sampler != nil || o.Tail != order.Short ||
		o.GlobalBatch != 0
	return []rule{
		{iterable && o.Shuffle, "Shuffle", "a Map", "an Iterable"},
		{iterable && o.Sampler != nil, "Sampler", "a Map", "an Iterable"},
		{iterable && o.BatchSampler != nil, "BatchSampler", "a Map", "an Iterable"},
		{o.Sampler != nil && o.Shuffle, "Sampler", "no Shuffle beside it", "both"},
		{o.BatchSampler != nil && own, "BatchSampler", "neither BatchSize, GlobalBatch, Shuffle, Sampler nor Tail beside it", "one of them"},
		{o.BatchSize == NoBatching && o.Tail != order.Short, "Tail", "batches", "NoBatching"},
		{o.BatchSize < NoBatching, "BatchSize", "1 or more, or NoBatching", o.BatchSize},
		{o.CollatePacks != nil && !packs, "CollatePacks", "an Order of packs, such as order.Packs", "another"},
		{o.CollatePacks != nil && (o.Collate != nil || o.BatchSize == NoBatching || o.Protocol != nil), "CollatePacks", "neither Collate, NoBatching nor Protocol beside it", "one of them"},
	}
}

func (o *Options[S, B]) ownRules(iterable bool) []rule {
	w := o.world()
	return []rule{
		{o.Timeout > 0 && o.Workers == 0, "Timeout", "workers, to wait for", "Workers 0"},
		{o.SnapshotEvery < SnapshotNever, "SnapshotEvery", "1 or more, or SnapshotNever", o.SnapshotEvery},
		{o.World < 0 || o.Rank < 0 || o.Rank >= w, "Rank", fmt.Sprintf("0 to %d, below World", w-1), o.Rank},
		{o.Order != nil && (iterable || o.Shuffle || o.Sampler != nil || o.BatchSampler != nil), "Order", "a Map, and neither Shuffle nor a sampler", "more"},
		{o.GlobalBatch != 0 && (iterable || o.BatchSize != 0), "GlobalBatch", "a Map, and no BatchSize beside it", "more"},
		{o.GlobalBatch != 0 && o.GlobalBatch < w, "GlobalBatch", fmt.Sprintf("a sample for each of %d ranks", w), o.GlobalBatch},
		{o.BatchSize > math.MaxInt32/w || o.GlobalBatch > math.MaxInt32, "BatchSize", "less than 2147483648 over all ranks", o.BatchSize},
		{o.Streams < 0 || o.Streams > document.MaxStreams, "Streams", fmt.Sprintf("0 to %d", document.MaxStreams), o.Streams},
		{o.Uneven > order.EndEarly, "Uneven", "RepeatSample or EndEarly", o.Uneven},
		{o.Tail != order.Short && o.Tail != order.Drop, "Tail", "order.Short or order.Drop (Uneven fills up ranks)", o.Tail},
		{o.SettleEvery < 0, "SettleEvery", "at least 0", o.SettleEvery},
		{o.OnError.Action > faults.Skip, "OnError.Action", "Fail, PassOn or Skip", o.OnError.Action},
		{o.OnError.Retries < 0 || o.OnError.Backoff < 0, "OnError", "no negative Retries or Backoff", o.OnError},
	}
}

func invalid(field, want string, got any) error {
	return &errs.Error{Kind: errs.Invalid, Op: "loader.New", Subject: field, Want: want, Got: fmt.Sprint(got)}
}

// setup returns the part of checked options that a protocol needs.
func (o *Options[S, B]) setup(iterable bool) protocol.Setup {
	s := protocol.Setup{
		Iterable: iterable, Batched: o.BatchSize != NoBatching, BatchSize: max(1, o.BatchSize), Tail: o.Tail,
		Workers: o.Workers, Persistent: o.Persistent, InOrder: !o.OutOfOrder, SnapshotEvery: o.SnapshotEvery,
		Shuffle: o.Shuffle, Sampler: o.Sampler, BatchSampler: o.BatchSampler, Order: o.Order, Streams: o.Streams,
		Seed: o.Seed, Name: o.Name, Rank: o.Rank, World: o.world(), OnError: o.OnError, NoDigest: o.NoDigest, Warn: o.warn(),
		Packs: o.CollatePacks != nil, Uneven: o.Uneven, SettleEvery: o.SettleEvery, Extend: o.Extend, EmptyEpochs: o.EmptyEpochs,
	}
	switch o.SnapshotEvery {
	case 0:
		s.SnapshotEvery = 1
	case SnapshotNever:
		s.SnapshotEvery = 0
	}
	s.Global = s.BatchSize * s.World
	if o.GlobalBatch > 0 {
		s.Global = o.GlobalBatch
		lo, hi := order.Slice(s.Global, s.Rank, s.World)
		s.BatchSize = hi - lo
	}
	if s.Workers > 0 {
		s.Prefetch = 2
		if o.Prefetch > 0 {
			s.Prefetch = o.Prefetch
		}
	}
	if s.Seed == 0 && o.Generator != nil {
		s.Seed = o.Generator.Uint64()
	}
	return s
}

// warn returns what logs a warning.
func (o *Options[S, B]) warn() func(message string) {
	log := o.Log
	return func(message string) { cmp.Or(log, slog.Default()).Warn(message, "from", "loader") }
}
