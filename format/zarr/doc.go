// Package zarr reads and writes zarr arrays, of formats 3 and 2: n-dimensional
// arrays cut into chunks, each the value of a key in some key-value store. The
// store may be a database (package ocdbt), a directory (Files) or an archive
// (Zip).
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
//	bytes → bytes *   blosc, crc32c, gzip, zstd
//
// "bytes" writes the elements in C order, little- or big-endian; types narrower
// than a byte take a whole one, the value in its low bits. "zstd" makes one
// frame, "gzip" one member, "blosc" one chunk of c-blosc 1. "crc32c" appends the
// CRC-32C of its input, u32le. "transpose" with order p stores axis p[k] as axis
// k.
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
// # Format 2
//
// Format 2 keeps its metadata under N/.zarray, as TensorStore writes it:
//
//	{"chunks":[8],"compressor":{"id":"zstd","level":1},"dimension_separator":".",
//	 "dtype":"<i4","fill_value":null,"filters":null,"order":"C","shape":[8],
//	 "zarr_format":2}
//
// A chunk is all its elements, in C or Fortran order, in the byte order that the
// dtype names, compressed or not: blosc, bz2, gzip, lz4 (numcodecs' one: size
// u32le, LZ4 block), zlib or zstd. Types that numpy lacks go by their plain
// names. A fill value null is zero; bytes in base64 stand for values that JSON
// has no form for. Unknown members are passed over, duplicate ones are not.
//
// # Trust
//
// Metadata and chunks are assumed to come from an enemy. Sizes are checked
// before memory is allocated: a chain of fixed size must find exactly that many
// bytes; a compressed sub-chunk may not declare more than its shape holds, or
// than its bytes can stand for; memory grows with what is there; and
// shapes beyond ReadOptions.MaxChunkBytes are refused. Damage is errs.Corrupt
// with key and reason.
package zarr
