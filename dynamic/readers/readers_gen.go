// Code generated from the schemas by go generate ./dynamic/readers; DO NOT EDIT.

package readers

import "github.com/bivouac-ml/bivouac/op/opargs"

// NewFits returns a reader of kind experimental.readers.fits.
//
// Reads images of FITS files, plain or compressed tile by tile. Each output is an image of each file; all have
// the type and the number of axes of the first file.
//
// Outputs:
//   - image: the image of an HDU, in C order
func NewFits(args opargs.ExperimentalReadersFits, o Options) (*Reader, error) {
	return New("experimental.readers.fits", args, o)
}

// NewVideo returns a reader of kind experimental.readers.video.
//
// Reads clips of videos, as RGB: each has sequence_length frames, one every stride frames, and begins step
// frames after the clip before it. Videos are files, files in the folders of a directory, or parts of files in
// a list. The program ffmpeg must be installed, except for motion JPEG, GIF and WebP. A damaged frame is an
// error of its clips alone.
//
// Outputs:
//   - videos: frames, uint8 of layout FHWC
//   - labels: with labels, file_list or file_root: the label, int32 of shape [1]
//   - numbers: with enable_frame_num: numbers of frames, int32; -1 for padding
//   - timestamps: with enable_timestamps: the time of each frame in seconds, float64; -1 for padding
func NewVideo(args opargs.ExperimentalReadersVideo, o Options) (*Reader, error) {
	return New("experimental.readers.video", args, o)
}

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

// NewCaffe returns a reader of kind readers.caffe.
//
// Reads images and labels from LMDB databases of Caffe. An image whose record says that it is not encoded has
// the shape [height, width, channels]; others are files. The first record decides which.
//
// Outputs:
//   - images: uint8
//   - labels: int32 of shape [1], or [0] if a record has no label
func NewCaffe(args opargs.ReadersCaffe, o Options) (*Reader, error) {
	return New("readers.caffe", args, o)
}

// NewCaffe2 returns a reader of kind readers.caffe2.
//
// Reads samples from LMDB databases of Caffe2: an image, a label as label_type says, additional tensors and a
// box. An image of bytes has the shape [height, width, channels]; others are files. The first record decides
// the types.
//
// Outputs:
//   - images: uint8
//   - labels: as label_type says
//   - additional: the numbers of the additional tensors in one dimension, and last with bbox the box, int32 of shape [4]
func NewCaffe2(args opargs.ReadersCaffe2, o Options) (*Reader, error) {
	return New("readers.caffe2", args, o)
}

// NewCoco returns a reader of kind readers.coco.
//
// Reads images and their boxes and labels, and on request their masks and ids, from a folder and a file of
// annotations in COCO's format. The outputs are images, boxes and labels, then polygons and vertices or
// pixelwise masks, then the ids of the images. Images come in the order of their ids.
//
// Outputs:
//   - images: the bytes of a file, uint8
//   - bounding_boxes: float32 of shape [N, 4]: x, y, width and height, or with ltrb the sides
//   - labels: int32 of shape [N]
//   - masks: with polygon_masks int32 of shape [P, 3]: for each polygon its box, its first vertex and its end; with pixelwise_masks int32 of shape [height, width, 1]: the label of each pixel, 0 outside
//   - vertices: with polygon_masks float32 of shape [V, 2]: x and y
//   - image_ids: with image_ids int32 of shape [1]
func NewCoco(args opargs.ReadersCoco, o Options) (*Reader, error) {
	return New("readers.coco", args, o)
}

// NewCsv returns a reader of kind readers.csv.
//
// Reads CSV: each row is a sample, and each column is an output of shape [n]. A column of text gives the bytes
// of a field in UTF-8, and a column of numbers or bools one element. Empty rows are skipped, and fields in
// quotes may have line ends.
//
// Outputs:
//   - columns: one output for each of columns, in their order
func NewCsv(args opargs.ReadersCsv, o Options) (*Reader, error) { return New("readers.csv", args, o) }

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

// NewFolder returns a reader of kind readers.folder.
//
// Reads a folder of images or sounds as Hugging Face's imagefolder and audiofolder do. The label of a file is
// its folder, or metadata.csv, metadata.jsonl or metadata.parquet have a row for each file, whose column
// file_name names it. Folders or files may have the name of a split.
//
// Outputs:
//   - fields: the bytes of a file (image or audio), then its label, or the columns of the metadata
func NewFolder(args opargs.ReadersFolder, o Options) (*Reader, error) {
	return New("readers.folder", args, o)
}

// NewJsonl returns a reader of kind readers.jsonl.
//
// Reads JSON Lines: each line is an object and a sample, and each field is an output of shape [n]. A text
// gives its bytes in UTF-8, a number or bool gives one element, and a list of them all its elements. Blank
// lines are skipped.
//
// Outputs:
//   - fields: one output for each of fields, in their order
func NewJsonl(args opargs.ReadersJsonl, o Options) (*Reader, error) {
	return New("readers.jsonl", args, o)
}

