// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// RandomCoinFlip are the arguments of random.coin_flip.
type RandomCoinFlip struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Probability of 1. Default: 0.5.
	Probability op.Arg[float64] `op:"probability"`

	// Output type: int32, the default, bool or uint8.
	DType tensor.DType `op:"dtype"`

	// Shape of a sample; by default a scalar.
	Shape []int `op:"shape"`

	// Seed of this operator; -1: that of the pipeline. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// RandomUniform are the arguments of random.uniform.
type RandomUniform struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// First number and the one after the last. Default: -1 1.
	Range op.Arg[[]float64] `op:"range"`

	// The values to choose from, all as likely; range is not used then.
	Values op.Arg[[]float64] `op:"values"`

	// Output type: float32.
	DType tensor.DType `op:"dtype"`

	// Shape of a sample; by default a scalar.
	Shape []int `op:"shape"`

	// Seed of this operator; -1: that of the pipeline. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}
