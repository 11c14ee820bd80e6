// Package decoders holds the operators that decode bytes, or describe encoded bytes.
//
// Images of all formats of package codec become samples of layout HWC. Some operators cut a window
// out of the image. The window is random, or given by the arguments of the operators crop and
// slice. The result is the same as decoding and then cropping, but only the window is decoded.
package decoders

import (
	"bytes"
	"fmt"

	"github.com/bivouac-ml/bivouac/codec"
	"github.com/bivouac-ml/bivouac/codec/jpeg"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

const layoutHWC = "HWC"

// layoutHW is the layout of windows, which have all channels.
const layoutHW = "HW"

// encoded is the port of images in files.
func encoded() op.Port {
	return op.Port{Name: "encoded", Doc: "the bytes of an image file", DTypes: []tensor.DType{tensor.Uint8}}
}

// decoded is the port of images.
func decoded() []op.Port { return []op.Port{{Name: "images", Doc: "images, HWC"}} }

// params returns the parameters of all operators that decode images, followed by more.
func params(more ...[]op.Parameter) []op.Parameter {
	hint := func(name string, t op.Type, value any) op.Parameter {
		return op.Parameter{Name: name, Type: t, Default: value, Tuning: true, Doc: "For decoders on GPUs; accepted, but has no effect."}
	}
	old := func(name string) op.Parameter {
		p := hint(name, op.Bool, false)
		p.Deprecated = "it has no effect"
		return p
	}
	list := []op.Parameter{
		{Name: "output_type", Type: op.Image, Default: op.RGB, Doc: "Colour space of the output: RGB, BGR, GRAY, YCbCr, or ANY_DATA for the channels that the file has."},
		{Name: "dtype", Type: op.DType, Default: tensor.Uint8, Doc: "Type of the output. Integers use the whole range of the type; float32 is from 0 to 1."},
		{Name: "adjust_orientation", Type: op.Bool, Default: true, Doc: "Whether images are turned as their EXIF orientation says."},
		{Name: "use_fast_idct", Type: op.Bool, Default: false, Doc: "Whether JPEG files are decoded with the fast inverse transform of libjpeg-turbo, whose error is up to five levels."},
		hint("affine", op.Bool, true),
		hint("device_memory_padding", op.Int, 16777216),
		hint("device_memory_padding_jpeg2k", op.Int, 0),
		hint("host_memory_padding", op.Int, 8388608),
		hint("host_memory_padding_jpeg2k", op.Int, 0),
		hint("hw_decoder_load", op.Float, 0.65),
		hint("hybrid_huffman_threshold", op.Int, 1000000),
		hint("jpeg_fancy_upsampling", op.Bool, false),
		old("memory_stats"),
		hint("preallocate_height_hint", op.Int, 0),
		hint("preallocate_width_hint", op.Int, 0),
		old("split_stages"),
		old("use_chunk_allocator"),
	}
	for _, m := range more {
		list = append(list, m...)
	}
	return list
}

// decoder is the kernel of all these operators. They differ in where.
type decoder struct {
	config *op.Config
	output codec.Output
	// infer returns height and width of the output. -1 means that the data decides.
	infer func() (height, width int)
	// where returns the window of sample s in an image of the given size.
	where func(b *op.Block, s, height, width, channels int) (jpeg.Region, error)
}

// worker is what a worker keeps for a decoder.
type worker struct{ codec codec.Decoder }

func newDecoder(c *op.Config) (*decoder, error) {
	k := &decoder{config: c, output: codec.Output{
		Color:    raster.Color(op.Get[op.ImageType](c, "output_type")),
		DType:    op.Get[tensor.DType](c, "dtype"),
		Orient:   op.Get[bool](c, "adjust_orientation"),
		FastIDCT: op.Get[bool](c, "use_fast_idct"),
	}}
	for _, t := range raster.Types() {
		if k.output.DType == t {
			return k, nil
		}
	}
	return nil, c.Unsupported("dtype", "uint8, int8, uint16, int16, uint32, int32 or float32", k.output.DType.String())
}

// Windowed implements op.Windowed.
func (k *decoder) Windowed() bool { return k.where == nil }

// ended reports whether a JPEG file seems to be complete. Only for a complete file, decoding a part
// fails whenever decoding the whole image fails. Other formats are always decoded whole.
func ended(data []byte) bool {
	const padding = 32 // bytes that some programs write after the end marker
	return bytes.Contains(data[max(0, len(data)-padding):], []byte{0xff, 0xd9})
}

// part decodes the wanted part of an image to its place in the output.
func (w *worker) part(b *op.Block, s int, data []byte, h codec.Header, o codec.Output, r op.Region, channels int) error {
	size := channels * o.DType.Size()
	out := b.Out(0, s, o.Region.H, o.Region.W, channels).Data
	pitch := o.Region.W * size
	o.Region = jpeg.Region{X: r.X, Y: r.Y, W: r.W, H: r.H}
	if r.W*size == pitch {
		return w.codec.Decode(out[r.Y*pitch:(r.Y+r.H)*pitch], data, h, o)
	}
	part := op.Scratch[uint8](b, r.W*r.H*size)
	if err := w.codec.Decode(part, data, h, o); err != nil {
		return err
	}
	for y := range r.H {
		copy(out[(r.Y+y)*pitch+r.X*size:], part[y*r.W*size:(y+1)*r.W*size])
	}
	return nil
}

// Identity implements op.Identifier: not all builds have the fast transform.
func (k *decoder) Identity() string { return codec.Pixels(k.output) }

// Infer implements op.Kernel.
func (k *decoder) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkEncoded(k.config, in[0]); err != nil {
		return nil, err
	}
	h, w := -1, -1
	if k.infer != nil {
		h, w = k.infer()
	}
	return []tensor.Spec{{DType: k.output.DType, Shape: tensor.Shape{h, w, k.output.Color.Channels(-1)}, Layout: layoutHWC}}, nil
}

