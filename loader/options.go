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

// NoBatching as Options.BatchSize hands out samples instead of batches.
const NoBatching = -1

// SnapshotNever as Options.SnapshotEvery takes states only where an epoch begins.
const SnapshotNever = -1

// Options say how a loader reads, and what it delivers. The zero Options deliver each
// sample in a batch of its own, in the order of their ids, read in the caller.
type Options[S, B any] struct {
	// BatchSize is the number of samples in a batch of one rank. 0 is 1.
	BatchSize int
	// Shuffle delivers each epoch in an order of its own. Maps only.
	Shuffle bool
	// Sampler gives the order instead. Maps only; not with Shuffle.
	Sampler order.Sampler
	// BatchSampler gives the batches instead. Maps only; not with BatchSize, Shuffle,
	// Sampler or Tail.
	BatchSampler order.BatchSampler
	// Workers is the number of goroutines that read. 0 reads in the caller.
	Workers int
	// Collate makes a batch of samples; it may keep neither the slice nor, with
	// workers, rely on being called from one goroutine. nil is DefaultCollate, or
	// without batching the sample itself.
	Collate func([]S) (B, error)
	// CollatePacks makes a batch of packs, each the samples of one pack of Order, which
	// must be an order.Packer such as order.Packs. BatchSize and GlobalBatch count packs
	// then: with BatchSize 1 a pack is a batch. PackTokens and PadTokens return one. It
	// takes the place of Collate, under the same rules.
	CollatePacks func(packs [][]S) (B, error)
	// Pinned moves the tensors of a batch, and batches that are a Pinner, to memory that is
	// aligned to pages and locked. The memory belongs to the loader, which uses it again
	// after the next Next. There is one warning if the system refuses to lock it.
	Pinned bool
	// Tail is the end of an epoch: Short, or Drop, which leaves out its last batch where that is
	// short.
	Tail order.Tail
	// Timeout bounds the wait for one batch. It needs workers. 0: no bound.
	Timeout time.Duration
	// WorkerInit is called in each worker after it is seeded and before it reads;
	// WorkerInfoOf(ctx) tells which it is.
	WorkerInit func(ctx context.Context) error
	// Generator, if not nil, is where a seed is drawn from when Seed is 0.
	Generator *rng.Philox
	// Prefetch is the number of batches in flight for each worker. 0 is 2. It
	// needs workers.
	Prefetch int
	// Persistent keeps the data sets of workers from epoch to epoch. It needs workers.
	Persistent bool
	// SnapshotEvery is in how many batches the state of a data set or an iterator is
	// taken; those after it are read again, and dropped, when a run goes on. 0 is 1.
	// Where there is only a position it has no effect. SnapshotNever reads the whole
	// epoch again. The state of an Iterable between two snapshots goes on over as many ranks
	// as there were; one right at a snapshot over any.
	SnapshotEvery int
	// OutOfOrder hands out what is ready first. With several
	// ranks a state between two settled steps (SettleEvery) belongs to its rank.
	OutOfOrder bool

	// Seed keys the order and all random numbers.
	Seed uint64
	// Name tells loaders of one program apart: it enters the order of Shuffle and the
	// random numbers, so that two data sets of one length, as anchors and negatives,
	// are not read in lockstep under one seed. "" is a name, too.
	Name string
	// Order, if not nil, gives the order: one epoch after the other where it has no end,
	// each of its EpochLen() if it has that method, else of the length of the data set.
	Order order.Order
	// GlobalBatch, if not 0, is the size of a batch over all ranks, instead of
	// BatchSize*World; it need not divide by World.
	GlobalBatch int
	// Rank and World say which slice of the global batches is wanted. World 0 is 1. All
	// ranks of a Map have the same number of steps in each epoch, see Uneven. Ranks of an
	// Iterable read their own streams, and each ends its epoch with them.
	Rank, World int
	// Uneven says what a rank does that gets nothing of the last batch of an epoch,
	// because that has fewer samples than there are ranks. The zero Uneven repeats a
	// sample, so that no collective call waits for a rank that has ended. New warns where
	// it will happen, and LastBatch tells which samples are repeated.
	Uneven order.Uneven
	// SettleEvery limits how far batches overtake each other with OutOfOrder: only within SettleEvery
	// steps of an epoch. Whenever another SettleEvery steps are done, exactly the first ones are done.
	// The states of all ranks are the same then, and any number of ranks goes on from them. Set it to
	// the interval of checkpoints. 0: batches overtake each other freely.
	SettleEvery int
	// Streams is by how many streams an iterable data set, or one with a state, is
	// read. It is part of the state. 0 is the number of workers, at least 1.
	Streams int
	// OnError says what becomes of samples that cannot be read: Fail, PassOn or Skip. A batch
	// of which nothing is left is not delivered.
	OnError faults.Policy
	// Extend makes SetState take states from before the run was extended, as Loader.Extend does. Set
	// it if another component sets the state, like a bivouac.Job.
	Extend bool
	// NoDigest leaves digest and coverage out of the state. They are taken over the ids
	// of all ranks, which costs some nanoseconds an id.
	NoDigest bool
	// Protocol makes the loader keep the books of another one; nil is Bivouac's own way.
	Protocol protocol.Protocol
	// Log is given warnings, each once. nil is slog.Default() at the time of the warning.
	Log *slog.Logger
}

func (o *Options[S, B]) world() int { return max(1, o.World) }

// check returns the first error: of workers, then of what gives the ids, then of the rest.
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
		{o.Workers < 0, "Workers", "0 or more", o.Workers},
		{o.Timeout < 0, "Timeout", "0 or more", o.Timeout},
		{o.Workers == 0 && o.Prefetch != 0, "Prefetch", "workers, for batches to be prefetched", "Workers 0"},
		{o.Prefetch < 0, "Prefetch", "0 or more", o.Prefetch},
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
		{o.SettleEvery < 0, "SettleEvery", "0 or more", o.SettleEvery},
		{o.OnError.Action > faults.Skip, "OnError.Action", "Fail, PassOn or Skip", o.OnError.Action},
		{o.OnError.Retries < 0 || o.OnError.Backoff < 0, "OnError", "no negative Retries or Backoff", o.OnError},
	}
}

func invalid(field, want string, got any) error {
	return &errs.Error{Kind: errs.Invalid, Op: "loader.New", Subject: field, Want: want, Got: fmt.Sprint(got)}
}

// setup returns what a protocol needs of checked options.
func (o *Options[S, B]) setup(iterable bool) protocol.Setup {
	s := protocol.Setup{
		Iterable: iterable, Batched: o.BatchSize != NoBatching, BatchSize: max(1, o.BatchSize), Tail: o.Tail,
		Workers: o.Workers, Persistent: o.Persistent, InOrder: !o.OutOfOrder, SnapshotEvery: o.SnapshotEvery,
		Shuffle: o.Shuffle, Sampler: o.Sampler, BatchSampler: o.BatchSampler, Order: o.Order, Streams: o.Streams,
		Seed: o.Seed, Name: o.Name, Rank: o.Rank, World: o.world(), OnError: o.OnError, NoDigest: o.NoDigest, Warn: o.warn(),
		Packs: o.CollatePacks != nil, Uneven: o.Uneven, SettleEvery: o.SettleEvery, Extend: o.Extend,
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
