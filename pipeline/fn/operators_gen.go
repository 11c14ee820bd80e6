// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// AudioDecoderArgs are the arguments of audio_decoder.
type AudioDecoderArgs = opargs.AudioDecoder

// AudioDecoder is audio_decoder, an older name of decoders.audio; see [DecodersAudio].
//
// Deprecated: use decoders.audio
func AudioDecoder(p *pipeline.Builder, encoded pipeline.Node, args AudioDecoderArgs) (sound, rate pipeline.Node) {
	out := p.Op("audio_decoder", args, encoded)
	return out[0], out[1]
}

// AudioResampleArgs are the arguments of audio_resample.
type AudioResampleArgs = opargs.AudioResample

// AudioResample is audio_resample. Resamples signals with a windowed sinc. The scale is given, or follows
// from rates or from the length of the output. The filter does not become wider for a smaller rate:
// frequencies above half of the new rate are folded back.
//
// Input signal: a signal [time] or [time, channels]: uint8, int8, uint16, int16, uint32, int32 or float32.
// Output resampled: the signal at the new rate.
func AudioResample(p *pipeline.Builder, signal pipeline.Node, args AudioResampleArgs) (resampled pipeline.Node) {
	out := p.Op("audio_resample", args, signal)
	return out[0]
}

// AutoAugmentArgs are the arguments of auto_augment.
type AutoAugmentArgs = opargs.AutoAugment

// AutoAugment is auto_augment. Applies a sub-policy to each image: augmentations with their probabilities and
// magnitudes (AutoAugment).
//
// Input images: pictures or sequences: uint8 of layout HWC or FHWC.
// Output augmented: images of the same shape.
func AutoAugment(p *pipeline.Builder, images pipeline.Node, args AutoAugmentArgs) (augmented pipeline.Node) {
	out := p.Op("auto_augment", args, images)
	return out[0]
}

// BatchPermutationArgs are the arguments of batch_permutation.
type BatchPermutationArgs = opargs.BatchPermutation

// BatchPermutation is batch_permutation. Draws a permutation of the samples of a batch, for permute_batch:
// each sample holds one number.
//
// Output indices: int32 scalars.
func BatchPermutation(p *pipeline.Builder, args BatchPermutationArgs) (indices pipeline.Node) {
	out := p.Op("batch_permutation", args)
	return out[0]
}

// BbFlipArgs are the arguments of bb_flip.
type BbFlipArgs = opargs.BbFlip

// BbFlip is bb_flip. Mirrors boxes like the operator flip mirrors images. Coordinates are from 0 to 1.
//
// Input boxes: boxes of any number, 4 numbers each.
// Output output: the mirrored boxes.
func BbFlip(p *pipeline.Builder, boxes pipeline.Node, args BbFlipArgs) (output pipeline.Node) {
	out := p.Op("bb_flip", args, boxes)
	return out[0]
}

// BboxPasteArgs are the arguments of bbox_paste.
type BboxPasteArgs = opargs.BboxPaste

// BboxPaste is bbox_paste. Moves boxes with an image that the operator paste puts on a larger canvas.
// Coordinates are from 0 to 1.
//
// Input boxes: boxes of any number, 4 numbers each.
// Output output: the boxes on the canvas.
func BboxPaste(p *pipeline.Builder, boxes pipeline.Node, args BboxPasteArgs) (output pipeline.Node) {
	out := p.Op("bbox_paste", args, boxes)
	return out[0]
}

// BboxPruneArgs are the arguments of bbox_prune.
type BboxPruneArgs = opargs.BboxPrune

// BboxPrune is bbox_prune. Cuts boxes at the edges of the image and drops boxes of which too little is left,
// with their labels. A box without area, an inverted box and a box with NaN are always dropped.
//
// Input boxes: one box per row.
// Input labels: one label, or one row of labels, per box; may be left out.
// Output kept: the remaining boxes.
// Output keptLabels: their labels, or their indices if there are no labels.
// Output indices: with output_bbox_indices: the indices of the remaining boxes, int32.
func BboxPrune(p *pipeline.Builder, boxes pipeline.Node, args BboxPruneArgs, inputs ...pipeline.Node) []pipeline.Node {
	return p.Op("bbox_prune", args, append([]pipeline.Node{boxes}, inputs...)...)
}

// BboxRotateArgs are the arguments of bbox_rotate.
type BboxRotateArgs = opargs.BboxRotate

// BboxRotate is bbox_rotate. Turns boxes like the operator rotate turns an image. A turned box is the upright
// box around its corners. It is cut at the edges of the canvas, and dropped with its label if too little of
// it is left.
//
// Input boxes: one box per row.
// Input labels: one int32 label per box, as a list or as rows of one; may be left out.
// Output turned: the boxes that remain.
// Output keptLabels: their labels, if there are labels.
func BboxRotate(p *pipeline.Builder, boxes pipeline.Node, args BboxRotateArgs, inputs ...pipeline.Node) []pipeline.Node {
	return p.Op("bbox_rotate", args, append([]pipeline.Node{boxes}, inputs...)...)
}

// BoxEncoderArgs are the arguments of box_encoder.
type BoxEncoderArgs = opargs.BoxEncoder

// BoxEncoder is box_encoder. Matches boxes with the default boxes (anchors) of a detector such as SSD. Each
// anchor takes the box that overlaps it most, if the overlap is above criteria. Each box is also taken by the
// anchor that overlaps it most.
//
// Input boxes: one box per row: left, top, right, bottom.
// Input labels: one int32 label per box.
// Output encoded: for each anchor centre and size of its box, or of the anchor if it has none; with offset
// how they differ from the anchor, or zeros.
// Output encodedLabels: for each anchor the label of its box, or 0.
func BoxEncoder(p *pipeline.Builder, boxes pipeline.Node, labels pipeline.Node, args BoxEncoderArgs) (encoded, encodedLabels pipeline.Node) {
	out := p.Op("box_encoder", args, boxes, labels)
	return out[0], out[1]
}

// BrightnessArgs are the arguments of brightness.
type BrightnessArgs = opargs.Brightness

// Brightness is brightness. Changes the brightness: brightness_shift * range + brightness * in, where range
// is 1 for floats and the largest value of the output type otherwise.
//
// Input images: images, sequences or volumes.
// Output adjusted: images of the same shape.
func Brightness(p *pipeline.Builder, images pipeline.Node, args BrightnessArgs) (adjusted pipeline.Node) {
	out := p.Op("brightness", args, images)
	return out[0]
}

// BrightnessContrastArgs are the arguments of brightness_contrast.
type BrightnessContrastArgs = opargs.BrightnessContrast

// BrightnessContrast is brightness_contrast. Changes brightness and contrast: brightness_shift * range +
// brightness * (contrast_center + contrast * (in - contrast_center)), where range is 1 for floats and the
// largest value of the output type otherwise.
//
// Input images: images, sequences or volumes.
// Output adjusted: images of the same shape.
func BrightnessContrast(p *pipeline.Builder, images pipeline.Node, args BrightnessContrastArgs) (adjusted pipeline.Node) {
	out := p.Op("brightness_contrast", args, images)
	return out[0]
}

// Caffe2ReaderArgs are the arguments of caffe2_reader.
type Caffe2ReaderArgs = opargs.Caffe2Reader

// Caffe2Reader is caffe2_reader, an older name of readers.caffe2; see [ReadersCaffe2].
//
// Deprecated: use readers.caffe2
func Caffe2Reader(p *pipeline.Builder, args Caffe2ReaderArgs) []pipeline.Node {
	return p.Op("caffe2_reader", args)
}

// CaffeReaderArgs are the arguments of caffe_reader.
type CaffeReaderArgs = opargs.CaffeReader

// CaffeReader is caffe_reader, an older name of readers.caffe; see [ReadersCaffe].
//
// Deprecated: use readers.caffe
func CaffeReader(p *pipeline.Builder, args CaffeReaderArgs) []pipeline.Node {
	return p.Op("caffe_reader", args)
}

// CastArgs are the arguments of cast.
type CastArgs = opargs.Cast

