package main

import (
	"encoding/binary"
	"math"

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
	compare("debayer-gray", "debayer to gray, 224x224", "image", dali(1)),
	compare("debayer-words", "debayer of uint16, bilinear, 224x224", "image", dali(1)),
	compare("filter-floats", "filter of 3x3 weights, float32, 224x224", "image", dali(1)),
	compare("warp-perspective", "perspective warp, linear, 224x224", "image", dali(1)),
	compare("warp-nearest", "perspective warp, nearest, 224x224", "image", dali(1)),
	compare("warp-cubic", "perspective warp, cubic, 224x224", "image", dali(1)),
	compare("warp-words", "perspective warp of uint16, linear, 224x224", "image", dali(1)),
	compare("warp-shorts", "perspective warp of int16, linear, 224x224", "image", dali(1)),
	compare("warp-floats", "perspective warp of float32, linear, 224x224", "image", dali(1)),
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
	"rgb-to-gray":       onPhoto("color_space_conversion", 3, op.Args{"image_type": op.RGB, "output_type": op.Gray}),
	"rgb-to-ycbcr":      onPhoto("color_space_conversion", 3, op.Args{"image_type": op.RGB, "output_type": op.YCbCr}),
	"ycbcr-to-rgb":      onPhoto("color_space_conversion", 3, op.Args{"image_type": op.YCbCr, "output_type": op.RGB}),
	"equalize":          onPhoto("equalize", 3, nil),
	"clahe":             onPhoto("clahe", 3, op.Args{"tiles_x": 8, "tiles_y": 8, "clip_limit": 2.0}),
	"laplacian":         onPhoto("laplacian", 3, nil),
	"filter":            filtered(tensor.Uint8),
	"filter-floats":     filtered(tensor.Float32),
	"jpeg-distortion":   onPhoto("jpeg_compression_distortion", 3, op.Args{"quality": 50}),
	"debayer":           onPhoto("debayer", 1, op.Args{"blue_position": []int{0, 1}}),
	"debayer-edges":     onPhoto("debayer", 1, op.Args{"blue_position": []int{0, 1}, "algorithm": "edgeaware_ocv"}),
	"debayer-gradients": onPhoto("debayer", 1, op.Args{"blue_position": []int{0, 1}, "algorithm": "vng_ocv"}),
	"debayer-gray":      onPhoto("debayer", 1, op.Args{"blue_position": []int{0, 1}, "algorithm": "gray_ocv"}),
	"debayer-words": func(p *pipeline.Builder) []pipeline.Node {
		return p.Op("debayer", op.Args{"blue_position": []int{0, 1}}, fixed(p, typed(photo(1), tensor.Uint16)))
	},
	"warp-perspective": warped(tensor.Uint8, op.InterpLinear),
	"warp-nearest":     warped(tensor.Uint8, op.InterpNN),
	"warp-cubic":       warped(tensor.Uint8, op.InterpCubic),
	"warp-words":       warped(tensor.Uint16, op.InterpLinear),
	"warp-shorts":      warped(tensor.Int16, op.InterpLinear),
	"warp-floats":      warped(tensor.Float32, op.InterpLinear),
}

// typed returns an image of bytes in another type.
func typed(x tensor.Tensor, t tensor.DType) tensor.Tensor {
	out := tensor.New(t, x.Shape...)
	out.Layout = x.Layout
	for i, v := range x.Data {
		switch t {
		case tensor.Uint8:
			out.Data[i] = v
		case tensor.Float32:
			binary.LittleEndian.PutUint32(out.Data[4*i:], math.Float32bits(float32(v)))
		default:
			binary.LittleEndian.PutUint16(out.Data[2*i:], uint16(v))
		}
	}
	return out
}

// filtered is the graph of a filter on a photo of a type.
func filtered(t tensor.DType) func(p *pipeline.Builder) []pipeline.Node {
	return func(p *pipeline.Builder) []pipeline.Node {
		weights := tensor.FromSlice([]float32{.25, .5, -.125, .1, .75, .3, -.6, .1, .2}, 3, 3)
		return p.Op("filter", nil, fixed(p, typed(photo(3), t)), fixed(p, weights))
	}
}

// warped is the graph of a perspective warp of a photo of a type.
func warped(t tensor.DType, filter op.InterpType) func(p *pipeline.Builder) []pipeline.Node {
	return func(p *pipeline.Builder) []pipeline.Node {
		return p.Op("experimental.warp_perspective", op.Args{"interp_type": filter,
			"matrix": []float64{0.9, 0.1, 5, -0.05, 1.1, 3, 0.0002, -0.0001, 1}}, fixed(p, typed(photo(3), t)))
	}
}
