package pipeline

import (
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// ReaderMeta is what a reader says about its data set and its shard of it.
type ReaderMeta struct {
	EpochSize       int64 // samples of the whole data set
	EpochSizePadded int64 // the same with all shards padded to one size, when they are
	NumberOfShards  int64
	ShardID         int64
	PadLastBatch    bool
	StickToShard    bool
}

// ReaderMeta describes the reader called name.
func (p *Pipeline) ReaderMeta(name string) (ReaderMeta, error) {
	for i, n := range p.graph.Readers() {
		if n.Name == name {
			return metaOf(n, p.sources[i].Info().Samples), nil
		}
	}
	return ReaderMeta{}, &errs.Error{Kind: errs.NotFound, Op: "pipeline.ReaderMeta", Subject: "node " + name, Want: "a reader"}
}

// EpochSizes returns the padded size of the data set of every reader, by the name of its node.
func (p *Pipeline) EpochSizes() map[string]int64 {
	sizes := map[string]int64{}
	for i, n := range p.graph.Readers() {
		sizes[n.Name] = metaOf(n, p.sources[i].Info().Samples).EpochSizePadded
	}
	return sizes
}

func metaOf(n *graph.Node, samples int64) ReaderMeta {
	m := ReaderMeta{
		EpochSize: samples, EpochSizePadded: samples,
		NumberOfShards: int64(max(1, op.Get[int](n.Config, "num_shards"))),
		ShardID:        int64(op.Get[int](n.Config, "shard_id")),
		PadLastBatch:   op.Get[bool](n.Config, "pad_last_batch"),
		StickToShard:   op.Get[bool](n.Config, "stick_to_shard") || op.Get[bool](n.Config, "shuffle_after_epoch"),
	}
	if m.PadLastBatch {
		m.EpochSizePadded = (samples + m.NumberOfShards - 1) / m.NumberOfShards * m.NumberOfShards
	}
	return m
}
