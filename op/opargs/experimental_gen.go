// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// ExperimentalPeekImageShape are the arguments of experimental.peek_image_shape.
type ExperimentalPeekImageShape struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the numbers: int32, uint32, int64, uint64, float32 or float64. Default: int64.
	DType tensor.DType `op:"dtype"`

	// Colour space that the channels are those of; ANY_DATA: what the file has. Default: RGB.
	ImageType op.ImageType `op:"image_type"`

	// Tells the shape of the image when it is turned as its EXIF orientation asks. Default: true.
	AdjustOrientation op.Arg[bool] `op:"adjust_orientation"`
}
