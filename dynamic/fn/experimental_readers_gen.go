// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// ExperimentalReadersFitsArgs are the arguments of experimental.readers.fits.
type ExperimentalReadersFitsArgs = opargs.ExperimentalReadersFits

// ExperimentalReadersFits is experimental.readers.fits. Reads images of FITS files, plain or compressed tile
// by tile. Each output is an image of each file; all have the type and the number of axes of the first file.
//
// Output image: the image of an HDU, in C order.
func ExperimentalReadersFits(ctx context.Context, args ExperimentalReadersFitsArgs) []*dynamic.Tensor {
	return dynamic.InvokeN[*dynamic.Tensor](ctx, dynamic.Call{Op: "experimental.readers.fits", Args: args}, 0)
}

// ExperimentalReadersFitsBatch is experimental.readers.fits for n samples; if n is 0, inputs or arguments
// that differ by sample tell how many.
//
// See [ExperimentalReadersFits].
func ExperimentalReadersFitsBatch(ctx context.Context, n int, args ExperimentalReadersFitsArgs) []*dynamic.Batch {
	return dynamic.InvokeN[*dynamic.Batch](ctx, dynamic.Call{Op: "experimental.readers.fits", Args: args, Batch: n}, 0)
}
