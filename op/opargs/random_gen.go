// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// RandomBeta are the arguments of random.beta.
type RandomBeta struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// First parameter of the distribution, above 0. Default: 1.
	Alpha op.Arg[float64] `op:"alpha"`

	// Second parameter of the distribution, above 0. Default: 1.
	Beta op.Arg[float64] `op:"beta"`

	// Output type: float32, the default, or float64.
	DType tensor.DType `op:"dtype"`

	// Shape of a sample; by default a scalar. Not together with an input.
	Shape op.Arg[[]int] `op:"shape"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// RandomChoice are the arguments of random.choice.
type RandomChoice struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Probability of every choice; by default all are equally likely.
	P op.Arg[[]float64] `op:"p"`

	// Shape of a sample; by default a scalar. Not together with an input.
	Shape op.Arg[[]int] `op:"shape"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// RandomCoinFlip are the arguments of random.coin_flip.
type RandomCoinFlip struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Probability of 1. As in DALI, a number below 0 means 0, and a number above 1 means 1. Default: 0.5.
	Probability op.Arg[float64] `op:"probability"`

	// Output type: int32, the default, bool or uint8.
	DType tensor.DType `op:"dtype"`

	// Shape of a sample; by default a scalar. Not together with an input.
	Shape op.Arg[[]int] `op:"shape"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// RandomNormal are the arguments of random.normal.
type RandomNormal struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Mean of the distribution. Default: 0.
	Mean op.Arg[float64] `op:"mean"`

	// Standard deviation of the distribution. Default: 1.
	Stddev op.Arg[float64] `op:"stddev"`

	// Output type: float32, the default, float64 or an integer, to which numbers are rounded.
	DType tensor.DType `op:"dtype"`

	// Shape of a sample; by default a scalar. Not together with an input.
	Shape op.Arg[[]int] `op:"shape"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// RandomUniform are the arguments of random.uniform.
type RandomUniform struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Start and end of the range. The end is excluded. Default: -1 1.
	Range op.Arg[[]float64] `op:"range"`

	// The values to choose from, all equally likely. If they are given, range is not used.
	Values op.Arg[[]float64] `op:"values"`

	// Output type: float32, the default, float64 or an integer, to which numbers are rounded.
	DType tensor.DType `op:"dtype"`

	// Shape of a sample; by default a scalar. Not together with an input.
	Shape op.Arg[[]int] `op:"shape"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}
