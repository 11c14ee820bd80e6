// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// NoiseGaussianArgs are the arguments of noise.gaussian.
type NoiseGaussianArgs = opargs.NoiseGaussian

// NoiseGaussian is noise.gaussian. Adds numbers from a normal distribution to tensors.
//
// Input data: tensors of integers or float32.
// Output noisy: tensors like the input.
func NoiseGaussian(p *pipeline.Builder, data pipeline.Node, args NoiseGaussianArgs) (noisy pipeline.Node) {
	out := p.Op("noise.gaussian", args, data)
	return out[0]
}

// NoiseSaltAndPepperArgs are the arguments of noise.salt_and_pepper.
type NoiseSaltAndPepperArgs = opargs.NoiseSaltAndPepper

// NoiseSaltAndPepper is noise.salt_and_pepper. Sets random pixels to white or black, each with a given
// probability.
//
// Input data: tensors of integers or float32.
// Output noisy: tensors like the input.
func NoiseSaltAndPepper(p *pipeline.Builder, data pipeline.Node, args NoiseSaltAndPepperArgs) (noisy pipeline.Node) {
	out := p.Op("noise.salt_and_pepper", args, data)
	return out[0]
}

// NoiseShotArgs are the arguments of noise.shot.
type NoiseShotArgs = opargs.NoiseShot

// NoiseShot is noise.shot. Replaces each value by a number from a Poisson distribution whose mean is the
// value, like the noise of few photons.
//
// Input data: tensors of integers or float32.
// Output noisy: tensors like the input.
func NoiseShot(p *pipeline.Builder, data pipeline.Node, args NoiseShotArgs) (noisy pipeline.Node) {
	out := p.Op("noise.shot", args, data)
	return out[0]
}