// Cast is cast. Converts elements to another type. Floats become integers by rounding half away from zero and
// saturating. Integers are saturated if the other type is narrower.
//
// Input input: numbers of any shape.
// Output output: the same shape in the other type.
func Cast(p *pipeline.Builder, input pipeline.Node, args CastArgs) (output pipeline.Node) {
	out := p.Op("cast", args, input)
	return out[0]
}

// CastLikeArgs are the arguments of cast_like.
type CastLikeArgs = opargs.CastLike

// CastLike is cast_like. Converts elements to the type of other data, like cast.
//
// Input input: numbers of any shape.
// Input like: data with the new type; its contents are not read.
// Output output: the shape of the input in the other type.
func CastLike(p *pipeline.Builder, input pipeline.Node, like pipeline.Node, args CastLikeArgs) (output pipeline.Node) {
	out := p.Op("cast_like", args, input, like)
	return out[0]
}

// CatArgs are the arguments of cat.
type CatArgs = opargs.Cat

// Cat is cat. Joins data along an existing axis. Samples without elements are ignored, whatever their shape
// is. The output has the layout of the first input.
//
// Input input: data of one type; shapes may differ only in this axis; up to 999 of them.
// Output output: the joined data.
func Cat(p *pipeline.Builder, args CatArgs, inputs ...pipeline.Node) (output pipeline.Node) {
	out := p.Op("cat", args, inputs...)
	return out[0]
}

// ClaheArgs are the arguments of clahe.
type ClaheArgs = opargs.Clahe

// Clahe is clahe. Equalizes the histograms of the tiles of an image, with limited contrast (CLAHE). A pixel
// between the centres of tiles gets the mean of their results, weighted by distance. Colour images change
// their lightness only, unless luma_only is false.
//
// Input images: images of one channel, or of the channels red, green and blue: uint8.
// Output equalized: images of the same shape.
func Clahe(p *pipeline.Builder, images pipeline.Node, args ClaheArgs) (equalized pipeline.Node) {
	out := p.Op("clahe", args, images)
	return out[0]
}

// CocoReaderArgs are the arguments of coco_reader.
type CocoReaderArgs = opargs.CocoReader

// CocoReader is coco_reader, an older name of readers.coco; see [ReadersCoco].
//
// Deprecated: use readers.coco
func CocoReader(p *pipeline.Builder, args CocoReaderArgs) []pipeline.Node {
	return p.Op("coco_reader", args)
}

// CoinFlipArgs are the arguments of coin_flip.
type CoinFlipArgs = opargs.CoinFlip

// CoinFlip is coin_flip, an older name of random.coin_flip; see [RandomCoinFlip].
//
// Deprecated: use random.coin_flip
func CoinFlip(p *pipeline.Builder, args CoinFlipArgs, inputs ...pipeline.Node) (flips pipeline.Node) {
	out := p.Op("coin_flip", args, inputs...)
	return out[0]
}

// ColorSpaceConversionArgs are the arguments of color_space_conversion.
type ColorSpaceConversionArgs = opargs.ColorSpaceConversion

// ColorSpaceConversion is color_space_conversion. Converts images from one colour space to another: RGB, BGR,
// GRAY or YCbCr. Y of YCbCr lies in 16 to 235, and Cb and Cr in 16 to 240 (ITU-R BT.601).
//
// Input images: images, sequences or volumes: uint8.
// Output converted: images in the other colour space.
func ColorSpaceConversion(p *pipeline.Builder, images pipeline.Node, args ColorSpaceConversionArgs) (converted pipeline.Node) {
	out := p.Op("color_space_conversion", args, images)
	return out[0]
}

// ColorTwistArgs are the arguments of color_twist.
type ColorTwistArgs = opargs.ColorTwist

// ColorTwist is color_twist. Turns the hue and changes saturation, contrast and brightness of RGB images, as
// one linear map of the channels. Contrast does not change the value 0.5 of floats and 128 of integers.
//
// Input images: images of three channels, sequences or volumes: uint8, int16, int32, float16 or float32.
// Output twisted: images of the same shape.
func ColorTwist(p *pipeline.Builder, images pipeline.Node, args ColorTwistArgs) (twisted pipeline.Node) {
	out := p.Op("color_twist", args, images)
	return out[0]
}

// ConstantArgs are the arguments of constant.
type ConstantArgs = opargs.Constant

// Constant is constant. Returns the same numbers for every sample.
//
// Output output: the numbers.
func Constant(p *pipeline.Builder, args ConstantArgs) (output pipeline.Node) {
	out := p.Op("constant", args)
	return out[0]
}

// ContrastArgs are the arguments of contrast.
type ContrastArgs = opargs.Contrast

// Contrast is contrast. Changes the contrast: contrast_center + contrast * (in - contrast_center).
//
// Input images: images, sequences or volumes.
// Output adjusted: images of the same shape.
func Contrast(p *pipeline.Builder, images pipeline.Node, args ContrastArgs) (adjusted pipeline.Node) {
	out := p.Op("contrast", args, images)
	return out[0]
}

// CoordFlipArgs are the arguments of coord_flip.
type CoordFlipArgs = opargs.CoordFlip

// CoordFlip is coord_flip. Mirrors points: a flipped coordinate becomes 2 * center - x, in float32.
//
// Input points: a row for each point, of 1 to 3 coordinates.
// Output output: the mirrored points.
func CoordFlip(p *pipeline.Builder, points pipeline.Node, args CoordFlipArgs) (output pipeline.Node) {
	out := p.Op("coord_flip", args, points)
	return out[0]
}

// CoordTransformArgs are the arguments of coord_transform.
type CoordTransformArgs = opargs.CoordTransform

// CoordTransform is coord_transform. Multiplies points by a matrix and adds an offset: M * x + T, in float32;
// integers are rounded half away from zero and saturated.
//
// Input points: points; the last axis holds the coordinates.
// Output output: the points, with one coordinate per row of the matrix.
func CoordTransform(p *pipeline.Builder, points pipeline.Node, args CoordTransformArgs) (output pipeline.Node) {
	out := p.Op("coord_transform", args, points)
	return out[0]
}

// CopyArgs are the arguments of copy.
type CopyArgs = opargs.Copy

// Copy is copy. Returns the data unchanged.
//
// Input input: data of any kind.
// Output output: the same data.
func Copy(p *pipeline.Builder, input pipeline.Node, args CopyArgs) (output pipeline.Node) {
	out := p.Op("copy", args, input)
	return out[0]
}

// CropArgs are the arguments of crop.
type CropArgs = opargs.Crop

// Crop is crop. Cuts a window out of an image, out of every image of a sequence, or out of a volume.
//
// Input images: images to crop.
// Output windows: the windows, with the layout of the input.
func Crop(p *pipeline.Builder, images pipeline.Node, args CropArgs) (windows pipeline.Node) {
	out := p.Op("crop", args, images)
	return out[0]
}

// CropMirrorNormalizeArgs are the arguments of crop_mirror_normalize.
type CropMirrorNormalizeArgs = opargs.CropMirrorNormalize

// CropMirrorNormalize is crop_mirror_normalize. Cuts a window out of an image, can mirror it, and normalises
// it: scale * (in - mean) / std + shift, which is computed as (in - (mean - shift * std / scale)) * (scale /
// std). The output is laid out for training: CHW float32 by default.
//
// Input images: images, sequences or volumes.
// Output normalized: normalised windows.
func CropMirrorNormalize(p *pipeline.Builder, images pipeline.Node, args CropMirrorNormalizeArgs) (normalized pipeline.Node) {
	out := p.Op("crop_mirror_normalize", args, images)
	return out[0]
}

// CutmixArgs are the arguments of cutmix.
type CutmixArgs = opargs.Cutmix

// Cutmix is cutmix. Puts a window of a partner into an image, at the same place. The window has the share 1 -
// ratio of the area, before it is cut at the edges. Labels are mixed by the areas. Draw the ratio with
// random.beta.
//
// Input images: images or other data.
// Input partners: the data to mix with, of the same type and shape.
// Input labels: a number for each class, float32; may be left out.
// Input partnerLabels: the numbers of the partners; may be left out.
// Output mixed: the images with their windows.
// Output mixedLabels: the mean of the labels, if there are labels.
func Cutmix(p *pipeline.Builder, images pipeline.Node, partners pipeline.Node, args CutmixArgs, inputs ...pipeline.Node) []pipeline.Node {
	return p.Op("cutmix", args, append([]pipeline.Node{images, partners}, inputs...)...)
}

