package image

import "github.com/bivouac-ml/bivouac/op"

func init() {
	op.Register(op.Schema{
		Name:      "contrast",
		Doc:       "Changes the contrast: contrast_center + contrast * (in - contrast_center).",
		Inputs:    colorInputs(),
		Outputs:   []op.Port{{Name: "adjusted", Doc: "images of the same shape"}},
		Params:    append(contrastParams(), colorTypeParam),
		Precision: op.Exact,
		New:       newBrightnessContrast,
	})
}
