// Package mds reads and writes shards of MosaicML Streaming's format MDS.
//
// A data set is a folder with a file index.json, which names the shards, their columns, their sizes
// and their hashes. A shard is
//
//	number of samples   uint32
//	offsets             uint32 for each sample, and one for the end of the last sample
//	configuration       JSON, which index.json has too
//	samples             back to back
//
// and a sample is the sizes (uint32) of those columns that have no fixed size, followed by the
// bytes of all columns. All numbers are little-endian. A shard may be compressed as a whole.
//
// The package knows bytes and no files: [ParseIndex] reads index.json, [Expand] undoes the
// compression, [ParseTable] finds the samples of a shard, [Split] finds the columns of a sample,
// and [Column.Decode] decodes one. [AppendShard] writes a shard.
package mds
