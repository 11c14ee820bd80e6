// Package fn holds the operators of dynamic mode: a typed function for each operator, which
// computes the operator at once. Readers are in dynamic/readers, the operators of module random in
// dynamic/random.
//
//	images := fn.DecodersImage(ctx, dynamic.BatchOf(jpegs), fn.DecodersImageArgs{})
//	small := fn.Resize(ctx, images, fn.ResizeArgs{Size: op.Const([]float64{224, 224})})[0]
//	noisy := fn.NoiseGaussian(ctx, rng, small, fn.NoiseGaussianArgs{})
//	samples, err := noisy.Tensors(ctx)
//
// Names, arguments and results are the same as in pipeline/fn. An operator gives the same bytes in
// both.
//
// # Samples and batches
//
// The result of a function has the kind of its first input: *dynamic.Tensor or *dynamic.Batch.
// Further inputs, and arguments that differ by sample (op.Of[T](batch)), may have either kind; a
// Tensor is broadcast to the batch. If the first input is a Tensor and another input is a Batch,
// the call is a mistake: use dynamic.Broadcast for the first input. An operator without inputs has
// two functions: Ones makes a Tensor, and OnesBatch makes a Batch.
//
// # Random numbers
//
// Random operators take a *random.RNG after the context. nil means the generator of the context;
// see random.From. A call draws rng.ForkWords numbers from it, for any batch size. The argument
// seed is for pipelines and is refused here.
//
// # Errors
//
// Each value has its error, with the place of the call that failed first; see package dynamic.
//
// # Arithmetic
//
// Add, Sqrt and the other functions of arithmetic take values and Go numbers:
// fn.Add(ctx, x, 1). [dynamic.Apply] has the rules.
//
// The functions are generated from the schemas, together with the functions of pipeline/fn.
package fn
