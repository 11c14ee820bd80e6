// Package writer makes the files of a checkpoint as they will lie on disk.
//
// A save has two halves. Plan lays everything out, and copies what is small;
// Snapshot copies the arrays into memory that is reused, so that the caller is
// blocked for one pass over the memory and may change everything afterwards.
// Commit runs in the background: it encodes the small documents, encodes and
// checksums the arrays piece by piece into memory for a few writes, hands these
// to a store transaction, and commits.
//
// Without Snapshot, Commit reads the arrays from the caller's memory: while he
// waits for the save anyway, when he hands the memory over, or when a copy would
// pass the memory budget. Nothing else differs.
//
// Per tree item the files are
//
//	_METADATA            one entry a leaf
//	_strings.json        when there are strings
//	manifest.ocdbt       the database: generation 1
//	d/<32 hex>           one to four data files: arrays over 1024 bytes, then,
//	                     in one of them, the B+tree nodes
//
// Arrays are zarr v3, one shard an array, uncompressed, each sub-chunk with its
// CRC-32C behind it (codec "crc32c"), so that other readers notice damage too.
// Shards of 256 KiB and more begin on a multiple of 4096 in their data file.
package writer
