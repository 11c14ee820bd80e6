// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// AudioDecoderArgs are the arguments of audio_decoder.
type AudioDecoderArgs = opargs.AudioDecoder

// AudioDecoder is audio_decoder, an older name of decoders.audio; see [DecodersAudio].
//
// Deprecated: use decoders.audio
func AudioDecoder[T dynamic.Kind](ctx context.Context, encoded T, args AudioDecoderArgs) (sound, rate T) {
	out := dynamic.InvokeN[T](ctx, dynamic.Call{Op: "audio_decoder", Args: args, Inputs: []dynamic.Value{encoded}}, 2)
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
func AudioResample[T dynamic.Kind](ctx context.Context, signal T, args AudioResampleArgs) (resampled T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "audio_resample", Args: args, Inputs: []dynamic.Value{signal}})
}

// AutoAugmentArgs are the arguments of auto_augment.
type AutoAugmentArgs = opargs.AutoAugment

// AutoAugment is auto_augment. Applies a sub-policy to each image: augmentations with their probabilities and
// magnitudes (AutoAugment).
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input images: pictures or sequences: uint8 of layout HWC or FHWC.
// Output augmented: images of the same shape.
func AutoAugment[T dynamic.Kind](ctx context.Context, rng *random.RNG, images T, args AutoAugmentArgs) (augmented T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "auto_augment", Args: args, Inputs: []dynamic.Value{images}, Draw: random.Or(ctx, rng)})
}

// BatchPermutationArgs are the arguments of batch_permutation.
type BatchPermutationArgs = opargs.BatchPermutation

// BatchPermutation is batch_permutation. Draws a permutation of the samples of a batch, for permute_batch:
// each sample holds one number.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Output indices: int32 scalars.
func BatchPermutation(ctx context.Context, rng *random.RNG, args BatchPermutationArgs) (indices *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "batch_permutation", Args: args, Draw: random.Or(ctx, rng)})
}

// BatchPermutationBatch is batch_permutation for n samples; if n is 0, inputs or arguments that differ by
// sample tell how many.
//
// See [BatchPermutation].
func BatchPermutationBatch(ctx context.Context, rng *random.RNG, n int, args BatchPermutationArgs) (indices *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "batch_permutation", Args: args, Draw: random.Or(ctx, rng), Batch: n})
}

// BbFlipArgs are the arguments of bb_flip.
type BbFlipArgs = opargs.BbFlip

// BbFlip is bb_flip. Mirrors boxes like the operator flip mirrors images. Coordinates are from 0 to 1.
//
// Input boxes: boxes of any number, 4 numbers each.
// Output output: the mirrored boxes.
func BbFlip[T dynamic.Kind](ctx context.Context, boxes T, args BbFlipArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "bb_flip", Args: args, Inputs: []dynamic.Value{boxes}})
}

// BboxPasteArgs are the arguments of bbox_paste.
type BboxPasteArgs = opargs.BboxPaste

// BboxPaste is bbox_paste. Moves boxes with an image that the operator paste puts on a larger canvas.
// Coordinates are from 0 to 1.
//
// Input boxes: boxes of any number, 4 numbers each.
// Output output: the boxes on the canvas.
func BboxPaste[T dynamic.Kind](ctx context.Context, boxes T, args BboxPasteArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "bbox_paste", Args: args, Inputs: []dynamic.Value{boxes}})
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
func BboxPrune[T dynamic.Kind](ctx context.Context, boxes T, args BboxPruneArgs, inputs ...dynamic.Value) []T {
	return dynamic.InvokeN[T](ctx, dynamic.Call{Op: "bbox_prune", Args: args, Inputs: append([]dynamic.Value{boxes}, inputs...)}, 0)
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
func BboxRotate[T dynamic.Kind](ctx context.Context, boxes T, args BboxRotateArgs, inputs ...dynamic.Value) []T {
	return dynamic.InvokeN[T](ctx, dynamic.Call{Op: "bbox_rotate", Args: args, Inputs: append([]dynamic.Value{boxes}, inputs...)}, 0)
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
func BoxEncoder[T dynamic.Kind](ctx context.Context, boxes T, labels dynamic.Value, args BoxEncoderArgs) (encoded, encodedLabels T) {
	out := dynamic.InvokeN[T](ctx, dynamic.Call{Op: "box_encoder", Args: args, Inputs: []dynamic.Value{boxes, labels}}, 2)
	return out[0], out[1]
}

// BrightnessArgs are the arguments of brightness.
type BrightnessArgs = opargs.Brightness

// Brightness is brightness. Changes the brightness: brightness_shift * range + brightness * in, where range
// is 1 for floats and the largest value of the output type otherwise.
//
// Input images: images, sequences or volumes.
// Output adjusted: images of the same shape.
func Brightness[T dynamic.Kind](ctx context.Context, images T, args BrightnessArgs) (adjusted T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "brightness", Args: args, Inputs: []dynamic.Value{images}})
}

// BrightnessContrastArgs are the arguments of brightness_contrast.
type BrightnessContrastArgs = opargs.BrightnessContrast

// BrightnessContrast is brightness_contrast. Changes brightness and contrast: brightness_shift * range +
// brightness * (contrast_center + contrast * (in - contrast_center)), where range is 1 for floats and the
// largest value of the output type otherwise.
//
// Input images: images, sequences or volumes.
// Output adjusted: images of the same shape.
func BrightnessContrast[T dynamic.Kind](ctx context.Context, images T, args BrightnessContrastArgs) (adjusted T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "brightness_contrast", Args: args, Inputs: []dynamic.Value{images}})
}

// CastArgs are the arguments of cast.
type CastArgs = opargs.Cast

// Cast is cast. Converts elements to another type. Floats become integers by rounding half away from zero and
// saturating. Integers are saturated if the other type is narrower.
//
// Input input: numbers of any shape.
// Output output: the same shape in the other type.
func Cast[T dynamic.Kind](ctx context.Context, input T, args CastArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "cast", Args: args, Inputs: []dynamic.Value{input}})
}

// CastLikeArgs are the arguments of cast_like.
type CastLikeArgs = opargs.CastLike

// CastLike is cast_like. Converts elements to the type of other data, like cast.
//
// Input input: numbers of any shape.
// Input like: data with the new type; its contents are not read.
// Output output: the shape of the input in the other type.
func CastLike[T dynamic.Kind](ctx context.Context, input T, like dynamic.Value, args CastLikeArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "cast_like", Args: args, Inputs: []dynamic.Value{input, like}})
}

// CatArgs are the arguments of cat.
type CatArgs = opargs.Cat

// Cat is cat. Joins data along an existing axis. Samples without elements are ignored, whatever their shape
// is. The output has the layout of the first input.
//
// Input input: data of one type; shapes may differ only in this axis; up to 999 of them.
// Output output: the joined data.
func Cat[T dynamic.Kind](ctx context.Context, args CatArgs, inputs ...T) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "cat", Args: args, Inputs: dynamic.Values(inputs)})
}

// ClaheArgs are the arguments of clahe.
type ClaheArgs = opargs.Clahe

