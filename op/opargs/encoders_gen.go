// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
)

// EncodersJpeg are the arguments of encoders.jpeg.
type EncodersJpeg struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Quality from 1, the worst, to 100; other numbers are limited to this range. Default: 75.
	Quality op.Arg[int] `op:"quality"`

	// How much colour is kept: "4:2:0" half both ways, "4:4:4" all. Gray images ignore it. Default: "4:2:0".
	Subsampling op.Arg[string] `op:"subsampling"`
}

// EncodersPng are the arguments of encoders.png.
type EncodersPng struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// How much time is spent for a small file: "none", "fast", "default" or "best". Default: "default".
	Compression op.Arg[string] `op:"compression"`
}

// EncodersWav are the arguments of encoders.wav.
type EncodersWav struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Frames per second, rounded to a whole number. Required.
	SampleRate op.Arg[float64] `op:"sample_rate"`
}

// EncodersWebp are the arguments of encoders.webp.
type EncodersWebp struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it
}
