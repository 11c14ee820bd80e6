// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

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
