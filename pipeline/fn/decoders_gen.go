// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// DecodersAudioArgs are the arguments of decoders.audio.
type DecodersAudioArgs = opargs.DecodersAudio

// DecodersAudio is decoders.audio. Decodes sound: WAV, RF64, AIFF, FLAC, Ogg Vorbis, Ogg Opus, and MP3 if the
// program ffmpeg is there. The mean of the channels can be taken, and the sound can be resampled. A file that
// is cut or damaged is an error.
//
// Input encoded: the bytes of a file of sound.
// Output sound: of shape [frames, channels], or with downmix [frames].
// Output rate: frames per second of the output, float32.
func DecodersAudio(p *pipeline.Builder, encoded pipeline.Node, args DecodersAudioArgs) (sound, rate pipeline.Node) {
	out := p.Op("decoders.audio", args, encoded)
	return out[0], out[1]
}

// DecodersImageArgs are the arguments of decoders.image.
type DecodersImageArgs = opargs.DecodersImage

// DecodersImage is decoders.image. Decodes images: JPEG, PNG, BMP, PNM, TIFF, WebP and the first frame of
// GIF. JPEG 2000, AVIF and HEIC need the program ffmpeg.
//
// Input encoded: the bytes of an image file.
// Output images: images, HWC.
func DecodersImage(p *pipeline.Builder, encoded pipeline.Node, args DecodersImageArgs) (images pipeline.Node) {
	out := p.Op("decoders.image", args, encoded)
	return out[0]
}

// DecodersImageCropArgs are the arguments of decoders.image_crop.
type DecodersImageCropArgs = opargs.DecodersImageCrop

// DecodersImageCrop is decoders.image_crop. Decodes a window of images. Its size and place are given as for
// crop. The window must lie inside the image.
//
// Input encoded: the bytes of an image file.
// Output images: images, HWC.
func DecodersImageCrop(p *pipeline.Builder, encoded pipeline.Node, args DecodersImageCropArgs) (images pipeline.Node) {
	out := p.Op("decoders.image_crop", args, encoded)
	return out[0]
}

// DecodersImageRandomCropArgs are the arguments of decoders.image_random_crop.
type DecodersImageRandomCropArgs = opargs.DecodersImageRandomCrop

// DecodersImageRandomCrop is decoders.image_random_crop. Decodes a window of images with random area, aspect
// ratio and place, drawn as for random_resized_crop.
//
// Input encoded: the bytes of an image file.
// Output images: images, HWC.
func DecodersImageRandomCrop(p *pipeline.Builder, encoded pipeline.Node, args DecodersImageRandomCropArgs) (images pipeline.Node) {
	out := p.Op("decoders.image_random_crop", args, encoded)
	return out[0]
}

// DecodersImageSliceArgs are the arguments of decoders.image_slice.
type DecodersImageSliceArgs = opargs.DecodersImageSlice

// DecodersImageSlice is decoders.image_slice. Decodes a window of images. Its start and its end or extent are
// inputs or arguments, as for slice. The window must lie inside the image.
//
// Input encoded: the bytes of an image file.
// Input anchor: the start of the window on each axis; given together with the extent; may be left out.
// Input extent: the extent of the window on each axis; may be left out.
// Output images: images, HWC.
func DecodersImageSlice(p *pipeline.Builder, encoded pipeline.Node, args DecodersImageSliceArgs, inputs ...pipeline.Node) (images pipeline.Node) {
	out := p.Op("decoders.image_slice", args, append([]pipeline.Node{encoded}, inputs...)...)
	return out[0]
}

// DecodersInflateArgs are the arguments of decoders.inflate.
type DecodersInflateArgs = opargs.DecodersInflate

// DecodersInflate is decoders.inflate. Decompresses data of a known shape. A sample is one compressed chunk,
// or several chunks one behind the other. Several chunks make a tensor with one more axis, the first.
//
// Input compressed: compressed bytes.
// Output inflated: the data.
func DecodersInflate(p *pipeline.Builder, compressed pipeline.Node, args DecodersInflateArgs) (inflated pipeline.Node) {
	out := p.Op("decoders.inflate", args, compressed)
	return out[0]
}

// DecodersNumpyArgs are the arguments of decoders.numpy.
type DecodersNumpyArgs = opargs.DecodersNumpy

// DecodersNumpy is decoders.numpy. Decodes arrays of npy files, in C order or Fortran order, and converts
// them to one type.
//
// Input encoded: the bytes of an npy file.
// Output arrays: the arrays.
func DecodersNumpy(p *pipeline.Builder, encoded pipeline.Node, args DecodersNumpyArgs) (arrays pipeline.Node) {
	out := p.Op("decoders.numpy", args, encoded)
	return out[0]
}

// DecodersVideoArgs are the arguments of decoders.video.
type DecodersVideoArgs = opargs.DecodersVideo

// DecodersVideo is decoders.video. Decodes frames of videos, as RGB. The program ffmpeg must be installed,
// except for motion JPEG, GIF and WebP. Without frames, start_frame, end_frame, sequence_length and stride,
// all frames are decoded.
//
// Input encoded: the bytes of a video file.
// Output videos: frames, uint8 of layout FHWC.
func DecodersVideo(p *pipeline.Builder, encoded pipeline.Node, args DecodersVideoArgs) (videos pipeline.Node) {
	out := p.Op("decoders.video", args, encoded)
	return out[0]
}