// DebayerArgs are the arguments of debayer.
type DebayerArgs = opargs.Debayer

// Debayer is debayer. Makes RGB images of the raw images of sensors, whose pixels have one colour each
// (demosaicing). Height and width must be even.
//
// Input images: raw images or sequences of them, without channels or with one: uint8 or uint16.
// Output colour: images of the channels red, green and blue.
func Debayer(p *pipeline.Builder, images pipeline.Node, args DebayerArgs) (colour pipeline.Node) {
	out := p.Op("debayer", args, images)
	return out[0]
}

// DumpImageArgs are the arguments of dump_image.
type DumpImageArgs = opargs.DumpImage

// DumpImage is dump_image. Writes each image to a file in the working directory and returns it. The name of
// the file has the place in the batch, the suffix and 0, such as 3-suffix-0.ppm, so that a batch overwrites
// the files of the previous batch. The format is PNM in text.
//
// Input image: an image of 1 or 3 channels, layout HWC.
// Output same: the image.
func DumpImage(p *pipeline.Builder, image pipeline.Node, args DumpImageArgs) (same pipeline.Node) {
	out := p.Op("dump_image", args, image)
	return out[0]
}

// ElementExtractArgs are the arguments of element_extract.
type ElementExtractArgs = opargs.ElementExtract

// ElementExtract is element_extract. Takes elements, such as frames, out of sequences. Each element is an
// output.
//
// Input input: sequences of at least two axes; if there is a layout, the first axis is F.
// Output element: an element of the sequence.
func ElementExtract(p *pipeline.Builder, input pipeline.Node, args ElementExtractArgs) []pipeline.Node {
	return p.Op("element_extract", args, input)
}

// EqualizeArgs are the arguments of equalize.
type EqualizeArgs = opargs.Equalize

// Equalize is equalize. Spreads the values of each channel of an image over the whole range, so that every
// part of the range has about as many pixels (histogram equalization). A channel of one value keeps it.
//
// Input images: images or sequences: uint8.
// Output equalized: images of the same shape.
func Equalize(p *pipeline.Builder, images pipeline.Node, args EqualizeArgs) (equalized pipeline.Node) {
	out := p.Op("equalize", args, images)
	return out[0]
}

// EraseArgs are the arguments of erase.
type EraseArgs = opargs.Erase

// Erase is erase. Overwrites regions of an array with a value. Anchors and shapes give the regions along some
// axes, region after region. Along all other axes a region covers the whole axis. Starts and ends are
// truncated to integers.
//
// Input data: arrays of any rank.
// Output erased: arrays of the same shape.
func Erase(p *pipeline.Builder, data pipeline.Node, args EraseArgs) (erased pipeline.Node) {
	out := p.Op("erase", args, data)
	return out[0]
}

// ExpandDimsArgs are the arguments of expand_dims.
type ExpandDimsArgs = opargs.ExpandDims

// ExpandDims is expand_dims. Inserts axes of extent 1 between the axes of the data.
//
// Input data: data of any kind.
// Output output: the data with the new axes.
func ExpandDims(p *pipeline.Builder, data pipeline.Node, args ExpandDimsArgs) (output pipeline.Node) {
	out := p.Op("expand_dims", args, data)
	return out[0]
}

// FastResizeCropMirrorArgs are the arguments of fast_resize_crop_mirror.
type FastResizeCropMirrorArgs = opargs.FastResizeCropMirror

// FastResizeCropMirror is fast_resize_crop_mirror. Resizes an image, cuts a window out of the result and can
// mirror it, in one step: only the window is computed. The window may extend beyond the resized image; the
// edge of the image is repeated there.
//
// Input images: images: uint8, int16, uint16 or float32.
// Output windows: the windows, with the layout of the input.
//
// Deprecated: use resize_crop_mirror
func FastResizeCropMirror(p *pipeline.Builder, images pipeline.Node, args FastResizeCropMirrorArgs) (windows pipeline.Node) {
	out := p.Op("fast_resize_crop_mirror", args, images)
	return out[0]
}

// FileReaderArgs are the arguments of file_reader.
type FileReaderArgs = opargs.FileReader

// FileReader is file_reader, an older name of readers.file; see [ReadersFile].
//
// Deprecated: use readers.file
func FileReader(p *pipeline.Builder, args FileReaderArgs) (files, labels pipeline.Node) {
	out := p.Op("file_reader", args)
	return out[0], out[1]
}

// FilterArgs are the arguments of filter.
type FilterArgs = opargs.Filter

// Filter is filter. Filters images with a matrix of weights: a pixel becomes the weighted sum of the pixels
// around it. The matrix is not turned around (it is a correlation).
//
// Input data: images with or without channels, or sequences of them: uint8, int16, uint16 or float32.
// Input filter: the weights, a float32 matrix of rows and columns, or a sequence with the layout FHW of one
// for each frame.
// Input fillValue: the number outside the image, of the type of the image, for the border "constant"; other
// borders ignore it; may be left out.
// Output filtered: the sums, with the layout of the input.
func Filter(p *pipeline.Builder, data pipeline.Node, filter pipeline.Node, args FilterArgs, inputs ...pipeline.Node) (filtered pipeline.Node) {
	out := p.Op("filter", args, append([]pipeline.Node{data, filter}, inputs...)...)
	return out[0]
}

// FlipArgs are the arguments of flip.
type FlipArgs = opargs.Flip

// Flip is flip. Reverses images along their axes: left and right, top and bottom, front and back.
//
// Input images: images, sequences or volumes of any type.
// Output flipped: images of the same shape.
func Flip(p *pipeline.Builder, images pipeline.Node, args FlipArgs) (flipped pipeline.Node) {
	out := p.Op("flip", args, images)
	return out[0]
}

// FreqMaskArgs are the arguments of freq_mask.
type FreqMaskArgs = opargs.FreqMask

// FreqMask is freq_mask. Sets random ranges of frequencies of a spectrogram to a number (SpecAugment). The
// width of a range is drawn first: any number from 0 to the limit is as likely. Then its start is drawn.
// Without a layout the axes are frequency, then time.
//
// Input spectrogram: a spectrogram of layout "ft" or "tf", float32.
// Output masked: a spectrogram of the same shape.
func FreqMask(p *pipeline.Builder, spectrogram pipeline.Node, args FreqMaskArgs) (masked pipeline.Node) {
	out := p.Op("freq_mask", args, spectrogram)
	return out[0]
}

// FullArgs are the arguments of full.
type FullArgs = opargs.Full

// Full is full. Repeats data to a shape, with the broadcasting rules of numpy.
//
// Input fillValue: the data to repeat: a scalar, or data whose shape fits the end of the new shape.
// Output output: the repeated data.
func Full(p *pipeline.Builder, fillValue pipeline.Node, args FullArgs) (output pipeline.Node) {
	out := p.Op("full", args, fillValue)
	return out[0]
}

// FullLikeArgs are the arguments of full_like.
type FullLikeArgs = opargs.FullLike

// FullLike is full_like. Repeats data to the shape of other data, with the broadcasting rules of numpy, and
// converts it to its type like cast. The output has the layout of the other data.
//
// Input dataLike: data with the shape, layout and type of the output; the contents are not read.
// Input fillValue: the data to repeat.
// Output output: the repeated data.
func FullLike(p *pipeline.Builder, dataLike pipeline.Node, fillValue pipeline.Node, args FullLikeArgs) (output pipeline.Node) {
	out := p.Op("full_like", args, dataLike, fillValue)
	return out[0]
}

// GaussianBlurArgs are the arguments of gaussian_blur.
type GaussianBlurArgs = opargs.GaussianBlur

// GaussianBlur is gaussian_blur. Blurs with a Gaussian window along all axes except frames and channels,
// which are the first or the last. At its edges the image is mirrored; the edge itself is not repeated.
//
// Input images: arrays of one to three axes besides frames and channels; without a layout no axis is a frame
// or channel axis.
// Output blurred: arrays of the same shape.
func GaussianBlur(p *pipeline.Builder, images pipeline.Node, args GaussianBlurArgs) (blurred pipeline.Node) {
	out := p.Op("gaussian_blur", args, images)
	return out[0]
}

