package main

import (
	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// onPictures are the comparisons on images.
var onPictures = []turns.Comparison{
	compare("rgb-to-gray", "RGB to gray, 224x224", "image", dali(1)),
	compare("rgb-to-ycbcr", "RGB to YCbCr, 224x224", "image", dali(1)),
	compare("ycbcr-to-rgb", "YCbCr to RGB, 224x224", "image", dali(1)),
	compare("equalize", "histogram equalization, 224x224", "image", dali(1)),
	compare("clahe", "CLAHE with 8x8 tiles, 224x224", "image", dali(1)),
	compare("laplacian", "Laplacian, 224x224", "image", dali(1)),
	compare("filter", "filter of 3x3 weights, 224x224", "image", dali(1)),
	compare("jpeg-distortion", "JPEG distortion of quality 50, 224x224", "image", dali(1)),
	compare("debayer", "debayer, bilinear, 224x224", "image", dali(1)),
	compare("debayer-edges", "debayer, edge-aware, 224x224", "image", dali(1)),
	compare("debayer-gradients", "debayer, VNG, 224x224", "image", dali(1)),
	compare("warp-perspective", "perspective warp, linear, 224x224", "image", dali(1)),
}

// photo returns an image with smooth parts and noise: the same as in pictures.py.
func photo(channels int) tensor.Tensor {
	const side = 224
	t := tensor.New(tensor.Uint8, side, side, channels)
	for y := range side {
		for x := range side {
			for c := range channels {
				t.Data[(y*side+x)*channels+c] = byte(x*(c+1)/2 + y/2 + (x*31+y*17+c*7)%23)
			}
		}
	}
	t.Layout = "HWC"
	return t
}

// onPhoto is the graph of one operator on a photo.
func onPhoto(name string, channels int, args op.Args) func(p *pipeline.Builder) []pipeline.Node {
	return func(p *pipeline.Builder) []pipeline.Node { return p.Op(name, args, fixed(p, photo(channels))) }
}

// pictureGraphs are Bivouac's side: the graphs of pictures.py in Go.
var pictureGraphs = map[string]func(p *pipeline.Builder) []pipeline.Node{
	"rgb-to-gray":  onPhoto("color_space_conversion", 3, op.Args{"image_type": op.RGB, "output_type": op.Gray}),
	"rgb-to-ycbcr": onPhoto("color_space_conversion", 3, op.Args{"image_type": op.RGB, "output_type": op.YCbCr}),
	"ycbcr-to-rgb": onPhoto("color_space_conversion", 3, op.Args{"image_type": op.YCbCr, "output_type": op.RGB}),
	"equalize":     onPhoto("equalize", 3, nil),
	"clahe":        onPhoto("clahe", 3, op.Args{"tiles_x": 8, "tiles_y": 8, "clip_limit": 2.0}),
	"laplacian":    onPhoto("laplacian", 3, nil),
	"filter": func(p *pipeline.Builder) []pipeline.Node {
		weights := tensor.FromSlice([]float32{.25, .5, -.125, .1, .75, .3, -.6, .1, .2}, 3, 3)
		return p.Op("filter", nil, fixed(p, photo(3)), fixed(p, weights))
	},
	"jpeg-distortion":   onPhoto("jpeg_compression_distortion", 3, op.Args{"quality": 50}),
	"debayer":           onPhoto("debayer", 1, op.Args{"blue_position": []int{0, 1}}),
	"debayer-edges":     onPhoto("debayer", 1, op.Args{"blue_position": []int{0, 1}, "algorithm": "edgeaware_ocv"}),
	"debayer-gradients": onPhoto("debayer", 1, op.Args{"blue_position": []int{0, 1}, "algorithm": "vng_ocv"}),
	"warp-perspective": onPhoto("experimental.warp_perspective", 3,
		op.Args{"matrix": []float64{0.9, 0.1, 5, -0.05, 1.1, 3, 0.0002, -0.0001, 1}}),
}
