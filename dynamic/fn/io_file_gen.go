// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// IoFileReadArgs are the arguments of io.file.read.
type IoFileReadArgs = opargs.IoFileRead

// IoFileRead is io.file.read. Reads files whose paths are the samples. A relative path is relative to the
// working directory.
//
// Input filepaths: paths as bytes; a zero byte ends a path.
// Output contents: the contents, uint8.
func IoFileRead[T dynamic.Kind](ctx context.Context, filepaths T, args IoFileReadArgs) (contents T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "io.file.read", Args: args, Inputs: []dynamic.Value{filepaths}})
}
