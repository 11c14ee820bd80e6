package decoders

import (
	"github.com/bivouac-ml/bivouac/codec/jpeg"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/window"
)

func init() {
	op.Register(imageSliceSchema())
}

func imageSliceSchema() op.Schema {
	return op.Schema{
		Name: "image_slice", Module: []string{"decoders"},
		Doc: "Decodes a window of images, given by its start and end or extent, as inputs or arguments, as for slice. " +
			"It must not leave the image.",
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
	k.where = func(b *op.Block, s, height, width, channels int) (jpeg.Region, error) {
		var buf [3]window.Span
		shape := [3]int{height, width, channels}
		spans, err := slice.At(b, s, shape[:], layoutHWC, buf[:0])
		if err != nil {
			return jpeg.Region{}, err
		}
		if spans[2] != (window.Span{Size: channels}) {
			return jpeg.Region{}, &errs.Error{Kind: errs.Unsupported, Subject: "window", Want: "all channels", Got: "some of them"}
		}
		if err := window.Error.Fit(spans, shape[:]); err != nil {
			return jpeg.Region{}, err
		}
		return jpeg.Region{X: spans[1].Start, Y: spans[0].Start, W: spans[1].Size, H: spans[0].Size}, nil
	}
	return k, nil
}
