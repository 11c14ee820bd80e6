package dali

import (
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/rng"
)

// Mode makes a pipeline work like DALI's, bit for bit, as pipeline.Options.Compat:
//   - Nodes have DALI's names.
//   - Nodes get the words of the pipeline's seed.
//   - Readers shuffle through DALI's buffer.
//   - Random numbers are keyed by the slot in the batch.
//   - Every batch is full.
//   - The pipeline reads and writes DALI's checkpoints.
//
// Orders with shuffle_after_epoch are the orders of a pipeline without enable_checkpointing, and
// there are no states; see [CheckpointMode].
func Mode() pipeline.Compat { return mode{} }

// CheckpointMode is Mode with enable_checkpointing: the pipeline returns and accepts DALI's
// checkpoints.
func CheckpointMode() pipeline.Compat { return mode{checkpointing: true} }

type mode struct{ checkpointing bool }

// String implements pipeline.Compat.
func (mode) String() string { return "dali" }

// NodeName implements pipeline.Compat: "__CropMirrorNormalize_3", numbered
// through the whole graph.
func (mode) NodeName(s *op.Schema, unnamed int, _ func(string) bool) string {
	return "__" + class(s.Name) + "_" + strconv.Itoa(unnamed)
}

// DrawsAlike implements pipeline.Compat. Operators with equal seeds of their own draw alike.
func (mode) DrawsAlike(seeded bool) bool { return seeded }

// Arrange implements pipeline.Compat.
func (m mode) Arrange(g *graph.Graph, sources []reader.Source, o pipeline.Options) (*pipeline.Arrangement, error) {
	seeds := dealSeeds(g, o.Seed)
	a := &pipeline.Arrangement{Tail: order.Span, Keyers: make([]rng.Keyer, len(g.Nodes))}
	for _, n := range g.Nodes {
		a.Keyers[n.Index] = slotKeyer{key: seeds[n.Index]}
		if o.World == 1 && counted(n) {
			if a.Counted == nil {
				a.Counted = make([]bool, len(g.Nodes))
			}
			a.Counted[n.Index] = true
		}
	}
	orders := map[*graph.Node]*ReaderOrder{}
	for i, n := range g.Readers() {
		samples, seed := sources[i].Info().Samples, int64(seeds[n.Index])
		r, err := NewReaderOrder(readerOptions(n, samples, seed, o.BatchSize, m.checkpointing))
		if err != nil {
			return nil, errs.Wrap(n.Schema.FullName(), "node "+n.Name, err)
		}
		if i == 0 {
			a.Epochs = r
		}
		orders[n] = r
		a.Orders = append(a.Orders, r)
	}
	if !m.checkpointing {
		a.NoStates = &errs.Error{Kind: errs.Invalid, Subject: "PipelineOptions.EnableCheckpointing",
			Want: "true, for checkpoints as DALI's", Got: "false", Remedy: "set it, or use CheckpointMode"}
	}
	a.Codec = newCodec(g, seeds, orders, a.Counted, int64(o.BatchSize))
	return a, nil
}

// counted reports whether a random operator sees only the samples that took a branch. DALI counts
// these samples, so its numbers depend on the conditions of all batches before.
func counted(n *graph.Node) bool {
	if n.Reader != nil || !drawsSeed(n) {
		return false
	}
	for _, edges := range [][]graph.Edge{n.Inputs, n.Args} {
		for _, e := range edges {
			if e.Node.Partial {
				return true
			}
		}
	}
	return false
}

// slotKeyer gives the samples of a random operator their streams: sequences of the operator's seed
// that continue with the batches and are 65537 apart within a batch.
type slotKeyer struct{ key uint64 }

// Stream implements rng.Keyer.
func (k slotKeyer) Stream(pos int64, slot int, _ uint64, _ uint32) rng.Philox {
	return rng.NewPhilox(k.key, uint64(pos-int64(slot))+uint64(slot)*65537, 0)
}

// drawsSeed reports whether a node has a seed: readers and random operators do.
func drawsSeed(n *graph.Node) bool {
	_, ok := n.Schema.Param("seed")
	return ok
}

// dealSeeds returns the seed of every node: its own, or the next word of the pipeline's seeds, in
// the order in which DALI adds its operators.
func dealSeeds(g *graph.Graph, seed uint64) []uint64 {
	words, next := PipelineSeeds(int64(seed)), 0
	seeds := make([]uint64, len(g.Nodes))
	dealt := map[string]uint64{}
	nodes, _ := g.DepthFirst()
	for _, n := range nodes {
		if !drawsSeed(n) {
			continue
		}
		s := n.Seed
		if !n.Seeded {
			s = uint64(words[next%len(words)])
			next++
		}
		if alike, ok := dealt[n.Drawer()]; ok { // its own word goes to nobody
			s = alike
		}
		dealt[n.Drawer()] = s
		seeds[n.Index] = s
	}
	return seeds
}

// containers are the readers that never shuffle the list of all their samples.
var containers = map[string]bool{
	"readers.tfrecord": true, "readers.mxnet": true, "readers.webdataset": true, "readers.caffe": true, "readers.caffe2": true,
	"tfrecord_reader": true, "mxnet_reader": true, "caffe_reader": true, "caffe2_reader": true,
}

// readerOptions returns the arguments of a reader that decide its order.
func readerOptions(n *graph.Node, samples, seed int64, batch int, checkpointing bool) ReaderOptions {
	r := ReaderOptions{
		Samples: samples, BatchSize: batch, Seed: seed,
		RandomShuffle:     op.Get[bool](n.Config, "random_shuffle"),
		InitialFill:       op.Get[int](n.Config, "initial_fill"),
		NumShards:         op.Get[int](n.Config, "num_shards"),
		ShardID:           op.Get[int](n.Config, "shard_id"),
		StickToShard:      op.Get[bool](n.Config, "stick_to_shard"),
		PadLastBatch:      op.Get[bool](n.Config, "pad_last_batch"),
		ShuffleAfterEpoch: op.Get[bool](n.Config, "shuffle_after_epoch"),
		Checkpointing:     checkpointing,
		Container:         containers[n.Schema.FullName()],
	}
	if n.Config.Given("shuffle_after_epoch_seed") {
		seed := int64(op.Get[int](n.Config, "shuffle_after_epoch_seed"))
		r.ShuffleSeed = &seed
	}
	return r
}

var _ order.Order = (*ReaderOrder)(nil)