// GetPropertyArgs are the arguments of get_property.
type GetPropertyArgs = opargs.GetProperty

// GetProperty is get_property. Returns a property of samples as text: the bytes of its characters.
//
// Input input: data of any kind.
// Output output: the characters as uint8.
func GetProperty(p *pipeline.Builder, input pipeline.Node, args GetPropertyArgs) (output pipeline.Node) {
	out := p.Op("get_property", args, input)
	return out[0]
}

// GridMaskArgs are the arguments of grid_mask.
type GridMaskArgs = opargs.GridMask

// GridMask is grid_mask. Makes the squares of a grid black, in every image of a sequence and every plane of a
// volume. Erased numbers are multiplied by 0: NaN stays NaN, and infinities become NaN.
//
// Input images: pictures, sequences or volumes.
// Output output: the pictures with black squares.
func GridMask(p *pipeline.Builder, images pipeline.Node, args GridMaskArgs) (output pipeline.Node) {
	out := p.Op("grid_mask", args, images)
	return out[0]
}

// HsvArgs are the arguments of hsv.
type HsvArgs = opargs.Hsv

// Hsv is hsv. Turns the hue and changes the saturation and the value of RGB images, as one linear map of the
// channels.
//
// Input images: images of three channels, sequences or volumes: uint8, int16, int32, float16 or float32.
// Output twisted: images of the same shape.
func Hsv(p *pipeline.Builder, images pipeline.Node, args HsvArgs) (twisted pipeline.Node) {
	out := p.Op("hsv", args, images)
	return out[0]
}

// HueArgs are the arguments of hue.
type HueArgs = opargs.Hue

// Hue is hue. Turns the hue of RGB images, as a linear map of the channels.
//
// Input images: images of three channels, sequences or volumes: uint8, int16, int32, float16 or float32.
// Output twisted: images of the same shape.
func Hue(p *pipeline.Builder, images pipeline.Node, args HueArgs) (twisted pipeline.Node) {
	out := p.Op("hue", args, images)
	return out[0]
}

// ImageDecoderArgs are the arguments of image_decoder.
type ImageDecoderArgs = opargs.ImageDecoder

// ImageDecoder is image_decoder, an older name of decoders.image; see [DecodersImage].
//
// Deprecated: use decoders.image
func ImageDecoder(p *pipeline.Builder, encoded pipeline.Node, args ImageDecoderArgs) (images pipeline.Node) {
	out := p.Op("image_decoder", args, encoded)
	return out[0]
}

// ImageDecoderCropArgs are the arguments of image_decoder_crop.
type ImageDecoderCropArgs = opargs.ImageDecoderCrop

// ImageDecoderCrop is image_decoder_crop, an older name of decoders.image_crop; see [DecodersImageCrop].
//
// Deprecated: use decoders.image_crop
func ImageDecoderCrop(p *pipeline.Builder, encoded pipeline.Node, args ImageDecoderCropArgs) (images pipeline.Node) {
	out := p.Op("image_decoder_crop", args, encoded)
	return out[0]
}

// ImageDecoderRandomCropArgs are the arguments of image_decoder_random_crop.
type ImageDecoderRandomCropArgs = opargs.ImageDecoderRandomCrop

// ImageDecoderRandomCrop is image_decoder_random_crop, an older name of decoders.image_random_crop; see
// [DecodersImageRandomCrop].
//
// Deprecated: use decoders.image_random_crop
func ImageDecoderRandomCrop(p *pipeline.Builder, encoded pipeline.Node, args ImageDecoderRandomCropArgs) (images pipeline.Node) {
	out := p.Op("image_decoder_random_crop", args, encoded)
	return out[0]
}

// ImageDecoderSliceArgs are the arguments of image_decoder_slice.
type ImageDecoderSliceArgs = opargs.ImageDecoderSlice

// ImageDecoderSlice is image_decoder_slice, an older name of decoders.image_slice; see [DecodersImageSlice].
//
// Deprecated: use decoders.image_slice
func ImageDecoderSlice(p *pipeline.Builder, encoded pipeline.Node, args ImageDecoderSliceArgs, inputs ...pipeline.Node) (images pipeline.Node) {
	out := p.Op("image_decoder_slice", args, append([]pipeline.Node{encoded}, inputs...)...)
	return out[0]
}

// JpegCompressionDistortionArgs are the arguments of jpeg_compression_distortion.
type JpegCompressionDistortionArgs = opargs.JpegCompressionDistortion

// JpegCompressionDistortion is jpeg_compression_distortion. Distorts RGB images as JPEG does: they become
// what they are after encoding and decoding, with half the colour resolution.
//
// Input images: RGB images or sequences of them: uint8.
// Output distorted: images of the same shape.
func JpegCompressionDistortion(p *pipeline.Builder, images pipeline.Node, args JpegCompressionDistortionArgs) (distorted pipeline.Node) {
	out := p.Op("jpeg_compression_distortion", args, images)
	return out[0]
}

// LaplacianArgs are the arguments of laplacian.
type LaplacianArgs = opargs.Laplacian

// Laplacian is laplacian. Adds up the second derivatives along all axes except frames and channels, which are
// the first or the last. Each derivative is smoothed along the other axes. At its edges the image is
// mirrored; the edge itself is not repeated.
//
// Input images: arrays of one to three axes besides frames and channels; without a layout no axis is a frame
// or channel axis.
// Output derived: arrays of the same shape.
func Laplacian(p *pipeline.Builder, images pipeline.Node, args LaplacianArgs) (derived pipeline.Node) {
	out := p.Op("laplacian", args, images)
	return out[0]
}

// LogMelArgs are the arguments of log_mel.
type LogMelArgs = opargs.LogMel

// LogMel is log_mel. Computes mel spectrograms in decibels in one pass. The result equals the chain of
// preemphasis_filter, spectrogram, mel_filter_bank and to_decibels with the same arguments to the bit.
//
// Input signal: a signal of one channel, float32.
// Output mels: nfilter numbers of every window, of layout "ft".
func LogMel(p *pipeline.Builder, signal pipeline.Node, args LogMelArgs) (mels pipeline.Node) {
	out := p.Op("log_mel", args, signal)
	return out[0]
}

// LookupTableArgs are the arguments of lookup_table.
type LookupTableArgs = opargs.LookupTable

// LookupTable is lookup_table. Replaces integers by their entries in a table.
//
// Input input: integers.
// Output output: the entries, in the shape of the input.
func LookupTable(p *pipeline.Builder, input pipeline.Node, args LookupTableArgs) (output pipeline.Node) {
	out := p.Op("lookup_table", args, input)
	return out[0]
}

// MelFilterBankArgs are the arguments of mel_filter_bank.
type MelFilterBankArgs = opargs.MelFilterBank

// MelFilterBank is mel_filter_bank. Converts spectrograms to mel spectrograms with triangular filters. The
// axis of frequencies is the letter f of the layout. Without a layout it is the first of two axes, and the
// second to last of more.
//
// Input spectrogram: a spectrogram with nfft/2 + 1 frequencies, float32.
// Output mels: nfilter numbers in place of the frequencies.
func MelFilterBank(p *pipeline.Builder, spectrogram pipeline.Node, args MelFilterBankArgs) (mels pipeline.Node) {
	out := p.Op("mel_filter_bank", args, spectrogram)
	return out[0]
}

// MfccArgs are the arguments of mfcc.
type MfccArgs = opargs.Mfcc

// Mfcc is mfcc. Computes cepstral coefficients of mel spectrograms in decibels: a discrete cosine transform
// along an axis, whose first numbers are kept.
//
// Input mels: data of two to four axes, float32.
// Output coefficients: at most n_mfcc numbers in place of the axis.
func Mfcc(p *pipeline.Builder, mels pipeline.Node, args MfccArgs) (coefficients pipeline.Node) {
	out := p.Op("mfcc", args, mels)
	return out[0]
}

// MixupArgs are the arguments of mixup.
type MixupArgs = opargs.Mixup

