// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/op/opargs"
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
func ExperimentalDecodersImage[T dynamic.Kind](ctx context.Context, encoded T, args ExperimentalDecodersImageArgs) (images T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.decoders.image", Args: args, Inputs: []dynamic.Value{encoded}})
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
func ExperimentalDecodersImageCrop[T dynamic.Kind](ctx context.Context, encoded T, args ExperimentalDecodersImageCropArgs) (images T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.decoders.image_crop", Args: args, Inputs: []dynamic.Value{encoded}})
}

// ExperimentalDecodersImageRandomCropArgs are the arguments of experimental.decoders.image_random_crop.
type ExperimentalDecodersImageRandomCropArgs = opargs.ExperimentalDecodersImageRandomCrop

// ExperimentalDecodersImageRandomCrop is experimental.decoders.image_random_crop. Decodes a window of images,
// of random area, aspect ratio and place, as random_resized_crop draws it.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input encoded: the bytes of an image file.
// Output images: images, HWC.
//
// Deprecated: use decoders.image_random_crop
func ExperimentalDecodersImageRandomCrop[T dynamic.Kind](ctx context.Context, rng *random.RNG, encoded T, args ExperimentalDecodersImageRandomCropArgs) (images T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.decoders.image_random_crop", Args: args, Inputs: []dynamic.Value{encoded}, Draw: random.Or(ctx, rng)})
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
func ExperimentalDecodersImageSlice[T dynamic.Kind](ctx context.Context, encoded T, args ExperimentalDecodersImageSliceArgs, inputs ...dynamic.Value) (images T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.decoders.image_slice", Args: args, Inputs: append([]dynamic.Value{encoded}, inputs...)})
}
