// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// AudioDecoder are the arguments of audio_decoder.
type AudioDecoder = DecodersAudio

// AudioResample are the arguments of audio_resample.
type AudioResample struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the output, by default the type of the input. Integers stand for -1 to 1; 0 is the middle of an
	// unsigned type.
	DType tensor.DType `op:"dtype"`

	// Rate of the input, given together with out_rate.
	InRate op.Arg[float64] `op:"in_rate"`

	// Number of elements of the output.
	OutLength op.Arg[int] `op:"out_length"`

	// Rate of the output, given together with in_rate.
	OutRate op.Arg[float64] `op:"out_rate"`

	// Quality from 0, a filter of 3 lobes, to 100, a filter of 64 lobes. Default: 50.
	Quality op.Arg[float64] `op:"quality"`

	// Elements of the output per element of the input.
	Scale op.Arg[float64] `op:"scale"`
}

// AutoAugment are the arguments of auto_augment.
type AutoAugment struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The suite: augmentations with the ranges of their magnitudes, such as "rotate 0 30 signed". By default it
	// is the suite of the publication. Default: .
	Augmentations []string `op:"augmentations"`

	// Whether the pixels at the border are repeated outside of an image, in place of fill_value. Default: false.
	Clamp bool `op:"clamp"`

	// Value outside of an image that is warped: one for all channels, or one for each. Default: 128.
	FillValue []float64 `op:"fill_value"`

	// INTERP_LINEAR or INTERP_NN; with the pixels "truncated" also INTERP_CUBIC. Default: INTERP_LINEAR.
	InterpType op.Arg[op.InterpType] `op:"interp_type"`

	// The longest translation in pixels: one number, or one for the height and one for the width. Default: .
	MaxTranslateAbs []float64 `op:"max_translate_abs"`

	// The longest translation as a share of the height and width: one number, or one for each. Default: .
	MaxTranslateRel []float64 `op:"max_translate_rel"`

	// The number of bins. Default: 11.
	NumMagnitudeBins op.Arg[int] `op:"num_magnitude_bins"`

	// How pixels are computed: "rounded" as by the operators of the same names, or "truncated" as by Pillow.
	// Default: "rounded".
	Pixels op.Arg[string] `op:"pixels"`

	// A policy, in place of policy_name: its sub-policies, such as "posterize 0.4 6; auto_contrast 0.4". An
	// augmentation of the suite is followed by its probability and its bin. Default: .
	Policy []string `op:"policy"`

	// The policy: "image_net", "reduced_image_net", "reduced_cifar10" or "svhn". Default: "image_net".
	PolicyName op.Arg[string] `op:"policy_name"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`

	// Height and width that translations are shares of; by default the extents of the image.
	Shape op.Arg[[]int] `op:"shape"`
}

// BatchPermutation are the arguments of batch_permutation.
type BatchPermutation struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Whether every number is drawn independently, so that some numbers repeat and others are missing. Default:
	// false.
	AllowRepetitions bool `op:"allow_repetitions"`

	// Whether no sample has its own index, except in batches of one. Default: false.
	NoFixedPoints bool `op:"no_fixed_points"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`

	// Any values of a branch. The samples that have one are permuted, as if the batch had no others. Its elements
	// have no effect.
	Scope op.Arg[bool] `op:"_scope"`
}

// BbFlip are the arguments of bb_flip.
type BbFlip struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Whether left and right change places: 0 means no. Default: 1.
	Horizontal op.Arg[int] `op:"horizontal"`

	// Whether top and bottom change places: 0 means no. Default: 0.
	Vertical op.Arg[int] `op:"vertical"`

	// Whether boxes are left, top, right and bottom. By default they are left, top, width and height. Default:
	// false.
	Ltrb bool `op:"ltrb"`
}

// BboxPaste are the arguments of bbox_paste.
type BboxPaste struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Whether boxes are left, top, right and bottom. By default they are left, top, width and height. Default:
	// false.
	Ltrb bool `op:"ltrb"`

	// Horizontal place of the image: 0 at the left edge of the canvas, 1 at the right edge. Default: 0.5.
	PasteX op.Arg[float64] `op:"paste_x"`

	// Vertical place of the image: 0 at the top edge of the canvas, 1 at the bottom edge. Default: 0.5.
	PasteY op.Arg[float64] `op:"paste_y"`

	// Height and width of the canvas relative to the image: 1 or more. Required.
	Ratio op.Arg[float64] `op:"ratio"`
}

// BboxPrune are the arguments of bbox_prune.
type BboxPrune struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// What the numbers of a box are: xyXY for corners, or xyWH for a corner and a size. Default: "xyXY".
	BboxLayout op.Arg[string] `op:"bbox_layout"`

	// Whether boxes are cut at the edges of the image. Otherwise they stay as they are. Default: true.
	Clip op.Arg[bool] `op:"clip"`

	// Height and width of the image, if coordinates are in pixels. By default they are from 0 to 1.
	InputShape op.Arg[[]int] `op:"input_shape"`

	// The least area of the part in the image, in the units of the coordinates. Default: 0.
	MinArea op.Arg[float64] `op:"min_area"`

	// The least width and the least height of the part in the image. Default: 0.
	MinSize op.Arg[float64] `op:"min_size"`

	// The least share of a box that is in the image, from 0 to 1. Default: 0.
	MinVisibility op.Arg[float64] `op:"min_visibility"`

	// Whether the indices of the remaining boxes are an additional output. Default: false.
	OutputBboxIndices bool `op:"output_bbox_indices"`
}

// BboxRotate are the arguments of bbox_rotate.
type BboxRotate struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The angle in degrees, counterclockwise. Required.
	Angle op.Arg[float64] `op:"angle"`

	// Size of the image before the turn. Required.
	InputShape op.Arg[[]int] `op:"input_shape"`

	// What the numbers of input_shape are, as letters with an H and a W. Default: "HW".
	ShapeLayout op.Arg[string] `op:"shape_layout"`

	// What the numbers of a box are: xyXY for corners, or xyWH for a corner and a size. Default: "xyXY".
	BboxLayout op.Arg[string] `op:"bbox_layout"`

	// Whether coordinates are from 0 to 1. Otherwise they are in pixels. Default: true.
	BboxNormalized op.Arg[bool] `op:"bbox_normalized"`

	// Whether the canvas is as large as the image. Not together with size. Default: false.
	KeepSize bool `op:"keep_size"`

	// Height and width of the canvas. By default the canvas holds the whole turned image.
	Size op.Arg[[]float64] `op:"size"`

	// The size of a turned box: "expand" encloses the turned corners, "fixed" keeps the size of the box, and
	// "halfway" is between them. Default: "expand".
	Mode op.Arg[string] `op:"mode"`

	// The least share of a box on the canvas, from 0 to below 1. A box with less is dropped. Default: 0.1.
	RemoveThreshold op.Arg[float64] `op:"remove_threshold"`
}

// BoxEncoder are the arguments of box_encoder.
type BoxEncoder struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Left, top, right and bottom of each anchor. Required.
	Anchors []float64 `op:"anchors"`

	// The overlap (intersection over union) above which a box belongs to an anchor, from 0 to 1. Default: 0.5.
	Criteria op.Arg[float64] `op:"criteria"`

	// Whether to return how the boxes differ from their anchors. Default: false.
	Offset bool `op:"offset"`

	// Factor for boxes and anchors before they are compared. Default: 1.
	Scale op.Arg[float64] `op:"scale"`

	// Four numbers that are subtracted from the differences. Default: 0 0 0 0.
	Means []float64 `op:"means"`

	// Four numbers by which the differences are divided after that. Default: 1 1 1 1.
	Stds []float64 `op:"stds"`
}

// Brightness are the arguments of brightness.
type Brightness struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Brightness factor. Default: 1.
	Brightness op.Arg[float64] `op:"brightness"`

	// Number to add, in units of the output range. Default: 0.
	BrightnessShift op.Arg[float64] `op:"brightness_shift"`

	// Output type; by default the input's type.
	DType tensor.DType `op:"dtype"`
}

// BrightnessContrast are the arguments of brightness_contrast.
type BrightnessContrast struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Brightness factor. Default: 1.
	Brightness op.Arg[float64] `op:"brightness"`

	// Number to add, in units of the output range. Default: 0.
	BrightnessShift op.Arg[float64] `op:"brightness_shift"`

	// Contrast factor; 0 gives contrast_center everywhere. Default: 1.
	Contrast op.Arg[float64] `op:"contrast"`

	// The value that contrast does not change. By default it is the middle of the input type's range: 0.5 for
	// floats, 128 for uint8. Default: 0.5.
	ContrastCenter op.Arg[float64] `op:"contrast_center"`

	// Output type; by default the input's type.
	DType tensor.DType `op:"dtype"`
}

// Caffe2Reader are the arguments of caffe2_reader.
type Caffe2Reader = ReadersCaffe2

// CaffeReader are the arguments of caffe_reader.
type CaffeReader = ReadersCaffe

// Cast are the arguments of cast.
type Cast struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the output. Required.
	DType tensor.DType `op:"dtype"`
}

// CastLike are the arguments of cast_like.
type CastLike struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it
}

// Cat are the arguments of cat.
type Cat struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Axis along which to join; a negative number counts from the end. Default: 0.
	Axis int `op:"axis"`

	// Axis along which to join, by its letter in the layout of the first input.
	AxisName string `op:"axis_name"`
}

// Clahe are the arguments of clahe.
type Clahe struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// It has no effect: histograms have 256 bins. Default: 256.
	Bins op.Arg[int] `op:"bins"`

	// Largest count of a bin, in units of the mean count. What is above is spread over all bins. 0 means no
	// limit. Required.
	ClipLimit op.Arg[float64] `op:"clip_limit"`

	// Whether only the lightness of colour images changes; otherwise each channel does. Default: true.
	LumaOnly op.Arg[bool] `op:"luma_only"`

	// Number of tiles in a row. Required.
	TilesX op.Arg[int] `op:"tiles_x"`

	// Number of tiles in a column. Required.
	TilesY op.Arg[int] `op:"tiles_y"`
}

