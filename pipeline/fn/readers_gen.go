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

// ReadersCaffeArgs are the arguments of readers.caffe.
type ReadersCaffeArgs = opargs.ReadersCaffe

// ReadersCaffe is readers.caffe. Reads images and labels from LMDB databases of Caffe. An image whose record
// says that it is not encoded has the shape [height, width, channels]; others are files. The first record
// decides which.
//
// Output images: uint8.
// Output labels: int32 of shape [1], or [0] if a record has no label.
func ReadersCaffe(p *pipeline.Builder, args ReadersCaffeArgs) []pipeline.Node {
	return p.Op("readers.caffe", args)
}

// ReadersCaffe2Args are the arguments of readers.caffe2.
type ReadersCaffe2Args = opargs.ReadersCaffe2

// ReadersCaffe2 is readers.caffe2. Reads samples from LMDB databases of Caffe2: an image, a label as
// label_type says, additional tensors and a box. An image of bytes has the shape [height, width, channels];
// others are files. The first record decides the types.
//
// Output images: uint8.
// Output labels: as label_type says.
// Output additional: the numbers of the additional tensors in one dimension, and last with bbox the box,
// int32 of shape [4].
func ReadersCaffe2(p *pipeline.Builder, args ReadersCaffe2Args) []pipeline.Node {
	return p.Op("readers.caffe2", args)
}

// ReadersCocoArgs are the arguments of readers.coco.
type ReadersCocoArgs = opargs.ReadersCoco

// ReadersCoco is readers.coco. Reads images and their boxes and labels, and on request their masks and ids,
// from a folder and a file of annotations in COCO's format. The outputs are images, boxes and labels, then
// polygons and vertices or pixelwise masks, then the ids of the images. Images come in the order of their
// ids.
//
// Output images: the bytes of a file, uint8.
// Output boundingBoxes: float32 of shape [N, 4]: x, y, width and height, or with ltrb the sides.
// Output labels: int32 of shape [N].
// Output masks: with polygon_masks int32 of shape [P, 3]: for each polygon its box, its first vertex and its
// end; with pixelwise_masks int32 of shape [height, width, 1]: the label of each pixel, 0 outside.
// Output vertices: with polygon_masks float32 of shape [V, 2]: x and y.
// Output imageIds: with image_ids int32 of shape [1].
func ReadersCoco(p *pipeline.Builder, args ReadersCocoArgs) []pipeline.Node {
	return p.Op("readers.coco", args)
}

// ReadersCsvArgs are the arguments of readers.csv.
type ReadersCsvArgs = opargs.ReadersCsv

