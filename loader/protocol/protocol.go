// Package protocol is the interface between a loader's engine and its protocol. The engine reads:
// it has lanes, each with a copy of the data set, and works task by task. The [Protocol] decides
// which ids make the next batch, in which lane, and what the state is. Package loader has the
// engine and Bivouac's own protocol. A protocol that imitates another system is passed as
// loader.Options.Protocol.
package protocol

import (
	"context"

	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// Protocol decides what a loader reads and what its state holds. Bivouac's own protocol is the
// default; loader.Options.Protocol replaces it. A Protocol belongs to one loader. All its methods
// are called by the goroutine that calls Next.
type Protocol interface {
	// Attach is called once, after the options have been checked.
	Attach(e Engine) error
	// Begin begins a pass (an epoch) by a call of Engine.Open. It fails in the same cases as
	// Next.
	Begin(ctx context.Context) error
	// AppendState appends the state after the batches that were handed out.
	AppendState(ctx context.Context, dst []byte) ([]byte, error)
	// SetState makes the next Begin continue from a state. If it returns nil, the engine drops the
	// pass in progress.
	SetState(b []byte) error
}

// Engine is the part of a loader that a Protocol uses.
type Engine interface {
	// Setup describes the loader. A protocol may change Prefetch and SnapshotEvery.
	Setup() *Setup
	// SetWorkers changes the number of workers. Within a pass the error is of kind errs.Sequence.
	SetWorkers(n int) error
	// Open drops the pass in progress, opens a lane for each lane of the plan and begins its tasks. It
	// returns the error of the first lane that cannot be opened.
	Open(ctx context.Context, p Plan) error
	// Skip makes n batches of the open pass, settles them and drops them. It returns the error of the
	// first batch that failed, or io.EOF.
	Skip(ctx context.Context, n int64) error
	// Lane returns the state of a lane. No task of the lane may be in flight.
	Lane(i int) (LaneState, error)
	// Abandon drops the pass. During Settle it takes effect when Settle returns. The next call of Next
	// begins another pass.
	Abandon()
}

// Setup is what a Protocol knows of a loader: its options, checked and complete.
type Setup struct {
	Iterable  bool // the data set is an Iterable
	Batched   bool // items are collated; if false, BatchSize is 1 and items are handed out one by one
	BatchSize int  // batch size of this rank
	Global    int  // batch size over all ranks
	Tail      order.Tail
	Workers   int // goroutines; with 0 the caller reads
	Prefetch  int // batches in flight for each worker; 0 without workers
	// Persistent says that workers keep their data sets from pass to pass.
	Persistent    bool
	InOrder       bool
	SnapshotEvery int // 0 means never
	Shuffle       bool
	Sampler       order.Sampler      // nil if not set
	BatchSampler  order.BatchSampler // nil if not set
	Order         order.Order        // nil if not set
	Streams       int                // 0 if not set
	Seed          uint64
	Name          string // name of the loader
	Rank, World   int
	OnError       faults.Policy
	Uneven        order.Uneven
	SettleEvery   int    // 0 means never
	Packs         bool   // batch sizes count packs of Order
	Extend        bool   // states from before the run was extended are accepted
	EmptyEpochs   bool   // epochs of which Tail leaves no batch are accepted
	NoDigest      bool   // no digest and coverage
	Fingerprint   string // fingerprint of the data set
	Anonymous     bool   // the fingerprint is only a hash of the data set's Go type
	Stateful      bool   // the data set has a state

	// FingerprintOf returns the fingerprint of the first n samples. ok is false if the data set does
	// not tell.
	FingerprintOf func(n int64) (fingerprint string, ok bool)
	// DataLen returns the present length of the data set: the length of a Map, or the length that a
	// Sized announces.
	DataLen func() (n int64, known bool)
	// AnnouncedLen returns the length that Loader.Len returned last. known is false before the first
	// call of Len, and always for a Map.
	AnnouncedLen func() (n int64, known bool)
	Warn         func(message string)
}

// Plan is one pass. Its methods are called by the goroutine that calls Next.
type Plan interface {
	// Lanes returns the number of lanes, at least 1.
	Lanes() int
	// Lane says how a lane begins.
	Lane(i int) LaneStart
	// Opened is called when a lane has begun, in the order of lanes.
	Opened(i int, s LaneState)
	// Prime appends the tasks that are given before the first batch is requested.
	Prime(dst []Task) []Task
	// Next returns the next task. It is called when nothing is in flight. ok is false at the end of
	// the pass.
	Next() (t Task, ok bool, err error)
	// Settle is called once for each task, before its batch is handed out. The calls come in the order
	// of tasks, or in the order of completion if Options.OutOfOrder is set. Tasks that Settle appends
	// are given at once.
	Settle(t Task, o *Outcome, dst []Task) []Task
}

// AnyLane as Task.Lane means the lane of the worker that is free first. There are then as many
// lanes as workers.
const AnyLane = -1

// Task is one batch to make.
type Task struct {
	Lane int
	IDs  []int64 // for a Map: the samples. They do not change until the task is settled
	N    int     // for an Iterable: the number of items
	Pos  int64   // position of the first sample or item, which keys its random numbers
	Want bool    // the plan needs the state of the lane after the task
	// Ends is set if batches count packs. It holds the end of each pack in IDs.
	Ends []int
	// Repeated says that another rank also has all of IDs.
	Repeated bool
	// Spare holds the ids of all ranks. The first id is at position SparePos. If all of IDs are
	// skipped, the batch has the first spare sample that can be read.
	Spare    []int64
	SparePos int64
	Seq      int64 // a number for the plan's own use
}

// Outcome is the result of a task.
type Outcome struct {
	Err error
	// Ended says that the stream had no items left, or too few with order.Drop. There is no batch.
	Ended bool
	// Empty says that all samples were skipped. There is no batch.
	Empty bool
	// Count is the number of samples in the batch. Repeated is how many of them other ranks have, too.
	Count, Repeated int
	// State is the state of the lane after the task, if the plan asked for it or the lane ended. The
	// plan owns it.
	State *LaneState
	// Faults are the samples that failed and were skipped.
	Faults []faults.Fault
}

// LaneStart says how a lane begins. The order is: initialise the worker, set the state of the data
// set, open the data set, set the state of the iterator.
type LaneStart struct {
	Seed uint64
	// ID and N are the numbers in WorkerInfo. If N is 0, they are the number of the lane and the
	// number of lanes.
	ID, N int
	// Dataset and Iterator are states to continue from, or nil.
	Dataset, Iterator []byte
	// Items is the number of items of this pass that were read before.
	Items int64
	// Skip is the number of items that an iterator without a state reads and drops.
	Skip int64
	// Ended says that the stream has ended before.
	Ended bool
	// Keep says that the lane continues with its data set of the pass before.
	Keep bool
	// Context, if not nil, returns the context for the data set, made from the given one.
	Context func(context.Context) context.Context
}

// LaneState is the state of a lane.
type LaneState struct {
	// Dataset and Iterator are the states of the data set and the iterator, or nil if they are not a
	// state.Stateful. Dataset is nil if the data set is its own iterator.
	Dataset, Iterator []byte
	// Initial is the state of the data set before Open. It is set only for Plan.Opened.
	Initial []byte
	Items   int64 // items read in this pass, failed items included
	Ended   bool  // there are no more items
}