// CocoReader are the arguments of coco_reader.
type CocoReader = ReadersCoco

// CoinFlip are the arguments of coin_flip.
type CoinFlip = RandomCoinFlip

// ColorSpaceConversion are the arguments of color_space_conversion.
type ColorSpaceConversion struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Colour space of the input. Required.
	ImageType op.Arg[op.ImageType] `op:"image_type"`

	// Colour space of the output, another one than the input's. Required.
	OutputType op.Arg[op.ImageType] `op:"output_type"`
}

// ColorTwist are the arguments of color_twist.
type ColorTwist struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Output type; by default the input's type.
	DType tensor.DType `op:"dtype"`

	// Colour space of the images: RGB. Default: RGB.
	ImageType op.ImageType `op:"image_type"`

	// Brightness factor. Default: 1.
	Brightness op.Arg[float64] `op:"brightness"`

	// Contrast factor. Default: 1.
	Contrast op.Arg[float64] `op:"contrast"`

	// The angle in degrees by which hues are turned. Default: 0.
	Hue op.Arg[float64] `op:"hue"`

	// Saturation factor; 0 gives gray. Default: 1.
	Saturation op.Arg[float64] `op:"saturation"`
}

// Constant are the arguments of constant.
type Constant struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the output: by default float32 for fdata, int32 for idata.
	DType tensor.DType `op:"dtype"`

	// The numbers, as float32: one for each element of the shape, or one for all.
	FData []float64 `op:"fdata"`

	// The numbers, as integers.
	IData []int `op:"idata"`

	// Layout of the output. Default: "".
	Layout string `op:"layout"`

	// Shape of the output; by default one axis with all numbers.
	Shape []int `op:"shape"`
}

// Contrast are the arguments of contrast.
type Contrast struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Contrast factor; 0 gives contrast_center everywhere. Default: 1.
	Contrast op.Arg[float64] `op:"contrast"`

	// The value that contrast does not change. By default it is the middle of the input type's range: 0.5 for
	// floats, 128 for uint8. Default: 0.5.
	ContrastCenter op.Arg[float64] `op:"contrast_center"`

	// Output type; by default the input's type.
	DType tensor.DType `op:"dtype"`
}

// CoordFlip are the arguments of coord_flip.
type CoordFlip struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The centre of the mirror for x. Default: 0.5.
	CenterX op.Arg[float64] `op:"center_x"`

	// Whether x is mirrored: 0 means no. Default: 1.
	FlipX op.Arg[int] `op:"flip_x"`

	// The centre of the mirror for y. Default: 0.5.
	CenterY op.Arg[float64] `op:"center_y"`

	// Whether y is mirrored: 0 means no. Default: 0.
	FlipY op.Arg[int] `op:"flip_y"`

	// The centre of the mirror for z. Default: 0.5.
	CenterZ op.Arg[float64] `op:"center_z"`

	// Whether z is mirrored: 0 means no. Default: 0.
	FlipZ op.Arg[int] `op:"flip_z"`

	// The order of the coordinates, as letters x, y and z; by default "x", "xy" or "xyz". Default: "".
	Layout string `op:"layout"`
}

// CoordTransform are the arguments of coord_transform.
type CoordTransform struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The matrix; by default the identity. It is one number, which multiplies all coordinates, or a matrix row by
	// row with one column per coordinate.
	M op.Arg[[]float64] `op:"M"`

	// Matrix and offset together, in place of M and T. It is one number, which multiplies all coordinates, or a
	// matrix row by row with one column per coordinate and one more column, the offset.
	MT op.Arg[[]float64] `op:"MT"`

	// The offset: a number for each row of the matrix, or one for all.
	T op.Arg[[]float64] `op:"T"`

	// Type of the output: float32 or the input's type. Default: float32.
	DType tensor.DType `op:"dtype"`
}

// Copy are the arguments of copy.
type Copy struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it
}

// Crop are the arguments of crop.
type Crop struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Height and width of the window, or depth, height and width; 0 means the whole axis. Not together with
	// crop_d, crop_h and crop_w.
	Crop op.Arg[[]float64] `op:"crop"`

	// Depth of the window of a volume, or number of frames of the window of a sequence; given together with
	// crop_h and crop_w. Default: 0.
	CropD op.Arg[float64] `op:"crop_d"`

	// Height of the window; given together with crop_w. Default: 0.
	CropH op.Arg[float64] `op:"crop_h"`

	// Width of the window; given together with crop_h. Default: 0.
	CropW op.Arg[float64] `op:"crop_w"`

	// Horizontal place of the window: 0 at the left edge, 1 at the right edge. Default: 0.5.
	CropPosX op.Arg[float64] `op:"crop_pos_x"`

	// Vertical place of the window: 0 at the top, 1 at the bottom. Default: 0.5.
	CropPosY op.Arg[float64] `op:"crop_pos_y"`

	// Place of the window along the depth of a volume or the time of a sequence: 0 at the front, 1 at the back.
	// Default: 0.5.
	CropPosZ op.Arg[float64] `op:"crop_pos_z"`

	// How the position becomes a pixel: "round" (half away from zero) or "truncate". Default: "round".
	Rounding op.Arg[string] `op:"rounding"`

	// What happens if the window extends outside the data: "error", "pad" with fill_values, or "trim_to_shape".
	// Default: "error".
	OutOfBoundsPolicy op.Arg[string] `op:"out_of_bounds_policy"`

	// Values of padded elements: one for all channels, or one for each. Default: 0.
	FillValues []float64 `op:"fill_values"`

	// Ignored. Deprecated: it has no effect
	ImageType op.Arg[op.ImageType] `op:"image_type"`

	// The old name of dtype. Deprecated: use dtype
	OutputDtype tensor.DType `op:"output_dtype"`

	// Output type; by default the input's type.
	DType tensor.DType `op:"dtype"`
}

// CropMirrorNormalize are the arguments of crop_mirror_normalize.
type CropMirrorNormalize struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Height and width of the window, or depth, height and width; 0 means the whole axis. Not together with
	// crop_d, crop_h and crop_w.
	Crop op.Arg[[]float64] `op:"crop"`

	// Depth of the window of a volume, or number of frames of the window of a sequence; given together with
	// crop_h and crop_w. Default: 0.
	CropD op.Arg[float64] `op:"crop_d"`

	// Height of the window; given together with crop_w. Default: 0.
	CropH op.Arg[float64] `op:"crop_h"`

	// Width of the window; given together with crop_h. Default: 0.
	CropW op.Arg[float64] `op:"crop_w"`

	// Horizontal place of the window: 0 at the left edge, 1 at the right edge. Default: 0.5.
	CropPosX op.Arg[float64] `op:"crop_pos_x"`

	// Vertical place of the window: 0 at the top, 1 at the bottom. Default: 0.5.
	CropPosY op.Arg[float64] `op:"crop_pos_y"`

	// Place of the window along the depth of a volume or the time of a sequence: 0 at the front, 1 at the back.
	// Default: 0.5.
	CropPosZ op.Arg[float64] `op:"crop_pos_z"`

	// How the position becomes a pixel: "round" (half away from zero) or "truncate". Default: "round".
	Rounding op.Arg[string] `op:"rounding"`

	// What happens if the window extends outside the data: "error", "pad" with fill_values, or "trim_to_shape".
	// Default: "error".
	OutOfBoundsPolicy op.Arg[string] `op:"out_of_bounds_policy"`

	// Values of padded elements: one for all channels, or one for each. Default: 0.
	FillValues []float64 `op:"fill_values"`

	// Ignored. Deprecated: it has no effect
	ImageType op.Arg[op.ImageType] `op:"image_type"`

	// The old name of dtype. Deprecated: use dtype
	OutputDtype tensor.DType `op:"output_dtype"`

	// Output type: float32, float16, uint8 or int8. Default: float32.
	DType tensor.DType `op:"dtype"`

	// Value to subtract: one for all channels, or one for each. Default: 0.
	Mean op.Arg[[]float64] `op:"mean"`

	// Whether left and right are exchanged: 0 means no. Default: 0.
	Mirror op.Arg[int] `op:"mirror"`

	// Order of the output's axes: a permutation of the input's layout. Default: "CHW".
	OutputLayout op.Arg[string] `op:"output_layout"`

	// Adds channels of fill_values up to a power of two. Default: false.
	PadOutput bool `op:"pad_output"`

	// Factor of the result. Default: 1.
	Scale op.Arg[float64] `op:"scale"`

	// Number to add to the result. Default: 0.
	Shift float64 `op:"shift"`

	// Divisor: one for all channels, or one for each. Default: 1.
	Std op.Arg[[]float64] `op:"std"`
}

// Cutmix are the arguments of cutmix.
type Cutmix struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The share of the image, from 0 to 1. Required.
	Ratio op.Arg[float64] `op:"ratio"`

	// Horizontal centre of the window, from 0 to 1. Default: 0.5.
	CentreX op.Arg[float64] `op:"centre_x"`

	// Vertical centre of the window, from 0 to 1. Default: 0.5.
	CentreY op.Arg[float64] `op:"centre_y"`

	// Whether the window reaches equally far to both sides of the pixel at its centre. Extents then are truncated
	// to even numbers; otherwise they are rounded. Default: false.
	Even bool `op:"even"`
}

// Debayer are the arguments of debayer.
type Debayer struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// How missing colours are made: "bilinear_ocv", which is the default, takes the mean of neighbours,
	// "edgeaware_ocv" takes them along edges, "vng_ocv" takes those in the directions of small gradients (uint8
	// only), and "gray_ocv" makes gray images of one channel.
	Algorithm string `op:"algorithm"`

	// Row and column of blue, 0 or 1 each, in the tile of 2x2 pixels that begins at the second row and column;
	// one number stands for both. Required.
	BluePosition op.Arg[[]int] `op:"blue_position"`
}

// DumpImage are the arguments of dump_image.
type DumpImage struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Layout of the image; only HWC is allowed. Default: "HWC".
	InputLayout op.Arg[string] `op:"input_layout"`

	// Part of the names of the files. Default: "".
	Suffix string `op:"suffix"`
}