// Clahe is clahe. Equalizes the histograms of the tiles of an image, with limited contrast (CLAHE). A pixel
// between the centres of tiles gets the mean of their results, weighted by distance. Colour images change
// their lightness only, unless luma_only is false.
//
// Input images: images of one channel, or of the channels red, green and blue: uint8.
// Output equalized: images of the same shape.
func Clahe[T dynamic.Kind](ctx context.Context, images T, args ClaheArgs) (equalized T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "clahe", Args: args, Inputs: []dynamic.Value{images}})
}

// CoinFlipArgs are the arguments of coin_flip.
type CoinFlipArgs = opargs.CoinFlip

// CoinFlip is coin_flip, an older name of random.coin_flip; see [random.CoinFlip].
//
// Deprecated: use random.coin_flip
func CoinFlip(ctx context.Context, rng *random.RNG, args CoinFlipArgs, inputs ...*dynamic.Tensor) (flips *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "coin_flip", Args: args, Inputs: dynamic.Values(inputs), Draw: random.Or(ctx, rng)})
}

// CoinFlipBatch is coin_flip for n samples; if n is 0, inputs or arguments that differ by sample tell how
// many.
//
// See [CoinFlip].
//
// Deprecated: use random.coin_flip
func CoinFlipBatch(ctx context.Context, rng *random.RNG, n int, args CoinFlipArgs, inputs ...dynamic.Value) (flips *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "coin_flip", Args: args, Inputs: inputs, Draw: random.Or(ctx, rng), Batch: n})
}

// ColorSpaceConversionArgs are the arguments of color_space_conversion.
type ColorSpaceConversionArgs = opargs.ColorSpaceConversion

// ColorSpaceConversion is color_space_conversion. Converts images from one colour space to another: RGB, BGR,
// GRAY or YCbCr. Y of YCbCr lies in 16 to 235, and Cb and Cr in 16 to 240 (ITU-R BT.601).
//
// Input images: images, sequences or volumes: uint8.
// Output converted: images in the other colour space.
func ColorSpaceConversion[T dynamic.Kind](ctx context.Context, images T, args ColorSpaceConversionArgs) (converted T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "color_space_conversion", Args: args, Inputs: []dynamic.Value{images}})
}

// ColorTwistArgs are the arguments of color_twist.
type ColorTwistArgs = opargs.ColorTwist

// ColorTwist is color_twist. Turns the hue and changes saturation, contrast and brightness of RGB images, as
// one linear map of the channels. Contrast does not change the value 0.5 of floats and 128 of integers.
//
// Input images: images of three channels, sequences or volumes: uint8, int16, int32, float16 or float32.
// Output twisted: images of the same shape.
func ColorTwist[T dynamic.Kind](ctx context.Context, images T, args ColorTwistArgs) (twisted T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "color_twist", Args: args, Inputs: []dynamic.Value{images}})
}

// ConstantArgs are the arguments of constant.
type ConstantArgs = opargs.Constant

// Constant is constant. Returns the same numbers for every sample.
//
// Output output: the numbers.
func Constant(ctx context.Context, args ConstantArgs) (output *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "constant", Args: args})
}

// ConstantBatch is constant for n samples; if n is 0, inputs or arguments that differ by sample tell how
// many.
//
// See [Constant].
func ConstantBatch(ctx context.Context, n int, args ConstantArgs) (output *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "constant", Args: args, Batch: n})
}

// ContrastArgs are the arguments of contrast.
type ContrastArgs = opargs.Contrast

// Contrast is contrast. Changes the contrast: contrast_center + contrast * (in - contrast_center).
//
// Input images: images, sequences or volumes.
// Output adjusted: images of the same shape.
func Contrast[T dynamic.Kind](ctx context.Context, images T, args ContrastArgs) (adjusted T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "contrast", Args: args, Inputs: []dynamic.Value{images}})
}

// CoordFlipArgs are the arguments of coord_flip.
type CoordFlipArgs = opargs.CoordFlip

// CoordFlip is coord_flip. Mirrors points: a flipped coordinate becomes 2 * center - x, in float32.
//
// Input points: a row for each point, of 1 to 3 coordinates.
// Output output: the mirrored points.
func CoordFlip[T dynamic.Kind](ctx context.Context, points T, args CoordFlipArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "coord_flip", Args: args, Inputs: []dynamic.Value{points}})
}

// CoordTransformArgs are the arguments of coord_transform.
type CoordTransformArgs = opargs.CoordTransform

// CoordTransform is coord_transform. Multiplies points by a matrix and adds an offset: M * x + T, in float32;
// integers are rounded half away from zero and saturated.
//
// Input points: points; the last axis holds the coordinates.
// Output output: the points, with one coordinate per row of the matrix.
func CoordTransform[T dynamic.Kind](ctx context.Context, points T, args CoordTransformArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "coord_transform", Args: args, Inputs: []dynamic.Value{points}})
}

// CopyArgs are the arguments of copy.
type CopyArgs = opargs.Copy

// Copy is copy. Returns the data unchanged.
//
// Input input: data of any kind.
// Output output: the same data.
func Copy[T dynamic.Kind](ctx context.Context, input T, args CopyArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "copy", Args: args, Inputs: []dynamic.Value{input}})
}

// CropArgs are the arguments of crop.
type CropArgs = opargs.Crop

// Crop is crop. Cuts a window out of an image, out of every image of a sequence, or out of a volume.
//
// Input images: images to crop.
// Output windows: the windows, with the layout of the input.
func Crop[T dynamic.Kind](ctx context.Context, images T, args CropArgs) (windows T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "crop", Args: args, Inputs: []dynamic.Value{images}})
}

// CropMirrorNormalizeArgs are the arguments of crop_mirror_normalize.
type CropMirrorNormalizeArgs = opargs.CropMirrorNormalize

// CropMirrorNormalize is crop_mirror_normalize. Cuts a window out of an image, can mirror it, and normalises
// it: scale * (in - mean) / std + shift, which is computed as (in - (mean - shift * std / scale)) * (scale /
// std). The output is laid out for training: CHW float32 by default.
//
// Input images: images, sequences or volumes.
// Output normalized: normalised windows.
func CropMirrorNormalize[T dynamic.Kind](ctx context.Context, images T, args CropMirrorNormalizeArgs) (normalized T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "crop_mirror_normalize", Args: args, Inputs: []dynamic.Value{images}})
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
func Cutmix[T dynamic.Kind](ctx context.Context, images T, partners dynamic.Value, args CutmixArgs, inputs ...dynamic.Value) []T {
	return dynamic.InvokeN[T](ctx, dynamic.Call{Op: "cutmix", Args: args, Inputs: append([]dynamic.Value{images, partners}, inputs...)}, 0)
}

// DebayerArgs are the arguments of debayer.
type DebayerArgs = opargs.Debayer

// Debayer is debayer. Makes RGB images of the raw images of sensors, whose pixels have one colour each
// (demosaicing). Height and width must be even.
//
// Input images: raw images or sequences of them, without channels or with one: uint8 or uint16.
// Output colour: images of the channels red, green and blue.
func Debayer[T dynamic.Kind](ctx context.Context, images T, args DebayerArgs) (colour T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "debayer", Args: args, Inputs: []dynamic.Value{images}})
}

