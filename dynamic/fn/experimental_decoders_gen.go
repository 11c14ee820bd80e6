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

// ExperimentalDecodersImage is experimental.decoders.image, an older name of decoders.image; see
// [DecodersImage].
//
// Deprecated: use decoders.image
func ExperimentalDecodersImage[T dynamic.Kind](ctx context.Context, encoded T, args ExperimentalDecodersImageArgs) (images T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.decoders.image", Args: args, Inputs: []dynamic.Value{encoded}})
}

// ExperimentalDecodersImageCropArgs are the arguments of experimental.decoders.image_crop.
type ExperimentalDecodersImageCropArgs = opargs.ExperimentalDecodersImageCrop

// ExperimentalDecodersImageCrop is experimental.decoders.image_crop, an older name of decoders.image_crop;
// see [DecodersImageCrop].
//
// Deprecated: use decoders.image_crop
func ExperimentalDecodersImageCrop[T dynamic.Kind](ctx context.Context, encoded T, args ExperimentalDecodersImageCropArgs) (images T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.decoders.image_crop", Args: args, Inputs: []dynamic.Value{encoded}})
}

// ExperimentalDecodersImageRandomCropArgs are the arguments of experimental.decoders.image_random_crop.
type ExperimentalDecodersImageRandomCropArgs = opargs.ExperimentalDecodersImageRandomCrop

// ExperimentalDecodersImageRandomCrop is experimental.decoders.image_random_crop, an older name of
// decoders.image_random_crop; see [DecodersImageRandomCrop].
//
// Deprecated: use decoders.image_random_crop
func ExperimentalDecodersImageRandomCrop[T dynamic.Kind](ctx context.Context, rng *random.RNG, encoded T, args ExperimentalDecodersImageRandomCropArgs) (images T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.decoders.image_random_crop", Args: args, Inputs: []dynamic.Value{encoded}, Draw: random.Or(ctx, rng)})
}

// ExperimentalDecodersImageSliceArgs are the arguments of experimental.decoders.image_slice.
type ExperimentalDecodersImageSliceArgs = opargs.ExperimentalDecodersImageSlice

// ExperimentalDecodersImageSlice is experimental.decoders.image_slice, an older name of decoders.image_slice;
// see [DecodersImageSlice].
//
// Deprecated: use decoders.image_slice
func ExperimentalDecodersImageSlice[T dynamic.Kind](ctx context.Context, encoded T, args ExperimentalDecodersImageSliceArgs, inputs ...dynamic.Value) (images T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.decoders.image_slice", Args: args, Inputs: append([]dynamic.Value{encoded}, inputs...)})
}

// ExperimentalDecodersVideoArgs are the arguments of experimental.decoders.video.
type ExperimentalDecodersVideoArgs = opargs.ExperimentalDecodersVideo

// ExperimentalDecodersVideo is experimental.decoders.video, an older name of decoders.video; see
// [DecodersVideo].
//
// Deprecated: use decoders.video
func ExperimentalDecodersVideo[T dynamic.Kind](ctx context.Context, encoded T, args ExperimentalDecodersVideoArgs) (videos T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.decoders.video", Args: args, Inputs: []dynamic.Value{encoded}})
}
