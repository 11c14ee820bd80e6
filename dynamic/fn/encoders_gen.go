// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// EncodersJpegArgs are the arguments of encoders.jpeg.
type EncodersJpegArgs = opargs.EncodersJpeg

// EncodersJpeg is encoders.jpeg. Writes images as baseline JPEG files, byte for byte as libjpeg-turbo does by
// default.
//
// Input images: gray or RGB images of 1 to 65,535 pixels along an axis, uint8.
// Output encoded: the bytes of a file.
func EncodersJpeg[T dynamic.Kind](ctx context.Context, images T, args EncodersJpegArgs) (encoded T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "encoders.jpeg", Args: args, Inputs: []dynamic.Value{images}})
}

// EncodersPngArgs are the arguments of encoders.png.
type EncodersPngArgs = opargs.EncodersPng

// EncodersPng is encoders.png. Writes images as PNG files, without loss, byte for byte as Go's package
// image/png.
//
// Input images: images of 1, 3 or 4 channels, of which the last of 4 is alpha: uint8 or uint16.
// Output encoded: the bytes of a file.
func EncodersPng[T dynamic.Kind](ctx context.Context, images T, args EncodersPngArgs) (encoded T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "encoders.png", Args: args, Inputs: []dynamic.Value{images}})
}

// EncodersWavArgs are the arguments of encoders.wav.
type EncodersWavArgs = opargs.EncodersWav

// EncodersWav is encoders.wav. Writes sound as WAV files: integers as PCM, floats as floats.
//
// Input sound: of shape [frames] or [frames, channels], with 1 to 65,535 channels: int16, int32 or float32.
// Output encoded: the bytes of a file.
func EncodersWav[T dynamic.Kind](ctx context.Context, sound T, args EncodersWavArgs) (encoded T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "encoders.wav", Args: args, Inputs: []dynamic.Value{sound}})
}

// EncodersWebpArgs are the arguments of encoders.webp.
type EncodersWebpArgs = opargs.EncodersWebp

// EncodersWebp is encoders.webp. Writes images as WebP files, without loss. Gray becomes RGB.
//
// Input images: images of 1, 3 or 4 channels, of which the last of 4 is alpha, of 1 to 16,384 pixels along an
// axis.
// Output encoded: the bytes of a file.
func EncodersWebp[T dynamic.Kind](ctx context.Context, images T, args EncodersWebpArgs) (encoded T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "encoders.webp", Args: args, Inputs: []dynamic.Value{images}})
}
