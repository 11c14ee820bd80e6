// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// ExperimentalInflateArgs are the arguments of experimental.inflate.
type ExperimentalInflateArgs = opargs.ExperimentalInflate

// ExperimentalInflate is experimental.inflate, an older name of decoders.inflate; see [DecodersInflate].
//
// Deprecated: use decoders.inflate
func ExperimentalInflate[T dynamic.Kind](ctx context.Context, compressed T, args ExperimentalInflateArgs) (inflated T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.inflate", Args: args, Inputs: []dynamic.Value{compressed}})
}

// ExperimentalPeekImageShapeArgs are the arguments of experimental.peek_image_shape.
type ExperimentalPeekImageShapeArgs = opargs.ExperimentalPeekImageShape

// ExperimentalPeekImageShape is experimental.peek_image_shape, an older name of peek_image_shape; see
// [PeekImageShape].
//
// Deprecated: use peek_image_shape
func ExperimentalPeekImageShape[T dynamic.Kind](ctx context.Context, encoded T, args ExperimentalPeekImageShapeArgs) (shapes T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "experimental.peek_image_shape", Args: args, Inputs: []dynamic.Value{encoded}})
}
