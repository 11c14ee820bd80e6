package image

import "github.com/bivouac-ml/bivouac/op"

func init() {
	op.Register(op.Schema{
		Name:      "saturation",
		Doc:       "Changes the saturation of RGB images, as a linear map of the channels.",
		Inputs:    twistInputs(),
		Outputs:   []op.Port{{Name: "twisted", Doc: "images of the same shape"}},
		Params:    append(twistParams(), saturationParam),
		Precision: op.Tolerance,
		New:       newColorTwist,
	})
}
