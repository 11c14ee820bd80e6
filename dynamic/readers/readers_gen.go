// Code generated from the schemas by go generate ./dynamic/readers; DO NOT EDIT.

package readers

import "github.com/bivouac-ml/bivouac/op/opargs"

// NewFits returns a reader of kind experimental.readers.fits.
//
// Reads images of FITS files, plain or compressed tile by tile. Each output is an image of each file; all have
// the type and the number of axes of the first file.
//
// Outputs:
//   - image: the image of an HDU, in C order
func NewFits(args opargs.ExperimentalReadersFits, o Options) (*Reader, error) {
	return New("experimental.readers.fits", args, o)
}

// NewNumpyReader returns a reader of kind numpy_reader.
//
// Reads arrays of numpy: files with one array each, as numpy.save writes them, or a region of each array. All
// have the type and the number of axes of the first file.
//
// Outputs:
//   - arrays: the array of a file, in C order
func NewNumpyReader(args opargs.NumpyReader, o Options) (*Reader, error) {
	return New("numpy_reader", args, o)
}

// NewFile returns a reader of kind readers.file.
//
// Reads whole files and their labels. With file_root, each folder below it is a class: folders are sorted by
// the bytes of their names and numbered from 0, empty ones too, and so are the files in each; deeper folders
// are not entered.
//
// Outputs:
//   - files: the bytes of a file, uint8
//   - labels: its label, int32 of shape [1]
func NewFile(args opargs.ReadersFile, o Options) (*Reader, error) {
	return New("readers.file", args, o)
}

// NewNumpy returns a reader of kind readers.numpy.
//
// Reads arrays of numpy: files with one array each, as numpy.save writes them, or a region of each array. All
// have the type and the number of axes of the first file.
//
// Outputs:
//   - arrays: the array of a file, in C order
func NewNumpy(args opargs.ReadersNumpy, o Options) (*Reader, error) {
	return New("readers.numpy", args, o)
}

// NewSequence returns a reader of kind readers.sequence.
//
// Reads sequences of images: each folder of a directory is a stream, whose images are frames in the order of
// the bytes of their names. The frames of a sequence must be equally large. Images are not turned as their
// EXIF orientation says.
//
// Outputs:
//   - sequences: frames, uint8 of layout FHWC
func NewSequence(args opargs.ReadersSequence, o Options) (*Reader, error) {
	return New("readers.sequence", args, o)
}

// NewWebdataset returns a reader of kind readers.webdataset.
//
// Reads samples of several files out of tar archives, as the package webdataset writes them. Files whose names
// are equal up to the first dot behind the last slash are one sample. The rest of the name is the component.
// Each output has the bytes of a component.
//
// Outputs:
//   - component: the bytes of a component, as elements of its dtype
func NewWebdataset(args opargs.ReadersWebdataset, o Options) (*Reader, error) {
	return New("readers.webdataset", args, o)
}

// NewSequenceReader returns a reader of kind sequence_reader.
//
// Reads sequences of images: each folder of a directory is a stream, whose images are frames in the order of
// the bytes of their names. The frames of a sequence must be equally large. Images are not turned as their
// EXIF orientation says.
//
// Outputs:
//   - sequences: frames, uint8 of layout FHWC
func NewSequenceReader(args opargs.SequenceReader, o Options) (*Reader, error) {
	return New("sequence_reader", args, o)
}
