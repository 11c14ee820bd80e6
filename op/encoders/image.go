// Package encoders registers the operators that write files: images and sound. Data sets are also
// made, and an operator that decodes can be fed what another one wrote.
package encoders

import (
	"bytes"
	"fmt"
	"image"

	jpeg "github.com/bivouac-ml/bivouac/codec/jpeg/encode"
	png "github.com/bivouac-ml/bivouac/codec/png/encode"
	webp "github.com/bivouac-ml/bivouac/codec/webp/encode"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

var module = []string{"encoders"}

func init() {
	type maker func(c *op.Config) (writer, error)
	register := func(name, doc, images string, params []op.Parameter, newWriter maker, types ...tensor.DType) {
		op.Register(op.Schema{
			Name: name, Module: module, Doc: doc,
			Inputs:  []op.Port{{Name: "images", Doc: images, Layouts: []string{"HW", "HWC"}, DTypes: types}},
			Outputs: []op.Port{{Name: "encoded", Doc: "the bytes of a file"}},
			Params:  params, Precision: op.Exact,
			New: func(c *op.Config) (op.Kernel, error) {
				w, err := newWriter(c)
				return op.Each(&encoder{config: c, writer: w}), err
			},
		})
	}
	register("jpeg", "Writes images as baseline JPEG files, byte for byte as libjpeg-turbo does by default.",
		"gray or RGB images of 1 to 65,535 pixels along an axis, uint8",
		[]op.Parameter{
			{Name: "quality", Type: op.Int, Default: 75, PerSample: true, Doc: "Quality from 1, the worst, to 100; other numbers are limited to this range."},
			{Name: "subsampling", Type: op.String, Default: "4:2:0",
				Doc: `How much colour is kept: "4:2:0" half both ways, "4:4:4" all. Gray images ignore it.`},
		}, newJPEG, tensor.Uint8)
	register("png", "Writes images as PNG files, without loss, byte for byte as Go's package image/png.",
		"images of 1, 3 or 4 channels, of which the last of 4 is alpha: uint8 or uint16",
		[]op.Parameter{
			{Name: "compression", Type: op.String, Default: "default", Doc: `How much time is spent for a small file: "none", "fast", "default" or "best".`},
		}, newPNG, tensor.Uint8, tensor.Uint16)
	register("webp", "Writes images as WebP files, without loss. Gray becomes RGB.",
		"images of 1, 3 or 4 channels, of which the last of 4 is alpha, of 1 to 16,384 pixels along an axis",
		nil, newWebP, tensor.Uint8)
}

// picture is an image that is written.
type picture struct {
	tensor.Tensor
	h, w, channels int
}

// The numbers of channels that formats have.
var withoutAlpha, all = []int{1, 3}, []int{1, 3, 4}

// writer writes images of one format.
type writer interface {
	// channels are the numbers of channels that the format has.
	channels() []int
	// write writes the file of sample s.
	write(b *op.Block, s int, p picture, to *buffer) error
}

// buffer is the memory of a worker. A writer leaves its file in it.
type buffer struct {
	file  []byte
	jpeg  jpeg.Encoder
	png   png.Encoder
	webp  bytes.Buffer
	image []byte
}

// encoder is the kernel of all formats.
type encoder struct {
	config *op.Config
	writer writer
}

func (k *encoder) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if shape := in[0].Shape; shape != nil {
		if _, err := k.look(tensor.Tensor{Shape: shape}, true); err != nil {
			return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, err)
		}
	}
	return []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{-1}}}, nil
}

