package decoders

import (
	"fmt"

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
	k.where = func(b *op.Block, s, height, width, _ int) (jpeg.Region, error) {
		var buf [2]window.Span
		shape := [2]int{height, width} // axes are those of the picture: there is none of channels
		spans, err := slice.At(b, s, shape[:], layoutHW, buf[:0])
		if err != nil {
			return jpeg.Region{}, err
		}
		if spans[0].Size == 0 || spans[1].Size == 0 {
			return jpeg.Region{}, &errs.Error{Kind: errs.Invalid, Subject: "window", Want: "pixels", Got: fmt.Sprintf("%d x %d", spans[0].Size, spans[1].Size)}
		}
		if err := window.Error.Fit(spans, shape[:]); err != nil {
			return jpeg.Region{}, err
		}
		return jpeg.Region{X: spans[1].Start, Y: spans[0].Start, W: spans[1].Size, H: spans[0].Size}, nil
	}
	return k, nil
}