// DumpImageArgs are the arguments of dump_image.
type DumpImageArgs = opargs.DumpImage

// DumpImage is dump_image. Writes each image to a file in the working directory and returns it. The name of
// the file has the place in the batch, the suffix and 0, such as 3-suffix-0.ppm, so that a batch overwrites
// the files of the previous batch. The format is PNM in text.
//
// Input image: an image of 1 or 3 channels, layout HWC.
// Output same: the image.
func DumpImage[T dynamic.Kind](ctx context.Context, image T, args DumpImageArgs) (same T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "dump_image", Args: args, Inputs: []dynamic.Value{image}})
}

// ElementExtractArgs are the arguments of element_extract.
type ElementExtractArgs = opargs.ElementExtract

// ElementExtract is element_extract. Takes elements, such as frames, out of sequences. Each element is an
// output.
//
// Input input: sequences of at least two axes; if there is a layout, the first axis is F.
// Output element: an element of the sequence.
func ElementExtract[T dynamic.Kind](ctx context.Context, input T, args ElementExtractArgs) []T {
	return dynamic.InvokeN[T](ctx, dynamic.Call{Op: "element_extract", Args: args, Inputs: []dynamic.Value{input}}, 0)
}

// EqualizeArgs are the arguments of equalize.
type EqualizeArgs = opargs.Equalize

// Equalize is equalize. Spreads the values of each channel of an image over the whole range, so that every
// part of the range has about as many pixels (histogram equalization). A channel of one value keeps it.
//
// Input images: images or sequences: uint8.
// Output equalized: images of the same shape.
func Equalize[T dynamic.Kind](ctx context.Context, images T, args EqualizeArgs) (equalized T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "equalize", Args: args, Inputs: []dynamic.Value{images}})
}

// EraseArgs are the arguments of erase.
type EraseArgs = opargs.Erase

// Erase is erase. Overwrites regions of an array with a value. Anchors and shapes give the regions along some
// axes, region after region. Along all other axes a region covers the whole axis. Starts and ends are
// truncated to integers.
//
// Input data: arrays of any rank.
// Output erased: arrays of the same shape.
func Erase[T dynamic.Kind](ctx context.Context, data T, args EraseArgs) (erased T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "erase", Args: args, Inputs: []dynamic.Value{data}})
}

// ExpandDimsArgs are the arguments of expand_dims.
type ExpandDimsArgs = opargs.ExpandDims

// ExpandDims is expand_dims. Inserts axes of extent 1 between the axes of the data.
//
// Input data: data of any kind.
// Output output: the data with the new axes.
func ExpandDims[T dynamic.Kind](ctx context.Context, data T, args ExpandDimsArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "expand_dims", Args: args, Inputs: []dynamic.Value{data}})
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
func FastResizeCropMirror[T dynamic.Kind](ctx context.Context, images T, args FastResizeCropMirrorArgs) (windows T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "fast_resize_crop_mirror", Args: args, Inputs: []dynamic.Value{images}})
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
func Filter[T dynamic.Kind](ctx context.Context, data T, filter dynamic.Value, args FilterArgs, inputs ...dynamic.Value) (filtered T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "filter", Args: args, Inputs: append([]dynamic.Value{data, filter}, inputs...)})
}

// FlipArgs are the arguments of flip.
type FlipArgs = opargs.Flip

// Flip is flip. Reverses images along their axes: left and right, top and bottom, front and back.
//
// Input images: images, sequences or volumes of any type.
// Output flipped: images of the same shape.
func Flip[T dynamic.Kind](ctx context.Context, images T, args FlipArgs) (flipped T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "flip", Args: args, Inputs: []dynamic.Value{images}})
}

// FreqMaskArgs are the arguments of freq_mask.
type FreqMaskArgs = opargs.FreqMask

// FreqMask is freq_mask. Sets random ranges of frequencies of a spectrogram to a number (SpecAugment). The
// width of a range is drawn first: any number from 0 to the limit is as likely. Then its start is drawn.
// Without a layout the axes are frequency, then time.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input spectrogram: a spectrogram of layout "ft" or "tf", float32.
// Output masked: a spectrogram of the same shape.
func FreqMask[T dynamic.Kind](ctx context.Context, rng *random.RNG, spectrogram T, args FreqMaskArgs) (masked T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "freq_mask", Args: args, Inputs: []dynamic.Value{spectrogram}, Draw: random.Or(ctx, rng)})
}

// FullArgs are the arguments of full.
type FullArgs = opargs.Full

// Full is full. Repeats data to a shape, with the broadcasting rules of numpy.
//
// Input fillValue: the data to repeat: a scalar, or data whose shape fits the end of the new shape.
// Output output: the repeated data.
func Full[T dynamic.Kind](ctx context.Context, fillValue T, args FullArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "full", Args: args, Inputs: []dynamic.Value{fillValue}})
}

// FullLikeArgs are the arguments of full_like.
type FullLikeArgs = opargs.FullLike

// FullLike is full_like. Repeats data to the shape of other data, with the broadcasting rules of numpy, and
// converts it to its type like cast. The output has the layout of the other data.
//
// Input dataLike: data with the shape, layout and type of the output; the contents are not read.
// Input fillValue: the data to repeat.
// Output output: the repeated data.
func FullLike[T dynamic.Kind](ctx context.Context, dataLike T, fillValue dynamic.Value, args FullLikeArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "full_like", Args: args, Inputs: []dynamic.Value{dataLike, fillValue}})
}

// GaussianBlurArgs are the arguments of gaussian_blur.
type GaussianBlurArgs = opargs.GaussianBlur

// GaussianBlur is gaussian_blur. Blurs with a Gaussian window along all axes except frames and channels,
// which are the first or the last. At its edges the image is mirrored; the edge itself is not repeated.
//
// Input images: arrays of one to three axes besides frames and channels; without a layout no axis is a frame
// or channel axis.
// Output blurred: arrays of the same shape.
func GaussianBlur[T dynamic.Kind](ctx context.Context, images T, args GaussianBlurArgs) (blurred T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "gaussian_blur", Args: args, Inputs: []dynamic.Value{images}})
}

// GetPropertyArgs are the arguments of get_property.
type GetPropertyArgs = opargs.GetProperty

// GetProperty is get_property. Returns a property of samples as text: the bytes of its characters.
//
// Input input: data of any kind.
// Output output: the characters as uint8.
func GetProperty[T dynamic.Kind](ctx context.Context, input T, args GetPropertyArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "get_property", Args: args, Inputs: []dynamic.Value{input}})
}

// GridMaskArgs are the arguments of grid_mask.
type GridMaskArgs = opargs.GridMask

// GridMask is grid_mask. Makes the squares of a grid black, in every image of a sequence and every plane of a
// volume. Erased numbers are multiplied by 0: NaN stays NaN, and infinities become NaN.
//
// Input images: pictures, sequences or volumes.
// Output output: the pictures with black squares.
func GridMask[T dynamic.Kind](ctx context.Context, images T, args GridMaskArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "grid_mask", Args: args, Inputs: []dynamic.Value{images}})
}

// HsvArgs are the arguments of hsv.
type HsvArgs = opargs.Hsv

