// Package fn holds a typed function for each operator, which computes it at once: the
// operators of dynamic mode. Readers are in dynamic/readers, the operators of module
// random in dynamic/random.
//
//	images := fn.DecodersImage(ctx, dynamic.BatchOf(jpegs), fn.DecodersImageArgs{})
//	small := fn.Resize(ctx, images, fn.ResizeArgs{Size: op.Const([]float64{224, 224})})[0]
//	noisy := fn.NoiseGaussian(ctx, rng, small, fn.NoiseGaussianArgs{})
//	samples, err := noisy.Tensors(ctx)
//
// Names, arguments and results are the same as in pipeline/fn: an operator gives the same bytes in
// both.
//
// # Samples and batches
//
// What a function gives is of the kind of its first input: of a *dynamic.Tensor a
// *dynamic.Tensor, of a *dynamic.Batch a *dynamic.Batch. Further inputs and
// arguments that differ by sample, op.Of[T](batch), may be of either kind; a Tensor is
// broadcast to the batch. A Tensor and then a Batch is a mistake that
// dynamic.Broadcast mends. Functions without inputs come twice: Ones makes a Tensor,
// OnesBatch a Batch.
//
// # Random numbers
//
// Operators that draw take a *random.RNG after the context; nil stands for the generator of the
// context, random.From. A call takes rng.ForkWords numbers of it, whatever the size of the batch.
// The argument seed is for pipelines, and refused here.
//
// # Errors
//
// Values carry their error, with the place of the call that failed first; see package
// dynamic.
//
// # Arithmetic
//
// Add, Sqrt and the other functions of arithmetic take values and Go numbers:
// fn.Add(ctx, x, 1). [dynamic.Apply] has the rules.
//
// The functions are generated from the schemas, together with the functions of pipeline/fn.
package fn