// ElementExtract are the arguments of element_extract.
type ElementExtract struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Index of the element for each output. Required.
	ElementMap []int `op:"element_map"`
}

// Equalize are the arguments of equalize.
type Equalize struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it
}

// Erase are the arguments of erase.
type Erase struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Starts of the regions: one value per axis, region after region. By default all starts are 0. Default: .
	Anchor op.Arg[[]float64] `op:"anchor"`

	// Axes of the values; negative numbers count from the last axis. Default: 1 0.
	Axes []int `op:"axes"`

	// The axes by the letters of the layout; overrides axes. Default: "HW".
	AxisNames op.Arg[string] `op:"axis_names"`

	// Whether anchors are centres instead of starts. Default: false.
	CenteredAnchor bool `op:"centered_anchor"`

	// Fill value: one for all channels, or one for each. Default: 0.
	FillValue op.Arg[[]float64] `op:"fill_value"`

	// Whether anchors and shapes are fractions of the extents. Default: false.
	Normalized bool `op:"normalized"`

	// Whether anchors are fractions of the extents. Default: false.
	NormalizedAnchor bool `op:"normalized_anchor"`

	// Whether shapes are fractions of the extents. Default: false.
	NormalizedShape bool `op:"normalized_shape"`

	// Extents of the regions: one value per axis, region after region. Default: .
	Shape op.Arg[[]float64] `op:"shape"`
}

// ExpandDims are the arguments of expand_dims.
type ExpandDims struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Numbers of the new axes in the output. Required.
	Axes []int `op:"axes"`

	// A letter for each new axis; without them the output has no layout. Default: "".
	NewAxisNames string `op:"new_axis_names"`
}

// FastResizeCropMirror are the arguments of fast_resize_crop_mirror.
type FastResizeCropMirror struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Largest extent of the result, one for all axes or one for each; 0 means no limit.
	MaxSize []float64 `op:"max_size"`

	// How sizes are used: "default" derives missing sizes from the mean scale of the others, "stretch" keeps
	// missing extents. "not_larger" and "not_smaller" keep the aspect ratio; the size is the upper or lower
	// limit. Default: "default".
	Mode op.Arg[string] `op:"mode"`

	// Extent of the longest axis; the aspect ratio is kept. Default: 0.
	ResizeLonger op.Arg[float64] `op:"resize_longer"`

	// Extent of the shortest axis; the aspect ratio is kept. Default: 0.
	ResizeShorter op.Arg[float64] `op:"resize_shorter"`

	// Width; 0 derives it, a negative width mirrors. Default: 0.
	ResizeX op.Arg[float64] `op:"resize_x"`

	// Height; 0 derives it, a negative height mirrors. Default: 0.
	ResizeY op.Arg[float64] `op:"resize_y"`

	// Depth of volumes; 0 derives it, a negative depth mirrors. Default: 0.
	ResizeZ op.Arg[float64] `op:"resize_z"`

	// End of the part that is resized, on each axis in the order of the layout. An end before roi_start mirrors.
	RoiEnd op.Arg[[]float64] `op:"roi_end"`

	// Whether the part is given in fractions of the extents. Default: false.
	RoiRelative bool `op:"roi_relative"`

	// Start of the part that is resized, on each axis in the order of the layout.
	RoiStart op.Arg[[]float64] `op:"roi_start"`

	// Extents of the result in the order of the layout, or one for all. 0 derives an extent; a negative extent
	// mirrors.
	Size op.Arg[[]float64] `op:"size"`

	// Whether the resized part grows or shrinks to match a rounded size, so that the scale equals the scale of
	// the requested size. Default: true.
	SubpixelScale op.Arg[bool] `op:"subpixel_scale"`

	// Whether the filter is widened along axes that shrink. Default: false.
	Antialias bool `op:"antialias"`

	// Output type: the input's type, which is the default, or float32.
	DType tensor.DType `op:"dtype"`

	// Filter, unless mag_filter or min_filter is given. Default: INTERP_LINEAR.
	InterpType op.Arg[op.InterpType] `op:"interp_type"`

	// Filter for axes that grow or keep their extent. Default: INTERP_LINEAR.
	MagFilter op.Arg[op.InterpType] `op:"mag_filter"`

	// Filter for axes that shrink. Default: INTERP_LINEAR.
	MinFilter op.Arg[op.InterpType] `op:"min_filter"`

	// Has no effect. Default: 32.
	MinibatchSize op.Arg[int] `op:"minibatch_size"`

	// Has no effect. Default: 0.
	TempBufferHint int `op:"temp_buffer_hint"`

	// Height and width of the window, or depth, height and width; 0 means the whole axis. Not together with
	// crop_d, crop_h and crop_w.
	Crop op.Arg[[]float64] `op:"crop"`

	// Depth of the window of a volume, or number of frames of the window of a sequence; given together with
	// crop_h and crop_w. Default: 0.
	CropD op.Arg[float64] `op:"crop_d"`

	// Height of the window; given together with crop_w. Default: 0.
	CropH op.Arg[float64] `op:"crop_h"`

	// Width of the window; given together with crop_h. Default: 0.
	CropW op.Arg[float64] `op:"crop_w"`

	// Horizontal place of the window: 0 at the left edge, 1 at the right edge. Default: 0.5.
	CropPosX op.Arg[float64] `op:"crop_pos_x"`

	// Vertical place of the window: 0 at the top, 1 at the bottom. Default: 0.5.
	CropPosY op.Arg[float64] `op:"crop_pos_y"`

	// Place of the window along the depth of a volume or the time of a sequence: 0 at the front, 1 at the back.
	// Default: 0.5.
	CropPosZ op.Arg[float64] `op:"crop_pos_z"`

	// How the position becomes a pixel: "round" (half away from zero) or "truncate". Default: "round".
	Rounding op.Arg[string] `op:"rounding"`

	// Axes to reverse: 1 for the width, 2 for the height, 4 for the depth, or a sum of these numbers. Default: 0.
	Mirror op.Arg[int] `op:"mirror"`
}

// FileReader are the arguments of file_reader.
type FileReader = ReadersFile

// Filter are the arguments of filter.
type Filter struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Row and column of the weight that belongs to the pixel itself, or one number for both; -1 means the middle,
	// rounded down. Default: -1.
	Anchor op.Arg[[]int] `op:"anchor"`

	// What lies outside the image: "reflect_101" mirrors without the edge, "reflect_1001" mirrors with the edge,
	// "wrap", "clamp" or "constant". Default: "reflect_101".
	Border op.Arg[string] `op:"border"`

	// Output type: the input's type, which is the default, or float32.
	DType tensor.DType `op:"dtype"`

	// "same" keeps the size, "valid" leaves out the pixels that need a border. Default: "same".
	Mode op.Arg[string] `op:"mode"`
}

// Flip are the arguments of flip.
type Flip struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Whether front and back of a volume are exchanged: 0 means no. Default: 0.
	Depthwise op.Arg[int] `op:"depthwise"`

	// Whether left and right are exchanged: 0 means no. Default: 1.
	Horizontal op.Arg[int] `op:"horizontal"`

	// Whether top and bottom are exchanged: 0 means no. Default: 0.
	Vertical op.Arg[int] `op:"vertical"`
}

