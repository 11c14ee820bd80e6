// Code generated from the schemas by go generate ./dynamic/readers; DO NOT EDIT.

package readers

import "github.com/bivouac-ml/bivouac/op/opargs"

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

// NewNemoAsr returns a reader of kind readers.nemo_asr.
//
// Reads audio and text of manifests in NeMo's format, JSON objects with audio_filepath, duration and text. The
// outputs are the audio, then the rate, the text and the index. Paths of audio files are relative to the
// working directory. The offset and the duration of an entry are a part of its file. Only WAV files of PCM
// samples are decoded, and they are not resampled.
//
// Outputs:
//   - audio: of shape [frames], or without downmix [frames, channels]
//   - rates: with read_sample_rate the rate of the file, float32 of shape []
//   - texts: with read_text the bytes of the text, uint8
//   - indices: with read_idxs the place of the sample in its manifest, int64 of shape [1]
func NewNemoAsr(args opargs.ReadersNemoAsr, o Options) (*Reader, error) {
	return New("readers.nemo_asr", args, o)
}
