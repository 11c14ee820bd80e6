// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package random

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// BetaArgs are the arguments of random.beta.
type BetaArgs = opargs.RandomBeta

// Beta is random.beta. Draws numbers between 0 and 1 from a beta distribution.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input shapeLike: tensors whose shape the samples take; may be left out.
// Output numbers: numbers.
func Beta(ctx context.Context, rng *RNG, args BetaArgs, inputs ...*dynamic.Tensor) (numbers *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "random.beta", Args: args, Inputs: dynamic.Values(inputs), Draw: Or(ctx, rng)})
}

// BetaBatch is random.beta for n samples; if n is 0, inputs or arguments that differ by sample tell how many.
//
// See [Beta].
func BetaBatch(ctx context.Context, rng *RNG, n int, args BetaArgs, inputs ...dynamic.Value) (numbers *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "random.beta", Args: args, Inputs: inputs, Draw: Or(ctx, rng), Batch: n})
}

// ChoiceArgs are the arguments of random.choice.
type ChoiceArgs = opargs.RandomChoice

// Choice is random.choice. Chooses among the input's elements along its first axis. If the input is a scalar
// n, chooses among the numbers from 0 to n-1.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input a: the number of choices (an integer), or a tensor of choices.
// Input shapeLike: tensors whose shape the samples take; may be left out.
// Output chosen: choices.
func Choice(ctx context.Context, rng *RNG, a *dynamic.Tensor, args ChoiceArgs, inputs ...*dynamic.Tensor) (chosen *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "random.choice", Args: args, Inputs: dynamic.Values(inputs, a), Draw: Or(ctx, rng)})
}

// ChoiceBatch is random.choice for n samples; if n is 0, inputs or arguments that differ by sample tell how
// many.
//
// See [Choice].
func ChoiceBatch(ctx context.Context, rng *RNG, n int, a dynamic.Value, args ChoiceArgs, inputs ...dynamic.Value) (chosen *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "random.choice", Args: args, Inputs: append([]dynamic.Value{a}, inputs...), Draw: Or(ctx, rng), Batch: n})
}

// CoinFlipArgs are the arguments of random.coin_flip.
type CoinFlipArgs = opargs.RandomCoinFlip

// CoinFlip is random.coin_flip. Draws 1 with a given probability, and 0 otherwise.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input shapeLike: tensors whose shape the samples take; may be left out.
// Output flips: zeros and ones.
func CoinFlip(ctx context.Context, rng *RNG, args CoinFlipArgs, inputs ...*dynamic.Tensor) (flips *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "random.coin_flip", Args: args, Inputs: dynamic.Values(inputs), Draw: Or(ctx, rng)})
}

// CoinFlipBatch is random.coin_flip for n samples; if n is 0, inputs or arguments that differ by sample tell
// how many.
//
// See [CoinFlip].
func CoinFlipBatch(ctx context.Context, rng *RNG, n int, args CoinFlipArgs, inputs ...dynamic.Value) (flips *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "random.coin_flip", Args: args, Inputs: inputs, Draw: Or(ctx, rng), Batch: n})
}

// NormalArgs are the arguments of random.normal.
type NormalArgs = opargs.RandomNormal

// Normal is random.normal. Draws numbers from a normal distribution.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input shapeLike: tensors whose shape the samples take; may be left out.
// Output numbers: numbers.
func Normal(ctx context.Context, rng *RNG, args NormalArgs, inputs ...*dynamic.Tensor) (numbers *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "random.normal", Args: args, Inputs: dynamic.Values(inputs), Draw: Or(ctx, rng)})
}

// NormalBatch is random.normal for n samples; if n is 0, inputs or arguments that differ by sample tell how
// many.
//
// See [Normal].
func NormalBatch(ctx context.Context, rng *RNG, n int, args NormalArgs, inputs ...dynamic.Value) (numbers *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "random.normal", Args: args, Inputs: inputs, Draw: Or(ctx, rng), Batch: n})
}

// UniformArgs are the arguments of random.uniform.
type UniformArgs = opargs.RandomUniform

// Uniform is random.uniform. Draws numbers evenly from a range without its end, or from a list of values.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input shapeLike: tensors whose shape the samples take; may be left out.
// Output numbers: numbers.
func Uniform(ctx context.Context, rng *RNG, args UniformArgs, inputs ...*dynamic.Tensor) (numbers *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "random.uniform", Args: args, Inputs: dynamic.Values(inputs), Draw: Or(ctx, rng)})
}

// UniformBatch is random.uniform for n samples; if n is 0, inputs or arguments that differ by sample tell how
// many.
//
// See [Uniform].
func UniformBatch(ctx context.Context, rng *RNG, n int, args UniformArgs, inputs ...dynamic.Value) (numbers *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "random.uniform", Args: args, Inputs: inputs, Draw: Or(ctx, rng), Batch: n})
}
