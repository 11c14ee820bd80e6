// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// EncodersJpegArgs are the arguments of encoders.jpeg.
type EncodersJpegArgs = opargs.EncodersJpeg

// EncodersJpeg is encoders.jpeg. Writes images as baseline JPEG files, byte for byte as libjpeg-turbo does by
// default.
//
// Input images: gray or RGB images of 1 to 65,535 pixels along an axis, uint8.
// Output encoded: the bytes of a file.
func EncodersJpeg(p *pipeline.Builder, images pipeline.Node, args EncodersJpegArgs) (encoded pipeline.Node) {
	out := p.Op("encoders.jpeg", args, images)
	return out[0]
}

// EncodersPngArgs are the arguments of encoders.png.
type EncodersPngArgs = opargs.EncodersPng

// EncodersPng is encoders.png. Writes images as PNG files, without loss, byte for byte as Go's package
// image/png.
//
// Input images: images of 1, 3 or 4 channels, of which the last of 4 is alpha: uint8 or uint16.
// Output encoded: the bytes of a file.
func EncodersPng(p *pipeline.Builder, images pipeline.Node, args EncodersPngArgs) (encoded pipeline.Node) {
	out := p.Op("encoders.png", args, images)
	return out[0]
}

// EncodersWavArgs are the arguments of encoders.wav.
type EncodersWavArgs = opargs.EncodersWav

// EncodersWav is encoders.wav. Writes sound as WAV files: integers as PCM, floats as floats.
//
// Input sound: of shape [frames] or [frames, channels], with 1 to 65,535 channels: int16, int32 or float32.
// Output encoded: the bytes of a file.
func EncodersWav(p *pipeline.Builder, sound pipeline.Node, args EncodersWavArgs) (encoded pipeline.Node) {
	out := p.Op("encoders.wav", args, sound)
	return out[0]
}

// EncodersWebpArgs are the arguments of encoders.webp.
type EncodersWebpArgs = opargs.EncodersWebp

// EncodersWebp is encoders.webp. Writes images as WebP files, without loss. Gray becomes RGB.
//
// Input images: images of 1, 3 or 4 channels, of which the last of 4 is alpha, of 1 to 16,384 pixels along an
// axis.
// Output encoded: the bytes of a file.
func EncodersWebp(p *pipeline.Builder, images pipeline.Node, args EncodersWebpArgs) (encoded pipeline.Node) {
	out := p.Op("encoders.webp", args, images)
	return out[0]
}
