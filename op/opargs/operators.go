// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// BrightnessContrast are the arguments of brightness_contrast.
type BrightnessContrast struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Brightness factor. Default: 1.
	Brightness op.Arg[float64] `op:"brightness"`

	// What is added, in units of the output range. Default: 0.
	BrightnessShift op.Arg[float64] `op:"brightness_shift"`

	// Contrast factor; 0 gives contrast_center everywhere. Default: 1.
	Contrast op.Arg[float64] `op:"contrast"`

	// The value that contrast leaves alone; by default 128 for uint8, 0.5 for floats.
	ContrastCenter op.Arg[float64] `op:"contrast_center"`

	// Output type, uint8 or float32; by default that of the input.
	DType tensor.DType `op:"dtype"`
}

// Cast are the arguments of cast.
type Cast struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the output. Required.
	DType tensor.DType `op:"dtype"`
}

// Crop are the arguments of crop.
type Crop struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Height and width of the window; 0 is the whole axis. Excludes crop_h and crop_w.
	Crop op.Arg[[]float64] `op:"crop"`

	// Height of the window; given together with crop_w. Default: 0.
	CropH op.Arg[float64] `op:"crop_h"`

	// Width of the window; given together with crop_h. Default: 0.
	CropW op.Arg[float64] `op:"crop_w"`

	// Where the window lies horizontally: 0 at the left edge, 1 at the right. Default: 0.5.
	CropPosX op.Arg[float64] `op:"crop_pos_x"`

	// Where the window lies vertically: 0 at the top, 1 at the bottom. Default: 0.5.
	CropPosY op.Arg[float64] `op:"crop_pos_y"`

	// How the position becomes a pixel: "round" (half away from zero) or "truncate". Default: "round".
	Rounding op.Arg[string] `op:"rounding"`

	// What happens when the window leaves the image: "error", "pad" with fill_values, or "trim_to_shape".
	// Default: "error".
	OutOfBoundsPolicy op.Arg[string] `op:"out_of_bounds_policy"`

	// Values of padded pixels, one for all channels or one each. Default: 0.
	FillValues []float64 `op:"fill_values"`
}

// CropMirrorNormalize are the arguments of crop_mirror_normalize.
type CropMirrorNormalize struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Height and width of the window; 0 is the whole axis. Excludes crop_h and crop_w.
	Crop op.Arg[[]float64] `op:"crop"`

	// Height of the window; given together with crop_w. Default: 0.
	CropH op.Arg[float64] `op:"crop_h"`

	// Width of the window; given together with crop_h. Default: 0.
	CropW op.Arg[float64] `op:"crop_w"`

	// Where the window lies horizontally: 0 at the left edge, 1 at the right. Default: 0.5.
	CropPosX op.Arg[float64] `op:"crop_pos_x"`

	// Where the window lies vertically: 0 at the top, 1 at the bottom. Default: 0.5.
	CropPosY op.Arg[float64] `op:"crop_pos_y"`

	// How the position becomes a pixel: "round" (half away from zero) or "truncate". Default: "round".
	Rounding op.Arg[string] `op:"rounding"`

	// What happens when the window leaves the image: "error", "pad" with fill_values, or "trim_to_shape".
	// Default: "error".
	OutOfBoundsPolicy op.Arg[string] `op:"out_of_bounds_policy"`

	// Values of padded pixels, one for all channels or one each. Default: 0.
	FillValues []float64 `op:"fill_values"`

	// Output type: float32, uint8 or int8. Default: float32.
	DType tensor.DType `op:"dtype"`

	// What is subtracted: one value, or one a channel. Default: 0.
	Mean op.Arg[[]float64] `op:"mean"`

	// Not 0: left and right are exchanged. Default: 0.
	Mirror op.Arg[int] `op:"mirror"`

	// "CHW" or "HWC". Default: "CHW".
	OutputLayout op.Arg[string] `op:"output_layout"`

	// Adds channels of fill_values up to a power of two. Default: false.
	PadOutput bool `op:"pad_output"`

	// Factor of the result. Default: 1.
	Scale op.Arg[float64] `op:"scale"`

	// What is added to the result. Default: 0.
	Shift float64 `op:"shift"`

	// What is divided by: one value, or one a channel. Default: 1.
	Std op.Arg[[]float64] `op:"std"`
}

// RandomResizedCrop are the arguments of random_resized_crop.
type RandomResizedCrop struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Height and width of the result; a single number is both. Required.
	Size []int `op:"size"`

	// Range of the window's area as a fraction of the image's. Default: 0.08 1.
	RandomArea []float64 `op:"random_area"`

	// Range of the window's width over its height. Default: 0.75 1.333.
	RandomAspectRatio []float64 `op:"random_aspect_ratio"`

	// Draws until the widest window that fits is taken. Default: 10.
	NumAttempts op.Arg[int] `op:"num_attempts"`

	// Filter: INTERP_LINEAR or INTERP_TRIANGULAR. Default: INTERP_LINEAR.
	InterpType op.Arg[op.InterpType] `op:"interp_type"`

	// Widens the filter when the image shrinks. Default: true.
	Antialias op.Arg[bool] `op:"antialias"`

	// Output type: that of the input, the default, or float32.
	DType tensor.DType `op:"dtype"`

	// Seed of this operator; -1: that of the pipeline. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}
