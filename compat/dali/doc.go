// Package dali holds what makes Bivouac imitate NVIDIA DALI to the bit: the order
// in which its readers deliver samples, where in it a saved reader stands, the seeds
// that a pipeline deals out, and the numbers that random operators draw. It supplies
// values to the engines, which know nothing of it.
//
// # Order of a reader
//
// DALI keeps a buffer of samples and picks at random from those that belong to
// the current epoch, while it already fills the buffer with the next. As a slot
// that is free takes the sample that is read next, every epoch begins in the
// order of reading, whatever happened before. What is delivered can therefore
// be told without a buffer:
//
//	list     0, 1, …, n-1; with RandomShuffle, but for containers, shuffled once
//	         by mt19937(524287); with ShuffleAfterEpoch shuffled for every epoch
//	         by mt19937_64(seed + (epoch+1)<<32)
//	shard s  positions n*s/shards up to n*(s+1)/shards of the list, rounded down
//	epoch e  shard (ShardID+e) mod shards, or always ShardID with StickToShard
//	shuffle  with RandomShuffle position i of the epoch takes one of its next
//	         InitialFill samples by minstd_rand0, which goes on from epoch to epoch
//	padding  with PadLastBatch the last sample is repeated until the epoch has
//	         as many samples as the largest shard, and then to the end of a batch
//
// An epoch is what DALI's checkpoints call one: a pass over a shard.
package dali