// Mixup is mixup. Mixes two samples: ratio * image + (1 - ratio) * partner. Labels are mixed in the same way.
// Draw the ratio with random.beta.
//
// Input images: images or other data.
// Input partners: the data to mix with, of the same type and shape.
// Input labels: a number for each class, float32; may be left out.
// Input partnerLabels: the numbers of the partners; may be left out.
// Output mixed: the means.
// Output mixedLabels: the mean of the labels, if there are labels.
func Mixup(p *pipeline.Builder, images pipeline.Node, partners pipeline.Node, args MixupArgs, inputs ...pipeline.Node) []pipeline.Node {
	return p.Op("mixup", args, append([]pipeline.Node{images, partners}, inputs...)...)
}

// MosaicArgs are the arguments of mosaic.
type MosaicArgs = opargs.Mosaic

// Mosaic is mosaic. Puts four images around a point of a canvas: above left, above right, below left and
// below right. Each image touches the point with its corner and is cut at the edges. Boxes and labels follow.
// Draw the point with random.uniform.
//
// Input image0: a picture of uint8, HWC.
// Input image1: a picture of uint8, HWC.
// Input image2: a picture of uint8, HWC.
// Input image3: a picture of uint8, HWC.
// Input boxes0: its boxes, one per row: left, top, right, bottom, from 0 to 1.
// Input boxes1: its boxes, one per row: left, top, right, bottom, from 0 to 1.
// Input boxes2: its boxes, one per row: left, top, right, bottom, from 0 to 1.
// Input boxes3: its boxes, one per row: left, top, right, bottom, from 0 to 1.
// Input labels0: its labels, one or one row per box.
// Input labels1: its labels, one or one row per box.
// Input labels2: its labels, one or one row per box.
// Input labels3: its labels, one or one row per box.
// Output canvas: the canvases.
// Output allBoxes: the boxes of all images, from 0 to 1 on the canvas.
// Output allLabels: their labels.
func Mosaic(p *pipeline.Builder, image0 pipeline.Node, image1 pipeline.Node, image2 pipeline.Node, image3 pipeline.Node, boxes0 pipeline.Node, boxes1 pipeline.Node, boxes2 pipeline.Node, boxes3 pipeline.Node, labels0 pipeline.Node, labels1 pipeline.Node, labels2 pipeline.Node, labels3 pipeline.Node, args MosaicArgs) (canvas, allBoxes, allLabels pipeline.Node) {
	out := p.Op("mosaic", args, image0, image1, image2, image3, boxes0, boxes1, boxes2, boxes3, labels0, labels1, labels2, labels3)
	return out[0], out[1], out[2]
}

// MultiPasteArgs are the arguments of multi_paste.
type MultiPasteArgs = opargs.MultiPaste

// MultiPaste is multi_paste. Puts regions of images on a black canvas, later regions over earlier regions.
// The images are the samples of the batch that in_ids names, or by default the sample of each input.
//
// Input images: pictures; up to 64 of them.
// Output output: the canvases.
func MultiPaste(p *pipeline.Builder, args MultiPasteArgs, inputs ...pipeline.Node) (output pipeline.Node) {
	out := p.Op("multi_paste", args, inputs...)
	return out[0]
}

// MxnetReaderArgs are the arguments of mxnet_reader.
type MxnetReaderArgs = opargs.MxnetReader

// MxnetReader is mxnet_reader, an older name of readers.mxnet; see [ReadersMxnet].
//
// Deprecated: use readers.mxnet
func MxnetReader(p *pipeline.Builder, args MxnetReaderArgs) (images, labels pipeline.Node) {
	out := p.Op("mxnet_reader", args)
	return out[0], out[1]
}

// NemoAsrReaderArgs are the arguments of nemo_asr_reader.
type NemoAsrReaderArgs = opargs.NemoAsrReader

// NemoAsrReader is nemo_asr_reader, an older name of readers.nemo_asr; see [ReadersNemoAsr].
//
// Deprecated: use readers.nemo_asr
func NemoAsrReader(p *pipeline.Builder, args NemoAsrReaderArgs) []pipeline.Node {
	return p.Op("nemo_asr_reader", args)
}

// NonsilentRegionArgs are the arguments of nonsilent_region.
type NonsilentRegionArgs = opargs.NonsilentRegion

// NonsilentRegion is nonsilent_region. Finds where a signal begins and ends to be louder than a threshold.
// The power of a window is the mean of its squares. The region reaches from the first to the last window that
// is loud enough.
//
// Input signal: a signal of one axis: integers of 8 to 64 bits, or float32.
// Output begin: the first element of the region, int32.
// Output length: its number of elements, int32; 0 if all is silent.
func NonsilentRegion(p *pipeline.Builder, signal pipeline.Node, args NonsilentRegionArgs) (begin, length pipeline.Node) {
	out := p.Op("nonsilent_region", args, signal)
	return out[0], out[1]
}

// NormalDistributionArgs are the arguments of normal_distribution.
type NormalDistributionArgs = opargs.NormalDistribution

// NormalDistribution is normal_distribution, an older name of random.normal; see [RandomNormal].
//
// Deprecated: use random.normal
func NormalDistribution(p *pipeline.Builder, args NormalDistributionArgs, inputs ...pipeline.Node) (numbers pipeline.Node) {
	out := p.Op("normal_distribution", args, inputs...)
	return out[0]
}

// NormalizeArgs are the arguments of normalize.
type NormalizeArgs = opargs.Normalize

// Normalize is normalize. Subtracts the mean from elements and divides the result by the standard deviation:
// scale * (in - mean) / sqrt(stddev^2 + epsilon) + shift. A mean or deviation that is not given is computed
// from the sample, or from the batch. If a computed deviation and epsilon are 0, the quotient is 0. Means and
// deviations that are given per sample have the shape of the input, with extents of 1 in the folded axes.
//
// Input input: integers of up to 32 bits or float32.
// Output output: the normalized data.
func Normalize(p *pipeline.Builder, input pipeline.Node, args NormalizeArgs) (output pipeline.Node) {
	out := p.Op("normalize", args, input)
	return out[0]
}

// NumpyReaderArgs are the arguments of numpy_reader.
type NumpyReaderArgs = opargs.NumpyReader

// NumpyReader is numpy_reader, an older name of readers.numpy; see [ReadersNumpy].
//
// Deprecated: use readers.numpy
func NumpyReader(p *pipeline.Builder, args NumpyReaderArgs) (arrays pipeline.Node) {
	out := p.Op("numpy_reader", args)
	return out[0]
}

// OneHotArgs are the arguments of one_hot.
type OneHotArgs = opargs.OneHot

// OneHot is one_hot. Makes a row of classes from each index, with on_value at the index and off_value
// elsewhere. An index outside the classes gives only off_value. If every sample of the batch has one element
// and no axis is given, the output has only the axis of the classes.
//
// Input input: indices; floats are truncated.
// Output output: the data with the axis of the classes.
func OneHot(p *pipeline.Builder, input pipeline.Node, args OneHotArgs) (output pipeline.Node) {
	out := p.Op("one_hot", args, input)
	return out[0]
}

// OnesArgs are the arguments of ones.
type OnesArgs = opargs.Ones

// Ones is ones. Returns ones.
//
// Output output: ones.
func Ones(p *pipeline.Builder, args OnesArgs) (output pipeline.Node) {
	out := p.Op("ones", args)
	return out[0]
}

// OnesLikeArgs are the arguments of ones_like.
type OnesLikeArgs = opargs.OnesLike

// OnesLike is ones_like. Returns ones in the shape of other data.
//
// Input dataLike: data with the shape, layout and type of the output; the contents are not read.
// Output output: ones.
func OnesLike(p *pipeline.Builder, dataLike pipeline.Node, args OnesLikeArgs) (output pipeline.Node) {
	out := p.Op("ones_like", args, dataLike)
	return out[0]
}

// PadArgs are the arguments of pad.
type PadArgs = opargs.Pad

// Pad is pad. Makes samples larger at the ends of axes. The new extent is the given one, or the largest in
// the batch, rounded up to a multiple of the alignment. No extent becomes smaller.
//
// Input input: data of any kind with at least one axis.
// Output output: the padded data.
func Pad(p *pipeline.Builder, input pipeline.Node, args PadArgs) (output pipeline.Node) {
	out := p.Op("pad", args, input)
	return out[0]
}

