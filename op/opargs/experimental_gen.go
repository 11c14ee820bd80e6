// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
)

// ExperimentalAudioResample are the arguments of experimental.audio_resample.
type ExperimentalAudioResample = AudioResample

// ExperimentalDebayer are the arguments of experimental.debayer.
type ExperimentalDebayer = Debayer

// ExperimentalEqualize are the arguments of experimental.equalize.
type ExperimentalEqualize = Equalize

// ExperimentalFilter are the arguments of experimental.filter.
type ExperimentalFilter = Filter

// ExperimentalInflate are the arguments of experimental.inflate.
type ExperimentalInflate = DecodersInflate

// ExperimentalPeekImageShape are the arguments of experimental.peek_image_shape.
type ExperimentalPeekImageShape = PeekImageShape

// ExperimentalTensorResize are the arguments of experimental.tensor_resize.
type ExperimentalTensorResize = TensorResize

// ExperimentalWarpPerspective are the arguments of experimental.warp_perspective.
type ExperimentalWarpPerspective struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// What lies outside the image: "constant", "replicate", "reflect" with the edge, "reflect_101" without the
	// edge, or "wrap". Default: "constant".
	BorderMode op.Arg[string] `op:"border_mode"`

	// Value of the border "constant", one for all channels or one for each; by default 0. Default: .
	FillValue []float64 `op:"fill_value"`

	// INTERP_LINEAR, INTERP_NN or INTERP_CUBIC. Default: INTERP_LINEAR.
	InterpType op.Arg[op.InterpType] `op:"interp_type"`

	// Whether the transform maps the output to the input; otherwise it maps the input to the output. Default:
	// true.
	InverseMap op.Arg[bool] `op:"inverse_map"`

	// The matrix, row by row. Default: .
	Matrix op.Arg[[]float64] `op:"matrix"`

	// Which point of the first pixel is (0, 0): its "corner" or its "center". Default: "corner".
	PixelOrigin op.Arg[string] `op:"pixel_origin"`

	// Height and width of the output; by default the size of the input. Default: .
	Size op.Arg[[]float64] `op:"size"`
}
