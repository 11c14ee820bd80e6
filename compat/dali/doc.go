// Package dali imitates NVIDIA DALI to the bit: its Pipeline, its options and its iterators. It is
// built on the engines, which do not know it.
//
// # Pipelines
//
// [Define], [DefineBy], [Template] and [NewBuilder] declare a graph, like DALI's pipeline_def,
// subclasses and Pipeline(), with [PipelineOptions]. They return a [Definition], from which any
// number of pipelines can be made:
//
//	def, err := dali.Define(dali.PipelineOptions{Options: pipeline.Options{BatchSize: 64}},
//		func(b *pipeline.Builder) []pipeline.Node {
//			jpegs, labels := fn.ReadersFile(b, fn.ReadersFileArgs{FileRoot: "train"})
//			return []pipeline.Node{fn.DecodersImage(b, jpegs, fn.DecodersImageArgs{}), labels}
//		})
//	pipe, err := def.New(ctx, nil)
//	batch, err := pipe.Run(ctx, nil)
//
// A [Pipeline] is the engine's pipeline.Pipeline with DALI's methods: Build, Run, ScheduleRun,
// ShareOutputs, Outputs, ReleaseOutputs, FeedInput, ReaderMeta, Checkpoint and others. An
// [Iterator] iterates over epochs of several pipelines. [Serialize] and [Deserialize] exchange
// pipelines with DALI. docs/compat/dali.md has a row for each name.
//
// These pipelines work in [Mode] unless PipelineOptions.Native is set: names, orders, random
// numbers, batches and states are DALI's. A pipeline of package pipeline can work in Mode too, as
// its Options.Compat.
//
// # Order of a reader
//
// DALI keeps a buffer of samples and picks at random from those that belong to the current epoch,
// while it fills the buffer with samples of the next epoch. A free slot takes the sample that is
// read next. So every epoch begins in the order of reading, whatever happened before, and the
// delivered samples can be computed without a buffer:
//
//	list     0, 1, …, n-1; with RandomShuffle, except for containers, shuffled once
//	         by mt19937(524287); with ShuffleAfterEpoch shuffled for every epoch
//	         by mt19937_64(seed + (epoch+1)<<32)
//	shard s  positions n*s/shards up to n*(s+1)/shards of the list, rounded down
//	epoch e  shard (ShardID+e) mod shards, or always ShardID with StickToShard
//	shuffle  with RandomShuffle position i of the epoch takes one of its next
//	         InitialFill samples by minstd_rand0, which continues from epoch to epoch
//	padding  with PadLastBatch the last sample is repeated until the epoch has
//	         as many samples as the largest shard, and then to the end of a batch
//
// An epoch is the same as in DALI's checkpoints: a pass over a shard.
package dali
