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

// Compat is a mode of a pipeline: it imitates another system, or works in Bivouac's own way. The
// engine takes names, orders, random streams and states from its Compat alone. The packages in
// compat/ implement the modes that imitate other systems. Implementations are immutable and
// comparable, and part of this module, because graphs are.
type Compat interface {
	// String names the mode; it enters the identity of pipelines, unless empty.
	fmt.Stringer
	// NodeName names a node that has no name of its own. unnamed is how many such
	// nodes the graph has before it; taken tells names that are in use.
	NodeName(s *op.Schema, unnamed int, taken func(string) bool) string
	// DrawsAlike reports whether two nodes with the same operator, arguments and inputs, which draw
	// random numbers, draw the same ones. seeded says that they have a seed of their own.
	DrawsAlike(seeded bool) bool
	// Arrange is asked once by every new pipeline. Reader i of the graph is sources[i].
	Arrange(g *graph.Graph, sources []reader.Source, o Options) (*Arrangement, error)
}

// Arrangement is what a mode makes of one graph and its data.
type Arrangement struct {
	Keyers []rng.Keyer   // of the graph's nodes
	Orders []order.Order // of its readers
	// Epochs are the epochs of the first reader; nil without readers.
	Epochs Epochs
	// Tail is how the stream is cut into batches at the end of an epoch.
	Tail order.Tail
	// Counted marks the nodes of a branch whose Keyer gets numbers counted at the node: as the
	// position, the number of a sample among all samples that came to the node; as the slot, its
	// number among the samples of the batch that came there. nil marks no node.
	Counted []bool
	// Codec writes and reads states; nil writes and reads Bivouac's documents.
	Codec Codec
	// NoStates is why the pipeline gives and takes no states, nil when it does.
	NoStates error
}

// Epochs tells where the epochs of an order begin.
type Epochs interface {
	// Locate returns the epoch of a position (>= 0) and how many positions of it come before.
	Locate(pos int64) (epoch, index int64)
	// EpochLength returns the number of positions of an epoch (>= 0).
	EpochLength(epoch int64) int64
}

// Progress is how far a stream has come.
type Progress struct {
	Position int64 // samples delivered, over all ranks
	Batches  int64 // delivered since the beginning, or the last reset
	Resets   int64 // how often the stream was reset at the end of a source
	Digest   state.Digest
	// First is the position of the first sample since the last reset.
	First int64
	// Sources are the states of external sources that have one, by the name of their node.
	Sources map[string][]byte
	// Came is how many samples came to each counted node, by its name; nil: to none.
	Came map[string]int64
	// Consumer is what the consumer of the stream keeps in the state; see Pipeline.AppendStateWith.
	Consumer []byte
	// Faults are the samples that failed and were excused.
	Faults faults.Ledger

	number int64 // of batches since the last move
}

// Codec writes and reads the states of one pipeline.
type Codec interface {
	// AppendState appends the state of a stream that stands at the given Progress.
	AppendState(dst []byte, at Progress) ([]byte, error)
	// ParseState reads a state. It fails with errs.Corrupt for bytes that are no state, and with
	// errs.Mismatch, which names the difference, for the state of another pipeline.
	ParseState(b []byte) (Progress, error)
}

// native is Bivouac's own way.
type native struct{}

// String implements Compat.
func (native) String() string { return "" }

// NodeName implements Compat: the operator's name, with "#2", "#3" … for further ones.
func (native) NodeName(s *op.Schema, unnamed int, taken func(string) bool) string {
	return graph.NumberedName(s, unnamed, taken)
}

// DrawsAlike implements Compat: never, for numbers are keyed by name.
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

// nativeOrder returns the order of all samples of a reader, and the shards of it
// that it was asked for.
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
