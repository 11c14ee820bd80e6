// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// ReadersArrayRecordArgs are the arguments of readers.array_record.
type ReadersArrayRecordArgs = opargs.ReadersArrayRecord

// ReadersArrayRecord is readers.array_record. Reads the records of ArrayRecord files, which have an index of
// their own. The hashes of the format are verified with every read. A record of a file with group_size:1 is
// one read; a larger group is decoded once and kept, within cache_bytes.
//
// Output record: the bytes of a record, uint8.
func ReadersArrayRecord(p *pipeline.Builder, args ReadersArrayRecordArgs) (record pipeline.Node) {
	out := p.Op("readers.array_record", args)
	return out[0]
}

// ReadersArrowArgs are the arguments of readers.arrow.
type ReadersArrowArgs = opargs.ReadersArrow

// ReadersArrow is readers.arrow. Reads the rows of Arrow IPC files and streams. Each column is an output:
// numbers are scalars, strings and binaries are bytes, and lists of numbers are arrays. A part of a struct is
// a column with a dot in its name. A row is read alone where buffers are not compressed; compressed buffers
// are expanded once and kept, within cache_bytes.
//
// Output column: the value of a column.
func ReadersArrow(p *pipeline.Builder, args ReadersArrowArgs) []pipeline.Node {
	return p.Op("readers.arrow", args)
}

// ReadersFileArgs are the arguments of readers.file.
type ReadersFileArgs = opargs.ReadersFile

// ReadersFile is readers.file. Reads whole files and their labels. With file_root, each folder below it is a
// class: folders are sorted by the bytes of their names and numbered from 0, empty ones too, and so are the
// files in each; deeper folders are not entered.
//
// Output files: the bytes of a file, uint8.
// Output labels: its label, int32 of shape [1].
func ReadersFile(p *pipeline.Builder, args ReadersFileArgs) (files, labels pipeline.Node) {
	out := p.Op("readers.file", args)
	return out[0], out[1]
}

// ReadersMdsArgs are the arguments of readers.mds.
type ReadersMdsArgs = opargs.ReadersMds

// ReadersMds is readers.mds. Reads data sets in MosaicML Streaming's format MDS: folders with an index.json.
// Each column is an output. Numbers are scalars, arrays keep their type, and texts, bytes, JSON, decimals and
// encoded images are bytes. Hashes in index.json are verified when a shard is first read. Compressed shards
// are expanded once and kept, within cache_bytes.
//
// Output column: the value of a column.
func ReadersMds(p *pipeline.Builder, args ReadersMdsArgs) []pipeline.Node {
	return p.Op("readers.mds", args)
}

// ReadersParquetArgs are the arguments of readers.parquet.
type ReadersParquetArgs = opargs.ReadersParquet

// ReadersParquet is readers.parquet. Reads the rows of Parquet files. Each column is an output: numbers are
// scalars, strings and binaries are bytes, and lists of numbers are arrays. A part of a struct is a column
// with a dot in its name. Pages are decoded once, their checksums are verified, and they are kept within
// cache_bytes; a file with an offset index costs one page a row in any order.
//
// Output column: the value of a column.
func ReadersParquet(p *pipeline.Builder, args ReadersParquetArgs) []pipeline.Node {
	return p.Op("readers.parquet", args)
}