// look returns an image of which, if some is set, extents may be unknown.
func (k *encoder) look(t tensor.Tensor, some bool) (picture, error) {
	n := len(t.Shape)
	if n != 2 && n != 3 {
		return picture{}, &errs.Error{Kind: errs.Invalid, Subject: "input 0", Want: "an image of layout HW or HWC",
			Got: t.Shape.String(), Remedy: "images of a sequence are written one by one: see per_frame"}
	}
	p := picture{t, t.Shape[0], t.Shape[1], 1}
	if n == 3 {
		p.channels = t.Shape[2]
	}
	ok := some && p.channels < 0
	for _, c := range k.writer.channels() {
		ok = ok || c == p.channels
	}
	switch {
	case !ok:
		return p, &errs.Error{Kind: errs.Invalid, Subject: "input 0",
			Want: fmt.Sprintf("one of %v channels", k.writer.channels()), Got: t.Shape.String()}
	case !some && (p.h < 1 || p.w < 1):
		return p, &errs.Error{Kind: errs.Invalid, Subject: "input 0", Want: "an image with pixels",
			Got: t.Shape.String()}
	}
	return p, nil
}

func (k *encoder) Sample(b *op.Block, s int) error {
	p, err := k.look(b.In(0, s), false)
	if err != nil {
		return err
	}
	to := op.PerWorker[buffer](b)
	if err := k.writer.write(b, s, p, to); err != nil {
		return err
	}
	copy(b.Out(0, s, len(to.file)).Data, to.file)
	return nil
}

// jpegWriter writes JPEG.
type jpegWriter struct {
	quality    op.Scalar[int]
	fullColour bool
}

func newJPEG(c *op.Config) (writer, error) {
	w := &jpegWriter{quality: op.GetScalar[int](c, "quality")}
	switch s := op.Get[string](c, "subsampling"); s {
	case "4:2:0":
	case "4:4:4":
		w.fullColour = true
	default:
		return nil, c.Invalid("subsampling", `"4:2:0" or "4:4:4"`, fmt.Sprintf("%q", s), "")
	}
	return w, nil
}

func (w *jpegWriter) channels() []int { return withoutAlpha }

func (w *jpegWriter) write(b *op.Block, s int, p picture, to *buffer) error {
	quality, err := w.quality.At(b, s)
	if err != nil {
		return err
	}
	o := jpeg.Options{Quality: quality, FullColour: w.fullColour}
	to.file, err = to.jpeg.Append(to.file[:0], p.Data, p.w, p.h, p.channels, o)
	return err
}

// pngWriter writes PNG.
type pngWriter struct{ level png.Level }

func newPNG(c *op.Config) (writer, error) {
	name := op.Get[string](c, "compression")
	level, ok := map[string]png.Level{"none": png.None, "fast": png.Fast, "default": png.Default, "best": png.Best}[name]
	if !ok {
		return nil, c.Invalid("compression", `"none", "fast", "default" or "best"`, fmt.Sprintf("%q", name), "")
	}
	return &pngWriter{level}, nil
}

func (w *pngWriter) channels() []int { return all }

func (w *pngWriter) write(_ *op.Block, _ int, p picture, to *buffer) (err error) {
	to.file, err = to.png.Append(to.file[:0], p.Data, p.w, p.h, p.channels, 8*p.DType.Size(), w.level)
	return err
}

// webpWriter writes WebP without loss.
type webpWriter struct{}

func newWebP(*op.Config) (writer, error) { return webpWriter{}, nil }

func (webpWriter) channels() []int { return all }

func (webpWriter) write(_ *op.Block, _ int, p picture, to *buffer) error {
	to.webp.Reset()
	err := webp.Encode(&to.webp, to.view(p))
	to.file = append(to.file[:0], to.webp.Bytes()...)
	return err
}

// view returns an image for package image: gray, or with an alpha that is full if the image has no
// alpha.
func (b *buffer) view(p picture) image.Image {
	r := image.Rect(0, 0, p.w, p.h)
	switch p.channels {
	case 1:
		return &image.Gray{Pix: p.Data, Stride: p.w, Rect: r}
	case 4:
		return &image.NRGBA{Pix: p.Data, Stride: 4 * p.w, Rect: r}
	}
	if n := 4 * p.w * p.h; cap(b.image) < n {
		b.image = make([]byte, n)
	}
	m := &image.NRGBA{Pix: b.image[:4*p.w*p.h], Stride: 4 * p.w, Rect: r}
	for i := range p.w * p.h {
		copy(m.Pix[4*i:4*i+3], p.Data[3*i:3*i+3])
		m.Pix[4*i+3] = 255
	}
	return m
}
