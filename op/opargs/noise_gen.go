// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
)

// NoiseGaussian are the arguments of noise.gaussian.
type NoiseGaussian struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Mean of the numbers. Default: 0.
	Mean op.Arg[float64] `op:"mean"`

	// Standard deviation of the numbers. Default: 1.
	Stddev op.Arg[float64] `op:"stddev"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// NoiseSaltAndPepper are the arguments of noise.salt_and_pepper.
type NoiseSaltAndPepper struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Probability that a pixel is set. Default: 0.05.
	Prob op.Arg[float64] `op:"prob"`

	// Probability that a pixel that is set becomes white. Default: 0.5.
	SaltVsPepper op.Arg[float64] `op:"salt_vs_pepper"`

	// The value of white; by default the largest integer, or 1 for floats.
	SaltVal op.Arg[float64] `op:"salt_val"`

	// The value of black; by default the least integer, or -1 for floats.
	PepperVal op.Arg[float64] `op:"pepper_val"`

	// Whether to draw for every channel separately instead of for the whole pixel. Default: false.
	PerChannel bool `op:"per_channel"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// NoiseShot are the arguments of noise.shot.
type NoiseShot struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Value of one photon: larger values give more noise. With 0 or less all results are 0. Default: 20.
	Factor op.Arg[float64] `op:"factor"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}
