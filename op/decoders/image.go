// Package decoders holds the operators that turn encoded bytes into data.
package decoders

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/jpeg"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "image", Module: []string{"decoders"},
		Doc:     "Decodes images. JPEG is known.",
		Inputs:  []op.Port{{Name: "encoded", Doc: "the bytes of an image file", DTypes: []tensor.DType{tensor.Uint8}}},
		Outputs: []op.Port{{Name: "images", Doc: "images, uint8 HWC"}},
		Params: []op.Parameter{
			{Name: "output_type", Type: op.Image, Default: op.RGB, Doc: "Colour space of the output: RGB or GRAY."},
			{Name: "adjust_orientation", Type: op.Bool, Default: true, Doc: "Turns images as their EXIF orientation asks."},
		},
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &imageDecoder{config: c, orient: op.Get[bool](c, "adjust_orientation")}
			switch t := op.Get[op.ImageType](c, "output_type"); t {
			case op.RGB:
			case op.Gray:
				k.format = jpeg.Gray
			default:
				return nil, c.Unsupported("output_type", "RGB or GRAY", t.String())
			}
			return k, nil
		},
	})
}

type imageDecoder struct {
	config *op.Config
	format jpeg.Format
	orient bool
}

func (k *imageDecoder) Grain() op.Grain { return op.PerSample }

// Identity implements op.Identifier: two decoders may differ in the last bit.
func (k *imageDecoder) Identity() string { return jpeg.Identity() }

func (k *imageDecoder) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0].Shape != nil && len(in[0].Shape) != 1 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: k.config.Schema.FullName(), Subject: "node " + k.config.Node + ", input 0",
			Want: "encoded bytes, one axis", Got: fmt.Sprintf("shape %s", in[0].Shape)}
	}
	return []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{-1, -1, k.format.Channels()}, Layout: "HWC"}}, nil
}

func (k *imageDecoder) Run(b *op.Block) error {
	d := op.PerWorker[jpeg.Decoder](b)
	for s := range b.Len() {
		if err := k.sample(b, s, d); err != nil {
			b.Fail(s, err)
		}
	}
	return nil
}

func (k *imageDecoder) sample(b *op.Block, s int, d *jpeg.Decoder) error {
	data := b.In(0, s).Data
	h, err := d.ReadHeader(data)
	if err != nil {
		return err
	}
	width, height := h.Width, h.Height
	if k.orient {
		width, height = h.Oriented()
	}
	out := b.Out(0, s, height, width, k.format.Channels())
	return d.Decode(out.Data, data, h, jpeg.Options{Format: k.format, Orient: k.orient})
}
