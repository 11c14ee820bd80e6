// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// RandomBetaArgs are the arguments of random.beta.
type RandomBetaArgs = opargs.RandomBeta

// RandomBeta is random.beta. Draws numbers between 0 and 1 from a beta distribution.
//
// Input shapeLike: tensors whose shape the samples take; may be left out.
// Output numbers: numbers.
func RandomBeta(p *pipeline.Builder, args RandomBetaArgs, inputs ...pipeline.Node) (numbers pipeline.Node) {
	out := p.Op("random.beta", args, inputs...)
	return out[0]
}

// RandomChoiceArgs are the arguments of random.choice.
type RandomChoiceArgs = opargs.RandomChoice

// RandomChoice is random.choice. Chooses among the input's elements along its first axis. If the input is a
// scalar n, chooses among the numbers from 0 to n-1.
//
// Input a: the number of choices (an integer), or a tensor of choices.
// Input shapeLike: tensors whose shape the samples take; may be left out.
// Output chosen: choices.
func RandomChoice(p *pipeline.Builder, a pipeline.Node, args RandomChoiceArgs, inputs ...pipeline.Node) (chosen pipeline.Node) {
	out := p.Op("random.choice", args, append([]pipeline.Node{a}, inputs...)...)
	return out[0]
}

// RandomCoinFlipArgs are the arguments of random.coin_flip.
type RandomCoinFlipArgs = opargs.RandomCoinFlip

// RandomCoinFlip is random.coin_flip. Draws 1 with a given probability, and 0 otherwise.
//
// Input shapeLike: tensors whose shape the samples take; may be left out.
// Output flips: zeros and ones.
func RandomCoinFlip(p *pipeline.Builder, args RandomCoinFlipArgs, inputs ...pipeline.Node) (flips pipeline.Node) {
	out := p.Op("random.coin_flip", args, inputs...)
	return out[0]
}

// RandomNormalArgs are the arguments of random.normal.
type RandomNormalArgs = opargs.RandomNormal

// RandomNormal is random.normal. Draws numbers from a normal distribution.
//
// Input shapeLike: tensors whose shape the samples take; may be left out.
// Output numbers: numbers.
func RandomNormal(p *pipeline.Builder, args RandomNormalArgs, inputs ...pipeline.Node) (numbers pipeline.Node) {
	out := p.Op("random.normal", args, inputs...)
	return out[0]
}

// RandomUniformArgs are the arguments of random.uniform.
type RandomUniformArgs = opargs.RandomUniform

// RandomUniform is random.uniform. Draws numbers evenly from a range without its end, or from a list of
// values.
//
// Input shapeLike: tensors whose shape the samples take; may be left out.
// Output numbers: numbers.
func RandomUniform(p *pipeline.Builder, args RandomUniformArgs, inputs ...pipeline.Node) (numbers pipeline.Node) {
	out := p.Op("random.uniform", args, inputs...)
	return out[0]
}