// Hsv is hsv. Turns the hue and changes the saturation and the value of RGB images, as one linear map of the
// channels.
//
// Input images: images of three channels, sequences or volumes: uint8, int16, int32, float16 or float32.
// Output twisted: images of the same shape.
func Hsv[T dynamic.Kind](ctx context.Context, images T, args HsvArgs) (twisted T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "hsv", Args: args, Inputs: []dynamic.Value{images}})
}

// HueArgs are the arguments of hue.
type HueArgs = opargs.Hue

// Hue is hue. Turns the hue of RGB images, as a linear map of the channels.
//
// Input images: images of three channels, sequences or volumes: uint8, int16, int32, float16 or float32.
// Output twisted: images of the same shape.
func Hue[T dynamic.Kind](ctx context.Context, images T, args HueArgs) (twisted T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "hue", Args: args, Inputs: []dynamic.Value{images}})
}

// ImageDecoderArgs are the arguments of image_decoder.
type ImageDecoderArgs = opargs.ImageDecoder

// ImageDecoder is image_decoder, an older name of decoders.image; see [DecodersImage].
//
// Deprecated: use decoders.image
func ImageDecoder[T dynamic.Kind](ctx context.Context, encoded T, args ImageDecoderArgs) (images T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "image_decoder", Args: args, Inputs: []dynamic.Value{encoded}})
}

// ImageDecoderCropArgs are the arguments of image_decoder_crop.
type ImageDecoderCropArgs = opargs.ImageDecoderCrop

// ImageDecoderCrop is image_decoder_crop, an older name of decoders.image_crop; see [DecodersImageCrop].
//
// Deprecated: use decoders.image_crop
func ImageDecoderCrop[T dynamic.Kind](ctx context.Context, encoded T, args ImageDecoderCropArgs) (images T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "image_decoder_crop", Args: args, Inputs: []dynamic.Value{encoded}})
}

// ImageDecoderRandomCropArgs are the arguments of image_decoder_random_crop.
type ImageDecoderRandomCropArgs = opargs.ImageDecoderRandomCrop

// ImageDecoderRandomCrop is image_decoder_random_crop, an older name of decoders.image_random_crop; see
// [DecodersImageRandomCrop].
//
// Deprecated: use decoders.image_random_crop
func ImageDecoderRandomCrop[T dynamic.Kind](ctx context.Context, rng *random.RNG, encoded T, args ImageDecoderRandomCropArgs) (images T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "image_decoder_random_crop", Args: args, Inputs: []dynamic.Value{encoded}, Draw: random.Or(ctx, rng)})
}

// ImageDecoderSliceArgs are the arguments of image_decoder_slice.
type ImageDecoderSliceArgs = opargs.ImageDecoderSlice

// ImageDecoderSlice is image_decoder_slice, an older name of decoders.image_slice; see [DecodersImageSlice].
//
// Deprecated: use decoders.image_slice
func ImageDecoderSlice[T dynamic.Kind](ctx context.Context, encoded T, args ImageDecoderSliceArgs, inputs ...dynamic.Value) (images T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "image_decoder_slice", Args: args, Inputs: append([]dynamic.Value{encoded}, inputs...)})
}

// JpegCompressionDistortionArgs are the arguments of jpeg_compression_distortion.
type JpegCompressionDistortionArgs = opargs.JpegCompressionDistortion

// JpegCompressionDistortion is jpeg_compression_distortion. Distorts RGB images as JPEG does: they become
// what they are after encoding and decoding, with half the colour resolution.
//
// Input images: RGB images or sequences of them: uint8.
// Output distorted: images of the same shape.
func JpegCompressionDistortion[T dynamic.Kind](ctx context.Context, images T, args JpegCompressionDistortionArgs) (distorted T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "jpeg_compression_distortion", Args: args, Inputs: []dynamic.Value{images}})
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
func Laplacian[T dynamic.Kind](ctx context.Context, images T, args LaplacianArgs) (derived T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "laplacian", Args: args, Inputs: []dynamic.Value{images}})
}

// LogMelArgs are the arguments of log_mel.
type LogMelArgs = opargs.LogMel

// LogMel is log_mel. Computes mel spectrograms in decibels in one pass. The result equals the chain of
// preemphasis_filter, spectrogram, mel_filter_bank and to_decibels with the same arguments to the bit.
//
// Input signal: a signal of one channel, float32.
// Output mels: nfilter numbers of every window, of layout "ft".
func LogMel[T dynamic.Kind](ctx context.Context, signal T, args LogMelArgs) (mels T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "log_mel", Args: args, Inputs: []dynamic.Value{signal}})
}

// LookupTableArgs are the arguments of lookup_table.
type LookupTableArgs = opargs.LookupTable

// LookupTable is lookup_table. Replaces integers by their entries in a table.
//
// Input input: integers.
// Output output: the entries, in the shape of the input.
func LookupTable[T dynamic.Kind](ctx context.Context, input T, args LookupTableArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "lookup_table", Args: args, Inputs: []dynamic.Value{input}})
}

// MelFilterBankArgs are the arguments of mel_filter_bank.
type MelFilterBankArgs = opargs.MelFilterBank

// MelFilterBank is mel_filter_bank. Converts spectrograms to mel spectrograms with triangular filters. The
// axis of frequencies is the letter f of the layout. Without a layout it is the first of two axes, and the
// second to last of more.
//
// Input spectrogram: a spectrogram with nfft/2 + 1 frequencies, float32.
// Output mels: nfilter numbers in place of the frequencies.
func MelFilterBank[T dynamic.Kind](ctx context.Context, spectrogram T, args MelFilterBankArgs) (mels T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "mel_filter_bank", Args: args, Inputs: []dynamic.Value{spectrogram}})
}

// MfccArgs are the arguments of mfcc.
type MfccArgs = opargs.Mfcc

// Mfcc is mfcc. Computes cepstral coefficients of mel spectrograms in decibels: a discrete cosine transform
// along an axis, whose first numbers are kept.
//
// Input mels: data of two to four axes, float32.
// Output coefficients: at most n_mfcc numbers in place of the axis.
func Mfcc[T dynamic.Kind](ctx context.Context, mels T, args MfccArgs) (coefficients T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "mfcc", Args: args, Inputs: []dynamic.Value{mels}})
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
func Mixup[T dynamic.Kind](ctx context.Context, images T, partners dynamic.Value, args MixupArgs, inputs ...dynamic.Value) []T {
	return dynamic.InvokeN[T](ctx, dynamic.Call{Op: "mixup", Args: args, Inputs: append([]dynamic.Value{images, partners}, inputs...)}, 0)
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
func Mosaic[T dynamic.Kind](ctx context.Context, image0 T, image1 dynamic.Value, image2 dynamic.Value, image3 dynamic.Value, boxes0 dynamic.Value, boxes1 dynamic.Value, boxes2 dynamic.Value, boxes3 dynamic.Value, labels0 dynamic.Value, labels1 dynamic.Value, labels2 dynamic.Value, labels3 dynamic.Value, args MosaicArgs) (canvas, allBoxes, allLabels T) {
	out := dynamic.InvokeN[T](ctx, dynamic.Call{Op: "mosaic", Args: args, Inputs: []dynamic.Value{image0, image1, image2, image3, boxes0, boxes1, boxes2, boxes3, labels0, labels1, labels2, labels3}}, 3)
	return out[0], out[1], out[2]
}

// MultiPasteArgs are the arguments of multi_paste.
type MultiPasteArgs = opargs.MultiPaste

// MultiPaste is multi_paste. Puts regions of images on a black canvas, later regions over earlier regions.
// The images are the samples of the batch that in_ids names, or by default the sample of each input.
//
// Input images: pictures; up to 64 of them.
// Output output: the canvases.
func MultiPaste[T dynamic.Kind](ctx context.Context, args MultiPasteArgs, inputs ...T) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "multi_paste", Args: args, Inputs: dynamic.Values(inputs)})
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
func NonsilentRegion[T dynamic.Kind](ctx context.Context, signal T, args NonsilentRegionArgs) (begin, length T) {
	out := dynamic.InvokeN[T](ctx, dynamic.Call{Op: "nonsilent_region", Args: args, Inputs: []dynamic.Value{signal}}, 2)
	return out[0], out[1]
}