// PasteArgs are the arguments of paste.
type PasteArgs = opargs.Paste

// Paste is paste. Puts images on a larger canvas of one colour.
//
// Input images: pictures of uint8.
// Output output: the canvases.
func Paste(p *pipeline.Builder, images pipeline.Node, args PasteArgs) (output pipeline.Node) {
	out := p.Op("paste", args, images)
	return out[0]
}

// PeekImageShapeArgs are the arguments of peek_image_shape.
type PeekImageShapeArgs = opargs.PeekImageShape

// PeekImageShape is peek_image_shape. Returns the shape of images (height, width, channels) without decoding
// them.
//
// Input encoded: the bytes of an image file.
// Output shapes: three numbers.
func PeekImageShape(p *pipeline.Builder, encoded pipeline.Node, args PeekImageShapeArgs) (shapes pipeline.Node) {
	out := p.Op("peek_image_shape", args, encoded)
	return out[0]
}

// PerFrameArgs are the arguments of per_frame.
type PerFrameArgs = opargs.PerFrame

// PerFrame is per_frame. Marks data as sequences: the first axis becomes the axis of frames, F. The data does
// not change.
//
// Input input: data of any kind with at least one axis.
// Output output: the same data, whose layout begins with F.
func PerFrame(p *pipeline.Builder, input pipeline.Node, args PerFrameArgs) (output pipeline.Node) {
	out := p.Op("per_frame", args, input)
	return out[0]
}

// PermuteBatchArgs are the arguments of permute_batch.
type PermuteBatchArgs = opargs.PermuteBatch

// PermuteBatch is permute_batch. Reorders the samples of a batch. Samples may be left out or repeated.
//
// Input input: data of any kind.
// Output output: the samples in the new order.
func PermuteBatch(p *pipeline.Builder, input pipeline.Node, args PermuteBatchArgs) (output pipeline.Node) {
	out := p.Op("permute_batch", args, input)
	return out[0]
}

// PitchShiftArgs are the arguments of pitch_shift.
type PitchShiftArgs = opargs.PitchShift

// PitchShift is pitch_shift. Makes a signal higher or lower and keeps its length: it is stretched like in
// time_stretch, and then resampled. Frequencies that would be above half of the rate are left out.
//
// Input signal: a signal of one channel, float32.
// Output shifted: a signal of the same shape.
func PitchShift(p *pipeline.Builder, signal pipeline.Node, args PitchShiftArgs) (shifted pipeline.Node) {
	out := p.Op("pitch_shift", args, signal)
	return out[0]
}

// PowerSpectrumArgs are the arguments of power_spectrum.
type PowerSpectrumArgs = opargs.PowerSpectrum

// PowerSpectrum is power_spectrum. Computes the spectrum along one axis: the magnitudes, or their squares, at
// the frequencies 0 to half the rate.
//
// Input input: data of one to three axes, float32.
// Output spectrum: nfft/2 + 1 frequencies in place of the axis.
func PowerSpectrum(p *pipeline.Builder, input pipeline.Node, args PowerSpectrumArgs) (spectrum pipeline.Node) {
	out := p.Op("power_spectrum", args, input)
	return out[0]
}

// PreemphasisFilterArgs are the arguments of preemphasis_filter.
type PreemphasisFilterArgs = opargs.PreemphasisFilter

// PreemphasisFilter is preemphasis_filter. Subtracts from every element the element before it, times a
// coefficient. Elements follow each other as they lie in memory, whatever the shape.
//
// Input signal: integers of 8 to 64 bits, float32 or float64.
// Output filtered: data of the same shape.
func PreemphasisFilter(p *pipeline.Builder, signal pipeline.Node, args PreemphasisFilterArgs) (filtered pipeline.Node) {
	out := p.Op("preemphasis_filter", args, signal)
	return out[0]
}

// RandAugmentArgs are the arguments of rand_augment.
type RandAugmentArgs = opargs.RandAugment

// RandAugment is rand_augment. Applies n augmentations to each image, one after the other. Each is drawn from
// a suite; all have the magnitude m (RandAugment).
//
// Input images: pictures or sequences: uint8 of layout HWC or FHWC.
// Output augmented: images of the same shape.
func RandAugment(p *pipeline.Builder, images pipeline.Node, args RandAugmentArgs) (augmented pipeline.Node) {
	out := p.Op("rand_augment", args, images)
	return out[0]
}

// RandomBboxCropArgs are the arguments of random_bbox_crop.
type RandomBboxCropArgs = opargs.RandomBboxCrop

// RandomBboxCrop is random_bbox_crop. Draws a window of an image that overlaps its boxes by at least a
// threshold, which is drawn from thresholds. Boxes outside the window are dropped; the other boxes are
// returned in the window's coordinates. A search that finds no window is an error; DALI searches forever.
//
// Input boxes: one box per row, in coordinates from 0 to 1.
// Input labels: one label, or one row of labels, per box; may be left out.
// Output anchor: corner of the window, x first; in pixels with crop_shape, else from 0 to 1.
// Output extent: size of the window, in the units of anchor.
// Output kept: the remaining boxes, in coordinates of the window.
// Output keptLabels: their labels, or their indices if there are no labels.
// Output indices: with output_bbox_indices: the indices of the remaining boxes.
func RandomBboxCrop(p *pipeline.Builder, boxes pipeline.Node, args RandomBboxCropArgs, inputs ...pipeline.Node) []pipeline.Node {
	return p.Op("random_bbox_crop", args, append([]pipeline.Node{boxes}, inputs...)...)
}

// RandomCropGeneratorArgs are the arguments of random_crop_generator.
type RandomCropGeneratorArgs = opargs.RandomCropGenerator

// RandomCropGenerator is random_crop_generator. Draws windows of random area, aspect ratio and place for
// images of given shapes, to cut them with slice or while they are decoded.
//
// Input shapes: height, width and maybe channels of images, as integers.
// Output anchor: row and column of the corner, int32.
// Output extent: height and width, int32.
func RandomCropGenerator(p *pipeline.Builder, shapes pipeline.Node, args RandomCropGeneratorArgs) (anchor, extent pipeline.Node) {
	out := p.Op("random_crop_generator", args, shapes)
	return out[0], out[1]
}

// RandomEraseArgs are the arguments of random_erase.
type RandomEraseArgs = opargs.RandomErase

// RandomErase is random_erase. Overwrites a window of an image whose area, ratio and place are drawn (random
// erasing). If no window of ten fits, the image stays as it is.
//
// Input images: images: uint8 or float32.
// Output erased: images of the same shape.
func RandomErase(p *pipeline.Builder, images pipeline.Node, args RandomEraseArgs) (erased pipeline.Node) {
	out := p.Op("random_erase", args, images)
	return out[0]
}

// RandomResizedCropArgs are the arguments of random_resized_crop.
type RandomResizedCropArgs = opargs.RandomResizedCrop

// RandomResizedCrop is random_resized_crop. Cuts a window of random area, aspect ratio and place out of an
// image and resizes it to a fixed size. The filter also uses pixels just outside the window.
//
// Input images: images: uint8, int16, uint16 or float32.
// Output resized: images of the given size, with the layout of the input.
func RandomResizedCrop(p *pipeline.Builder, images pipeline.Node, args RandomResizedCropArgs) (resized pipeline.Node) {
	out := p.Op("random_resized_crop", args, images)
	return out[0]
}

// ReinterpretArgs are the arguments of reinterpret.
type ReinterpretArgs = opargs.Reinterpret

// Reinterpret is reinterpret. Interprets the bytes of the elements as elements of another type. Without a
// shape the last axis becomes longer or shorter by the ratio of the sizes of the two types.
//
// Input data: data of any kind.
// Input shapeInput: the new shape, as integers, in place of the argument; may be left out.
// Output output: the same bytes with the other type and shape.
func Reinterpret(p *pipeline.Builder, data pipeline.Node, args ReinterpretArgs, inputs ...pipeline.Node) (output pipeline.Node) {
	out := p.Op("reinterpret", args, append([]pipeline.Node{data}, inputs...)...)
	return out[0]
}

