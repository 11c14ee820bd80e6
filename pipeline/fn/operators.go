// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// BrightnessContrastArgs are the arguments of brightness_contrast.
type BrightnessContrastArgs = opargs.BrightnessContrast

// BrightnessContrast is brightness_contrast. Changes brightness and contrast: brightness_shift * range +
// brightness * (contrast_center + contrast * (in - contrast_center)), where range is 1 for floats and the
// largest value of the output type otherwise.
//
// Input images: images, uint8 or float32, of any layout.
// Output adjusted: images of the same shape.
func BrightnessContrast(p *pipeline.Builder, images pipeline.Node, args BrightnessContrastArgs) (adjusted pipeline.Node) {
	out := p.Op("brightness_contrast", args, images)
	return out[0]
}

// CastArgs are the arguments of cast.
type CastArgs = opargs.Cast

// Cast is cast. Converts elements to another type: floats to integers are rounded half away from zero and
// saturated, integers to narrower ones saturated.
//
// Input input: integers or floats of any shape.
// Output output: the same shape in the other type.
func Cast(p *pipeline.Builder, input pipeline.Node, args CastArgs) (output pipeline.Node) {
	out := p.Op("cast", args, input)
	return out[0]
}

// CropArgs are the arguments of crop.
type CropArgs = opargs.Crop

// Crop is crop. Cuts a window out of an image.
//
// Input images: images to crop.
// Output windows: the windows, with the type of the input.
func Crop(p *pipeline.Builder, images pipeline.Node, args CropArgs) (windows pipeline.Node) {
	out := p.Op("crop", args, images)
	return out[0]
}

// CropMirrorNormalizeArgs are the arguments of crop_mirror_normalize.
type CropMirrorNormalizeArgs = opargs.CropMirrorNormalize

// CropMirrorNormalize is crop_mirror_normalize. Cuts a window out of an image, mirrors it when asked and
// normalises it: scale * (in - mean) / std + shift. The output is laid out for training: CHW float32 by
// default.
//
// Input images: images, uint8 or float32.
// Output normalized: normalised windows.
func CropMirrorNormalize(p *pipeline.Builder, images pipeline.Node, args CropMirrorNormalizeArgs) (normalized pipeline.Node) {
	out := p.Op("crop_mirror_normalize", args, images)
	return out[0]
}

// RandomResizedCropArgs are the arguments of random_resized_crop.
type RandomResizedCropArgs = opargs.RandomResizedCrop

// RandomResizedCrop is random_resized_crop. Cuts a window of random area, aspect ratio and place out of an
// image and resizes it to a fixed size. Pixels outside the window but within reach of the filter take part,
// as in DALI.
//
// Input images: images, uint8 or float32.
// Output resized: images of the given size, HWC.
func RandomResizedCrop(p *pipeline.Builder, images pipeline.Node, args RandomResizedCropArgs) (resized pipeline.Node) {
	out := p.Op("random_resized_crop", args, images)
	return out[0]
}