// NormalDistributionArgs are the arguments of normal_distribution.
type NormalDistributionArgs = opargs.NormalDistribution

// NormalDistribution is normal_distribution, an older name of random.normal; see [random.Normal].
//
// Deprecated: use random.normal
func NormalDistribution(ctx context.Context, rng *random.RNG, args NormalDistributionArgs, inputs ...*dynamic.Tensor) (numbers *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "normal_distribution", Args: args, Inputs: dynamic.Values(inputs), Draw: random.Or(ctx, rng)})
}

// NormalDistributionBatch is normal_distribution for n samples; if n is 0, inputs or arguments that differ by
// sample tell how many.
//
// See [NormalDistribution].
//
// Deprecated: use random.normal
func NormalDistributionBatch(ctx context.Context, rng *random.RNG, n int, args NormalDistributionArgs, inputs ...dynamic.Value) (numbers *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "normal_distribution", Args: args, Inputs: inputs, Draw: random.Or(ctx, rng), Batch: n})
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
func Normalize[T dynamic.Kind](ctx context.Context, input T, args NormalizeArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "normalize", Args: args, Inputs: []dynamic.Value{input}})
}

// OneHotArgs are the arguments of one_hot.
type OneHotArgs = opargs.OneHot

// OneHot is one_hot. Makes a row of classes from each index, with on_value at the index and off_value
// elsewhere. An index outside the classes gives only off_value. If every sample of the batch has one element
// and no axis is given, the output has only the axis of the classes.
//
// Input input: indices; floats are truncated.
// Output output: the data with the axis of the classes.
func OneHot[T dynamic.Kind](ctx context.Context, input T, args OneHotArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "one_hot", Args: args, Inputs: []dynamic.Value{input}})
}

// OnesArgs are the arguments of ones.
type OnesArgs = opargs.Ones

// Ones is ones. Returns ones.
//
// Output output: ones.
func Ones(ctx context.Context, args OnesArgs) (output *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "ones", Args: args})
}

// OnesBatch is ones for n samples; if n is 0, inputs or arguments that differ by sample tell how many.
//
// See [Ones].
func OnesBatch(ctx context.Context, n int, args OnesArgs) (output *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "ones", Args: args, Batch: n})
}

// OnesLikeArgs are the arguments of ones_like.
type OnesLikeArgs = opargs.OnesLike

// OnesLike is ones_like. Returns ones in the shape of other data.
//
// Input dataLike: data with the shape, layout and type of the output; the contents are not read.
// Output output: ones.
func OnesLike[T dynamic.Kind](ctx context.Context, dataLike T, args OnesLikeArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "ones_like", Args: args, Inputs: []dynamic.Value{dataLike}})
}

// PadArgs are the arguments of pad.
type PadArgs = opargs.Pad

// Pad is pad. Makes samples larger at the ends of axes. The new extent is the given one, or the largest in
// the batch, rounded up to a multiple of the alignment. No extent becomes smaller.
//
// Input input: data of any kind with at least one axis.
// Output output: the padded data.
func Pad[T dynamic.Kind](ctx context.Context, input T, args PadArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "pad", Args: args, Inputs: []dynamic.Value{input}})
}

// PasteArgs are the arguments of paste.
type PasteArgs = opargs.Paste

// Paste is paste. Puts images on a larger canvas of one colour.
//
// Input images: pictures of uint8.
// Output output: the canvases.
func Paste[T dynamic.Kind](ctx context.Context, images T, args PasteArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "paste", Args: args, Inputs: []dynamic.Value{images}})
}

// PeekImageShapeArgs are the arguments of peek_image_shape.
type PeekImageShapeArgs = opargs.PeekImageShape

// PeekImageShape is peek_image_shape. Returns the shape of images (height, width, channels) without decoding
// them.
//
// Input encoded: the bytes of an image file.
// Output shapes: three numbers.
func PeekImageShape[T dynamic.Kind](ctx context.Context, encoded T, args PeekImageShapeArgs) (shapes T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "peek_image_shape", Args: args, Inputs: []dynamic.Value{encoded}})
}

// PerFrameArgs are the arguments of per_frame.
type PerFrameArgs = opargs.PerFrame

// PerFrame is per_frame. Marks data as sequences: the first axis becomes the axis of frames, F. The data does
// not change.
//
// Input input: data of any kind with at least one axis.
// Output output: the same data, whose layout begins with F.
func PerFrame[T dynamic.Kind](ctx context.Context, input T, args PerFrameArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "per_frame", Args: args, Inputs: []dynamic.Value{input}})
}

// PermuteBatchArgs are the arguments of permute_batch.
type PermuteBatchArgs = opargs.PermuteBatch

// PermuteBatch is permute_batch. Reorders the samples of a batch. Samples may be left out or repeated.
//
// Input input: data of any kind.
// Output output: the samples in the new order.
func PermuteBatch[T dynamic.Kind](ctx context.Context, input T, args PermuteBatchArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "permute_batch", Args: args, Inputs: []dynamic.Value{input}})
}

// PitchShiftArgs are the arguments of pitch_shift.
type PitchShiftArgs = opargs.PitchShift

// PitchShift is pitch_shift. Makes a signal higher or lower and keeps its length: it is stretched like in
// time_stretch, and then resampled. Frequencies that would be above half of the rate are left out.
//
// Input signal: a signal of one channel, float32.
// Output shifted: a signal of the same shape.
func PitchShift[T dynamic.Kind](ctx context.Context, signal T, args PitchShiftArgs) (shifted T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "pitch_shift", Args: args, Inputs: []dynamic.Value{signal}})
}

// PowerSpectrumArgs are the arguments of power_spectrum.
type PowerSpectrumArgs = opargs.PowerSpectrum

// PowerSpectrum is power_spectrum. Computes the spectrum along one axis: the magnitudes, or their squares, at
// the frequencies 0 to half the rate.
//
// Input input: data of one to three axes, float32.
// Output spectrum: nfft/2 + 1 frequencies in place of the axis.
func PowerSpectrum[T dynamic.Kind](ctx context.Context, input T, args PowerSpectrumArgs) (spectrum T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "power_spectrum", Args: args, Inputs: []dynamic.Value{input}})
}

