// Package dynamic calls operators like functions, one call at a time. The kernels, the executor and
// the results are the same as for graphs of package pipeline. The functions of operators are in
// dynamic/fn, random functions in dynamic/random, and readers in dynamic/readers.
//
//	ctx := context.Background()
//	jpegs := dynamic.ReadFiles(ctx, paths...)
//	images := fn.DecodersImage(ctx, jpegs, fn.DecodersImageArgs{})
//	small := fn.Resize(ctx, images, fn.ResizeArgs{Size: op.Const([]float64{224, 224})})
//	bright := fn.Mul(ctx, small, 1.5)
//	for i, t := range bright.Tensors() {
//		fmt.Println(i, t.Shape())
//	}
//
// # Values
//
// A [Tensor] is one array. A [Batch] is a list of arrays of one dtype. Both are lazy, immutable and
// safe for concurrent use. A method that returns elements or a shape waits until they are computed.
// A call returns Batches if an input or an argument is a Batch; a Tensor among them is used for all
// samples. Batches of different sizes are an error of kind errs.Invalid. The outputs of a call do
// not share memory with other values. They live until nothing refers to them, or until Release,
// which gives large memory directly to the next calls.
//
// # Errors
//
// A value whose call failed has an error. Every value that is computed from it has the same error.
// The error names the operator, the sample, what was wanted and found, and the line of the program:
//
//	dynamic: call at augment.go:42: crop: sample 3: invalid: …
//
// Evaluate waits for the value and returns the error. After that, Err has it.
//
// # Contexts
//
// The context.Context of a call says when it is computed (see [Mode]) and by which workers (see
// [EvalContext]); by default [Default] computes it in the background. [Compile] makes one graph of
// many calls, which runs ahead of the loop that takes its results.
package dynamic
