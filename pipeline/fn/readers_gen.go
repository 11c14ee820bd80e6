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
