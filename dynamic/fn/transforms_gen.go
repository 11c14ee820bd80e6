// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// TransformsCombineArgs are the arguments of transforms.combine.
type TransformsCombineArgs = opargs.TransformsCombine

// TransformsCombine is transforms.combine. Combines several transforms into one that applies them in turn.
//
// Input first: the transform that is applied first.
// Input next: the transforms that are applied to its result; up to 98 of them.
// Output output: the combined transform.
func TransformsCombine[T dynamic.Kind](ctx context.Context, first T, args TransformsCombineArgs, inputs ...dynamic.Value) (output T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "transforms.combine", Args: args, Inputs: append([]dynamic.Value{first}, inputs...)})
}

// TransformsCropArgs are the arguments of transforms.crop.
type TransformsCropArgs = opargs.TransformsCrop

// TransformsCrop is transforms.crop. Makes the transform that maps one box to another.
//
// Input input: a transform that is applied first; may be left out.
// Output output: the transform, a float32 matrix of n rows and n+1 columns.
func TransformsCrop(ctx context.Context, args TransformsCropArgs, inputs ...*dynamic.Tensor) (output *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "transforms.crop", Args: args, Inputs: dynamic.Values(inputs)})
}

// TransformsCropBatch is transforms.crop for n samples; if n is 0, inputs or arguments that differ by sample
// tell how many.
//
// See [TransformsCrop].
func TransformsCropBatch(ctx context.Context, n int, args TransformsCropArgs, inputs ...dynamic.Value) (output *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "transforms.crop", Args: args, Inputs: inputs, Batch: n})
}

// TransformsRotationArgs are the arguments of transforms.rotation.
type TransformsRotationArgs = opargs.TransformsRotation

// TransformsRotation is transforms.rotation. Makes the transform that turns the plane, or space around an
// axis.
//
// Input input: a transform that is applied first; may be left out.
// Output output: the transform, a float32 matrix of n rows and n+1 columns.
func TransformsRotation(ctx context.Context, args TransformsRotationArgs, inputs ...*dynamic.Tensor) (output *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "transforms.rotation", Args: args, Inputs: dynamic.Values(inputs)})
}

// TransformsRotationBatch is transforms.rotation for n samples; if n is 0, inputs or arguments that differ by
// sample tell how many.
//
// See [TransformsRotation].
func TransformsRotationBatch(ctx context.Context, n int, args TransformsRotationArgs, inputs ...dynamic.Value) (output *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "transforms.rotation", Args: args, Inputs: inputs, Batch: n})
}

// TransformsScaleArgs are the arguments of transforms.scale.
type TransformsScaleArgs = opargs.TransformsScale

// TransformsScale is transforms.scale. Makes the transform that stretches the dimensions.
//
// Input input: a transform that is applied first; may be left out.
// Output output: the transform, a float32 matrix of n rows and n+1 columns.
func TransformsScale(ctx context.Context, args TransformsScaleArgs, inputs ...*dynamic.Tensor) (output *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "transforms.scale", Args: args, Inputs: dynamic.Values(inputs)})
}

// TransformsScaleBatch is transforms.scale for n samples; if n is 0, inputs or arguments that differ by
// sample tell how many.
//
// See [TransformsScale].
func TransformsScaleBatch(ctx context.Context, n int, args TransformsScaleArgs, inputs ...dynamic.Value) (output *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "transforms.scale", Args: args, Inputs: inputs, Batch: n})
}

// TransformsShearArgs are the arguments of transforms.shear.
type TransformsShearArgs = opargs.TransformsShear

// TransformsShear is transforms.shear. Makes the transform that shears the plane or space.
//
// Input input: a transform that is applied first; may be left out.
// Output output: the transform, a float32 matrix of n rows and n+1 columns.
func TransformsShear(ctx context.Context, args TransformsShearArgs, inputs ...*dynamic.Tensor) (output *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "transforms.shear", Args: args, Inputs: dynamic.Values(inputs)})
}

// TransformsShearBatch is transforms.shear for n samples; if n is 0, inputs or arguments that differ by
// sample tell how many.
//
// See [TransformsShear].
func TransformsShearBatch(ctx context.Context, n int, args TransformsShearArgs, inputs ...dynamic.Value) (output *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "transforms.shear", Args: args, Inputs: inputs, Batch: n})
}

// TransformsTranslationArgs are the arguments of transforms.translation.
type TransformsTranslationArgs = opargs.TransformsTranslation

// TransformsTranslation is transforms.translation. Makes the transform that moves points.
//
// Input input: a transform that is applied first; may be left out.
// Output output: the transform, a float32 matrix of n rows and n+1 columns.
func TransformsTranslation(ctx context.Context, args TransformsTranslationArgs, inputs ...*dynamic.Tensor) (output *dynamic.Tensor) {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "transforms.translation", Args: args, Inputs: dynamic.Values(inputs)})
}

// TransformsTranslationBatch is transforms.translation for n samples; if n is 0, inputs or arguments that
// differ by sample tell how many.
//
// See [TransformsTranslation].
func TransformsTranslationBatch(ctx context.Context, n int, args TransformsTranslationArgs, inputs ...dynamic.Value) (output *dynamic.Batch) {
	return dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "transforms.translation", Args: args, Inputs: inputs, Batch: n})
}
