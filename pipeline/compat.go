package pipeline

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// Compat is a mode of a pipeline: Bivouac's own way, or the way of another system. The engine takes
// names, orders, random streams and states only from its Compat. The packages in compat/ implement
// the modes that imitate other systems. Implementations are immutable and comparable, and part of
// this module, because graphs are.
type Compat interface {
	// String names the mode. The name is part of the identity of pipelines, unless it is empty.
	fmt.Stringer
	// NodeName returns a name for a node without a name of its own. unnamed is the number of such
	// nodes before it in the graph. taken reports whether a name is in use.
	NodeName(s *op.Schema, unnamed int, taken func(string) bool) string
	// DrawsAlike reports whether two random nodes with the same operator, arguments and inputs draw
	// the same random numbers. seeded says that they have a seed of their own.
	DrawsAlike(seeded bool) bool
	// Arrange returns the Arrangement of a new pipeline, which calls it once. sources[i] is the source
	// of reader i of the graph.
	Arrange(g *graph.Graph, sources []reader.Source, o Options) (*Arrangement, error)
}

// Arrangement is how a mode runs one graph on its data.
type Arrangement struct {
	Keyers []rng.Keyer   // of the graph's nodes
	Orders []order.Order // of its readers
	// Epochs are the epochs of the first reader. It is nil if there are no readers.
	Epochs Epochs
	// Tail says how the end of an epoch is cut into batches.
	Tail order.Tail
	// Counted marks the nodes of branches that number their samples themselves. The Keyer of such a
	// node gets two numbers for a sample. In place of the position it gets the sample's number among
	// all samples that reached the node. In place of the slot it gets the sample's number among the
	// samples of the batch that reached the node. nil marks no node.
	Counted []bool
	// Codec writes and reads states; nil writes and reads Bivouac's documents.
	Codec Codec
	// NoStates is the reason why the pipeline has no states. It is nil if the pipeline has states.
	NoStates error
}

// Epochs says where the epochs of an order begin.
type Epochs interface {
	// Locate returns the epoch of a position (>= 0), and the index of the position in this epoch.
	Locate(pos int64) (epoch, index int64)
	// EpochLength returns the number of positions of an epoch (>= 0).
	EpochLength(epoch int64) int64
}

// Progress is how far a stream has come.
type Progress struct {
	Position int64 // samples delivered, over all ranks
	Batches  int64 // delivered since the beginning or the last reset
	Resets   int64 // how often the stream was reset at the end of a source
	Digest   state.Digest
	// First is the position of the first sample since the last reset.
	First int64
	// Sources are the states of the external sources and the functions that have a state, by the name
	// of their node.
	Sources map[string][]byte
	// Came is the number of samples that reached each counted node, by the name of the node. nil means
	// 0 for all nodes.
	Came map[string]int64
	// Consumer is the data that the consumer of the stream keeps in the state; see
	// Pipeline.AppendStateWith.
	Consumer []byte
	// Faults are the samples that failed and were excused.
	Faults faults.Ledger

	number int64 // of the batch, counted since the last move
}

// Codec writes and reads the states of one pipeline.
type Codec interface {
	// AppendState appends the state of a stream that stands at the given Progress.
	AppendState(dst []byte, at Progress) ([]byte, error)
	// ParseState reads a state. It fails with errs.Corrupt if b is not a state. It fails with
	// errs.Mismatch, and names the difference, if b is the state of another pipeline.
	ParseState(b []byte) (Progress, error)
}

// native is Bivouac's own mode.
type native struct{}

// String implements Compat.
func (native) String() string { return "" }

// NodeName implements Compat. It returns the operator's name, with "#2", "#3" … for further nodes.
func (native) NodeName(s *op.Schema, unnamed int, taken func(string) bool) string {
	return graph.NumberedName(s, unnamed, taken)
}

// DrawsAlike implements Compat. It returns false, because random numbers are keyed by the node's
// name.
func (native) DrawsAlike(bool) bool { return false }

// Arrange implements Compat.
func (native) Arrange(g *graph.Graph, sources []reader.Source, o Options) (*Arrangement, error) {
	a := &Arrangement{Tail: o.Tail}
	for _, n := range g.Nodes {
		a.Keyers = append(a.Keyers, rng.NewKeyer(n.SeedOr(o.Seed)))
	}
	for i, n := range g.Readers() {
		whole, shards, err := nativeOrder(n, sources[i].Info().Samples, o)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			a.Epochs = shards
		}
		if shards.Count == 1 && shards.Pad == 0 {
			a.Orders = append(a.Orders, whole)
			continue
		}
		part, err := order.NewSharded(whole, shards)
		if err != nil {
			return nil, errs.Wrap(n.Schema.FullName(), "node "+n.Name, err)
		}
		a.Orders = append(a.Orders, part)
	}
	return a, nil
}

// nativeOrder returns the order of all samples of a reader, and the shards that its arguments ask
// for.
func nativeOrder(n *graph.Node, samples int64, o Options) (order.Order, order.Shards, error) {
	s := order.Shards{
		Samples: samples,
		Count:   int64(max(1, op.Get[int](n.Config, "num_shards"))),
		ID:      int64(op.Get[int](n.Config, "shard_id")),
		Stick:   op.Get[bool](n.Config, "stick_to_shard") || op.Get[bool](n.Config, "shuffle_after_epoch"),
	}
	if s.Count > samples {
		return nil, s, n.Config.Invalid("num_shards", fmt.Sprintf("at most the %d samples", samples), fmt.Sprint(s.Count), "")
	}
	if op.Get[bool](n.Config, "pad_last_batch") {
		s.Pad = int64(o.BatchSize)
	}
	if !n.Shuffled() {
		return order.NewCycle(samples), s, nil
	}
	seed := n.SeedOr(o.Seed)
	if op.Get[bool](n.Config, "shuffle_after_epoch") && n.Config.Given("shuffle_after_epoch_seed") {
		seed = uint64(op.Get[int](n.Config, "shuffle_after_epoch_seed"))
	}
	return order.NewShuffled(samples, seed, n.Name), s, nil
}
