// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// ExperimentalAudioResampleArgs are the arguments of experimental.audio_resample.
type ExperimentalAudioResampleArgs = opargs.ExperimentalAudioResample

// ExperimentalAudioResample is experimental.audio_resample, an older name of audio_resample; see
// [AudioResample].
//
// Deprecated: use audio_resample
func ExperimentalAudioResample(p *pipeline.Builder, signal pipeline.Node, args ExperimentalAudioResampleArgs) (resampled pipeline.Node) {
	out := p.Op("experimental.audio_resample", args, signal)
	return out[0]
}

// ExperimentalDebayerArgs are the arguments of experimental.debayer.
type ExperimentalDebayerArgs = opargs.ExperimentalDebayer

// ExperimentalDebayer is experimental.debayer, an older name of debayer; see [Debayer].
//
// Deprecated: use debayer
func ExperimentalDebayer(p *pipeline.Builder, images pipeline.Node, args ExperimentalDebayerArgs) (colour pipeline.Node) {
	out := p.Op("experimental.debayer", args, images)
	return out[0]
}

// ExperimentalEqualizeArgs are the arguments of experimental.equalize.
type ExperimentalEqualizeArgs = opargs.ExperimentalEqualize

// ExperimentalEqualize is experimental.equalize, an older name of equalize; see [Equalize].
//
// Deprecated: use equalize
func ExperimentalEqualize(p *pipeline.Builder, images pipeline.Node, args ExperimentalEqualizeArgs) (equalized pipeline.Node) {
	out := p.Op("experimental.equalize", args, images)
	return out[0]
}

// ExperimentalFilterArgs are the arguments of experimental.filter.
type ExperimentalFilterArgs = opargs.ExperimentalFilter

// ExperimentalFilter is experimental.filter, an older name of filter; see [Filter].
//
// Deprecated: use filter
func ExperimentalFilter(p *pipeline.Builder, data pipeline.Node, filter pipeline.Node, args ExperimentalFilterArgs, inputs ...pipeline.Node) (filtered pipeline.Node) {
	out := p.Op("experimental.filter", args, append([]pipeline.Node{data, filter}, inputs...)...)
	return out[0]
}

// ExperimentalInflateArgs are the arguments of experimental.inflate.
type ExperimentalInflateArgs = opargs.ExperimentalInflate

// ExperimentalInflate is experimental.inflate, an older name of decoders.inflate; see [DecodersInflate].
//
// Deprecated: use decoders.inflate
func ExperimentalInflate(p *pipeline.Builder, compressed pipeline.Node, args ExperimentalInflateArgs) (inflated pipeline.Node) {
	out := p.Op("experimental.inflate", args, compressed)
	return out[0]
}

// ExperimentalPeekImageShapeArgs are the arguments of experimental.peek_image_shape.
type ExperimentalPeekImageShapeArgs = opargs.ExperimentalPeekImageShape

// ExperimentalPeekImageShape is experimental.peek_image_shape, an older name of peek_image_shape; see
// [PeekImageShape].
//
// Deprecated: use peek_image_shape
func ExperimentalPeekImageShape(p *pipeline.Builder, encoded pipeline.Node, args ExperimentalPeekImageShapeArgs) (shapes pipeline.Node) {
	out := p.Op("experimental.peek_image_shape", args, encoded)
	return out[0]
}

// ExperimentalTensorResizeArgs are the arguments of experimental.tensor_resize.
type ExperimentalTensorResizeArgs = opargs.ExperimentalTensorResize

// ExperimentalTensorResize is experimental.tensor_resize, an older name of tensor_resize; see [TensorResize].
//
// Deprecated: use tensor_resize
func ExperimentalTensorResize(p *pipeline.Builder, data pipeline.Node, args ExperimentalTensorResizeArgs) (resized pipeline.Node) {
	out := p.Op("experimental.tensor_resize", args, data)
	return out[0]
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
func ExperimentalWarpPerspective(p *pipeline.Builder, input pipeline.Node, args ExperimentalWarpPerspectiveArgs, inputs ...pipeline.Node) (output pipeline.Node) {
	out := p.Op("experimental.warp_perspective", args, append([]pipeline.Node{input}, inputs...)...)
	return out[0]
}
