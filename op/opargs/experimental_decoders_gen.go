// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

// ExperimentalDecodersImage are the arguments of experimental.decoders.image.
type ExperimentalDecodersImage = DecodersImage

// ExperimentalDecodersImageCrop are the arguments of experimental.decoders.image_crop.
type ExperimentalDecodersImageCrop = DecodersImageCrop

// ExperimentalDecodersImageRandomCrop are the arguments of experimental.decoders.image_random_crop.
type ExperimentalDecodersImageRandomCrop = DecodersImageRandomCrop

// ExperimentalDecodersImageSlice are the arguments of experimental.decoders.image_slice.
type ExperimentalDecodersImageSlice = DecodersImageSlice

// ExperimentalDecodersVideo are the arguments of experimental.decoders.video.
type ExperimentalDecodersVideo = DecodersVideo
