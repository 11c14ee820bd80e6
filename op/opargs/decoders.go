// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
)

// DecodersImage are the arguments of decoders.image.
type DecodersImage struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Colour space of the output: RGB or GRAY. Default: RGB.
	OutputType op.ImageType `op:"output_type"`

	// Turns images as their EXIF orientation asks. Default: true.
	AdjustOrientation op.Arg[bool] `op:"adjust_orientation"`
}