// PreemphasisFilterArgs are the arguments of preemphasis_filter.
type PreemphasisFilterArgs = opargs.PreemphasisFilter

// PreemphasisFilter is preemphasis_filter. Subtracts from every element the element before it, times a
// coefficient. Elements follow each other as they lie in memory, whatever the shape.
//
// Input signal: integers of 8 to 64 bits, float32 or float64.
// Output filtered: data of the same shape.
func PreemphasisFilter[T dynamic.Kind](ctx context.Context, signal T, args PreemphasisFilterArgs) (filtered T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "preemphasis_filter", Args: args, Inputs: []dynamic.Value{signal}})
}

// RandAugmentArgs are the arguments of rand_augment.
type RandAugmentArgs = opargs.RandAugment

// RandAugment is rand_augment. Applies n augmentations to each image, one after the other. Each is drawn from
// a suite; all have the magnitude m (RandAugment).
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input images: pictures or sequences: uint8 of layout HWC or FHWC.
// Output augmented: images of the same shape.
func RandAugment[T dynamic.Kind](ctx context.Context, rng *random.RNG, images T, args RandAugmentArgs) (augmented T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "rand_augment", Args: args, Inputs: []dynamic.Value{images}, Draw: random.Or(ctx, rng)})
}

// RandomBboxCropArgs are the arguments of random_bbox_crop.
type RandomBboxCropArgs = opargs.RandomBboxCrop

// RandomBboxCrop is random_bbox_crop. Draws a window of an image that overlaps its boxes by at least a
// threshold, which is drawn from thresholds. Boxes outside the window are dropped; the other boxes are
// returned in the window's coordinates. A search that finds no window is an error; DALI searches forever.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input boxes: one box per row, in coordinates from 0 to 1.
// Input labels: one label, or one row of labels, per box; may be left out.
// Output anchor: corner of the window, x first; in pixels with crop_shape, else from 0 to 1.
// Output extent: size of the window, in the units of anchor.
// Output kept: the remaining boxes, in coordinates of the window.
// Output keptLabels: their labels, or their indices if there are no labels.
// Output indices: with output_bbox_indices: the indices of the remaining boxes.
func RandomBboxCrop[T dynamic.Kind](ctx context.Context, rng *random.RNG, boxes T, args RandomBboxCropArgs, inputs ...dynamic.Value) []T {
	return dynamic.InvokeN[T](ctx, dynamic.Call{Op: "random_bbox_crop", Args: args, Inputs: append([]dynamic.Value{boxes}, inputs...), Draw: random.Or(ctx, rng)}, 0)
}

// RandomCropGeneratorArgs are the arguments of random_crop_generator.
type RandomCropGeneratorArgs = opargs.RandomCropGenerator

// RandomCropGenerator is random_crop_generator. Draws windows of random area, aspect ratio and place for
// images of given shapes, to cut them with slice or while they are decoded.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input shapes: height, width and maybe channels of images, as integers.
// Output anchor: row and column of the corner, int32.
// Output extent: height and width, int32.
func RandomCropGenerator[T dynamic.Kind](ctx context.Context, rng *random.RNG, shapes T, args RandomCropGeneratorArgs) (anchor, extent T) {
	out := dynamic.InvokeN[T](ctx, dynamic.Call{Op: "random_crop_generator", Args: args, Inputs: []dynamic.Value{shapes}, Draw: random.Or(ctx, rng)}, 2)
	return out[0], out[1]
}

// RandomEraseArgs are the arguments of random_erase.
type RandomEraseArgs = opargs.RandomErase

// RandomErase is random_erase. Overwrites a window of an image whose area, ratio and place are drawn (random
// erasing). If no window of ten fits, the image stays as it is.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input images: images: uint8 or float32.
// Output erased: images of the same shape.
func RandomErase[T dynamic.Kind](ctx context.Context, rng *random.RNG, images T, args RandomEraseArgs) (erased T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "random_erase", Args: args, Inputs: []dynamic.Value{images}, Draw: random.Or(ctx, rng)})
}

// RandomResizedCropArgs are the arguments of random_resized_crop.
type RandomResizedCropArgs = opargs.RandomResizedCrop

// RandomResizedCrop is random_resized_crop. Cuts a window of random area, aspect ratio and place out of an
// image and resizes it to a fixed size. The filter also uses pixels just outside the window.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input images: images: uint8, int16, uint16 or float32.
// Output resized: images of the given size, with the layout of the input.
func RandomResizedCrop[T dynamic.Kind](ctx context.Context, rng *random.RNG, images T, args RandomResizedCropArgs) (resized T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "random_resized_crop", Args: args, Inputs: []dynamic.Value{images}, Draw: random.Or(ctx, rng)})
}

// ReinterpretArgs are the arguments of reinterpret.
type ReinterpretArgs = opargs.Reinterpret

// Reinterpret is reinterpret. Interprets the bytes of the elements as elements of another type. Without a
// shape the last axis becomes longer or shorter by the ratio of the sizes of the two types.
//
// Input data: data of any kind.
// Input shapeInput: the new shape, as integers, in place of the argument; may be left out.
// Output output: the same bytes with the other type and shape.
func Reinterpret[T dynamic.Kind](ctx context.Context, data T, args ReinterpretArgs, inputs ...dynamic.Value) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "reinterpret", Args: args, Inputs: append([]dynamic.Value{data}, inputs...)})
}

// ReshapeArgs are the arguments of reshape.
type ReshapeArgs = opargs.Reshape

// Reshape is reshape. Changes the shape or layout of data. The elements keep their order.
//
// Input data: data of any kind.
// Input shapeInput: the new shape, as integers, in place of the argument; may be left out.
// Output output: the same elements in the other shape.
func Reshape[T dynamic.Kind](ctx context.Context, data T, args ReshapeArgs, inputs ...dynamic.Value) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "reshape", Args: args, Inputs: append([]dynamic.Value{data}, inputs...)})
}

// ResizeArgs are the arguments of resize.
type ResizeArgs = opargs.Resize

// Resize is resize. Changes the size of images, sequences of images and volumes, or of a part of each. Give
// the size as one of size, resize_shorter and resize_longer, or as some of resize_x, resize_y and resize_z.
//
// Input images: images: uint8, int16, uint16 or float32.
// Output resized: images of the new size, with the layout of the input.
// Output size: with save_attrs: the extents of the input's spatial axes, int32.
func Resize[T dynamic.Kind](ctx context.Context, images T, args ResizeArgs) []T {
	return dynamic.InvokeN[T](ctx, dynamic.Call{Op: "resize", Args: args, Inputs: []dynamic.Value{images}}, 0)
}

// ResizeCropMirrorArgs are the arguments of resize_crop_mirror.
type ResizeCropMirrorArgs = opargs.ResizeCropMirror

// ResizeCropMirror is resize_crop_mirror. Resizes an image, cuts a window out of the result and can mirror
// it, in one step: only the window is computed. The window may extend beyond the resized image; the edge of
// the image is repeated there.
//
// Input images: images: uint8, int16, uint16 or float32.
// Output windows: the windows, with the layout of the input.
func ResizeCropMirror[T dynamic.Kind](ctx context.Context, images T, args ResizeCropMirrorArgs) (windows T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "resize_crop_mirror", Args: args, Inputs: []dynamic.Value{images}})
}

