// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// DecodersImageArgs are the arguments of decoders.image.
type DecodersImageArgs = opargs.DecodersImage

// DecodersImage is decoders.image. Decodes images. JPEG is known.
//
// Input encoded: the bytes of an image file.
// Output images: images, uint8 HWC.
func DecodersImage(p *pipeline.Builder, encoded pipeline.Node, args DecodersImageArgs) (images pipeline.Node) {
	out := p.Op("decoders.image", args, encoded)
	return out[0]
}
