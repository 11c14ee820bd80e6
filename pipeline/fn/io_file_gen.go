// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// IoFileReadArgs are the arguments of io.file.read.
type IoFileReadArgs = opargs.IoFileRead

// IoFileRead is io.file.read. Reads files whose paths are the samples. A relative path is relative to the
// working directory.
//
// Input filepaths: paths as bytes; a zero byte ends a path.
// Output contents: the contents, uint8.
func IoFileRead(p *pipeline.Builder, filepaths pipeline.Node, args IoFileReadArgs) (contents pipeline.Node) {
	out := p.Op("io.file.read", args, filepaths)
	return out[0]
}
