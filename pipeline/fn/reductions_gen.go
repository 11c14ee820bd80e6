// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// ReductionsMaxArgs are the arguments of reductions.max.
type ReductionsMaxArgs = opargs.ReductionsMax

// ReductionsMax is reductions.max. Returns the largest element. NaN is ignored. If there is no other element,
// the result is the smallest finite number of the type.
//
// Input input: integers of 8 to 64 bits or float32.
// Output output: one element, of the type of the input, for all elements that are folded together.
func ReductionsMax(p *pipeline.Builder, input pipeline.Node, args ReductionsMaxArgs) (output pipeline.Node) {
	out := p.Op("reductions.max", args, input)
	return out[0]
}

// ReductionsMeanArgs are the arguments of reductions.mean.
type ReductionsMeanArgs = opargs.ReductionsMean

// ReductionsMean is reductions.mean. Returns the mean of elements.
//
// Input input: integers of 8 to 64 bits or float32.
// Output output: one number for all elements that are folded together.
func ReductionsMean(p *pipeline.Builder, input pipeline.Node, args ReductionsMeanArgs) (output pipeline.Node) {
	out := p.Op("reductions.mean", args, input)
	return out[0]
}

// ReductionsMeanSquareArgs are the arguments of reductions.mean_square.
type ReductionsMeanSquareArgs = opargs.ReductionsMeanSquare

// ReductionsMeanSquare is reductions.mean_square. Returns the mean of the squares of elements.
//
// Input input: integers of 8 to 64 bits or float32.
// Output output: one number for all elements that are folded together.
func ReductionsMeanSquare(p *pipeline.Builder, input pipeline.Node, args ReductionsMeanSquareArgs) (output pipeline.Node) {
	out := p.Op("reductions.mean_square", args, input)
	return out[0]
}

// ReductionsMinArgs are the arguments of reductions.min.
type ReductionsMinArgs = opargs.ReductionsMin

// ReductionsMin is reductions.min. Returns the smallest element. NaN is ignored. If there is no other
// element, the result is the largest finite number of the type.
//
// Input input: integers of 8 to 64 bits or float32.
// Output output: one element, of the type of the input, for all elements that are folded together.
func ReductionsMin(p *pipeline.Builder, input pipeline.Node, args ReductionsMinArgs) (output pipeline.Node) {
	out := p.Op("reductions.min", args, input)
	return out[0]
}

// ReductionsRmsArgs are the arguments of reductions.rms.
type ReductionsRmsArgs = opargs.ReductionsRms

// ReductionsRms is reductions.rms. Returns the square root of the mean of the squares of elements.
//
// Input input: integers of 8 to 64 bits or float32.
// Output output: one number for all elements that are folded together.
func ReductionsRms(p *pipeline.Builder, input pipeline.Node, args ReductionsRmsArgs) (output pipeline.Node) {
	out := p.Op("reductions.rms", args, input)
	return out[0]
}

// ReductionsStdDevArgs are the arguments of reductions.std_dev.
type ReductionsStdDevArgs = opargs.ReductionsStdDev

// ReductionsStdDev is reductions.std_dev. Returns the standard deviation: the square root of the mean of the
// squared distances of elements from a mean.
//
// Input data: integers of 8 to 64 bits or float32.
// Input mean: float32 means: one for each element of the output, or one for all.
// Output output: one float32 for all elements that are folded together.
func ReductionsStdDev(p *pipeline.Builder, data pipeline.Node, mean pipeline.Node, args ReductionsStdDevArgs) (output pipeline.Node) {
	out := p.Op("reductions.std_dev", args, data, mean)
	return out[0]
}

// ReductionsSumArgs are the arguments of reductions.sum.
type ReductionsSumArgs = opargs.ReductionsSum

// ReductionsSum is reductions.sum. Adds up elements.
//
// Input input: integers of 8 to 64 bits or float32.
// Output output: one number for all elements that are folded together.
func ReductionsSum(p *pipeline.Builder, input pipeline.Node, args ReductionsSumArgs) (output pipeline.Node) {
	out := p.Op("reductions.sum", args, input)
	return out[0]
}

// ReductionsVarianceArgs are the arguments of reductions.variance.
type ReductionsVarianceArgs = opargs.ReductionsVariance

// ReductionsVariance is reductions.variance. Returns the variance: the mean of the squared distances of
// elements from a mean.
//
// Input data: integers of 8 to 64 bits or float32.
// Input mean: float32 means: one for each element of the output, or one for all.
// Output output: one float32 for all elements that are folded together.
func ReductionsVariance(p *pipeline.Builder, data pipeline.Node, mean pipeline.Node, args ReductionsVarianceArgs) (output pipeline.Node) {
	out := p.Op("reductions.variance", args, data, mean)
	return out[0]
}