// FreqMask are the arguments of freq_mask.
type FreqMask struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The number that masked elements become. Default: 0.
	FillValue op.Arg[float64] `op:"fill_value"`

	// Number of ranges. They can overlap. Default: 1.
	Masks op.Arg[int] `op:"masks"`

	// The largest width of a range, as a fraction of the axis. Default: 1.
	MaxFraction op.Arg[float64] `op:"max_fraction"`

	// The largest width of a range. Required.
	MaxWidth op.Arg[int] `op:"max_width"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// Full are the arguments of full.
type Full struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Layout of the output.
	Layout string `op:"layout"`

	// Shape of the output; by default a scalar.
	Shape op.Arg[[]int] `op:"shape"`
}

// FullLike are the arguments of full_like.
type FullLike struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it
}

// GaussianBlur are the arguments of gaussian_blur.
type GaussianBlur struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Output type: the input's type, which is the default, or float32.
	DType tensor.DType `op:"dtype"`

	// Standard deviation in pixels, one for all axes or one for each. 0 means (radius - 1) * 0.3 + 0.8. Default:
	// 0.
	Sigma op.Arg[[]float64] `op:"sigma"`

	// Width of the window in pixels, one for all axes or one for each. It is odd; 0 means 2 * ceil(3 * sigma) +
	// 1. Default: 0.
	WindowSize op.Arg[[]int] `op:"window_size"`
}

// GetProperty are the arguments of get_property.
type GetProperty struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The property: "source_info" (the file that a sample was read from, or an empty text) or "layout". Required.
	Key string `op:"key"`
}

// GridMask are the arguments of grid_mask.
type GridMask struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The angle of the grid in radians. Default: 0.
	Angle op.Arg[float64] `op:"angle"`

	// The side of a black square, as a fraction of the tile. Default: 0.5.
	Ratio op.Arg[float64] `op:"ratio"`

	// Number of pixels that the grid moves to the right. Default: 0.
	ShiftX op.Arg[float64] `op:"shift_x"`

	// Number of pixels that the grid moves down. Default: 0.
	ShiftY op.Arg[float64] `op:"shift_y"`

	// The side of a tile in pixels. Default: 100.
	Tile op.Arg[int] `op:"tile"`
}

// Hsv are the arguments of hsv.
type Hsv struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Output type. Default: uint8.
	DType tensor.DType `op:"dtype"`

	// The angle in degrees by which hues are turned. Default: 0.
	Hue op.Arg[float64] `op:"hue"`

	// Saturation factor; 0 gives gray. Default: 1.
	Saturation op.Arg[float64] `op:"saturation"`

	// Factor of all channels. Default: 1.
	Value op.Arg[float64] `op:"value"`
}

// Hue are the arguments of hue.
type Hue struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Output type; by default the input's type.
	DType tensor.DType `op:"dtype"`

	// Colour space of the images: RGB. Default: RGB.
	ImageType op.ImageType `op:"image_type"`

	// The angle in degrees by which hues are turned. Default: 0.
	Hue op.Arg[float64] `op:"hue"`
}

// ImageDecoder are the arguments of image_decoder.
type ImageDecoder = DecodersImage

// ImageDecoderCrop are the arguments of image_decoder_crop.
type ImageDecoderCrop = DecodersImageCrop

// ImageDecoderRandomCrop are the arguments of image_decoder_random_crop.
type ImageDecoderRandomCrop = DecodersImageRandomCrop

// ImageDecoderSlice are the arguments of image_decoder_slice.
type ImageDecoderSlice = DecodersImageSlice

// JpegCompressionDistortion are the arguments of jpeg_compression_distortion.
type JpegCompressionDistortion struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Quality from 1, the worst, to 100; other numbers are limited to this range. Default: 50.
	Quality op.Arg[int] `op:"quality"`
}

// Laplacian are the arguments of laplacian.
type Laplacian struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Output type: the input's type, which is the default, or float32.
	DType tensor.DType `op:"dtype"`

	// Whether each derivative is divided by the sum of its weights' magnitudes; not together with scale. Default:
	// false.
	NormalizedKernel bool `op:"normalized_kernel"`

	// Factor of the derivatives, one for all or one for each. Default: 1.
	Scale op.Arg[[]float64] `op:"scale"`

	// Width of the windows that smooth, one for all axes or one for each. It is odd, from 1 to 31; by default it
	// is the width of the derivative's window.
	SmoothingSize op.Arg[[]int] `op:"smoothing_size"`

	// Width of the derivatives' windows, one for all axes or one for each. It is odd, from 3 to 31. Default: 3.
	WindowSize op.Arg[[]int] `op:"window_size"`
}

// LogMel are the arguments of log_mel.
type LogMel struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Whether the middle of window i is at i * window_step, and the signal is padded. False means that the first
	// window begins with the signal. Default: true.
	CenterWindows op.Arg[bool] `op:"center_windows"`

	// Size of the transform, by default window_length. Windows are in its middle, between zeros.
	Nfft op.Arg[int] `op:"nfft"`

	// Whether the signal is mirrored at its ends, or else padded with zeros. It has no effect unless
	// center_windows is set. Default: true.
	ReflectPadding op.Arg[bool] `op:"reflect_padding"`

	// Numbers by which a window is multiplied, window_length of them. By default a Hann window.
	WindowFn []float64 `op:"window_fn"`

	// Elements of a window. Default: 512.
	WindowLength op.Arg[int] `op:"window_length"`

	// Elements from one window to the next. Default: 256.
	WindowStep op.Arg[int] `op:"window_step"`

	// Exponent of the magnitudes: 1 or 2. 2 is faster. Default: 2.
	Power op.Arg[int] `op:"power"`

	// The element before the first; see preemphasis_filter. Default: "clamp".
	Border op.Arg[string] `op:"border"`

	// Coefficient of preemphasis_filter; 0 means that the signal stays. Default: 0.
	PreemphCoeff op.Arg[float64] `op:"preemph_coeff"`

	// The largest frequency, at most half of sample_rate, which is the default. Default: 0.
	FreqHigh float64 `op:"freq_high"`

	// The smallest frequency. Default: 0.
	FreqLow float64 `op:"freq_low"`

	// The mel scale: "slaney" is linear up to 1000 Hz and logarithmic above; "htk" is 2595 * log10(1 + f/700).
	// Default: "slaney".
	MelFormula op.Arg[string] `op:"mel_formula"`

	// Number of filters. Default: 128.
	Nfilter op.Arg[int] `op:"nfilter"`

	// Whether the integral of every filter is 1. False means that its peak is 1. Default: true.
	Normalize op.Arg[bool] `op:"normalize"`

	// Rate of the signal, in elements per second. Default: 44100.
	SampleRate op.Arg[float64] `op:"sample_rate"`

	// The smallest result. Smaller ratios, and NaN, become this number. Default: -200.
	CutoffDb op.Arg[float64] `op:"cutoff_db"`

	// Factor of the logarithm: 10 for squares of magnitudes, and 20 for magnitudes. Default: 10.
	Multiplier op.Arg[float64] `op:"multiplier"`

	// Number whose result is 0. If it is left out, the largest number of the sample. Default: 0.
	Reference float64 `op:"reference"`
}

// LookupTable are the arguments of lookup_table.
type LookupTable struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Value for integers that are not keys. Default: 0.
	DefaultValue float64 `op:"default_value"`

	// Type of the output; values are converted like cast. Default: float32.
	DType tensor.DType `op:"dtype"`

	// Keys from 0 to 65535. If a key occurs twice, its last value is used. Default: .
	Keys []int `op:"keys"`

	// The older name of dtype. Deprecated: use dtype
	OutputDtype tensor.DType `op:"output_dtype"`

	// The value of each key. Default: .
	Values []float64 `op:"values"`
}

// MelFilterBank are the arguments of mel_filter_bank.
type MelFilterBank struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The largest frequency, at most half of sample_rate, which is the default. Default: 0.
	FreqHigh float64 `op:"freq_high"`

	// The smallest frequency. Default: 0.
	FreqLow float64 `op:"freq_low"`

	// The mel scale: "slaney" is linear up to 1000 Hz and logarithmic above; "htk" is 2595 * log10(1 + f/700).
	// Default: "slaney".
	MelFormula op.Arg[string] `op:"mel_formula"`

	// Number of filters. Default: 128.
	Nfilter op.Arg[int] `op:"nfilter"`

	// Whether the integral of every filter is 1. False means that its peak is 1. Default: true.
	Normalize op.Arg[bool] `op:"normalize"`

	// Rate of the signal, in elements per second. Default: 44100.
	SampleRate op.Arg[float64] `op:"sample_rate"`
}

// Mfcc are the arguments of mfcc.
type Mfcc struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The axis. Default: 0.
	Axis int `op:"axis"`

	// Type of the transform: 1, 2, 3 or 4. Default: 2.
	DctType op.Arg[int] `op:"dct_type"`

	// Weight of high coefficients: coefficient i, from 0, is multiplied by 1 + lifter/2 * sin(pi * (i+1) /
	// lifter). 0 means that they stay. Default: 0.
	Lifter float64 `op:"lifter"`

	// The most coefficients that are kept. Default: 20.
	NMfcc op.Arg[int] `op:"n_mfcc"`

	// Whether the transform is orthonormal. Type 1 cannot be. Default: false.
	Normalize bool `op:"normalize"`
}

// Mixup are the arguments of mixup.
type Mixup struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The share of the image, from 0 to 1. Required.
	Ratio op.Arg[float64] `op:"ratio"`
}

// Mosaic are the arguments of mosaic.
type Mosaic struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Horizontal place of the point, from 0 to 1. Default: 0.5.
	CentreX op.Arg[float64] `op:"centre_x"`

	// Vertical place of the point, from 0 to 1. Default: 0.5.
	CentreY op.Arg[float64] `op:"centre_y"`

	// The value of each channel where no image is. Default: 114.
	FillValue op.Arg[int] `op:"fill_value"`

	// The least share of a box that is on the canvas. A box with less is dropped, and so is a box without area.
	// Default: 0.
	MinVisibility op.Arg[float64] `op:"min_visibility"`

	// Height and width of the canvas. Required.
	Size []int `op:"size"`
}

// MultiPaste are the arguments of multi_paste.
type MultiPaste struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the output: uint8, int16, int32 or float32; by default the input's type.
	DType tensor.DType `op:"dtype"`

	// Places in the batch of the images whose regions are put on the canvas.
	InIds op.Arg[[]int] `op:"in_ids"`

	// Height and width of the canvas; by default the size of the images, which must then have the same size.
	OutputSize op.Arg[[]int] `op:"output_size"`

	// Start of the regions in their images, by default the top left corner, in pixels: one row of y and x per
	// region.
	InAnchors op.Arg[int] `op:"in_anchors"`

	// Start of the regions in their images, by default the top left corner, as fractions of the extents: one row
	// of y and x per region.
	InAnchorsRel op.Arg[float64] `op:"in_anchors_rel"`

	// Place of the regions on the canvas, by default the top left corner, in pixels: one row of y and x per
	// region.
	OutAnchors op.Arg[int] `op:"out_anchors"`

	// Place of the regions on the canvas, by default the top left corner, as fractions of the extents: one row of
	// y and x per region.
	OutAnchorsRel op.Arg[float64] `op:"out_anchors_rel"`

	// Extents of the regions, by default the rest of the images, in pixels: one row of y and x per region.
	Shapes op.Arg[int] `op:"shapes"`

	// Extents of the regions, by default the rest of the images, as fractions of the extents: one row of y and x
	// per region.
	ShapesRel op.Arg[float64] `op:"shapes_rel"`
}

// MxnetReader are the arguments of mxnet_reader.
type MxnetReader = ReadersMxnet

// NemoAsrReader are the arguments of nemo_asr_reader.
type NemoAsrReader = ReadersNemoAsr

// NonsilentRegion are the arguments of nonsilent_region.
type NonsilentRegion struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The threshold in decibels, relative to reference_power. Default: -60.
	CutoffDb op.Arg[float64] `op:"cutoff_db"`

	// The power of 0 decibels. If it is left out, the power of the loudest window. Default: 0.
	ReferencePower float64 `op:"reference_power"`

	// Elements of float32 after which the sum of a window is computed anew; -1 means never. A multiple of
	// window_length. Default: 8192.
	ResetInterval op.Arg[int] `op:"reset_interval"`

	// Elements of a window. Default: 2048.
	WindowLength op.Arg[int] `op:"window_length"`
}

// NormalDistribution are the arguments of normal_distribution.
type NormalDistribution = RandomNormal

// Normalize are the arguments of normalize.
type Normalize struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Axes whose elements share one mean and deviation, by default all, by number; a negative number counts from
	// the end.
	Axes []int `op:"axes"`

	// Axes whose elements share one mean and deviation, by default all, by the letters of the layout.
	AxisNames string `op:"axis_names"`

	// Whether mean and deviation are computed from all samples of the batch. Default: false.
	Batch bool `op:"batch"`

	// Number that is subtracted from the number of elements before the division, for a computed deviation.
	// Default: 0.
	Ddof int `op:"ddof"`

	// Type of the output. Default: float32.
	DType tensor.DType `op:"dtype"`

	// Number that is added to the square of the deviation. Default: 0.
	Epsilon float64 `op:"epsilon"`

	// The mean, in place of the computed one.
	Mean op.Arg[float64] `op:"mean"`

	// Factor for the results. Default: 1.
	Scale op.Arg[float64] `op:"scale"`

	// Number that is added to the results. Default: 0.
	Shift float64 `op:"shift"`

	// The standard deviation, in place of the computed one.
	Stddev op.Arg[float64] `op:"stddev"`
}

// NumpyReader are the arguments of numpy_reader.
type NumpyReader = ReadersNumpy

// OneHot are the arguments of one_hot.
type OneHot struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Number of the new axis; -1 puts it after all others. Default: -1.
	Axis op.Arg[int] `op:"axis"`

	// Letter of the new axis in the layout; without it there is no layout.
	AxisName string `op:"axis_name"`

	// Type of the output. Default: float32.
	DType tensor.DType `op:"dtype"`

	// Number of classes. Default: 0.
	NumClasses int `op:"num_classes"`

	// Value at all other places; truncated for integer types. Default: 0.
	OffValue float64 `op:"off_value"`

	// Value at the index; truncated for integer types. Default: 1.
	OnValue op.Arg[float64] `op:"on_value"`
}

// Ones are the arguments of ones.
type Ones struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the output. Default: int32.
	DType tensor.DType `op:"dtype"`

	// Layout of the output.
	Layout string `op:"layout"`

	// Shape of the output; by default a scalar.
	Shape op.Arg[[]int] `op:"shape"`
}

// OnesLike are the arguments of ones_like.
type OnesLike struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the output; by default the input's type.
	DType tensor.DType `op:"dtype"`
}

// Pad are the arguments of pad.
type Pad struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Axes to pad, by default all, by number; a negative number counts from the end.
	Axes op.Arg[[]int] `op:"axes"`

	// Axes to pad, by default all, by the letters of the layout.
	AxisNames string `op:"axis_names"`

	// Alignments, one for all axes or one for each axis. Extents become multiples of them.
	Align op.Arg[[]int] `op:"align"`

	// Value of the padding; truncated for integer types. Default: 0.
	FillValue op.Arg[float64] `op:"fill_value"`

	// Extents, one for all axes or one for each axis. A negative or omitted extent means the largest in the
	// batch.
	Shape op.Arg[[]int] `op:"shape"`
}

// Paste are the arguments of paste.
type Paste struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The colour of the canvas: one value per channel, or one for all. Required.
	FillValue []int `op:"fill_value"`

	// The least height and width of the canvas. Default: 0.
	MinCanvasSize op.Arg[float64] `op:"min_canvas_size"`

	// The number of channels of the colour. Default: 3.
	NChannels op.Arg[int] `op:"n_channels"`

	// Horizontal place of the image: 0 at the left edge of the canvas, 1 at the right edge. Default: 0.5.
	PasteX op.Arg[float64] `op:"paste_x"`

	// Vertical place of the image: 0 at the top edge of the canvas, 1 at the bottom edge. Default: 0.5.
	PasteY op.Arg[float64] `op:"paste_y"`

	// Height and width of the canvas relative to the image: 1 or more. Required.
	Ratio op.Arg[float64] `op:"ratio"`
}

// PeekImageShape are the arguments of peek_image_shape.
type PeekImageShape struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the numbers: int32, uint32, int64, uint64, float32 or float64. Default: int64.
	DType tensor.DType `op:"dtype"`

	// Colour space of the output; ANY_DATA: as in the file. Default: RGB.
	ImageType op.ImageType `op:"image_type"`

	// Whether to return the shape after the rotation that the EXIF orientation says. Default: true.
	AdjustOrientation op.Arg[bool] `op:"adjust_orientation"`
}

// PerFrame are the arguments of per_frame.
type PerFrame struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Whether another first letter of the layout becomes F. By default it is an error. Default: false.
	Replace bool `op:"replace"`
}

// PermuteBatch are the arguments of permute_batch.
type PermuteBatch struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// For each sample of the output, its index in the input batch: one list for the batch, or one number per
	// sample. Required.
	Indices op.Arg[[]int] `op:"indices"`
}

// PitchShift are the arguments of pitch_shift.
type PitchShift struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Quality of resampling, 0 to 100; see audio_resample. Default: 50.
	Quality op.Arg[float64] `op:"quality"`

	// Half tones by which the signal becomes higher. Twelve are an octave. Required.
	Steps op.Arg[float64] `op:"steps"`

	// Elements of a window, a multiple of 4. Windows are nfft/4 elements apart. Default: 2048.
	Nfft op.Arg[int] `op:"nfft"`
}

// PowerSpectrum are the arguments of power_spectrum.
type PowerSpectrum struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The axis; a negative number is the last axis. Default: -1.
	Axis op.Arg[int] `op:"axis"`

	// Size of the transform: longer data is cut, and shorter data is followed by zeros. By default, and if it is
	// not positive, the extent of the axis.
	Nfft op.Arg[int] `op:"nfft"`

	// Exponent of the magnitudes: 1 or 2. 2 is faster. Default: 2.
	Power op.Arg[int] `op:"power"`
}

// PreemphasisFilter are the arguments of preemphasis_filter.
type PreemphasisFilter struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The element before the first: "zero"; "clamp", the first; or "reflect", the second, or 0 for a signal of
	// one element. Default: "clamp".
	Border op.Arg[string] `op:"border"`

	// Type of the output. Numbers are rounded half away from zero and limited to the range of the type. Default:
	// float32.
	DType tensor.DType `op:"dtype"`

	// The coefficient. Default: 0.97.
	PreemphCoeff op.Arg[float64] `op:"preemph_coeff"`
}

// RandAugment are the arguments of rand_augment.
type RandAugment struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The suite: augmentations with the ranges of their magnitudes, such as "rotate 0 30 signed". By default it
	// is the suite of the publication. Default: .
	Augmentations []string `op:"augmentations"`

	// Whether the pixels at the border are repeated outside of an image, in place of fill_value. Default: false.
	Clamp bool `op:"clamp"`

	// Names of augmentations that the suite shall not have. Default: .
	Excluded []string `op:"excluded"`

	// Value outside of an image that is warped: one for all channels, or one for each. Default: 128.
	FillValue []float64 `op:"fill_value"`

	// INTERP_LINEAR or INTERP_NN; with the pixels "truncated" also INTERP_CUBIC. Default: INTERP_LINEAR.
	InterpType op.Arg[op.InterpType] `op:"interp_type"`

	// The bin of all magnitudes: a number from 0 to num_magnitude_bins - 1. Required.
	M op.Arg[float64] `op:"m"`

	// Standard deviation of the bins. Each step draws its bin from a normal distribution around m. Default: 0.
	MagnitudeDeviation float64 `op:"magnitude_deviation"`

	// The longest translation in pixels: one number, or one for the height and one for the width. Default: .
	MaxTranslateAbs []float64 `op:"max_translate_abs"`

	// The longest translation as a share of the height and width: one number, or one for each. Default: .
	MaxTranslateRel []float64 `op:"max_translate_rel"`

	// Whether a larger bin always changes an image more; otherwise the suite has the ranges of auto_augment.
	// Default: true.
	MonotonicMag op.Arg[bool] `op:"monotonic_mag"`

	// The number of augmentations: 0 or more. Required.
	N op.Arg[int] `op:"n"`

	// The number of bins. Default: 31.
	NumMagnitudeBins op.Arg[int] `op:"num_magnitude_bins"`

	// How pixels are computed: "rounded" as by the operators of the same names, or "truncated" as by Pillow.
	// Default: "rounded".
	Pixels op.Arg[string] `op:"pixels"`

	// The probability that a step takes place. Default: 1.
	Probability op.Arg[float64] `op:"probability"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`

	// Height and width that translations are shares of; by default the extents of the image.
	Shape op.Arg[[]int] `op:"shape"`
}

// RandomBboxCrop are the arguments of random_bbox_crop.
type RandomBboxCrop struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Overlaps. One of them is drawn, and window and boxes must reach it. Default: 0.
	Thresholds []float64 `op:"thresholds"`

	// What the overlap is divided by: the union of window and box ("iou"), or the box ("overlap"). Default:
	// "iou".
	ThresholdType op.Arg[string] `op:"threshold_type"`

	// Whether all boxes must reach the overlap, not just one. Default: true.
	AllBoxesAboveThreshold op.Arg[bool] `op:"all_boxes_above_threshold"`

	// Whether the whole image is a possible outcome too; not with crop_shape. Default: true.
	AllowNoCrop op.Arg[bool] `op:"allow_no_crop"`

	// Number of windows that are drawn for one threshold. Default: 1.
	NumAttempts op.Arg[int] `op:"num_attempts"`

	// Number of windows that are drawn before the best of them is taken. By default a window that agrees must be
	// found. Default: -1.
	TotalNumAttempts op.Arg[int] `op:"total_num_attempts"`

	// Range of the window's sides as a fraction of the image's. Default: 1 1.
	Scaling []float64 `op:"scaling"`

	// Range of x/y, or ranges of x/y, x/z and y/z; in pixels with input_shape. Default: 1 1.
	AspectRatio []float64 `op:"aspect_ratio"`

	// Size of the window in pixels, in place of scaling and aspect_ratio; requires input_shape.
	CropShape op.Arg[[]int] `op:"crop_shape"`

	// Size of the image in pixels.
	InputShape op.Arg[[]int] `op:"input_shape"`

	// Order of crop_shape and input_shape, such as HW; by default WH or WHD.
	ShapeLayout string `op:"shape_layout"`

	// Order of coordinates: x, y, z beginnings, X, Y, Z ends, W, H, D lengths; by default xyXY or xyzXYZ.
	BboxLayout string `op:"bbox_layout"`

	// Whether boxes have ends instead of lengths. Default: true. Deprecated: bbox_layout
	Ltrb op.Arg[bool] `op:"ltrb"`

	// Share of a box that must be in the window for it to stay; by default its centre must.
	BboxPruneThreshold op.Arg[float64] `op:"bbox_prune_threshold"`

	// Whether the indices of the remaining boxes are an additional output. Default: false.
	OutputBboxIndices bool `op:"output_bbox_indices"`

	// Whether to omit the message when the best window that was drawn is taken. Default: false.
	Quiet bool `op:"quiet"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// RandomCropGenerator are the arguments of random_crop_generator.
