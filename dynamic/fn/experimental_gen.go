// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// ExperimentalAudioResampleArgs are the arguments of experimental.audio_resample.
type ExperimentalAudioResampleArgs = opargs.ExperimentalAudioResample

// ExperimentalAudioResample is experimental.audio_resample, an older name of audio_resample; see
// [AudioResample].
//
// Deprecated: use audio_resample
func ExperimentalAudioResample[T dynamic.Kind](ctx context.Context, signal T, args ExperimentalAudioResampleArgs) (resampled T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.audio_resample", Args: args, Inputs: []dynamic.Value{signal}})
}

// ExperimentalDebayerArgs are the arguments of experimental.debayer.
type ExperimentalDebayerArgs = opargs.ExperimentalDebayer

// ExperimentalDebayer is experimental.debayer, an older name of debayer; see [Debayer].
//
// Deprecated: use debayer
func ExperimentalDebayer[T dynamic.Kind](ctx context.Context, images T, args ExperimentalDebayerArgs) (colour T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.debayer", Args: args, Inputs: []dynamic.Value{images}})
}

// ExperimentalEqualizeArgs are the arguments of experimental.equalize.
type ExperimentalEqualizeArgs = opargs.ExperimentalEqualize

// ExperimentalEqualize is experimental.equalize, an older name of equalize; see [Equalize].
//
// Deprecated: use equalize
func ExperimentalEqualize[T dynamic.Kind](ctx context.Context, images T, args ExperimentalEqualizeArgs) (equalized T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.equalize", Args: args, Inputs: []dynamic.Value{images}})
}

// ExperimentalFilterArgs are the arguments of experimental.filter.
type ExperimentalFilterArgs = opargs.ExperimentalFilter

// ExperimentalFilter is experimental.filter, an older name of filter; see [Filter].
//
// Deprecated: use filter
func ExperimentalFilter[T dynamic.Kind](ctx context.Context, data T, filter dynamic.Value, args ExperimentalFilterArgs, inputs ...dynamic.Value) (filtered T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.filter", Args: args, Inputs: append([]dynamic.Value{data, filter}, inputs...)})
}

// ExperimentalInflateArgs are the arguments of experimental.inflate.
type ExperimentalInflateArgs = opargs.ExperimentalInflate

// ExperimentalInflate is experimental.inflate, an older name of decoders.inflate; see [DecodersInflate].
//
// Deprecated: use decoders.inflate
func ExperimentalInflate[T dynamic.Kind](ctx context.Context, compressed T, args ExperimentalInflateArgs) (inflated T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.inflate", Args: args, Inputs: []dynamic.Value{compressed}})
}

// ExperimentalPeekImageShapeArgs are the arguments of experimental.peek_image_shape.
type ExperimentalPeekImageShapeArgs = opargs.ExperimentalPeekImageShape

// ExperimentalPeekImageShape is experimental.peek_image_shape, an older name of peek_image_shape; see
// [PeekImageShape].
//
// Deprecated: use peek_image_shape
func ExperimentalPeekImageShape[T dynamic.Kind](ctx context.Context, encoded T, args ExperimentalPeekImageShapeArgs) (shapes T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.peek_image_shape", Args: args, Inputs: []dynamic.Value{encoded}})
}

// ExperimentalTensorResizeArgs are the arguments of experimental.tensor_resize.
type ExperimentalTensorResizeArgs = opargs.ExperimentalTensorResize

// ExperimentalTensorResize is experimental.tensor_resize, an older name of tensor_resize; see [TensorResize].
//
// Deprecated: use tensor_resize
func ExperimentalTensorResize[T dynamic.Kind](ctx context.Context, data T, args ExperimentalTensorResizeArgs) (resized T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.tensor_resize", Args: args, Inputs: []dynamic.Value{data}})
}

// ExperimentalWarpPerspectiveArgs are the arguments of experimental.warp_perspective.
type ExperimentalWarpPerspectiveArgs = opargs.ExperimentalWarpPerspective

// ExperimentalWarpPerspective is experimental.warp_perspective. Warps images by a perspective transform: a
// matrix of three rows and columns. The transform maps each pixel of the output to the point of the input
// that it shows.
//
// Input input: images, planes or sequences of them: uint8, uint16, int16 or float32, with at most four
// channels.
// Input matrixInput: the float32 matrix, in place of the argument; may be left out.
// Output output: the warped images.
func ExperimentalWarpPerspective[T dynamic.Kind](ctx context.Context, input T, args ExperimentalWarpPerspectiveArgs, inputs ...dynamic.Value) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.warp_perspective", Args: args, Inputs: append([]dynamic.Value{input}, inputs...)})
}
