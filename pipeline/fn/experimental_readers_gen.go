// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// ExperimentalReadersFitsArgs are the arguments of experimental.readers.fits.
type ExperimentalReadersFitsArgs = opargs.ExperimentalReadersFits

// ExperimentalReadersFits is experimental.readers.fits. Reads images of FITS files, plain or compressed tile
// by tile. Each output is an image of each file; all have the type and the number of axes of the first file.
//
// Output image: the image of an HDU, in C order.
func ExperimentalReadersFits(p *pipeline.Builder, args ExperimentalReadersFitsArgs) []pipeline.Node {
	return p.Op("experimental.readers.fits", args)
}

// ExperimentalReadersVideoArgs are the arguments of experimental.readers.video.
type ExperimentalReadersVideoArgs = opargs.ExperimentalReadersVideo

// ExperimentalReadersVideo is experimental.readers.video. Reads clips of videos, as RGB: each has
// sequence_length frames, one every stride frames, and begins step frames after the clip before it. Videos
// are files, files in the folders of a directory, or parts of files in a list. The program ffmpeg must be
// installed, except for motion JPEG, GIF and WebP. A damaged frame is an error of its clips alone.
//
// Output videos: frames, uint8 of layout FHWC.
// Output labels: with labels, file_list or file_root: the label, int32 of shape [1].
// Output numbers: with enable_frame_num: numbers of frames, int32; -1 for padding.
// Output timestamps: with enable_timestamps: the time of each frame in seconds, float64; -1 for padding.
func ExperimentalReadersVideo(p *pipeline.Builder, args ExperimentalReadersVideoArgs) []pipeline.Node {
	return p.Op("experimental.readers.video", args)
}