type RandomCropGenerator struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Range of the window's area as a fraction of the image's. Default: 0.08 1.
	RandomArea []float64 `op:"random_area"`

	// Range of the window's width over its height. Default: 0.75 1.333.
	RandomAspectRatio []float64 `op:"random_aspect_ratio"`

	// Number of draws before the largest window that fits is taken. Default: 10.
	NumAttempts op.Arg[int] `op:"num_attempts"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// RandomErase are the arguments of random_erase.
type RandomErase struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The least and the largest area of the window, as shares of the image. Default: 0.02 0.3333.
	Area []float64 `op:"area"`

	// Fill value: one for all channels, or one for each. Default: 0.
	FillValue []float64 `op:"fill_value"`

	// Normal noise in place of fill_value, for float32: "channel" draws a number for each channel, "pixel" for
	// each element. Default: "none".
	Noise op.Arg[string] `op:"noise"`

	// The probability that a window is erased. Default: 0.5.
	Probability op.Arg[float64] `op:"probability"`

	// The least and the largest ratio of height to width. Default: 0.3 3.333.
	Ratio []float64 `op:"ratio"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// RandomResizedCrop are the arguments of random_resized_crop.
type RandomResizedCrop struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Range of the window's area as a fraction of the image's. Default: 0.08 1.
	RandomArea []float64 `op:"random_area"`

	// Range of the window's width over its height. Default: 0.75 1.333.
	RandomAspectRatio []float64 `op:"random_aspect_ratio"`

	// Number of draws before the largest window that fits is taken. Default: 10.
	NumAttempts op.Arg[int] `op:"num_attempts"`

	// Whether the filter is widened along axes that shrink. Default: true.
	Antialias op.Arg[bool] `op:"antialias"`

	// Output type: the input's type, which is the default, or float32.
	DType tensor.DType `op:"dtype"`

	// Filter, unless mag_filter or min_filter is given. Default: INTERP_LINEAR.
	InterpType op.Arg[op.InterpType] `op:"interp_type"`

	// Filter for axes that grow or keep their extent. Default: INTERP_LINEAR.
	MagFilter op.Arg[op.InterpType] `op:"mag_filter"`

	// Filter for axes that shrink. Default: INTERP_LINEAR.
	MinFilter op.Arg[op.InterpType] `op:"min_filter"`

	// Has no effect. Default: 32.
	MinibatchSize op.Arg[int] `op:"minibatch_size"`

	// Has no effect. Default: 0.
	TempBufferHint int `op:"temp_buffer_hint"`

	// Height and width of the result; one number is both. Required.
	Size []int `op:"size"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// Reinterpret are the arguments of reinterpret.
type Reinterpret struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// New layout. By default the layout stays if the number of axes stays.
	Layout string `op:"layout"`

	// New shape as fractions of the old extents; a negative extent takes the remaining elements.
	RelShape op.Arg[[]float64] `op:"rel_shape"`

	// New shape; a negative extent takes the remaining elements.
	Shape op.Arg[[]int] `op:"shape"`

	// For each new axis, the axis of the input with its extent, before rel_shape is applied. -1 means a new axis
	// of extent 1.
	SrcDims op.Arg[[]int] `op:"src_dims"`

	// Type of the output; by default the input's type.
	DType tensor.DType `op:"dtype"`
}

// Reshape are the arguments of reshape.
type Reshape struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// New layout. By default the layout stays if the number of axes stays.
	Layout string `op:"layout"`

	// New shape as fractions of the old extents; a negative extent takes the remaining elements.
	RelShape op.Arg[[]float64] `op:"rel_shape"`

	// New shape; a negative extent takes the remaining elements.
	Shape op.Arg[[]int] `op:"shape"`

	// For each new axis, the axis of the input with its extent, before rel_shape is applied. -1 means a new axis
	// of extent 1.
	SrcDims op.Arg[[]int] `op:"src_dims"`
}

// Resize are the arguments of resize.
type Resize struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Largest extent of the result, one for all axes or one for each; 0 means no limit.
	MaxSize []float64 `op:"max_size"`

	// How sizes are used: "default" derives missing sizes from the mean scale of the others, "stretch" keeps
	// missing extents. "not_larger" and "not_smaller" keep the aspect ratio; the size is the upper or lower
	// limit. Default: "default".
	Mode op.Arg[string] `op:"mode"`

	// Extent of the longest axis; the aspect ratio is kept. Default: 0.
	ResizeLonger op.Arg[float64] `op:"resize_longer"`

	// Extent of the shortest axis; the aspect ratio is kept. Default: 0.
	ResizeShorter op.Arg[float64] `op:"resize_shorter"`

	// Width; 0 derives it, a negative width mirrors. Default: 0.
	ResizeX op.Arg[float64] `op:"resize_x"`

	// Height; 0 derives it, a negative height mirrors. Default: 0.
	ResizeY op.Arg[float64] `op:"resize_y"`

	// Depth of volumes; 0 derives it, a negative depth mirrors. Default: 0.
	ResizeZ op.Arg[float64] `op:"resize_z"`

	// End of the part that is resized, on each axis in the order of the layout. An end before roi_start mirrors.
	RoiEnd op.Arg[[]float64] `op:"roi_end"`

	// Whether the part is given in fractions of the extents. Default: false.
	RoiRelative bool `op:"roi_relative"`

	// Start of the part that is resized, on each axis in the order of the layout.
	RoiStart op.Arg[[]float64] `op:"roi_start"`

	// Extents of the result in the order of the layout, or one for all. 0 derives an extent; a negative extent
	// mirrors.
	Size op.Arg[[]float64] `op:"size"`

	// Whether the resized part grows or shrinks to match a rounded size, so that the scale equals the scale of
	// the requested size. Default: true.
	SubpixelScale op.Arg[bool] `op:"subpixel_scale"`

	// Whether the filter is widened along axes that shrink. Default: true.
	Antialias op.Arg[bool] `op:"antialias"`

	// Output type: the input's type, which is the default, or float32.
	DType tensor.DType `op:"dtype"`

	// Filter, unless mag_filter or min_filter is given. Default: INTERP_LINEAR.
	InterpType op.Arg[op.InterpType] `op:"interp_type"`

	// Filter for axes that grow or keep their extent. Default: INTERP_LINEAR.
	MagFilter op.Arg[op.InterpType] `op:"mag_filter"`

	// Filter for axes that shrink. Default: INTERP_LINEAR.
	MinFilter op.Arg[op.InterpType] `op:"min_filter"`

	// Has no effect. Default: 32.
	MinibatchSize op.Arg[int] `op:"minibatch_size"`

	// Has no effect. Default: 0.
	TempBufferHint int `op:"temp_buffer_hint"`

	// Ignored. Deprecated: it has no effect
	ImageType op.Arg[op.ImageType] `op:"image_type"`

	// Adds the size of the input as a second output. Default: false.
	SaveAttrs bool `op:"save_attrs"`
}

// ResizeCropMirror are the arguments of resize_crop_mirror.
type ResizeCropMirror struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Largest extent of the result, one for all axes or one for each; 0 means no limit.
	MaxSize []float64 `op:"max_size"`

	// How sizes are used: "default" derives missing sizes from the mean scale of the others, "stretch" keeps
	// missing extents. "not_larger" and "not_smaller" keep the aspect ratio; the size is the upper or lower
	// limit. Default: "default".
	Mode op.Arg[string] `op:"mode"`

	// Extent of the longest axis; the aspect ratio is kept. Default: 0.
	ResizeLonger op.Arg[float64] `op:"resize_longer"`

	// Extent of the shortest axis; the aspect ratio is kept. Default: 0.
	ResizeShorter op.Arg[float64] `op:"resize_shorter"`

	// Width; 0 derives it, a negative width mirrors. Default: 0.
	ResizeX op.Arg[float64] `op:"resize_x"`

	// Height; 0 derives it, a negative height mirrors. Default: 0.
	ResizeY op.Arg[float64] `op:"resize_y"`

	// Depth of volumes; 0 derives it, a negative depth mirrors. Default: 0.
	ResizeZ op.Arg[float64] `op:"resize_z"`

	// End of the part that is resized, on each axis in the order of the layout. An end before roi_start mirrors.
	RoiEnd op.Arg[[]float64] `op:"roi_end"`

	// Whether the part is given in fractions of the extents. Default: false.
	RoiRelative bool `op:"roi_relative"`

	// Start of the part that is resized, on each axis in the order of the layout.
	RoiStart op.Arg[[]float64] `op:"roi_start"`

	// Extents of the result in the order of the layout, or one for all. 0 derives an extent; a negative extent
	// mirrors.
	Size op.Arg[[]float64] `op:"size"`

	// Whether the resized part grows or shrinks to match a rounded size, so that the scale equals the scale of
	// the requested size. Default: true.
	SubpixelScale op.Arg[bool] `op:"subpixel_scale"`

	// Whether the filter is widened along axes that shrink. Default: true.
	Antialias op.Arg[bool] `op:"antialias"`

	// Output type: the input's type, which is the default, or float32.
	DType tensor.DType `op:"dtype"`

	// Filter, unless mag_filter or min_filter is given. Default: INTERP_LINEAR.
	InterpType op.Arg[op.InterpType] `op:"interp_type"`

	// Filter for axes that grow or keep their extent. Default: INTERP_LINEAR.
	MagFilter op.Arg[op.InterpType] `op:"mag_filter"`

	// Filter for axes that shrink. Default: INTERP_LINEAR.
	MinFilter op.Arg[op.InterpType] `op:"min_filter"`

	// Has no effect. Default: 32.
	MinibatchSize op.Arg[int] `op:"minibatch_size"`

	// Has no effect. Default: 0.
	TempBufferHint int `op:"temp_buffer_hint"`

	// Height and width of the window, or depth, height and width; 0 means the whole axis. Not together with
	// crop_d, crop_h and crop_w.
	Crop op.Arg[[]float64] `op:"crop"`

	// Depth of the window of a volume, or number of frames of the window of a sequence; given together with
	// crop_h and crop_w. Default: 0.
	CropD op.Arg[float64] `op:"crop_d"`

	// Height of the window; given together with crop_w. Default: 0.
	CropH op.Arg[float64] `op:"crop_h"`

	// Width of the window; given together with crop_h. Default: 0.
	CropW op.Arg[float64] `op:"crop_w"`

	// Horizontal place of the window: 0 at the left edge, 1 at the right edge. Default: 0.5.
	CropPosX op.Arg[float64] `op:"crop_pos_x"`

	// Vertical place of the window: 0 at the top, 1 at the bottom. Default: 0.5.
	CropPosY op.Arg[float64] `op:"crop_pos_y"`

	// Place of the window along the depth of a volume or the time of a sequence: 0 at the front, 1 at the back.
	// Default: 0.5.
	CropPosZ op.Arg[float64] `op:"crop_pos_z"`

	// How the position becomes a pixel: "round" (half away from zero) or "truncate". Default: "round".
	Rounding op.Arg[string] `op:"rounding"`

	// Axes to reverse: 1 for the width, 2 for the height, 4 for the depth, or a sum of these numbers. Default: 0.
	Mirror op.Arg[int] `op:"mirror"`
}

// RoiRandomCrop are the arguments of roi_random_crop.
type RoiRandomCrop struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Size of the window. Required.
	CropShape op.Arg[[]int] `op:"crop_shape"`

	// Start of the region. Required.
	RoiStart op.Arg[[]int] `op:"roi_start"`

	// End of the region. Give either roi_end or roi_shape.
	RoiEnd op.Arg[[]int] `op:"roi_end"`

	// Size of the region. Give either roi_shape or roi_end.
	RoiShape op.Arg[[]int] `op:"roi_shape"`

	// Size of the image. Not together with an input.
	InShape op.Arg[[]int] `op:"in_shape"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// Rotate are the arguments of rotate.
