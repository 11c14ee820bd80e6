// Package image makes the files of a checkpoint as they will lie on disk.
//
// A save has two halves. Take copies the caller's values: every array is
// encoded at its final place in the image of its data file, checksummed while
// it passes, so that the caller is blocked for one pass over the memory and may
// change everything afterwards. Commit runs in the background: it encodes the
// small documents, writes the images through a store transaction and commits.
//
// Per tree item the files are
//
//	_METADATA            one entry a leaf
//	_strings.json        when there are strings
//	manifest.ocdbt       the database: generation 1
//	d/<32 hex>           data files: arrays over 1024 bytes, then the B+tree nodes
//
// Arrays are zarr v3, one shard an array, uncompressed, each sub-chunk with its
// CRC-32C behind it (codec "crc32c"), so that other readers notice damage too.
// Shards of 256 KiB and more begin on a multiple of 4096 in their data file.
package image