// ReadersCsv is readers.csv. Reads CSV: each row is a sample, and each column is an output of shape [n]. A
// column of text gives the bytes of a field in UTF-8, and a column of numbers or bools one element. Empty
// rows are skipped, and fields in quotes may have line ends.
//
// Output columns: one output for each of columns, in their order.
func ReadersCsv(p *pipeline.Builder, args ReadersCsvArgs) []pipeline.Node {
	return p.Op("readers.csv", args)
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

// ReadersFolderArgs are the arguments of readers.folder.
type ReadersFolderArgs = opargs.ReadersFolder

// ReadersFolder is readers.folder. Reads a folder of images or sounds as Hugging Face's imagefolder and
// audiofolder do. The label of a file is its folder, or metadata.csv, metadata.jsonl or metadata.parquet have
// a row for each file, whose column file_name names it. Folders or files may have the name of a split.
//
// Output fields: the bytes of a file (image or audio), then its label, or the columns of the metadata.
func ReadersFolder(p *pipeline.Builder, args ReadersFolderArgs) []pipeline.Node {
	return p.Op("readers.folder", args)
}

// ReadersJsonlArgs are the arguments of readers.jsonl.
type ReadersJsonlArgs = opargs.ReadersJsonl

// ReadersJsonl is readers.jsonl. Reads JSON Lines: each line is an object and a sample, and each field is an
// output of shape [n]. A text gives its bytes in UTF-8, a number or bool gives one element, and a list of
// them all its elements. Blank lines are skipped.
//
// Output fields: one output for each of fields, in their order.
func ReadersJsonl(p *pipeline.Builder, args ReadersJsonlArgs) []pipeline.Node {
	return p.Op("readers.jsonl", args)
}

// ReadersLitdataArgs are the arguments of readers.litdata.
type ReadersLitdataArgs = opargs.ReadersLitdata

// ReadersLitdata is readers.litdata. Reads data sets that litdata writes: a folder with an index.json and
// chunks. Each leaf of a sample is an output. Numbers are scalars, arrays keep their type, and texts, bytes,
// JSON and encoded images are bytes. Data of tokens are read in blocks. Compressed chunks are expanded once
// and kept, within cache_bytes.
//
// Output column: the value of a leaf.
func ReadersLitdata(p *pipeline.Builder, args ReadersLitdataArgs) []pipeline.Node {
	return p.Op("readers.litdata", args)
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

// ReadersMxnetArgs are the arguments of readers.mxnet.
type ReadersMxnetArgs = opargs.ReadersMxnet

// ReadersMxnet is readers.mxnet. Reads images and their labels from RecordIO files of MXNet.
//
// Output images: the bytes of an encoded image, uint8.
// Output labels: its labels, float32; mostly one.
func ReadersMxnet(p *pipeline.Builder, args ReadersMxnetArgs) (images, labels pipeline.Node) {
	out := p.Op("readers.mxnet", args)
	return out[0], out[1]
}

// ReadersNemoAsrArgs are the arguments of readers.nemo_asr.
type ReadersNemoAsrArgs = opargs.ReadersNemoAsr

// ReadersNemoAsr is readers.nemo_asr. Reads audio and text of manifests in NeMo's format, JSON objects with
// audio_filepath, duration and text. The outputs are the audio, then the rate, the text and the index. Paths
// of audio files are relative to the working directory. The offset and the duration of an entry are a part of
// its file. Files are decoded as by decoders.audio. A program that makes no pipeline decodes WAV, and the
// formats of codec that it imports.
//
// Output audio: of shape [frames], or without downmix [frames, channels].
// Output rates: with read_sample_rate the rate of the file, float32 of shape [].
// Output texts: with read_text the bytes of the text, uint8.
// Output indices: with read_idxs the place of the sample in its manifest, int64 of shape [1].
func ReadersNemoAsr(p *pipeline.Builder, args ReadersNemoAsrArgs) []pipeline.Node {
	return p.Op("readers.nemo_asr", args)
}

// ReadersNpzArgs are the arguments of readers.npz.
type ReadersNpzArgs = opargs.ReadersNpz

// ReadersNpz is readers.npz. Reads rows of the arrays in npz files: sample i has row i of each array. The
// arrays of a file have equal numbers of rows, and the rows of one name are equal in dtype and shape in all
// files. An array that is compressed, big-endian or in Fortran order is read as a whole.
//
// Output columns: one output for each of columns, in their order: a row of the array.
func ReadersNpz(p *pipeline.Builder, args ReadersNpzArgs) []pipeline.Node {
	return p.Op("readers.npz", args)
}

// ReadersNumpyArgs are the arguments of readers.numpy.
type ReadersNumpyArgs = opargs.ReadersNumpy

// ReadersNumpy is readers.numpy. Reads arrays of numpy: files with one array each, as numpy.save writes them,
// or a region of each array. All have the type and the number of axes of the first file.
//
// Output arrays: the array of a file, in C order.
func ReadersNumpy(p *pipeline.Builder, args ReadersNumpyArgs) (arrays pipeline.Node) {
	out := p.Op("readers.numpy", args)
	return out[0]
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

// ReadersSafetensorsArgs are the arguments of readers.safetensors.
type ReadersSafetensorsArgs = opargs.ReadersSafetensors

// ReadersSafetensors is readers.safetensors. Reads rows of the tensors in safetensors files: sample i has row
// i of each tensor. The tensors of a file have equal numbers of rows, and the rows of one name are equal in
// dtype and shape in all files.
//
// Output columns: one output for each of columns, in their order: a row of the tensor.
func ReadersSafetensors(p *pipeline.Builder, args ReadersSafetensorsArgs) []pipeline.Node {
	return p.Op("readers.safetensors", args)
}

// ReadersSequenceArgs are the arguments of readers.sequence.
type ReadersSequenceArgs = opargs.ReadersSequence

// ReadersSequence is readers.sequence. Reads sequences of images: each folder of a directory is a stream,
// whose images are frames in the order of the bytes of their names. The frames of a sequence must be equally
// large. Images are not turned as their EXIF orientation says.
//
// Output sequences: frames, uint8 of layout FHWC.
//
// Deprecated: it still works, but new programs read files and decode them
func ReadersSequence(p *pipeline.Builder, args ReadersSequenceArgs) (sequences pipeline.Node) {
	out := p.Op("readers.sequence", args)
	return out[0]
}

// ReadersTfrecordArgs are the arguments of readers.tfrecord.
type ReadersTfrecordArgs = opargs.ReadersTfrecord

// ReadersTfrecord is readers.tfrecord. Reads tf.train.Example messages from TFRecord files, and has an output
// for each feature that the argument features names. Both checksums of each record are checked.
//
// Output values: the features, in their order: the bytes of a feature of bytes (uint8), and int64 or float32
// numbers of the shape that the feature has.
func ReadersTfrecord(p *pipeline.Builder, args ReadersTfrecordArgs) []pipeline.Node {
	return p.Op("readers.tfrecord", args)
}

// ReadersTokensArgs are the arguments of readers.tokens.
type ReadersTokensArgs = opargs.ReadersTokens

// ReadersTokens is readers.tokens. Reads tokens from files that hold them back to back: windows of a fixed
// length, or whole documents. Files are pairs of .bin and .idx as Megatron and fairseq write them, npy files,
// or plain arrays. A window never has tokens of two files.
//
// Output tokens: the tokens, of shape [n].
// Output ends: with boundaries: where documents end within the sample, int64 of shape [k], each counted from
// its first token.
func ReadersTokens(p *pipeline.Builder, args ReadersTokensArgs) []pipeline.Node {
	return p.Op("readers.tokens", args)
}

// ReadersWebdatasetArgs are the arguments of readers.webdataset.
type ReadersWebdatasetArgs = opargs.ReadersWebdataset

// ReadersWebdataset is readers.webdataset. Reads samples of several files out of tar archives, as the package
// webdataset writes them. Files whose names are equal up to the first dot behind the last slash are one
// sample. The rest of the name is the component. Each output has the bytes of a component.
//
// Output component: the bytes of a component, as elements of its dtype.
func ReadersWebdataset(p *pipeline.Builder, args ReadersWebdatasetArgs) []pipeline.Node {
	return p.Op("readers.webdataset", args)
}