type Rotate struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the output: the input's type, which is the default, or float32. For a float32 input it is any input
	// type.
	DType tensor.DType `op:"dtype"`

	// Value outside the input; by default the value at its border.
	FillValue op.Arg[float64] `op:"fill_value"`

	// INTERP_LINEAR or INTERP_NN. Default: INTERP_LINEAR.
	InterpType op.Arg[op.InterpType] `op:"interp_type"`

	// The older name of dtype. Deprecated: use dtype
	OutputDtype tensor.DType `op:"output_dtype"`

	// Height and width of the output, or depth, height and width for volumes; by default the size of the input.
	// Default: .
	Size op.Arg[[]float64] `op:"size"`

	// The angle in degrees, counterclockwise. Required.
	Angle op.Arg[float64] `op:"angle"`

	// The axis around which volumes are turned: x, y and z, of any length.
	Axis op.Arg[[]float64] `op:"axis"`

	// Whether the output is as large as the input. It has no effect if a size is given. Default: false.
	KeepSize bool `op:"keep_size"`
}

// Saturation are the arguments of saturation.
type Saturation struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Output type; by default the input's type.
	DType tensor.DType `op:"dtype"`

	// Colour space of the images: RGB. Default: RGB.
	ImageType op.ImageType `op:"image_type"`

	// Saturation factor; 0 gives gray. Default: 1.
	Saturation op.Arg[float64] `op:"saturation"`
}

