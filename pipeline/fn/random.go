// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// RandomCoinFlipArgs are the arguments of random.coin_flip.
type RandomCoinFlipArgs = opargs.RandomCoinFlip

// RandomCoinFlip is random.coin_flip. Draws 1 with a given probability, and 0 otherwise.
//
// Output flips: zeros and ones.
func RandomCoinFlip(p *pipeline.Builder, args RandomCoinFlipArgs) (flips pipeline.Node) {
	out := p.Op("random.coin_flip", args)
	return out[0]
}

// RandomUniformArgs are the arguments of random.uniform.
type RandomUniformArgs = opargs.RandomUniform

// RandomUniform is random.uniform. Draws numbers evenly from a range, whose end is excluded, or from a list
// of values.
//
// Output numbers: float32 numbers.
func RandomUniform(p *pipeline.Builder, args RandomUniformArgs) (numbers pipeline.Node) {
	out := p.Op("random.uniform", args)
	return out[0]
}
