// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

// ExperimentalAudioResample are the arguments of experimental.audio_resample.
type ExperimentalAudioResample = AudioResample

// ExperimentalInflate are the arguments of experimental.inflate.
type ExperimentalInflate = DecodersInflate

// ExperimentalPeekImageShape are the arguments of experimental.peek_image_shape.
type ExperimentalPeekImageShape = PeekImageShape