// SequenceReader are the arguments of sequence_reader.
type SequenceReader = ReadersSequence

// SequenceRearrange are the arguments of sequence_rearrange.
type SequenceRearrange struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Index of the element at each place of the output. Required.
	NewOrder op.Arg[[]int] `op:"new_order"`
}

// Shapes are the arguments of shapes.
type Shapes struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the output: an integer type of 32 or 64 bits, float32 or float64. Default: int64.
	DType tensor.DType `op:"dtype"`

	// The older name of dtype. Deprecated: use dtype
	Type tensor.DType `op:"type"`
}

// Slice are the arguments of slice.
type Slice struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Axes of the window, in the order of its values; negative numbers count from the last axis. Default: 1 0.
	Axes op.Arg[[]int] `op:"axes"`

	// The axes by the letters of the layout; overrides axes. Default: "WH".
	AxisNames op.Arg[string] `op:"axis_names"`

	// Whether an input anchor of floats is relative to the extents. Default: true.
	NormalizedAnchor op.Arg[bool] `op:"normalized_anchor"`

	// Whether an input shape of floats is relative to the extents. Default: true.
	NormalizedShape op.Arg[bool] `op:"normalized_shape"`

	// First element of the window on each axis; the default is 0.
	Start op.Arg[[]int] `op:"start"`

	// Start of the window on each axis, relative to the extents.
	RelStart op.Arg[[]float64] `op:"rel_start"`

	// End of the window on each axis: the element after its last; the default is the extent.
	End op.Arg[[]int] `op:"end"`

	// End of the window on each axis, relative to the extents.
	RelEnd op.Arg[[]float64] `op:"rel_end"`

	// Extent of the window on each axis.
	Shape op.Arg[[]int] `op:"shape"`

	// Extent of the window on each axis, relative to the extents of the data.
	RelShape op.Arg[[]float64] `op:"rel_shape"`

	// What happens if the window extends outside the data: "error", "pad" with fill_values, or "trim_to_shape".
	// Default: "error".
	OutOfBoundsPolicy op.Arg[string] `op:"out_of_bounds_policy"`

	// Values of padded elements: one for all channels, or one for each. Default: 0.
	FillValues []float64 `op:"fill_values"`

	// Ignored. Deprecated: it has no effect
	ImageType op.Arg[op.ImageType] `op:"image_type"`

	// The old name of dtype. Deprecated: use dtype
	OutputDtype tensor.DType `op:"output_dtype"`

	// Output type; by default the input's type.
	DType tensor.DType `op:"dtype"`
}

// Spatial are the arguments of spatial.
type Spatial struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// What each input is: image (the first), mask, bboxes or keypoints. Required.
	Targets []string `op:"targets"`

	// Angle in degrees, counterclockwise. Default: 0.
	Angle op.Arg[float64] `op:"angle"`

	// Whether a pixel of the result is the mean of the pixels of the image that it covers, where the image
	// shrinks. Masks and INTERP_NN take one pixel. Default: true.
	Antialias op.Arg[bool] `op:"antialias"`

	// What the numbers of a box are: xyXY for corners, or xyWH for a corner and a size. Default: "xyXY".
	BboxLayout op.Arg[string] `op:"bbox_layout"`

	// Perspective: x and y by which each corner moves, as fractions of width and height. The corners are top
	// left, top right, bottom right and bottom left.
	Corners op.Arg[[]float64] `op:"corners"`

	// x and y of the window to cut out, from 0 to 1, as random_bbox_crop delivers it.
	CropAnchor op.Arg[[]float64] `op:"crop_anchor"`

	// Width and height of the window, from 0 to 1.
	CropShape op.Arg[[]float64] `op:"crop_shape"`

	// Value of pixels outside the image. Default: 0.
	FillValue float64 `op:"fill_value"`

	// Whether left and right are swapped. Default: 0.
	Horizontal op.Arg[int] `op:"horizontal"`

	// INTERP_LINEAR or INTERP_NN, for images. Masks always have INTERP_NN. Default: INTERP_LINEAR.
	InterpType op.Arg[op.InterpType] `op:"interp_type"`

	// Value of masks outside the image, from 0 to 255. Default: 0.
	MaskFillValue int `op:"mask_fill_value"`

	// Whether boxes and keypoints are from 0 to 1; otherwise they are in pixels. Default: true.
	Normalized op.Arg[bool] `op:"normalized"`

	// Whether to draw the window, as random_resized_crop does. Default: false.
	RandomCrop bool `op:"random_crop"`

	// Factor of both axes, or of x and of y. Default: 1.
	Scale op.Arg[[]float64] `op:"scale"`

	// Angle in degrees by which x is sheared along y, or the angles of x and of y. Default: 0.
	Shear op.Arg[[]float64] `op:"shear"`

	// Height and width of the result; by default the size of the window.
	Size op.Arg[[]int] `op:"size"`

	// x and y by which the image moves, as fractions of width and height. Default: 0 0.
	Translate op.Arg[[]float64] `op:"translate"`

	// Whether top and bottom are swapped. Default: 0.
	Vertical op.Arg[int] `op:"vertical"`

	// Range of the window's area as a fraction of the image's. Default: 0.08 1.
	RandomArea []float64 `op:"random_area"`

	// Range of the window's width over its height. Default: 0.75 1.333.
	RandomAspectRatio []float64 `op:"random_aspect_ratio"`

	// Number of draws before the largest window that fits is taken. Default: 10.
	NumAttempts op.Arg[int] `op:"num_attempts"`
}

// Spectrogram are the arguments of spectrogram.
type Spectrogram struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Whether the middle of window i is at i * window_step, and the signal is padded. False means that the first
	// window begins with the signal. Default: true.
	CenterWindows op.Arg[bool] `op:"center_windows"`

	// Size of the transform, by default window_length. Windows are in its middle, between zeros.
	Nfft op.Arg[int] `op:"nfft"`

	// Whether the signal is mirrored at its ends, or else padded with zeros. It has no effect unless
	// center_windows is set. Default: true.
	ReflectPadding op.Arg[bool] `op:"reflect_padding"`

	// Numbers by which a window is multiplied, window_length of them. By default a Hann window.
	WindowFn []float64 `op:"window_fn"`

	// Elements of a window. Default: 512.
	WindowLength op.Arg[int] `op:"window_length"`

	// Elements from one window to the next. Default: 256.
	WindowStep op.Arg[int] `op:"window_step"`

	// Exponent of the magnitudes: 1 or 2. 2 is faster. Default: 2.
	Power op.Arg[int] `op:"power"`

	// Layout of the output: "ft" for frequency, then time; or "tf". Default: "ft".
	Layout op.Arg[string] `op:"layout"`
}

