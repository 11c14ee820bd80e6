// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// ReductionsMaxArgs are the arguments of reductions.max.
type ReductionsMaxArgs = opargs.ReductionsMax

// ReductionsMax is reductions.max. Returns the largest element. NaN is ignored. If there is no other element,
// the result is the smallest finite number of the type.
//
// Input input: integers of 8 to 64 bits or float32.
// Output output: one element, of the type of the input, for all elements that are folded together.
func ReductionsMax[T dynamic.Kind](ctx context.Context, input T, args ReductionsMaxArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "reductions.max", Args: args, Inputs: []dynamic.Value{input}})
}

// ReductionsMeanArgs are the arguments of reductions.mean.
type ReductionsMeanArgs = opargs.ReductionsMean

// ReductionsMean is reductions.mean. Returns the mean of elements.
//
// Input input: integers of 8 to 64 bits or float32.
// Output output: one number for all elements that are folded together.
func ReductionsMean[T dynamic.Kind](ctx context.Context, input T, args ReductionsMeanArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "reductions.mean", Args: args, Inputs: []dynamic.Value{input}})
}

// ReductionsMeanSquareArgs are the arguments of reductions.mean_square.
type ReductionsMeanSquareArgs = opargs.ReductionsMeanSquare

// ReductionsMeanSquare is reductions.mean_square. Returns the mean of the squares of elements.
//
// Input input: integers of 8 to 64 bits or float32.
// Output output: one number for all elements that are folded together.
func ReductionsMeanSquare[T dynamic.Kind](ctx context.Context, input T, args ReductionsMeanSquareArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "reductions.mean_square", Args: args, Inputs: []dynamic.Value{input}})
}

// ReductionsMinArgs are the arguments of reductions.min.
type ReductionsMinArgs = opargs.ReductionsMin

// ReductionsMin is reductions.min. Returns the smallest element. NaN is ignored. If there is no other
// element, the result is the largest finite number of the type.
//
// Input input: integers of 8 to 64 bits or float32.
// Output output: one element, of the type of the input, for all elements that are folded together.
func ReductionsMin[T dynamic.Kind](ctx context.Context, input T, args ReductionsMinArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "reductions.min", Args: args, Inputs: []dynamic.Value{input}})
}

// ReductionsRmsArgs are the arguments of reductions.rms.
type ReductionsRmsArgs = opargs.ReductionsRms

// ReductionsRms is reductions.rms. Returns the square root of the mean of the squares of elements.
//
// Input input: integers of 8 to 64 bits or float32.
// Output output: one number for all elements that are folded together.
func ReductionsRms[T dynamic.Kind](ctx context.Context, input T, args ReductionsRmsArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "reductions.rms", Args: args, Inputs: []dynamic.Value{input}})
}

// ReductionsStdDevArgs are the arguments of reductions.std_dev.
type ReductionsStdDevArgs = opargs.ReductionsStdDev

// ReductionsStdDev is reductions.std_dev. Returns the standard deviation: the square root of the mean of the
// squared distances of elements from a mean.
//
// Input data: integers of 8 to 64 bits or float32.
// Input mean: float32 means: one for each element of the output, or one for all.
// Output output: one float32 for all elements that are folded together.
func ReductionsStdDev[T dynamic.Kind](ctx context.Context, data T, mean dynamic.Value, args ReductionsStdDevArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "reductions.std_dev", Args: args, Inputs: []dynamic.Value{data, mean}})
}

// ReductionsSumArgs are the arguments of reductions.sum.
type ReductionsSumArgs = opargs.ReductionsSum

// ReductionsSum is reductions.sum. Adds up elements.
//
// Input input: integers of 8 to 64 bits or float32.
// Output output: one number for all elements that are folded together.
func ReductionsSum[T dynamic.Kind](ctx context.Context, input T, args ReductionsSumArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "reductions.sum", Args: args, Inputs: []dynamic.Value{input}})
}

// ReductionsVarianceArgs are the arguments of reductions.variance.
type ReductionsVarianceArgs = opargs.ReductionsVariance

// ReductionsVariance is reductions.variance. Returns the variance: the mean of the squared distances of
// elements from a mean.
//
// Input data: integers of 8 to 64 bits or float32.
// Input mean: float32 means: one for each element of the output, or one for all.
// Output output: one float32 for all elements that are folded together.
func ReductionsVariance[T dynamic.Kind](ctx context.Context, data T, mean dynamic.Value, args ReductionsVarianceArgs) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "reductions.variance", Args: args, Inputs: []dynamic.Value{data, mean}})
}
