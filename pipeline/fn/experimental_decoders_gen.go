// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// ExperimentalDecodersImageArgs are the arguments of experimental.decoders.image.
type ExperimentalDecodersImageArgs = opargs.ExperimentalDecodersImage

// ExperimentalDecodersImage is experimental.decoders.image. Decodes images: JPEG, PNG, BMP, PNM, TIFF, WebP
// and the first frame of GIF.
//
// Input encoded: the bytes of an image file.
// Output images: images, HWC.
//
// Deprecated: use decoders.image
func ExperimentalDecodersImage(p *pipeline.Builder, encoded pipeline.Node, args ExperimentalDecodersImageArgs) (images pipeline.Node) {
	out := p.Op("experimental.decoders.image", args, encoded)
	return out[0]
}

// ExperimentalDecodersImageCropArgs are the arguments of experimental.decoders.image_crop.
type ExperimentalDecodersImageCropArgs = opargs.ExperimentalDecodersImageCrop

// ExperimentalDecodersImageCrop is experimental.decoders.image_crop. Decodes a window of images, whose size
// and place are given as for crop. It must not leave the image.
//
// Input encoded: the bytes of an image file.
// Output images: images, HWC.
//
// Deprecated: use decoders.image_crop
func ExperimentalDecodersImageCrop(p *pipeline.Builder, encoded pipeline.Node, args ExperimentalDecodersImageCropArgs) (images pipeline.Node) {
	out := p.Op("experimental.decoders.image_crop", args, encoded)
	return out[0]
}

// ExperimentalDecodersImageRandomCropArgs are the arguments of experimental.decoders.image_random_crop.
type ExperimentalDecodersImageRandomCropArgs = opargs.ExperimentalDecodersImageRandomCrop

// ExperimentalDecodersImageRandomCrop is experimental.decoders.image_random_crop. Decodes a window of images,
// of random area, aspect ratio and place, as random_resized_crop draws it.
//
// Input encoded: the bytes of an image file.
// Output images: images, HWC.
//
// Deprecated: use decoders.image_random_crop
func ExperimentalDecodersImageRandomCrop(p *pipeline.Builder, encoded pipeline.Node, args ExperimentalDecodersImageRandomCropArgs) (images pipeline.Node) {
	out := p.Op("experimental.decoders.image_random_crop", args, encoded)
	return out[0]
}

// ExperimentalDecodersImageSliceArgs are the arguments of experimental.decoders.image_slice.
type ExperimentalDecodersImageSliceArgs = opargs.ExperimentalDecodersImageSlice

// ExperimentalDecodersImageSlice is experimental.decoders.image_slice. Decodes a window of images, given by
// its start and end or extent, as inputs or arguments, as for slice. It must not leave the image.
//
// Input encoded: the bytes of an image file.
// Input anchor: the start of the window on each axis; given together with the extent; may be left out.
// Input extent: the extent of the window on each axis; may be left out.
// Output images: images, HWC.
//
// Deprecated: use decoders.image_slice
func ExperimentalDecodersImageSlice(p *pipeline.Builder, encoded pipeline.Node, args ExperimentalDecodersImageSliceArgs, inputs ...pipeline.Node) (images pipeline.Node) {
	out := p.Op("experimental.decoders.image_slice", args, append([]pipeline.Node{encoded}, inputs...)...)
	return out[0]
}
