// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// ReadersFileArgs are the arguments of readers.file.
type ReadersFileArgs = opargs.ReadersFile

// ReadersFile is readers.file. Reads whole files and their labels. With file_root, each folder below it is a
// class: folders are sorted by the bytes of their names and numbered from 0, empty ones too, and so are the
// files in each; deeper folders are not entered.
//
// Output files: the bytes of a file, uint8.
// Output labels: its label, int32 of shape [1].
func ReadersFile(p *pipeline.Builder, args ReadersFileArgs) (files, labels pipeline.Node) {
	out := p.Op("readers.file", args)
	return out[0], out[1]
}

// ReadersNumpyArgs are the arguments of readers.numpy.
type ReadersNumpyArgs = opargs.ReadersNumpy

// ReadersNumpy is readers.numpy. Reads arrays of numpy: files with one array each, as numpy.save writes them,
// or a region of each array. All have the type and the number of axes of the first file.
//
// Output arrays: the array of a file, in C order.
func ReadersNumpy(p *pipeline.Builder, args ReadersNumpyArgs) (arrays pipeline.Node) {
	out := p.Op("readers.numpy", args)
	return out[0]
}

// ReadersSequenceArgs are the arguments of readers.sequence.
type ReadersSequenceArgs = opargs.ReadersSequence

// ReadersSequence is readers.sequence. Reads sequences of images: each folder of a directory is a stream,
// whose images are frames in the order of the bytes of their names. The frames of a sequence must be equally
// large. Images are not turned as their EXIF orientation says.
//
// Output sequences: frames, uint8 of layout FHWC.
//
// Deprecated: it still works, but new programs read files and decode them
func ReadersSequence(p *pipeline.Builder, args ReadersSequenceArgs) (sequences pipeline.Node) {
	out := p.Op("readers.sequence", args)
	return out[0]
}

// ReadersWebdatasetArgs are the arguments of readers.webdataset.
type ReadersWebdatasetArgs = opargs.ReadersWebdataset

// ReadersWebdataset is readers.webdataset. Reads samples of several files out of tar archives, as the package
// webdataset writes them. Files whose names are equal up to the first dot behind the last slash are one
// sample. The rest of the name is the component. Each output has the bytes of a component.
//
// Output component: the bytes of a component, as elements of its dtype.
func ReadersWebdataset(p *pipeline.Builder, args ReadersWebdatasetArgs) []pipeline.Node {
	return p.Op("readers.webdataset", args)
}
