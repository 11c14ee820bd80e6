package image

import (
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// BenchmarkOperators runs the operators as pipelines do, a sample at a time.
func BenchmarkOperators(b *testing.B) {
	photo, crop := img(1, 375, 500, 3), img(2, 224, 224, 3)
	for _, c := range []struct {
		name string
		op   string
		in   tensor.Tensor
		args op.Args
	}{
		{"resize-500x375-to-224-antialias", "resize", photo, op.Args{"size": []int{224, 224}}},
		{"resize-500x375-to-224-linear", "resize", photo, op.Args{"size": []int{224, 224}, "antialias": false}},
		{"random-resized-crop-224", "random_resized_crop", photo, op.Args{"size": 224}},
		{"crop-mirror-normalize-224-f32-chw", "crop_mirror_normalize", crop, op.Args{"mirror": 1, "mean": []float64{123, 116, 103}, "std": []float64{58, 57, 57}}},
		{"gaussian-blur-224-sigma-1", "gaussian_blur", crop, op.Args{"sigma": 1}},
		{"flip-224", "flip", crop, op.Args{}},
		{"color-twist-224", "color_twist", crop, op.Args{"hue": 20, "saturation": 1.3}},
		{"brightness-contrast-224", "brightness_contrast", crop, op.Args{"contrast": 1.2}},
		{"rgb-to-gray-224", "color_space_conversion", crop, op.Args{"image_type": op.RGB, "output_type": op.Gray}},
		{"rgb-to-ycbcr-224", "color_space_conversion", crop, op.Args{"image_type": op.RGB, "output_type": op.YCbCr}},
		{"ycbcr-to-rgb-224", "color_space_conversion", crop, op.Args{"image_type": op.YCbCr, "output_type": op.RGB}},
		{"equalize-224", "equalize", crop, op.Args{}},
		{"clahe-224", "clahe", crop, op.Args{"tiles_x": 8, "tiles_y": 8, "clip_limit": 2}},
		{"laplacian-224", "laplacian", crop, op.Args{}},
		{"debayer-224", "debayer", img(3, 224, 224, 1), op.Args{"blue_position": []int{0, 1}}},
		{"debayer-edges-224", "debayer", img(3, 224, 224, 1), op.Args{"blue_position": []int{0, 1}, "algorithm": "edgeaware_ocv"}},
		{"debayer-gradients-224", "debayer", img(3, 224, 224, 1), op.Args{"blue_position": []int{0, 1}, "algorithm": "vng_ocv"}},
		{"jpeg-distortion-224", "jpeg_compression_distortion", crop, op.Args{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			optest.Bench(b, optest.Case{Op: c.op, Args: c.args, Inputs: [][]tensor.Tensor{{c.in}}})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
	b.Run("filter-3x3-224", func(b *testing.B) {
		weights := optest.Of[float32]("", []int{3, 3}, .25, .5, -.125, .1, .75, .3, -.6, .1, .2)
		optest.Bench(b, optest.Case{Op: "filter", Args: op.Args{}, Inputs: [][]tensor.Tensor{{crop}, {weights}}})
	})
}
