// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
)

// TransformsCombine are the arguments of transforms.combine.
type TransformsCombine struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Whether the last transform is applied first. Default: false.
	ReverseOrder bool `op:"reverse_order"`
}

// TransformsCrop are the arguments of transforms.crop.
type TransformsCrop struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Whether start and end of a box are swapped if the end is smaller; otherwise such a box mirrors. Default:
	// false.
	Absolute bool `op:"absolute"`

	// End of the box that is mapped, for each dimension, or one value for all. Default: 1.
	FromEnd op.Arg[[]float64] `op:"from_end"`

	// Start of the box that is mapped, for each dimension, or one value for all. Default: 0.
	FromStart op.Arg[[]float64] `op:"from_start"`

	// End of the box that it is mapped to, for each dimension, or one value for all. Default: 1.
	ToEnd op.Arg[[]float64] `op:"to_end"`

	// Start of the box that it is mapped to, for each dimension, or one value for all. Default: 0.
	ToStart op.Arg[[]float64] `op:"to_start"`

	// Whether the input transform is applied last instead of first. Default: false.
	ReverseOrder bool `op:"reverse_order"`
}

// TransformsRotation are the arguments of transforms.rotation.
type TransformsRotation struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The angle in degrees. It is counterclockwise if the vertical axis points up, and in space if the axis
	// points towards the viewer. Required.
	Angle op.Arg[float64] `op:"angle"`

	// The axis to turn around, of any length. If it is given, the transform has 3 dimensions, not 2.
	Axis op.Arg[[]float64] `op:"axis"`

	// The point that does not move, by default the origin.
	Center op.Arg[[]float64] `op:"center"`

	// Whether the input transform is applied last instead of first. Default: false.
	ReverseOrder bool `op:"reverse_order"`
}

// TransformsScale are the arguments of transforms.scale.
type TransformsScale struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The point that does not move, by default the origin.
	Center op.Arg[[]float64] `op:"center"`

	// The number of dimensions, if one scale is given for all.
	Ndim op.Arg[int] `op:"ndim"`

	// The scale of each dimension, or one for all. Required.
	Scale op.Arg[[]float64] `op:"scale"`

	// Whether the input transform is applied last instead of first. Default: false.
	ReverseOrder bool `op:"reverse_order"`
}

// TransformsShear are the arguments of transforms.shear.
type TransformsShear struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Angles in degrees. Their tangents are used in place of shear.
	Angles op.Arg[[]float64] `op:"angles"`

	// The point that does not move, by default the origin.
	Center op.Arg[[]float64] `op:"center"`

	// Elements of the matrix outside the diagonal, row by row: 2 values in the plane, 6 in space.
	Shear op.Arg[[]float64] `op:"shear"`

	// Whether the input transform is applied last instead of first. Default: false.
	ReverseOrder bool `op:"reverse_order"`
}

// TransformsTranslation are the arguments of transforms.translation.
type TransformsTranslation struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The distance that points move: one number per dimension. Required.
	Offset op.Arg[[]float64] `op:"offset"`

	// Whether the input transform is applied last instead of first. Default: false.
	ReverseOrder bool `op:"reverse_order"`
}
