// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// ExperimentalReadersFitsArgs are the arguments of experimental.readers.fits.
type ExperimentalReadersFitsArgs = opargs.ExperimentalReadersFits

// ExperimentalReadersFits is experimental.readers.fits. Reads images of FITS files, plain or compressed tile
// by tile. Each output is an image of each file; all have the type and the number of axes of the first file.
//
// Output image: the image of an HDU, in C order.
func ExperimentalReadersFits(p *pipeline.Builder, args ExperimentalReadersFitsArgs) []pipeline.Node {
	return p.Op("experimental.readers.fits", args)
}
