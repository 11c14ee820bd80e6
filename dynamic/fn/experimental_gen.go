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
