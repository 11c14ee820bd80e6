package segmentation

import (
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func BenchmarkMaskPixel(b *testing.B) {
	optest.Bench(b, optest.Case{Op: "segmentation.random_mask_pixel", Args: op.Args{"foreground": 1, "value": 2},
		Inputs: optest.Inputs(sample(tensor.Uint8, 512, 512))})
}

func BenchmarkObjectBox(b *testing.B) {
	optest.Bench(b, optest.Case{Op: "segmentation.random_object_bbox",
		Inputs: optest.Inputs(sample(tensor.Uint8, 512, 512))})
}