// ReshapeArgs are the arguments of reshape.
type ReshapeArgs = opargs.Reshape

// Reshape is reshape. Changes the shape or layout of data. The elements keep their order.
//
// Input data: data of any kind.
// Input shapeInput: the new shape, as integers, in place of the argument; may be left out.
// Output output: the same elements in the other shape.
func Reshape(p *pipeline.Builder, data pipeline.Node, args ReshapeArgs, inputs ...pipeline.Node) (output pipeline.Node) {
	out := p.Op("reshape", args, append([]pipeline.Node{data}, inputs...)...)
	return out[0]
}

// ResizeArgs are the arguments of resize.
type ResizeArgs = opargs.Resize

// Resize is resize. Changes the size of images, sequences of images and volumes, or of a part of each. Give
// the size as one of size, resize_shorter and resize_longer, or as some of resize_x, resize_y and resize_z.
//
// Input images: images: uint8, int16, uint16 or float32.
// Output resized: images of the new size, with the layout of the input.
// Output size: with save_attrs: the extents of the input's spatial axes, int32.
func Resize(p *pipeline.Builder, images pipeline.Node, args ResizeArgs) []pipeline.Node {
	return p.Op("resize", args, images)
}

// ResizeCropMirrorArgs are the arguments of resize_crop_mirror.
type ResizeCropMirrorArgs = opargs.ResizeCropMirror

// ResizeCropMirror is resize_crop_mirror. Resizes an image, cuts a window out of the result and can mirror
// it, in one step: only the window is computed. The window may extend beyond the resized image; the edge of
// the image is repeated there.
//
// Input images: images: uint8, int16, uint16 or float32.
// Output windows: the windows, with the layout of the input.
func ResizeCropMirror(p *pipeline.Builder, images pipeline.Node, args ResizeCropMirrorArgs) (windows pipeline.Node) {
	out := p.Op("resize_crop_mirror", args, images)
	return out[0]
}

// RoiRandomCropArgs are the arguments of roi_random_crop.
type RoiRandomCropArgs = opargs.RoiRandomCrop

// RoiRandomCrop is roi_random_crop. Draws the place of a window of a given size, so that it has as much of a
// region as fits: either the whole region lies in the window, or the window lies in the region. If the size
// of the image is given, the window lies in the image.
//
// Input data: the data to cut, in place of in_shape; may be left out.
// Output start: the first index of the window along every axis, int64.
func RoiRandomCrop(p *pipeline.Builder, args RoiRandomCropArgs, inputs ...pipeline.Node) (start pipeline.Node) {
	out := p.Op("roi_random_crop", args, inputs...)
	return out[0]
}

// RotateArgs are the arguments of rotate.
type RotateArgs = opargs.Rotate

// Rotate is rotate. Turns images around their centre. The output is as large as the turned image. Its extents
// are even or odd like the extents of the input, so that the centre stays in the middle or at the corner of a
// pixel.
//
// Input data: pictures, volumes or sequences of them.
// Output output: the turned images.
func Rotate(p *pipeline.Builder, data pipeline.Node, args RotateArgs) (output pipeline.Node) {
	out := p.Op("rotate", args, data)
	return out[0]
}

// SaturationArgs are the arguments of saturation.
type SaturationArgs = opargs.Saturation

// Saturation is saturation. Changes the saturation of RGB images, as a linear map of the channels.
//
// Input images: images of three channels, sequences or volumes: uint8, int16, int32, float16 or float32.
// Output twisted: images of the same shape.
func Saturation(p *pipeline.Builder, images pipeline.Node, args SaturationArgs) (twisted pipeline.Node) {
	out := p.Op("saturation", args, images)
	return out[0]
}

// SequenceReaderArgs are the arguments of sequence_reader.
type SequenceReaderArgs = opargs.SequenceReader

// SequenceReader is sequence_reader, an older name of readers.sequence; see [ReadersSequence].
//
// Deprecated: use readers.sequence
func SequenceReader(p *pipeline.Builder, args SequenceReaderArgs) (sequences pipeline.Node) {
	out := p.Op("sequence_reader", args)
	return out[0]
}

// SequenceRearrangeArgs are the arguments of sequence_rearrange.
type SequenceRearrangeArgs = opargs.SequenceRearrange

// SequenceRearrange is sequence_rearrange. Reorders the elements of sequences, such as frames. Elements may
// be left out or repeated.
//
// Input input: sequences of at least two axes; if there is a layout, the first axis is F.
// Output output: the sequences in the new order.
func SequenceRearrange(p *pipeline.Builder, input pipeline.Node, args SequenceRearrangeArgs) (output pipeline.Node) {
	out := p.Op("sequence_rearrange", args, input)
	return out[0]
}

// ShapesArgs are the arguments of shapes.
type ShapesArgs = opargs.Shapes

// Shapes is shapes. Returns the extents of samples.
//
// Input input: data of any kind.
// Output shape: the extents, outermost first.
//
// Deprecated: use Node.Shape
func Shapes(p *pipeline.Builder, input pipeline.Node, args ShapesArgs) (shape pipeline.Node) {
	out := p.Op("shapes", args, input)
	return out[0]
}

// SliceArgs are the arguments of slice.
type SliceArgs = opargs.Slice

// Slice is slice. Cuts a window out of an array of any rank. A window has a start, and an end or an extent,
// along axes given by number or by letter. Relative positions are fractions of the extents.
//
// Input data: arrays of any rank.
// Input anchor: the start on each axis; floats are relative unless normalized_anchor is false; may be left
// out.
// Input shape: the extent on each axis; floats are relative unless normalized_shape is false; may be left
// out.
// Output windows: the windows, with the layout of the data.
func Slice(p *pipeline.Builder, data pipeline.Node, args SliceArgs, inputs ...pipeline.Node) (windows pipeline.Node) {
	out := p.Op("slice", args, append([]pipeline.Node{data}, inputs...)...)
	return out[0]
}

// SpatialArgs are the arguments of spatial.
type SpatialArgs = opargs.Spatial

// Spatial is spatial. Applies one transform to an image and to its masks, boxes and keypoints. The steps are,
// in this order: crop, flip, affine transform around the centre, perspective, resize. A step without
// arguments does nothing.
//
// Input data: the image, and what belongs to it, in the order of targets; up to 16 of them.
// Output transformed: the data after the transform, in the order of the inputs.
func Spatial(p *pipeline.Builder, args SpatialArgs, inputs ...pipeline.Node) []pipeline.Node {
	return p.Op("spatial", args, inputs...)
}

// SpectrogramArgs are the arguments of spectrogram.
type SpectrogramArgs = opargs.Spectrogram

// Spectrogram is spectrogram. Computes the spectra of windows of a signal: the magnitudes, or their squares,
// at the frequencies 0 to half the rate. The signal has one axis of more than one element.
//
// Input signal: a signal of one channel, float32.
// Output spectrogram: nfft/2 + 1 frequencies of every window.
func Spectrogram(p *pipeline.Builder, signal pipeline.Node, args SpectrogramArgs) (spectrogram pipeline.Node) {
	out := p.Op("spectrogram", args, signal)
	return out[0]
}

// SphereArgs are the arguments of sphere.
type SphereArgs = opargs.Sphere

// Sphere is sphere. Makes images look as if on a ball. Pixels move towards the middle; pixels near the middle
// move most.
//
// Input images: pictures of uint8 or float32.
// Output output: the pictures with their pixels moved.
func Sphere(p *pipeline.Builder, images pipeline.Node, args SphereArgs) (output pipeline.Node) {
	out := p.Op("sphere", args, images)
	return out[0]
}

// SqueezeArgs are the arguments of squeeze.
type SqueezeArgs = opargs.Squeeze

// Squeeze is squeeze. Removes axes of extent 1.
//
// Input data: data of any kind.
// Output output: the data without these axes.
func Squeeze(p *pipeline.Builder, data pipeline.Node, args SqueezeArgs) (output pipeline.Node) {
	out := p.Op("squeeze", args, data)
	return out[0]
}

// SsdRandomCropArgs are the arguments of ssd_random_crop.
type SsdRandomCropArgs = opargs.SsdRandomCrop

