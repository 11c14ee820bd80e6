// Code generated from the schemas by go generate ./dynamic/readers; DO NOT EDIT.

package readers

import "github.com/bivouac-ml/bivouac/op/opargs"

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
