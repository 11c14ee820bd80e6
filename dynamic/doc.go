// Package dynamic calls operators like functions: the same kernels, run by the same
// executor as graphs of package pipeline, with the same results, one call at a time.
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
// The functions of operators are in dynamic/fn, random ones in dynamic/random, readers in
// dynamic/readers.
//
// # Values
//
// A [Tensor] is one array, a [Batch] a list of arrays of one type. They are lazy, immutable and
// safe for concurrent use: a method that returns elements or a shape waits until they are computed.
// A call gives Batches where an input or an argument is a Batch; Tensors among them serve all
// samples. Batches of different sizes are an error, errs.Invalid.
//
// # Modes
//
//	mode      computed                                       errors are seen
//	Deferred  when wanted, or by EvalContext.EvaluateAll     when wanted
//	Eager     in the background, in the order of the calls   when wanted
//	Sync      before the call returns                        at once
//
// The context has the mode, see [WithMode]; Eager is the default. Random numbers are drawn when the
// call is made. So results depend neither on the mode nor on the number of threads.
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
// # Contexts of evaluation
//
// An [EvalContext] has the threads and what was made ready for earlier calls: each call is a graph
// of one operator, kept for calls with equal arguments and inputs of the same types, numbers of
// axes and layouts, for batches up to the same power of two. [With] says which one a
// context.Context means; [Default] is there for those that name none.
//
// # Compiled loops
//
// [Compile] calls a function once with values that have no contents, and makes of the
// calls in it one graph, which runs ahead of who takes its results:
//
//	loop, err := dynamic.Compile(ctx, reader.Root(64), func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
//		images := fn.DecodersImage(ctx, in[0].(*dynamic.Batch), fn.DecodersImageArgs{})
//		return []dynamic.Value{fn.RandomResizedCrop(ctx, rng, images, args), in[1]}
//	}, dynamic.LoopOptions{})
//	for values, err := range loop.Steps(ctx) {
//
// The loop gives the same results as the calls. Generators and root stand where the calls would
// have left them after the step that was delivered, so checkpoints do not differ either.
//
// # Memory
//
// The outputs of a call are its own. They stay until nobody has them any more, or until
// Release, which gives large ones to the next calls without a detour through the garbage collector.
package dynamic