func checkEncoded(c *op.Config, in tensor.Spec) error {
	if in.Shape != nil && len(in.Shape) != 1 {
		return &errs.Error{Kind: errs.Invalid, Op: c.Schema.FullName(), Subject: "node " + c.Node + ", input 0",
			Want: "encoded bytes, one axis", Got: fmt.Sprintf("shape %s", in.Shape)}
	}
	return nil
}

// Run implements op.Kernel.
func (k *decoder) Run(b *op.Block) error {
	w := op.PerWorker[worker](b)
	return b.Each(func(s int) error { return k.sample(b, s, w) })
}

func (k *decoder) sample(b *op.Block, s int, worker *worker) error {
	data := b.In(0, s).Data
	h, err := codec.ReadHeader(data)
	if err != nil {
		return err
	}
	width, height, channels := k.output.Size(h)
	o := k.output
	limits := b.Limits()
	o.Limits = raster.Limits{Pixels: limits.MaxPixels, Bytes: limits.MaxBytes}
	if err := o.Limits.CheckPixels(h.Format.String(), h.Width, h.Height); err != nil {
		return err // before memory is taken for the output
	}
	if limits.MaxTime > 0 {
		o.Limits.Check, o.Limits.Deadline = b.Overdue, b.Binding().Deadline
	}
	o.Region = jpeg.Region{W: width, H: height}
	if k.where != nil {
		if o.Region, err = k.where(b, s, height, width, channels); err != nil {
			return err
		}
	}
	if r, ok := b.Wanted(s, height, width); ok && k.Windowed() && ended(data) {
		return worker.part(b, s, data, h, o, r, channels)
	}
	out := b.Out(0, s, o.Region.H, o.Region.W, channels)
	if len(out.Data) == 0 {
		return nil
	}
	return worker.codec.Decode(out.Data, data, h, o)
}
