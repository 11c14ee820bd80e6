// Code generated from the schemas by go generate ./dynamic/readers; DO NOT EDIT.

package readers

import "github.com/bivouac-ml/bivouac/op/opargs"

// NewArrayRecord returns a reader of kind readers.array_record.
//
// Reads the records of ArrayRecord files, which have an index of their own. The hashes of the format are
// verified with every read. A record of a file with group_size:1 is one read; a larger group is decoded once
// and kept, within cache_bytes.
//
// Outputs:
//   - record: the bytes of a record, uint8
func NewArrayRecord(args opargs.ReadersArrayRecord, o Options) (*Reader, error) {
	return New("readers.array_record", args, o)
}

// NewArrow returns a reader of kind readers.arrow.
//
// Reads the rows of Arrow IPC files and streams. Each column is an output: numbers are scalars, strings and
// binaries are bytes, and lists of numbers are arrays. A part of a struct is a column with a dot in its name.
// A row is read alone where buffers are not compressed; compressed buffers are expanded once and kept, within
// cache_bytes.
//
// Outputs:
//   - column: the value of a column
func NewArrow(args opargs.ReadersArrow, o Options) (*Reader, error) {
	return New("readers.arrow", args, o)
}

// NewFile returns a reader of kind readers.file.
//
// Reads whole files and their labels. With file_root, each folder below it is a class: folders are sorted by
// the bytes of their names and numbered from 0, empty ones too, and so are the files in each; deeper folders
// are not entered.
//
// Outputs:
//   - files: the bytes of a file, uint8
//   - labels: its label, int32 of shape [1]
func NewFile(args opargs.ReadersFile, o Options) (*Reader, error) {
	return New("readers.file", args, o)
}

// NewMds returns a reader of kind readers.mds.
//
// Reads data sets in MosaicML Streaming's format MDS: folders with an index.json. Each column is an output.
// Numbers are scalars, arrays keep their type, and texts, bytes, JSON, decimals and encoded images are bytes.
// Hashes in index.json are verified when a shard is first read. Compressed shards are expanded once and kept,
// within cache_bytes.
//
// Outputs:
//   - column: the value of a column
func NewMds(args opargs.ReadersMds, o Options) (*Reader, error) { return New("readers.mds", args, o) }

// NewParquet returns a reader of kind readers.parquet.
//
// Reads the rows of Parquet files. Each column is an output: numbers are scalars, strings and binaries are
// bytes, and lists of numbers are arrays. A part of a struct is a column with a dot in its name. Pages are
// decoded once, their checksums are verified, and they are kept within cache_bytes; a file with an offset
// index costs one page a row in any order.
//
// Outputs:
//   - column: the value of a column
func NewParquet(args opargs.ReadersParquet, o Options) (*Reader, error) {
	return New("readers.parquet", args, o)
}
