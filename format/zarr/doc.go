// Package zarr reads and writes zarr arrays: n-dimensional arrays cut into
// chunks, each the value of a key in some key-value store.
//
// # Keys
//
// An array with the name N has the keys
//
//	N/zarr.json     metadata, JSON
//	N/c/0/1/…       a chunk: its place in the grid, key encoding "default"
//	N/0.1.…         the same in key encoding "v2"
//
// The separator of either encoding may be "/" or ".". An array of rank 0 has
// the one chunk N/c, or N/0. An empty name gives bare keys.
//
// # Chunks
//
// A regular grid of chunks of one shape covers the array. All chunks are stored
// in full; what reaches over the edge of the array is padding. A chunk that is
// not there stands for the fill value.
//
// A chunk is encoded by a chain of codecs, from left to right:
//
//	array → array *   transpose
//	array → bytes 1   bytes, sharding_indexed
//	bytes → bytes *   zstd, crc32c
//
// "bytes" writes the elements in C order, little- or big-endian; types narrower
// than a byte take a whole one, the value in its low bits. "zstd" makes one
// frame. "crc32c" appends the CRC-32C of its input, u32le.
//
// # Shards
//
// "sharding_indexed" makes the chunk a container (a shard) of sub-chunks that
// are encoded each by a chain of their own:
//
//	+-------------+-------------+--- … ---+-------------------------------------+
//	| sub-chunk 0 | sub-chunk 1 |         | index                               |
//	+-------------+-------------+--- … ---+-------------------------------------+
//
//	index: offset u64, length u64 of every sub-chunk in C order of their grid,
//	encoded by index codecs of fixed size (as a rule bytes little-endian and
//	crc32c: 16·n + 4 bytes); at the end, or at the start
//
// Offsets count from the start of the chunk. Both numbers 2^64-1: the sub-chunk
// is missing. Sub-chunks may lie in any order, with gaps. So a part of a chunk
// can be read with a range read, and an encoder that knows the sizes beforehand
// can place sub-chunks where direct I/O wants them.
//
// # Metadata
//
//	{"chunk_grid":{"configuration":{"chunk_shape":[8]},"name":"regular"},
//	 "chunk_key_encoding":{"name":"default"},
//	 "codecs":[…],"data_type":"int32","fill_value":0,
//	 "node_type":"array","shape":[8],"zarr_format":3}
//
// is written as TensorStore does: compact, members sorted, defaults left out,
// floating-point zero as 0.0. It is read strictly: an unknown member is an error
// unless it is an object with "must_understand": false; a duplicate one always
// is.
//
// # Trust
//
// Metadata and chunks are assumed to come from an enemy. Sizes are checked
// before memory is allocated: a chain of fixed size must find exactly that many
// bytes; a compressed sub-chunk may not declare more than its shape holds, and
// shapes beyond ReadOptions.MaxChunkBytes are refused. Damage is errs.Corrupt
// with key and reason.
package zarr
