package decoders

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/jpeg"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/cropgen"
	"github.com/bivouac-ml/bivouac/op/internal/window"
)

func init() {
	op.Register(imageSchema())
}

func imageSchema() op.Schema {
	cache := func(name string, t op.Type, value any) op.Parameter {
		return op.Parameter{Name: name, Type: t, Default: value, Tuning: true, Doc: "For the cache of decoders on GPUs; accepted, but has no effect."}
	}
	return op.Schema{
		Name: "image", Module: []string{"decoders"},
		Doc: "Decodes images: JPEG, PNG, BMP, PNM, TIFF, WebP and the first frame of GIF. " +
			"JPEG 2000, AVIF and HEIC need the program ffmpeg.",
		Inputs:  []op.Port{encoded()},
		Outputs: decoded(),
		Params: params([]op.Parameter{
			cache("cache_batch_copy", op.Bool, true),
			cache("cache_debug", op.Bool, false),
			cache("cache_size", op.Int, 0),
			cache("cache_threshold", op.Int, 0),
			cache("cache_type", op.String, ""),
		}),
		Precision: op.Tolerance,
		New:       func(c *op.Config) (op.Kernel, error) { return newDecoder(c) },
	}
}

func init() {
	op.Register(imageCropSchema())
}

func imageCropSchema() op.Schema {
	return op.Schema{
		Name: "image_crop", Module: []string{"decoders"},
		Doc:       "Decodes a window of images. Its size and place are given as for crop. The window must lie inside the image.",
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

func init() {
	op.Register(imageSliceSchema())
}

func imageSliceSchema() op.Schema {
	return op.Schema{
		Name: "image_slice", Module: []string{"decoders"},
		Doc: "Decodes a window of images. Its start and its end or extent are inputs or arguments, as for slice. " +
			"The window must lie inside the image.",
		Inputs: []op.Port{
			encoded(),
			{Name: "anchor", Optional: true, Doc: "the start of the window on each axis; given together with the extent"},
			{Name: "extent", Optional: true, Doc: "the extent of the window on each axis"},
		},
		Outputs:   decoded(),
		Params:    params(window.SliceParams()),
		Precision: op.Tolerance,
		New:       newImageSlice,
	}
}

func newImageSlice(c *op.Config) (op.Kernel, error) {
	k, err := newDecoder(c)
	if err != nil {
		return nil, err
	}
	slice, err := window.NewSlice(c)
	if err != nil {
		return nil, err
	}
	k.where = func(b *op.Block, s, height, width, _ int) (jpeg.Region, error) {
		var buf [2]window.Span
		shape := [2]int{height, width} // the axes of the image, without channels
		spans, err := slice.At(b, s, shape[:], layoutHW, buf[:0])
		if err != nil {
			return jpeg.Region{}, err
		}
		if spans[0].Size == 0 || spans[1].Size == 0 {
			return jpeg.Region{}, &errs.Error{Kind: errs.Invalid, Subject: "window", Want: "at least one pixel", Got: fmt.Sprintf("%d x %d", spans[0].Size, spans[1].Size)}
		}
		if err := window.Error.Fit(spans, shape[:]); err != nil {
			return jpeg.Region{}, err
		}
		return jpeg.Region{X: spans[1].Start, Y: spans[0].Start, W: spans[1].Size, H: spans[0].Size}, nil
	}
	return k, nil
}

func init() {
	op.Register(imageRandomCropSchema())
}

func imageRandomCropSchema() op.Schema {
	return op.Schema{
		Name: "image_random_crop", Module: []string{"decoders"},
		Doc:     "Decodes a window of images with random area, aspect ratio and place, drawn as for random_resized_crop.",
		Inputs:  []op.Port{encoded()},
		Outputs: decoded(),
		Params: params(cropgen.Params(), []op.Parameter{
			{Name: "seed", Type: op.Int, Default: -1, Doc: "Seed of this operator; -1: the pipeline's seed."},
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

// DALI's former names of the operators.
func init() {
	for _, schema := range []func() op.Schema{imageSchema, imageCropSchema, imageSliceSchema, imageRandomCropSchema} {
		s := schema()
		s.Deprecated = "use " + s.FullName()
		s.Module = []string{"experimental", "decoders"}
		op.Register(s)

		s = schema()
		s.Deprecated = "use " + s.FullName()
		s.Module, s.Name = nil, "image_decoder"+s.Name[len("image"):]
		op.Register(s)
	}
	s := peekSchema()
	s.Deprecated = "use " + s.FullName()
	s.Module = []string{"experimental"}
	op.Register(s)
}
