// Package arrayrecord reads and writes files of the format ArrayRecord, which is Riegeli with an
// index.
//
// A Riegeli file is a sequence of chunks. At every multiple of 64 KiB a block header of 24 bytes
// interrupts the chunk that lies there. A chunk is
//
//	hash of the rest of the header   uint64
//	size of the data                 uint64
//	hash of the data                 uint64
//	type                             1 byte
//	number of records                7 bytes
//	size of the decoded records      uint64
//	data, and zeros up to the next chunk
//
// Numbers are little-endian, and hashes are HighwayHash. A simple chunk (type 'r') has the sizes of
// its records and their bytes. A transposed chunk (type 't') takes protocol buffers apart and keeps
// the values of a field together. Both may be compressed with Brotli, Zstandard or Snappy.
//
// ArrayRecord adds two chunks at the end: a footer with the offset of every chunk of records, and a
// postscript in the last 64 KiB that says where the footer is. So each chunk can be read alone.
//
// [Open] reads the footer, [File.Find] says which chunk has a record, and [Decode] decodes a chunk.
// Both verify the hashes. A [Writer] writes a file.
package arrayrecord