// RoiRandomCropArgs are the arguments of roi_random_crop.
type RoiRandomCropArgs = opargs.RoiRandomCrop

// RoiRandomCrop is roi_random_crop. Draws the place of a window of a given size, so that it has as much of a
// region as fits: either the whole region lies in the window, or the window lies in the region. If the size
// of the image is given, the window lies in the image.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input data: the data to cut, in place of in_shape; may be left out.
// Output start: the first index of the window along every axis, int64.
func RoiRandomCrop(ctx context.Context, rng *random.RNG, args RoiRandomCropArgs, inputs ...*dynamic.Tensor) (start *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "roi_random_crop", Args: args, Inputs: dynamic.Values(inputs), Draw: random.Or(ctx, rng)})
}

// RoiRandomCropBatch is roi_random_crop for n samples; if n is 0, inputs or arguments that differ by sample
// tell how many.
//
// See [RoiRandomCrop].
func RoiRandomCropBatch(ctx context.Context, rng *random.RNG, n int, args RoiRandomCropArgs, inputs ...dynamic.Value) (start *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "roi_random_crop", Args: args, Inputs: inputs, Draw: random.Or(ctx, rng), Batch: n})
}

// RotateArgs are the arguments of rotate.
type RotateArgs = opargs.Rotate

// Rotate is rotate. Turns images around their centre. The output is as large as the turned image. Its extents
// are even or odd like the extents of the input, so that the centre stays in the middle or at the corner of a
// pixel.
//
// Input data: pictures, volumes or sequences of them.
// Output output: the turned images.
func Rotate[T dynamic.Kind](ctx context.Context, data T, args RotateArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "rotate", Args: args, Inputs: []dynamic.Value{data}})
}

// SaturationArgs are the arguments of saturation.
type SaturationArgs = opargs.Saturation

// Saturation is saturation. Changes the saturation of RGB images, as a linear map of the channels.
//
// Input images: images of three channels, sequences or volumes: uint8, int16, int32, float16 or float32.
// Output twisted: images of the same shape.
func Saturation[T dynamic.Kind](ctx context.Context, images T, args SaturationArgs) (twisted T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "saturation", Args: args, Inputs: []dynamic.Value{images}})
}

// SequenceRearrangeArgs are the arguments of sequence_rearrange.
type SequenceRearrangeArgs = opargs.SequenceRearrange

// SequenceRearrange is sequence_rearrange. Reorders the elements of sequences, such as frames. Elements may
// be left out or repeated.
//
// Input input: sequences of at least two axes; if there is a layout, the first axis is F.
// Output output: the sequences in the new order.
func SequenceRearrange[T dynamic.Kind](ctx context.Context, input T, args SequenceRearrangeArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "sequence_rearrange", Args: args, Inputs: []dynamic.Value{input}})
}

// ShapesArgs are the arguments of shapes.
type ShapesArgs = opargs.Shapes

// Shapes is shapes. Returns the extents of samples.
//
// Input input: data of any kind.
// Output shape: the extents, outermost first.
//
// Deprecated: use Node.Shape
func Shapes[T dynamic.Kind](ctx context.Context, input T, args ShapesArgs) (shape T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "shapes", Args: args, Inputs: []dynamic.Value{input}})
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
func Slice[T dynamic.Kind](ctx context.Context, data T, args SliceArgs, inputs ...dynamic.Value) (windows T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "slice", Args: args, Inputs: append([]dynamic.Value{data}, inputs...)})
}

// SpatialArgs are the arguments of spatial.
type SpatialArgs = opargs.Spatial

// Spatial is spatial. Applies one transform to an image and to its masks, boxes and keypoints. The steps are,
// in this order: crop, flip, affine transform around the centre, perspective, resize. A step without
// arguments does nothing.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input data: the image, and what belongs to it, in the order of targets; up to 16 of them.
// Output transformed: the data after the transform, in the order of the inputs.
func Spatial[T dynamic.Kind](ctx context.Context, rng *random.RNG, args SpatialArgs, inputs ...T) []T {
	return dynamic.InvokeN[T](ctx, dynamic.Call{Op: "spatial", Args: args, Inputs: dynamic.Values(inputs), Draw: random.Or(ctx, rng)}, 0)
}

// SpectrogramArgs are the arguments of spectrogram.
type SpectrogramArgs = opargs.Spectrogram

// Spectrogram is spectrogram. Computes the spectra of windows of a signal: the magnitudes, or their squares,
// at the frequencies 0 to half the rate. The signal has one axis of more than one element.
//
// Input signal: a signal of one channel, float32.
// Output spectrogram: nfft/2 + 1 frequencies of every window.
func Spectrogram[T dynamic.Kind](ctx context.Context, signal T, args SpectrogramArgs) (spectrogram T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "spectrogram", Args: args, Inputs: []dynamic.Value{signal}})
}

// SphereArgs are the arguments of sphere.
type SphereArgs = opargs.Sphere

// Sphere is sphere. Makes images look as if on a ball. Pixels move towards the middle; pixels near the middle
// move most.
//
// Input images: pictures of uint8 or float32.
// Output output: the pictures with their pixels moved.
func Sphere[T dynamic.Kind](ctx context.Context, images T, args SphereArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "sphere", Args: args, Inputs: []dynamic.Value{images}})
}

// SqueezeArgs are the arguments of squeeze.
type SqueezeArgs = opargs.Squeeze

// Squeeze is squeeze. Removes axes of extent 1.
//
// Input data: data of any kind.
// Output output: the data without these axes.
func Squeeze[T dynamic.Kind](ctx context.Context, data T, args SqueezeArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "squeeze", Args: args, Inputs: []dynamic.Value{data}})
}

// SsdRandomCropArgs are the arguments of ssd_random_crop.
type SsdRandomCropArgs = opargs.SsdRandomCrop

// SsdRandomCrop is ssd_random_crop. Cuts a random window out of an image. All boxes overlap the window by at
// least a threshold, which is drawn too; sometimes the image stays whole. Boxes whose centre is outside the
// window are dropped with their labels.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input images: pictures of uint8.
// Input boxes: one box per row: left, top, right, bottom, from 0 to 1.
// Input labels: one int32 label per box.
// Output window: the windows.
// Output kept: the remaining boxes, in coordinates of the window.
// Output keptLabels: their labels.
//
// Deprecated: use random_bbox_crop
func SsdRandomCrop[T dynamic.Kind](ctx context.Context, rng *random.RNG, images T, boxes dynamic.Value, labels dynamic.Value, args SsdRandomCropArgs) (window, kept, keptLabels T) {
	out := dynamic.InvokeN[T](ctx, dynamic.Call{Op: "ssd_random_crop", Args: args, Inputs: []dynamic.Value{images, boxes, labels}, Draw: random.Or(ctx, rng)}, 3)
	return out[0], out[1], out[2]
}

// StackArgs are the arguments of stack.
type StackArgs = opargs.Stack

