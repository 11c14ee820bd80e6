package image

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "hsv",
		Doc:     "Turns the hue and changes the saturation and the value of RGB images, as one linear map of the channels.",
		Inputs:  twistInputs(),
		Outputs: []op.Port{{Name: "twisted", Doc: "images of the same shape"}},
		Params: []op.Parameter{
			{Name: "dtype", Type: op.DType, Default: tensor.Uint8, Doc: "Output type."},
			hueParam, saturationParam, valueParam,
		},
		Precision: op.Tolerance,
		New:       newColorTwist,
	})
}
