// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

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

// ReadersNemoAsrArgs are the arguments of readers.nemo_asr.
type ReadersNemoAsrArgs = opargs.ReadersNemoAsr

// ReadersNemoAsr is readers.nemo_asr. Reads audio and text of manifests in NeMo's format, JSON objects with
// audio_filepath, duration and text. The outputs are the audio, then the rate, the text and the index. Paths
// of audio files are relative to the working directory. The offset and the duration of an entry are a part of
// its file. Only WAV files of PCM samples are decoded, and they are not resampled.
//
// Output audio: of shape [frames], or without downmix [frames, channels].
// Output rates: with read_sample_rate the rate of the file, float32 of shape [].
// Output texts: with read_text the bytes of the text, uint8.
// Output indices: with read_idxs the place of the sample in its manifest, int64 of shape [1].
func ReadersNemoAsr(p *pipeline.Builder, args ReadersNemoAsrArgs) []pipeline.Node {
	return p.Op("readers.nemo_asr", args)
}
