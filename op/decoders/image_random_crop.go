package decoders

import (
	"github.com/bivouac-ml/bivouac/codec/jpeg"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/cropgen"
)

func init() {
	op.Register(imageRandomCropSchema())
}

func imageRandomCropSchema() op.Schema {
	return op.Schema{
		Name: "image_random_crop", Module: []string{"decoders"},
		Doc:     "Decodes a window of images, of random area, aspect ratio and place, as random_resized_crop draws it.",
		Inputs:  []op.Port{encoded()},
		Outputs: decoded(),
		Params: params(cropgen.Params(), []op.Parameter{
			{Name: "seed", Type: op.Int, Default: -1, Doc: "Seed of this operator; -1: that of the pipeline."},
		}),
		Random:    true,
		Precision: op.Tolerance,
		New:       newImageRandomCrop,
	}
}

func newImageRandomCrop(c *op.Config) (op.Kernel, error) {
	k, err := newDecoder(c)
	if err != nil {
		return nil, err
	}
	generator, err := cropgen.New(c)
	if err != nil {
		return nil, err
	}
	k.where = func(b *op.Block, s, height, width, _ int) (jpeg.Region, error) {
		w := generator.Draw(b.RNG(s), height, width)
		return jpeg.Region{X: w.X, Y: w.Y, W: w.W, H: w.H}, nil
	}
	return k, nil
}
