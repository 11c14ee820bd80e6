package image

import "github.com/bivouac-ml/bivouac/op"

func init() {
	op.Register(op.Schema{
		Name: "brightness",
		Doc: "Changes the brightness: brightness_shift * range + brightness * in, where range is 1 for floats and " +
			"the largest value of the output type otherwise.",
		Inputs:    colorInputs(),
		Outputs:   []op.Port{{Name: "adjusted", Doc: "images of the same shape"}},
		Params:    append(brightnessParams(), colorTypeParam),
		Precision: op.Exact,
		New:       newBrightnessContrast,
	})
}
