// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// NoiseGaussianArgs are the arguments of noise.gaussian.
type NoiseGaussianArgs = opargs.NoiseGaussian

// NoiseGaussian is noise.gaussian. Adds numbers of a normal distribution to tensors.
//
// Input data: tensors of integers or float32.
// Output noisy: tensors as the input.
func NoiseGaussian(p *pipeline.Builder, data pipeline.Node, args NoiseGaussianArgs) (noisy pipeline.Node) {
	out := p.Op("noise.gaussian", args, data)
	return out[0]
}

// NoiseSaltAndPepperArgs are the arguments of noise.salt_and_pepper.
type NoiseSaltAndPepperArgs = opargs.NoiseSaltAndPepper

// NoiseSaltAndPepper is noise.salt_and_pepper. Sets pixels, drawn with a given probability, to white or
// black.
//
// Input data: tensors of integers or float32.
// Output noisy: tensors as the input.
func NoiseSaltAndPepper(p *pipeline.Builder, data pipeline.Node, args NoiseSaltAndPepperArgs) (noisy pipeline.Node) {
	out := p.Op("noise.salt_and_pepper", args, data)
	return out[0]
}

// NoiseShotArgs are the arguments of noise.shot.
type NoiseShotArgs = opargs.NoiseShot

// NoiseShot is noise.shot. Replaces values by numbers of a Poisson distribution with the value as mean, like
// light of few photons.
//
// Input data: tensors of integers or float32.
// Output noisy: tensors as the input.
func NoiseShot(p *pipeline.Builder, data pipeline.Node, args NoiseShotArgs) (noisy pipeline.Node) {
	out := p.Op("noise.shot", args, data)
	return out[0]
}