// Sphere are the arguments of sphere.
type Sphere struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Value outside the input. Default: 0.
	FillValue float64 `op:"fill_value"`

	// INTERP_NN or INTERP_LINEAR. Default: INTERP_NN.
	InterpType op.InterpType `op:"interp_type"`

	// Whether pixels are moved: 0 means no. Default: 1.
	Mask op.Arg[int] `op:"mask"`
}

// Squeeze are the arguments of squeeze.
type Squeeze struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Axes to remove, by number. An axis that does not exist is ignored, as in DALI.
	Axes op.Arg[[]int] `op:"axes"`

	// Axes to remove, by the letters of the layout.
	AxisNames string `op:"axis_names"`
}

// SsdRandomCrop are the arguments of ssd_random_crop.
type SsdRandomCrop struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Number of windows that are drawn for one threshold. Default: 1.
	NumAttempts op.Arg[int] `op:"num_attempts"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// Stack are the arguments of stack.
type Stack struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Number of the new axis; a negative number counts from the end of the output. Default: 0.
	Axis int `op:"axis"`

	// Letter of the new axis in the layout; without it there is no layout.
	AxisName string `op:"axis_name"`
}

// TensorResize are the arguments of tensor_resize.
type TensorResize struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Whether the filter is widened along axes that shrink. Default: true.
	Antialias op.Arg[bool] `op:"antialias"`

	// Output type: the input's type, which is the default, or float32.
	DType tensor.DType `op:"dtype"`

	// Filter, unless mag_filter or min_filter is given. Default: INTERP_LINEAR.
	InterpType op.Arg[op.InterpType] `op:"interp_type"`

	// Filter for axes that grow or keep their extent. Default: INTERP_LINEAR.
	MagFilter op.Arg[op.InterpType] `op:"mag_filter"`

	// Filter for axes that shrink. Default: INTERP_LINEAR.
	MinFilter op.Arg[op.InterpType] `op:"min_filter"`

	// Has no effect. Default: 32.
	MinibatchSize op.Arg[int] `op:"minibatch_size"`

	// Has no effect. Default: 0.
	TempBufferHint int `op:"temp_buffer_hint"`

	// The fixed point of the resized part if a size is rounded: 0 at its start, 1 at its end; one for all axes or
	// one for each. Default: 0.5.
	Alignment op.Arg[[]float64] `op:"alignment"`

	// Axes to resize, in the order of the other arguments; by default all. Negative numbers count from the last
	// axis.
	Axes []int `op:"axes"`

	// Axes to resize, by the letters of the layout.
	AxisNames string `op:"axis_names"`

	// Largest extent of the result, one for all axes or one for each; 0 means no limit.
	MaxSize []float64 `op:"max_size"`

	// How sizes are used, as in resize: "default", "stretch", "not_larger" or "not_smaller". Default: "default".
	Mode op.Arg[string] `op:"mode"`

	// End of the part that is resized, on each axis.
	RoiEnd op.Arg[[]float64] `op:"roi_end"`

	// Whether the part is given in fractions of the extents. Default: false.
	RoiRelative bool `op:"roi_relative"`

	// Start of the part that is resized, on each axis.
	RoiStart op.Arg[[]float64] `op:"roi_start"`

	// Factor of each axis, or one for all; not together with sizes.
	Scales op.Arg[[]float64] `op:"scales"`

	// How sizes become integers: "round", "truncate" or "ceil". Default: "round".
	SizeRounding op.Arg[string] `op:"size_rounding"`

	// Extent of each axis, or one for all; 0 derives it from the others.
	Sizes op.Arg[[]float64] `op:"sizes"`

	// Whether the resized part grows or shrinks to match a rounded size. Default: true.
	SubpixelScale op.Arg[bool] `op:"subpixel_scale"`
}

// TfrecordReader are the arguments of tfrecord_reader.
type TfrecordReader = ReadersTfrecord

// TimeMask are the arguments of time_mask.
type TimeMask struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The number that masked elements become. Default: 0.
	FillValue op.Arg[float64] `op:"fill_value"`

	// Number of ranges. They can overlap. Default: 1.
	Masks op.Arg[int] `op:"masks"`

	// The largest width of a range, as a fraction of the axis. Default: 1.
	MaxFraction op.Arg[float64] `op:"max_fraction"`

	// The largest width of a range. Required.
	MaxWidth op.Arg[int] `op:"max_width"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// TimeStretch are the arguments of time_stretch.
type TimeStretch struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The speed: 2 is twice as fast, and half as long. Required.
	Rate op.Arg[float64] `op:"rate"`

	// Elements of a window, a multiple of 4. Windows are nfft/4 elements apart. Default: 2048.
	Nfft op.Arg[int] `op:"nfft"`
}

// ToDecibels are the arguments of to_decibels.
type ToDecibels struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The smallest result. Smaller ratios, and NaN, become this number. Default: -200.
	CutoffDb op.Arg[float64] `op:"cutoff_db"`

	// Factor of the logarithm: 10 for squares of magnitudes, and 20 for magnitudes. Default: 10.
	Multiplier op.Arg[float64] `op:"multiplier"`

	// Number whose result is 0. If it is left out, the largest number of the sample. Default: 0.
	Reference float64 `op:"reference"`
}

// TransformTranslation are the arguments of transform_translation.
type TransformTranslation = TransformsTranslation

// Transpose are the arguments of transpose.
type Transpose struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Layout of the output; it overrides every other layout.
	OutputLayout string `op:"output_layout"`

	// For each axis of the output, the number of the input axis. By default the order is reversed.
	Perm []int `op:"perm"`

	// Whether the letters of the layout move with their axes; otherwise the layout stays. Default: true.
	TransposeLayout op.Arg[bool] `op:"transpose_layout"`
}

// TrivialAugmentWide are the arguments of trivial_augment_wide.
type TrivialAugmentWide struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The suite: augmentations with the ranges of their magnitudes, such as "rotate 0 30 signed". By default it
	// is the suite of the publication. Default: .
	Augmentations []string `op:"augmentations"`

	// Whether the pixels at the border are repeated outside of an image, in place of fill_value. Default: false.
	Clamp bool `op:"clamp"`

	// Names of augmentations that the suite shall not have. Default: .
	Excluded []string `op:"excluded"`

	// Value outside of an image that is warped: one for all channels, or one for each. Default: 128.
	FillValue []float64 `op:"fill_value"`

	// INTERP_LINEAR or INTERP_NN; with the pixels "truncated" also INTERP_CUBIC. Default: INTERP_LINEAR.
	InterpType op.Arg[op.InterpType] `op:"interp_type"`

	// The longest translation in pixels: one number, or one for the height and one for the width. Default: .
	MaxTranslateAbs []float64 `op:"max_translate_abs"`

	// The longest translation as a share of the height and width: one number, or one for each. Default: .
	MaxTranslateRel []float64 `op:"max_translate_rel"`

	// The number of bins. Default: 31.
	NumMagnitudeBins op.Arg[int] `op:"num_magnitude_bins"`

	// How pixels are computed: "rounded" as by the operators of the same names, or "truncated" as by Pillow.
	// Default: "rounded".
	Pixels op.Arg[string] `op:"pixels"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`

	// Height and width that translations are shares of; by default the extents of the image.
	Shape op.Arg[[]int] `op:"shape"`
}

// Uniform are the arguments of uniform.
type Uniform = RandomUniform

// WarpAffine are the arguments of warp_affine.
type WarpAffine struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the output: the input's type, which is the default, or float32. For a float32 input it is any input
	// type.
	DType tensor.DType `op:"dtype"`

	// Value outside the input; by default the value at its border.
	FillValue op.Arg[float64] `op:"fill_value"`

	// INTERP_LINEAR or INTERP_NN. Default: INTERP_LINEAR.
	InterpType op.Arg[op.InterpType] `op:"interp_type"`

	// The older name of dtype. Deprecated: use dtype
	OutputDtype tensor.DType `op:"output_dtype"`

	// Height and width of the output, or depth, height and width for volumes; by default the size of the input.
	// Default: .
	Size op.Arg[[]float64] `op:"size"`

	// Whether the transform maps the output to the input; otherwise it maps the input to the output. Default:
	// true.
	InverseMap op.Arg[bool] `op:"inverse_map"`

	// The transform, row by row. A row has factors for x and y, for z in volumes, and the offset. Default: .
	Matrix op.Arg[[]float64] `op:"matrix"`
}

// Water are the arguments of water.
type Water struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Largest distance in pixels that a pixel moves sideways. Default: 10.
	AmplX op.Arg[float64] `op:"ampl_x"`

	// Largest distance in pixels that a pixel moves up or down. Default: 10.
	AmplY op.Arg[float64] `op:"ampl_y"`

	// Radians of the sine per row. Default: 0.04908738521234052.
	FreqX op.Arg[float64] `op:"freq_x"`

	// Radians of the cosine per column. Default: 0.04908738521234052.
	FreqY op.Arg[float64] `op:"freq_y"`

	// Start of the sine in radians. Default: 0.
	PhaseX float64 `op:"phase_x"`

	// Start of the cosine in radians. Default: 0.
	PhaseY float64 `op:"phase_y"`

	// Value outside the input. Default: 0.
	FillValue float64 `op:"fill_value"`

	// INTERP_NN or INTERP_LINEAR. Default: INTERP_NN.
	InterpType op.InterpType `op:"interp_type"`

	// Whether pixels are moved: 0 means no. Default: 1.
	Mask op.Arg[int] `op:"mask"`
}

// Zeros are the arguments of zeros.
type Zeros struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the output. Default: int32.
	DType tensor.DType `op:"dtype"`

	// Layout of the output.
	Layout string `op:"layout"`

	// Shape of the output; by default a scalar.
	Shape op.Arg[[]int] `op:"shape"`
}

// ZerosLike are the arguments of zeros_like.
type ZerosLike struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the output; by default the input's type.
	DType tensor.DType `op:"dtype"`
}
