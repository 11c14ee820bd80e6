// Package dynamic calls operators like functions: the same kernels, run by the same executor as
// graphs of package pipeline, with the same results, one call at a time. The functions of operators
// are in dynamic/fn, random ones in dynamic/random, readers in dynamic/readers.
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
// A [Tensor] is one array, a [Batch] a list of arrays of one type. They are lazy, immutable and
// safe for concurrent use: a method that returns elements or a shape waits until they are computed.
// A call gives Batches where an input or an argument is a Batch; Tensors among them serve all
// samples. Batches of different sizes are an error, errs.Invalid.
// The outputs of a call are its own. They stay until nobody has them any more, or until Release,
// which gives large ones to the next calls without a detour through the garbage collector.
//
// # Errors
//
// What went wrong is the error of the value, and of all that is computed from it. It
// names the operator, the sample, what was expected and found, and the file and line of
// the call, whatever goroutine computed it:
//
//	dynamic: call at augment.go:42: crop: sample 3: invalid: …
//
// Err returns it without waiting, once the value was waited for; Evaluate waits.
//
// # Contexts
//
// The context.Context of a call says when it is computed, see [Mode], and by which threads, see
// [EvalContext]: by default at once in the background, by the threads of [Default]. [Compile] makes
// one graph of many calls, which runs ahead of the loop that takes its results.
package dynamic