// NewLitdata returns a reader of kind readers.litdata.
//
// Reads data sets that litdata writes: a folder with an index.json and chunks. Each leaf of a sample is an
// output. Numbers are scalars, arrays keep their type, and texts, bytes, JSON and encoded images are bytes.
// Data of tokens are read in blocks. Compressed chunks are expanded once and kept, within cache_bytes.
//
// Outputs:
//   - column: the value of a leaf
func NewLitdata(args opargs.ReadersLitdata, o Options) (*Reader, error) {
	return New("readers.litdata", args, o)
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

// NewMxnet returns a reader of kind readers.mxnet.
//
// Reads images and their labels from RecordIO files of MXNet.
//
// Outputs:
//   - images: the bytes of an encoded image, uint8
//   - labels: its labels, float32; mostly one
func NewMxnet(args opargs.ReadersMxnet, o Options) (*Reader, error) {
	return New("readers.mxnet", args, o)
}

// NewNemoAsr returns a reader of kind readers.nemo_asr.
//
// Reads audio and text of manifests in NeMo's format, JSON objects with audio_filepath, duration and text. The
// outputs are the audio, then the rate, the text and the index. Paths of audio files are relative to the
// working directory. The offset and the duration of an entry are a part of its file. Files are decoded as by
// decoders.audio. A program that makes no pipeline decodes WAV, and the formats of codec that it imports.
//
// Outputs:
//   - audio: of shape [frames], or without downmix [frames, channels]
//   - rates: with read_sample_rate the rate of the file, float32 of shape []
//   - texts: with read_text the bytes of the text, uint8
//   - indices: with read_idxs the place of the sample in its manifest, int64 of shape [1]
func NewNemoAsr(args opargs.ReadersNemoAsr, o Options) (*Reader, error) {
	return New("readers.nemo_asr", args, o)
}

// NewNpz returns a reader of kind readers.npz.
//
// Reads rows of the arrays in npz files: sample i has row i of each array. The arrays of a file have equal
// numbers of rows, and the rows of one name are equal in dtype and shape in all files. An array that is
// compressed, big-endian or in Fortran order is read as a whole.
//
// Outputs:
//   - columns: one output for each of columns, in their order: a row of the array
func NewNpz(args opargs.ReadersNpz, o Options) (*Reader, error) { return New("readers.npz", args, o) }

// NewNumpy returns a reader of kind readers.numpy.
//
// Reads arrays of numpy: files with one array each, as numpy.save writes them, or a region of each array. All
// have the type and the number of axes of the first file.
//
// Outputs:
//   - arrays: the array of a file, in C order
func NewNumpy(args opargs.ReadersNumpy, o Options) (*Reader, error) {
	return New("readers.numpy", args, o)
}

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

// NewSafetensors returns a reader of kind readers.safetensors.
//
// Reads rows of the tensors in safetensors files: sample i has row i of each tensor. The tensors of a file
// have equal numbers of rows, and the rows of one name are equal in dtype and shape in all files.
//
// Outputs:
//   - columns: one output for each of columns, in their order: a row of the tensor
func NewSafetensors(args opargs.ReadersSafetensors, o Options) (*Reader, error) {
	return New("readers.safetensors", args, o)
}

// NewTfrecord returns a reader of kind readers.tfrecord.
//
// Reads tf.train.Example messages from TFRecord files, and has an output for each feature that the argument
// features names. Both checksums of each record are checked.
//
// Outputs:
//   - values: the features, in their order: the bytes of a feature of bytes (uint8), and int64 or float32 numbers of the shape that the feature has
func NewTfrecord(args opargs.ReadersTfrecord, o Options) (*Reader, error) {
	return New("readers.tfrecord", args, o)
}

// NewTokens returns a reader of kind readers.tokens.
//
// Reads tokens from files that hold them back to back: windows of a fixed length, or whole documents. Files
// are pairs of .bin and .idx as Megatron and fairseq write them, npy files, or plain arrays. A window never
// has tokens of two files.
//
// Outputs:
//   - tokens: the tokens, of shape [n]
//   - ends: with boundaries: where documents end within the sample, int64 of shape [k], each counted from its first token
func NewTokens(args opargs.ReadersTokens, o Options) (*Reader, error) {
	return New("readers.tokens", args, o)
}

// NewWebdataset returns a reader of kind readers.webdataset.
//
// Reads samples of several files out of tar archives, as the package webdataset writes them. Files whose names
// are equal up to the first dot behind the last slash are one sample. The rest of the name is the component.
// Each output has the bytes of a component.
//
// Outputs:
//   - component: the bytes of a component, as elements of its dtype
func NewWebdataset(args opargs.ReadersWebdataset, o Options) (*Reader, error) {
	return New("readers.webdataset", args, o)
}
