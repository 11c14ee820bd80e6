// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/tensor"
)

// ReductionsMax are the arguments of reductions.max.
type ReductionsMax struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Axes to fold, by default all, by number; a negative number counts from the end.
	Axes []int `op:"axes"`

	// Axes to fold, by default all, by the letters of the layout.
	AxisNames string `op:"axis_names"`

	// Whether folded axes stay, with extent 1. Default: false.
	KeepDims bool `op:"keep_dims"`
}

// ReductionsMean are the arguments of reductions.mean.
type ReductionsMean struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Axes to fold, by default all, by number; a negative number counts from the end.
	Axes []int `op:"axes"`

	// Axes to fold, by default all, by the letters of the layout.
	AxisNames string `op:"axis_names"`

	// Whether folded axes stay, with extent 1. Default: false.
	KeepDims bool `op:"keep_dims"`

	// Type of the output: by default float32; also the type of the input, in which the sum wraps around and the
	// mean is truncated.
	DType tensor.DType `op:"dtype"`
}

// ReductionsMeanSquare are the arguments of reductions.mean_square.
type ReductionsMeanSquare struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Axes to fold, by default all, by number; a negative number counts from the end.
	Axes []int `op:"axes"`

	// Axes to fold, by default all, by the letters of the layout.
	AxisNames string `op:"axis_names"`

	// Whether folded axes stay, with extent 1. Default: false.
	KeepDims bool `op:"keep_dims"`

	// Type of the output: by default float32; also the integer type of 64 bits for integers, to which the mean is
	// truncated.
	DType tensor.DType `op:"dtype"`
}

// ReductionsMin are the arguments of reductions.min.
type ReductionsMin struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Axes to fold, by default all, by number; a negative number counts from the end.
	Axes []int `op:"axes"`

	// Axes to fold, by default all, by the letters of the layout.
	AxisNames string `op:"axis_names"`

	// Whether folded axes stay, with extent 1. Default: false.
	KeepDims bool `op:"keep_dims"`
}

// ReductionsRms are the arguments of reductions.rms.
type ReductionsRms struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Axes to fold, by default all, by number; a negative number counts from the end.
	Axes []int `op:"axes"`

	// Axes to fold, by default all, by the letters of the layout.
	AxisNames string `op:"axis_names"`

	// Whether folded axes stay, with extent 1. Default: false.
	KeepDims bool `op:"keep_dims"`

	// Type of the output: by default float32; also the type of the input, in which sums of squares wrap around
	// and the root is truncated.
	DType tensor.DType `op:"dtype"`
}

// ReductionsStdDev are the arguments of reductions.std_dev.
type ReductionsStdDev struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Axes to fold, by default all, by number; a negative number counts from the end.
	Axes []int `op:"axes"`

	// Axes to fold, by default all, by the letters of the layout.
	AxisNames string `op:"axis_names"`

	// Whether folded axes stay, with extent 1. Default: false.
	KeepDims bool `op:"keep_dims"`

	// Number that is subtracted from the number of elements before the division. Default: 0.
	Ddof int `op:"ddof"`
}

// ReductionsSum are the arguments of reductions.sum.
type ReductionsSum struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Axes to fold, by default all, by number; a negative number counts from the end.
	Axes []int `op:"axes"`

	// Axes to fold, by default all, by the letters of the layout.
	AxisNames string `op:"axis_names"`

	// Whether folded axes stay, with extent 1. Default: false.
	KeepDims bool `op:"keep_dims"`

	// Type of the output: by default an integer type of 64 bits for integers, float32 for float32; also the type
	// of the input, in which sums wrap around, and float32 for integers of up to 32 bits.
	DType tensor.DType `op:"dtype"`
}

// ReductionsVariance are the arguments of reductions.variance.
type ReductionsVariance struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Axes to fold, by default all, by number; a negative number counts from the end.
	Axes []int `op:"axes"`

	// Axes to fold, by default all, by the letters of the layout.
	AxisNames string `op:"axis_names"`

	// Whether folded axes stay, with extent 1. Default: false.
	KeepDims bool `op:"keep_dims"`

	// Number that is subtracted from the number of elements before the division. Default: 0.
	Ddof int `op:"ddof"`
}
