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