// Stack is stack. Joins data along a new axis.
//
// Input input: data of one type and shape; up to 999 of them.
// Output output: the stacked data.
func Stack[T dynamic.Kind](ctx context.Context, args StackArgs, inputs ...T) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "stack", Args: args, Inputs: dynamic.Values(inputs)})
}

// TensorResizeArgs are the arguments of tensor_resize.
type TensorResizeArgs = opargs.TensorResize

// TensorResize is tensor_resize. Changes the extents of some axes of arrays of any rank to given sizes, or by
// given scales. At most three adjacent axes change. The other axes keep their extent, unless mode scales all
// axes alike.
//
// Input data: arrays of uint8, int16, uint16 or float32.
// Output resized: arrays of the new extents, with the layout of the input.
func TensorResize[T dynamic.Kind](ctx context.Context, data T, args TensorResizeArgs) (resized T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "tensor_resize", Args: args, Inputs: []dynamic.Value{data}})
}

// TimeMaskArgs are the arguments of time_mask.
type TimeMaskArgs = opargs.TimeMask

// TimeMask is time_mask. Sets random ranges of times of a spectrogram to a number (SpecAugment). The width of
// a range is drawn first: any number from 0 to the limit is as likely. Then its start is drawn. Without a
// layout the axes are frequency, then time.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input spectrogram: a spectrogram of layout "ft" or "tf", float32.
// Output masked: a spectrogram of the same shape.
func TimeMask[T dynamic.Kind](ctx context.Context, rng *random.RNG, spectrogram T, args TimeMaskArgs) (masked T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "time_mask", Args: args, Inputs: []dynamic.Value{spectrogram}, Draw: random.Or(ctx, rng)})
}

// TimeStretchArgs are the arguments of time_stretch.
type TimeStretchArgs = opargs.TimeStretch

// TimeStretch is time_stretch. Makes a signal slower or faster and keeps its pitch, with a phase vocoder.
//
// Input signal: a signal of one channel, float32.
// Output stretched: the signal, of its length divided by rate, rounded up.
func TimeStretch[T dynamic.Kind](ctx context.Context, signal T, args TimeStretchArgs) (stretched T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "time_stretch", Args: args, Inputs: []dynamic.Value{signal}})
}

// ToDecibelsArgs are the arguments of to_decibels.
type ToDecibelsArgs = opargs.ToDecibels

// ToDecibels is to_decibels. Converts numbers to decibels: multiplier * log10(max(10^(cutoff_db /
// multiplier), in / reference)).
//
// Input input: data of any shape, float32.
// Output decibels: data of the same shape.
func ToDecibels[T dynamic.Kind](ctx context.Context, input T, args ToDecibelsArgs) (decibels T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "to_decibels", Args: args, Inputs: []dynamic.Value{input}})
}

// TransformTranslationArgs are the arguments of transform_translation.
type TransformTranslationArgs = opargs.TransformTranslation

// TransformTranslation is transform_translation, an older name of transforms.translation; see
// [TransformsTranslation].
//
// Deprecated: use transforms.translation
func TransformTranslation(ctx context.Context, args TransformTranslationArgs, inputs ...*dynamic.Tensor) (output *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "transform_translation", Args: args, Inputs: dynamic.Values(inputs)})
}

// TransformTranslationBatch is transform_translation for n samples; if n is 0, inputs or arguments that
// differ by sample tell how many.
//
// See [TransformTranslation].
//
// Deprecated: use transforms.translation
func TransformTranslationBatch(ctx context.Context, n int, args TransformTranslationArgs, inputs ...dynamic.Value) (output *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "transform_translation", Args: args, Inputs: inputs, Batch: n})
}

// TransposeArgs are the arguments of transpose.
type TransposeArgs = opargs.Transpose

// Transpose is transpose. Puts the axes into another order.
//
// Input input: data of any kind.
// Output output: the data with its axes in that order.
func Transpose[T dynamic.Kind](ctx context.Context, input T, args TransposeArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "transpose", Args: args, Inputs: []dynamic.Value{input}})
}

// TrivialAugmentWideArgs are the arguments of trivial_augment_wide.
type TrivialAugmentWideArgs = opargs.TrivialAugmentWide

// TrivialAugmentWide is trivial_augment_wide. Applies one augmentation to each image. It and its magnitude
// are drawn (TrivialAugment, wide).
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input images: pictures or sequences: uint8 of layout HWC or FHWC.
// Output augmented: images of the same shape.
func TrivialAugmentWide[T dynamic.Kind](ctx context.Context, rng *random.RNG, images T, args TrivialAugmentWideArgs) (augmented T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "trivial_augment_wide", Args: args, Inputs: []dynamic.Value{images}, Draw: random.Or(ctx, rng)})
}

// UniformArgs are the arguments of uniform.
type UniformArgs = opargs.Uniform

// Uniform is uniform, an older name of random.uniform; see [random.Uniform].
//
// Deprecated: use random.uniform
func Uniform(ctx context.Context, rng *random.RNG, args UniformArgs, inputs ...*dynamic.Tensor) (numbers *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "uniform", Args: args, Inputs: dynamic.Values(inputs), Draw: random.Or(ctx, rng)})
}

// UniformBatch is uniform for n samples; if n is 0, inputs or arguments that differ by sample tell how many.
//
// See [Uniform].
//
// Deprecated: use random.uniform
func UniformBatch(ctx context.Context, rng *random.RNG, n int, args UniformArgs, inputs ...dynamic.Value) (numbers *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "uniform", Args: args, Inputs: inputs, Draw: random.Or(ctx, rng), Batch: n})
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
func WarpAffine[T dynamic.Kind](ctx context.Context, data T, args WarpAffineArgs, inputs ...dynamic.Value) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "warp_affine", Args: args, Inputs: append([]dynamic.Value{data}, inputs...)})
}

// WaterArgs are the arguments of water.
type WaterArgs = opargs.Water

// Water is water. Makes images look as if seen through moving water. Pixels move sideways by a sine of their
// row, and up and down by a cosine of their column.
//
// Input images: pictures of uint8 or float32.
// Output output: the pictures with their pixels moved.
func Water[T dynamic.Kind](ctx context.Context, images T, args WaterArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "water", Args: args, Inputs: []dynamic.Value{images}})
}

// ZerosArgs are the arguments of zeros.
type ZerosArgs = opargs.Zeros

// Zeros is zeros. Returns zeros.
//
// Output output: zeros.
func Zeros(ctx context.Context, args ZerosArgs) (output *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "zeros", Args: args})
}

// ZerosBatch is zeros for n samples; if n is 0, inputs or arguments that differ by sample tell how many.
//
// See [Zeros].
func ZerosBatch(ctx context.Context, n int, args ZerosArgs) (output *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "zeros", Args: args, Batch: n})
}

// ZerosLikeArgs are the arguments of zeros_like.
type ZerosLikeArgs = opargs.ZerosLike

// ZerosLike is zeros_like. Returns zeros in the shape of other data.
//
// Input dataLike: data with the shape, layout and type of the output; the contents are not read.
// Output output: zeros.
func ZerosLike[T dynamic.Kind](ctx context.Context, dataLike T, args ZerosLikeArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "zeros_like", Args: args, Inputs: []dynamic.Value{dataLike}})
}
