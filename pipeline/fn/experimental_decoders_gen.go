// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// ExperimentalDecodersImageArgs are the arguments of experimental.decoders.image.
type ExperimentalDecodersImageArgs = opargs.ExperimentalDecodersImage

// ExperimentalDecodersImage is experimental.decoders.image, an older name of decoders.image; see
// [DecodersImage].
//
// Deprecated: use decoders.image
func ExperimentalDecodersImage(p *pipeline.Builder, encoded pipeline.Node, args ExperimentalDecodersImageArgs) (images pipeline.Node) {
	out := p.Op("experimental.decoders.image", args, encoded)
	return out[0]
}

// ExperimentalDecodersImageCropArgs are the arguments of experimental.decoders.image_crop.
type ExperimentalDecodersImageCropArgs = opargs.ExperimentalDecodersImageCrop

// ExperimentalDecodersImageCrop is experimental.decoders.image_crop, an older name of decoders.image_crop;
// see [DecodersImageCrop].
//
// Deprecated: use decoders.image_crop
func ExperimentalDecodersImageCrop(p *pipeline.Builder, encoded pipeline.Node, args ExperimentalDecodersImageCropArgs) (images pipeline.Node) {
	out := p.Op("experimental.decoders.image_crop", args, encoded)
	return out[0]
}

// ExperimentalDecodersImageRandomCropArgs are the arguments of experimental.decoders.image_random_crop.
type ExperimentalDecodersImageRandomCropArgs = opargs.ExperimentalDecodersImageRandomCrop

// ExperimentalDecodersImageRandomCrop is experimental.decoders.image_random_crop, an older name of
// decoders.image_random_crop; see [DecodersImageRandomCrop].
//
// Deprecated: use decoders.image_random_crop
func ExperimentalDecodersImageRandomCrop(p *pipeline.Builder, encoded pipeline.Node, args ExperimentalDecodersImageRandomCropArgs) (images pipeline.Node) {
	out := p.Op("experimental.decoders.image_random_crop", args, encoded)
	return out[0]
}

// ExperimentalDecodersImageSliceArgs are the arguments of experimental.decoders.image_slice.
type ExperimentalDecodersImageSliceArgs = opargs.ExperimentalDecodersImageSlice

// ExperimentalDecodersImageSlice is experimental.decoders.image_slice, an older name of decoders.image_slice;
// see [DecodersImageSlice].
//
// Deprecated: use decoders.image_slice
func ExperimentalDecodersImageSlice(p *pipeline.Builder, encoded pipeline.Node, args ExperimentalDecodersImageSliceArgs, inputs ...pipeline.Node) (images pipeline.Node) {
	out := p.Op("experimental.decoders.image_slice", args, append([]pipeline.Node{encoded}, inputs...)...)
	return out[0]
}

// ExperimentalDecodersVideoArgs are the arguments of experimental.decoders.video.
type ExperimentalDecodersVideoArgs = opargs.ExperimentalDecodersVideo

// ExperimentalDecodersVideo is experimental.decoders.video, an older name of decoders.video; see
// [DecodersVideo].
//
// Deprecated: use decoders.video
func ExperimentalDecodersVideo(p *pipeline.Builder, encoded pipeline.Node, args ExperimentalDecodersVideoArgs) (videos pipeline.Node) {
	out := p.Op("experimental.decoders.video", args, encoded)
	return out[0]
}