// SsdRandomCrop is ssd_random_crop. Cuts a random window out of an image. All boxes overlap the window by at
// least a threshold, which is drawn too; sometimes the image stays whole. Boxes whose centre is outside the
// window are dropped with their labels.
//
// Input images: pictures of uint8.
// Input boxes: one box per row: left, top, right, bottom, from 0 to 1.
// Input labels: one int32 label per box.
// Output window: the windows.
// Output kept: the remaining boxes, in coordinates of the window.
// Output keptLabels: their labels.
//
// Deprecated: use random_bbox_crop
func SsdRandomCrop(p *pipeline.Builder, images pipeline.Node, boxes pipeline.Node, labels pipeline.Node, args SsdRandomCropArgs) (window, kept, keptLabels pipeline.Node) {
	out := p.Op("ssd_random_crop", args, images, boxes, labels)
	return out[0], out[1], out[2]
}

// StackArgs are the arguments of stack.
type StackArgs = opargs.Stack

// Stack is stack. Joins data along a new axis.
//
// Input input: data of one type and shape; up to 999 of them.
// Output output: the stacked data.
func Stack(p *pipeline.Builder, args StackArgs, inputs ...pipeline.Node) (output pipeline.Node) {
	out := p.Op("stack", args, inputs...)
	return out[0]
}

// TensorResizeArgs are the arguments of tensor_resize.
type TensorResizeArgs = opargs.TensorResize

// TensorResize is tensor_resize. Changes the extents of some axes of arrays of any rank to given sizes, or by
// given scales. At most three adjacent axes change. The other axes keep their extent, unless mode scales all
// axes alike.
//
// Input data: arrays of uint8, int16, uint16 or float32.
// Output resized: arrays of the new extents, with the layout of the input.
func TensorResize(p *pipeline.Builder, data pipeline.Node, args TensorResizeArgs) (resized pipeline.Node) {
	out := p.Op("tensor_resize", args, data)
	return out[0]
}

// TfrecordReaderArgs are the arguments of tfrecord_reader.
type TfrecordReaderArgs = opargs.TfrecordReader

// TfrecordReader is tfrecord_reader, an older name of readers.tfrecord; see [ReadersTfrecord].
//
// Deprecated: use readers.tfrecord
func TfrecordReader(p *pipeline.Builder, args TfrecordReaderArgs) []pipeline.Node {
	return p.Op("tfrecord_reader", args)
}

// TimeMaskArgs are the arguments of time_mask.
type TimeMaskArgs = opargs.TimeMask

// TimeMask is time_mask. Sets random ranges of times of a spectrogram to a number (SpecAugment). The width of
// a range is drawn first: any number from 0 to the limit is as likely. Then its start is drawn. Without a
// layout the axes are frequency, then time.
//
// Input spectrogram: a spectrogram of layout "ft" or "tf", float32.
// Output masked: a spectrogram of the same shape.
func TimeMask(p *pipeline.Builder, spectrogram pipeline.Node, args TimeMaskArgs) (masked pipeline.Node) {
	out := p.Op("time_mask", args, spectrogram)
	return out[0]
}

// TimeStretchArgs are the arguments of time_stretch.
type TimeStretchArgs = opargs.TimeStretch

// TimeStretch is time_stretch. Makes a signal slower or faster and keeps its pitch, with a phase vocoder.
//
// Input signal: a signal of one channel, float32.
// Output stretched: the signal, of its length divided by rate, rounded up.
func TimeStretch(p *pipeline.Builder, signal pipeline.Node, args TimeStretchArgs) (stretched pipeline.Node) {
	out := p.Op("time_stretch", args, signal)
	return out[0]
}

// ToDecibelsArgs are the arguments of to_decibels.
type ToDecibelsArgs = opargs.ToDecibels

// ToDecibels is to_decibels. Converts numbers to decibels: multiplier * log10(max(10^(cutoff_db /
// multiplier), in / reference)).
//
// Input input: data of any shape, float32.
// Output decibels: data of the same shape.
func ToDecibels(p *pipeline.Builder, input pipeline.Node, args ToDecibelsArgs) (decibels pipeline.Node) {
	out := p.Op("to_decibels", args, input)
	return out[0]
}

// TransformTranslationArgs are the arguments of transform_translation.
type TransformTranslationArgs = opargs.TransformTranslation

// TransformTranslation is transform_translation, an older name of transforms.translation; see
// [TransformsTranslation].
//
// Deprecated: use transforms.translation
func TransformTranslation(p *pipeline.Builder, args TransformTranslationArgs, inputs ...pipeline.Node) (output pipeline.Node) {
	out := p.Op("transform_translation", args, inputs...)
	return out[0]
}

// TransposeArgs are the arguments of transpose.
type TransposeArgs = opargs.Transpose

// Transpose is transpose. Puts the axes into another order.
//
// Input input: data of any kind.
// Output output: the data with its axes in that order.
func Transpose(p *pipeline.Builder, input pipeline.Node, args TransposeArgs) (output pipeline.Node) {
	out := p.Op("transpose", args, input)
	return out[0]
}

// TrivialAugmentWideArgs are the arguments of trivial_augment_wide.
type TrivialAugmentWideArgs = opargs.TrivialAugmentWide

// TrivialAugmentWide is trivial_augment_wide. Applies one augmentation to each image. It and its magnitude
// are drawn (TrivialAugment, wide).
//
// Input images: pictures or sequences: uint8 of layout HWC or FHWC.
// Output augmented: images of the same shape.
func TrivialAugmentWide(p *pipeline.Builder, images pipeline.Node, args TrivialAugmentWideArgs) (augmented pipeline.Node) {
	out := p.Op("trivial_augment_wide", args, images)
	return out[0]
}

// UniformArgs are the arguments of uniform.
type UniformArgs = opargs.Uniform

// Uniform is uniform, an older name of random.uniform; see [RandomUniform].
//
// Deprecated: use random.uniform
func Uniform(p *pipeline.Builder, args UniformArgs, inputs ...pipeline.Node) (numbers pipeline.Node) {
	out := p.Op("uniform", args, inputs...)
	return out[0]
}

// WarpAffineArgs are the arguments of warp_affine.
type WarpAffineArgs = opargs.WarpAffine

// WarpAffine is warp_affine. Warps images by an affine transform. The transform maps each pixel of the output
// to the point of the input that it shows. Points are counted from the corner of an image, so that the centre
// of the first pixel is (0.5, 0.5).
//
// Input data: pictures, volumes or sequences of them.
// Input mtx: the float32 transform, in place of the argument; may be left out.
// Output output: the warped images.
func WarpAffine(p *pipeline.Builder, data pipeline.Node, args WarpAffineArgs, inputs ...pipeline.Node) (output pipeline.Node) {
	out := p.Op("warp_affine", args, append([]pipeline.Node{data}, inputs...)...)
	return out[0]
}

// WaterArgs are the arguments of water.
type WaterArgs = opargs.Water

// Water is water. Makes images look as if seen through moving water. Pixels move sideways by a sine of their
// row, and up and down by a cosine of their column.
//
// Input images: pictures of uint8 or float32.
// Output output: the pictures with their pixels moved.
func Water(p *pipeline.Builder, images pipeline.Node, args WaterArgs) (output pipeline.Node) {
	out := p.Op("water", args, images)
	return out[0]
}

// ZerosArgs are the arguments of zeros.
type ZerosArgs = opargs.Zeros

// Zeros is zeros. Returns zeros.
//
// Output output: zeros.
func Zeros(p *pipeline.Builder, args ZerosArgs) (output pipeline.Node) {
	out := p.Op("zeros", args)
	return out[0]
}

// ZerosLikeArgs are the arguments of zeros_like.
type ZerosLikeArgs = opargs.ZerosLike

// ZerosLike is zeros_like. Returns zeros in the shape of other data.
//
// Input dataLike: data with the shape, layout and type of the output; the contents are not read.
// Output output: zeros.
func ZerosLike(p *pipeline.Builder, dataLike pipeline.Node, args ZerosLikeArgs) (output pipeline.Node) {
	out := p.Op("zeros_like", args, dataLike)
	return out[0]
}
