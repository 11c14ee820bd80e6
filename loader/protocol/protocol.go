// Package protocol is the interface between a loader's engine and its protocol. The engine reads.
// It has lanes, each with a copy of the data set, and works task by task. The [Protocol] decides
// which ids make the next batch, in which lane, and what the state is. Package loader has the
// engine and Bivouac's own protocol. A protocol that imitates another system is given as
// loader.Options.Protocol.
package protocol

import (
	"context"

	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// Protocol decides what a loader reads and what it remembers. Bivouac's own is
// the default; loader.Options.Protocol gives another. It belongs to one loader, whose
// goroutine of Next calls all methods.
type Protocol interface {
	// Attach is called once, when the options have been checked.
	Attach(e Engine) error
	// Begin begins a pass, an epoch: it calls Engine.Open. It fails as Next does.
	Begin(ctx context.Context) error
	// AppendState appends the state of what was handed out so far.
	AppendState(ctx context.Context, dst []byte) ([]byte, error)
	// SetState makes the next Begin go on from a state. Without an error the engine drops
	// the pass in progress.
	SetState(b []byte) error
}

// Engine is what a Protocol works with.
type Engine interface {
	// Setup returns what is known of the loader. A protocol may change Prefetch and
	// SnapshotEvery.
	Setup() *Setup
	// SetWorkers changes the number of workers. The error is of kind errs.Sequence within
	// a pass.
	SetWorkers(n int) error
	// Open drops the pass in progress, opens a lane for each of the plan and begins with its tasks. It
	// returns the error of the first lane that cannot be opened.
	Open(ctx context.Context, p Plan) error
	// Skip makes n batches of the open pass, settles and drops them. It returns the error of the first
	// batch that failed, or io.EOF.
	Skip(ctx context.Context, n int64) error
	// Lane returns the state of a lane in which nothing is in flight.
	Lane(i int) (LaneState, error)
	// Abandon drops the pass, at once or in Settle when that returns; the next Next begins another.
	Abandon()
}

// Setup is what a Protocol knows of a loader: its options, checked and complete.
type Setup struct {
	Iterable  bool // the data set is one
	Batched   bool // items are collated; else BatchSize is 1 and they are handed out one by one
	BatchSize int  // of this rank
	Global    int  // over all ranks
	Tail      order.Tail
	Workers   int // goroutines; 0: the caller
	Prefetch  int // batches in flight for each worker; 0 without workers
	// Persistent says that workers keep their data sets from pass to pass.
	Persistent    bool
	InOrder       bool
	SnapshotEvery int // 0: never
	Shuffle       bool
	Sampler       order.Sampler      // nil: none was given
	BatchSampler  order.BatchSampler // nil: none was given
	Order         order.Order        // nil: none was given
	Streams       int                // 0: not given
	Seed          uint64
	Name          string // of the loader
	Rank, World   int
	OnError       faults.Policy
	Uneven        order.Uneven
	SettleEvery   int    // 0: never
	Packs         bool   // batches are of packs of Order, and their sizes count those
	Extend        bool   // states from before the run was extended are taken
	NoDigest      bool   // no digest and coverage
	Fingerprint   string // of the data set
	Stateful      bool   // the data set has a state

	// FingerprintOf is the fingerprint of the first n samples; ok is false where the data
	// set does not tell.
	FingerprintOf func(n int64) (fingerprint string, ok bool)
	// DataLen is the length of the data set now: of a Map, or announced by a Sized.
	DataLen func() (n int64, known bool)
	// AnnouncedLen is the length that Loader.Len told last; known is false before,
	// and always for a Map.
	AnnouncedLen func() (n int64, known bool)
	Warn         func(message string)
}

// Plan is one pass. Its methods are called by the goroutine that calls Next.
type Plan interface {
	// Lanes is the number of lanes, at least 1.
	Lanes() int
	// Lane says how a lane begins.
	Lane(i int) LaneStart
	// Opened is called when a lane has begun, in the order of lanes.
	Opened(i int, s LaneState)
	// Prime appends the tasks that are given before the first batch is asked for.
	Prime(dst []Task) []Task
	// Next returns the next task. It is asked when nothing is in flight; ok is false at
	// the end of the pass.
	Next() (t Task, ok bool, err error)
	// Settle is called once for each task, in the order of tasks, or of completion when
	// that is what Options.InOrder says, before its batch is handed out. Tasks that it
	// appends are given at once.
	Settle(t Task, o *Outcome, dst []Task) []Task
}

// AnyLane as Task.Lane is the lane of the worker that is free first; there are as
// many lanes as workers then.
const AnyLane = -1

// Task is one batch to make.
type Task struct {
	Lane int
	IDs  []int64 // Map: the samples. They stay as they are until the task is settled
	N    int     // Iterable: how many items
	Pos  int64   // position of the first of them, which keys its random numbers
	Want bool    // the state of the lane after it is wanted
	// Ends says, where batches are of packs, behind which of IDs each pack ends.
	Ends []int
	// Repeated says that another rank has all of IDs, too.
	Repeated bool
	// Spare are the ids of all ranks, the first at position SparePos: where all of IDs are
	// skipped the batch has the first of them that can be read.
	Spare    []int64
	SparePos int64
	Seq      int64 // the plan's own
}

// Outcome is what came of a task.
type Outcome struct {
	Err error
	// Ended: the stream had nothing left, or too little with order.Drop. There is no batch.
	Ended bool
	// Empty: all samples were skipped. There is no batch.
	Empty bool
	// Count is how many samples are in the batch, Repeated how many of them other ranks
	// have, too.
	Count, Repeated int
	// State is the lane's state behind the task, if it was wanted or the lane ended. The plan owns it.
	State *LaneState
	// Faults are the samples that failed and were skipped.
	Faults []faults.Fault
}

// LaneStart says how a lane begins. The worker is initialised, then the state of
// the data set set, then it is opened, then the state of the iterator set.
type LaneStart struct {
	Seed uint64
	// ID and N are what WorkerInfo tells. N 0: the number of the lane, of all lanes.
	ID, N int
	// Dataset and Iterator are states to go on from; nil: none.
	Dataset, Iterator []byte
	// Items is how many items of this pass were read before.
	Items int64
	// Skip is how many items an iterator without a state reads and drops.
	Skip int64
	// Ended: the stream has ended before.
	Ended bool
	// Keep: the lane goes on with the data set that it has from the pass before.
	Keep bool
	// Context, if not nil, adds to the context that the data set is given.
	Context func(context.Context) context.Context
}

// LaneState is where a lane stands.
type LaneState struct {
	// Dataset and Iterator are the states of those that are a state.Stateful, else nil.
	// Dataset is nil when it is its own iterator.
	Dataset, Iterator []byte
	// Initial is the state of the data set before Open; only Plan.Opened gets it.
	Initial []byte
	Items   int64 // read in this pass, failed ones included
	Ended   bool  // there are no more
}
