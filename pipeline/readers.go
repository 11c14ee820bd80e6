package pipeline

import "github.com/bivouac-ml/bivouac/op"

// ReaderInfo describes a reader's data set, and the shard of it that the reader reads.
type ReaderInfo struct {
	Name         string // of its node
	Samples      int64  // of the whole data set
	NumShards    int64
	ShardID      int64
	PadLastBatch bool // all shards are padded to one size
	StickToShard bool // each epoch reads the same shard
}

// Readers describes the readers, in the order of the graph.
func (p *Pipeline) Readers() []ReaderInfo {
	var all []ReaderInfo
	for i, n := range p.graph.Readers() {
		all = append(all, ReaderInfo{
			Name: n.Name, Samples: p.sources[i].Info().Samples,
			NumShards:    int64(max(1, op.Get[int](n.Config, "num_shards"))),
			ShardID:      int64(op.Get[int](n.Config, "shard_id")),
			PadLastBatch: op.Get[bool](n.Config, "pad_last_batch"),
			StickToShard: op.Get[bool](n.Config, "stick_to_shard") || op.Get[bool](n.Config, "shuffle_after_epoch"),
		})
	}
	return all
}
