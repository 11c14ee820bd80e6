// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// NoiseGaussianArgs are the arguments of noise.gaussian.
type NoiseGaussianArgs = opargs.NoiseGaussian

// NoiseGaussian is noise.gaussian. Adds numbers from a normal distribution to tensors.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input data: tensors of integers or float32.
// Output noisy: tensors like the input.
func NoiseGaussian[T dynamic.Kind](ctx context.Context, rng *random.RNG, data T, args NoiseGaussianArgs) (noisy T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "noise.gaussian", Args: args, Inputs: []dynamic.Value{data}, Draw: random.Or(ctx, rng)})
}

// NoiseSaltAndPepperArgs are the arguments of noise.salt_and_pepper.
type NoiseSaltAndPepperArgs = opargs.NoiseSaltAndPepper

// NoiseSaltAndPepper is noise.salt_and_pepper. Sets random pixels to white or black, each with a given
// probability.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input data: tensors of integers or float32.
// Output noisy: tensors like the input.
func NoiseSaltAndPepper[T dynamic.Kind](ctx context.Context, rng *random.RNG, data T, args NoiseSaltAndPepperArgs) (noisy T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "noise.salt_and_pepper", Args: args, Inputs: []dynamic.Value{data}, Draw: random.Or(ctx, rng)})
}

// NoiseShotArgs are the arguments of noise.shot.
type NoiseShotArgs = opargs.NoiseShot

// NoiseShot is noise.shot. Replaces each value by a number from a Poisson distribution whose mean is the
// value, like the noise of few photons.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input data: tensors of integers or float32.
// Output noisy: tensors like the input.
func NoiseShot[T dynamic.Kind](ctx context.Context, rng *random.RNG, data T, args NoiseShotArgs) (noisy T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "noise.shot", Args: args, Inputs: []dynamic.Value{data}, Draw: random.Or(ctx, rng)})
}
