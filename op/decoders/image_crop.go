package decoders

import (
	"github.com/bivouac-ml/bivouac/codec/jpeg"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/window"
)

func init() {
	op.Register(imageCropSchema())
}

func imageCropSchema() op.Schema {
	return op.Schema{
		Name: "image_crop", Module: []string{"decoders"},
		Doc:       "Decodes a window of images, whose size and place are given as for crop. It must not leave the image.",
		Inputs:    []op.Port{encoded()},
		Outputs:   decoded(),
		Params:    params(window.CropParams()),
		Precision: op.Tolerance,
		New:       newImageCrop,
	}
}

func newImageCrop(c *op.Config) (op.Kernel, error) {
	k, err := newDecoder(c)
	if err != nil {
		return nil, err
	}
	crop, err := window.NewCrop(c, window.Error)
	if err != nil {
		return nil, err
	}
	k.infer = func() (height, width int) {
		_, h, w := crop.Infer(1, -1, -1)
		return h, w
	}
	k.where = func(b *op.Block, s, height, width, _ int) (jpeg.Region, error) {
		box, err := crop.At(b, s, window.NoDepth, height, width)
		return jpeg.Region{X: box.X, Y: box.Y, W: box.W, H: box.H}, err
	}
	return k, nil
}
