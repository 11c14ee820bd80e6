package geometry

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/strided"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "paste",
		Doc:     "Puts images on a larger canvas of one colour.",
		Inputs:  []op.Port{{Name: "images", Doc: "pictures of uint8", Layouts: []string{"HWC"}, DTypes: []tensor.DType{tensor.Uint8}}},
		Outputs: []op.Port{{Name: "output", Doc: "the canvases"}},
		Params: []op.Parameter{
			{Name: "fill_value", Type: op.Ints, Required: true, Doc: "The colour of the canvas: one value per channel, or one for all."},
			{Name: "min_canvas_size", Type: op.Float, Default: 0.0, PerSample: true, Doc: "The least height and width of the canvas."},
			{Name: "n_channels", Type: op.Int, Default: 3, Doc: "The number of channels of the colour."},
			{Name: "paste_x", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Horizontal place of the image: 0 at the left edge of the canvas, 1 at the right edge."},
			{Name: "paste_y", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Vertical place of the image: 0 at the top edge of the canvas, 1 at the bottom edge."},
			{Name: "ratio", Type: op.Float, Required: true, PerSample: true, Doc: "Height and width of the canvas relative to the image: 1 or more."},
		},
		New: newPaste,
	})
}

type paste struct {
	config              *op.Config
	fill                []byte
	ratio, x, y, canvas op.Scalar[float64]
}

func newPaste(c *op.Config) (op.Kernel, error) {
	k := &paste{config: c, ratio: op.GetScalar[float64](c, "ratio"), x: op.GetScalar[float64](c, "paste_x"),
		y: op.GetScalar[float64](c, "paste_y"), canvas: op.GetScalar[float64](c, "min_canvas_size")}
	colour, n := op.Get[[]int](c, "fill_value"), op.Get[int](c, "n_channels")
	if len(colour) != 1 && len(colour) != n || n < 1 {
		return nil, c.Invalid("fill_value", fmt.Sprintf("1 value, or %d values as n_channels says", n), fmt.Sprint(len(colour)), "")
	}
	for _, v := range colour {
		k.fill = append(k.fill, byte(v)) // the low bits, as in DALI
	}
	return op.Each(k), nil
}

func (k *paste) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0].DType != tensor.Uint8 || in[0].Shape != nil && len(in[0].Shape) != 3 || in[0].Layout != "" && in[0].Layout != "HWC" {
		return nil, k.config.InvalidInput(0, "pictures of uint8 and layout HWC", fmt.Sprintf("%s%s, layout %q", in[0].DType, in[0].Shape, in[0].Layout), "")
	}
	shape := tensor.Shape{-1, -1, -1}
	if in[0].Shape != nil {
		shape[2] = in[0].Shape[2]
	}
	return []tensor.Spec{{DType: tensor.Uint8, Shape: shape, Layout: "HWC"}}, nil
}

func (k *paste) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if len(in.Shape) != 3 || len(k.fill) > 1 && len(k.fill) != in.Shape[2] {
		return &errs.Error{Kind: errs.Mismatch, Want: fmt.Sprintf("a picture of %d channels", len(k.fill)), Got: in.String()}
	}
	var v [4]float32
	for i, p := range []op.Scalar[float64]{k.ratio, k.x, k.y, k.canvas} {
		x, err := p.At(b, s)
		if err != nil {
			return err
		}
		v[i] = float32(x)
	}
	ratio, x, y, least := v[0], v[1], v[2], v[3]
	if !(ratio >= 1 && x >= 0 && x <= 1 && y >= 0 && y <= 1) {
		return &errs.Error{Kind: errs.Invalid, Want: "a ratio of 1 or more, and places from 0 to 1", Got: fmt.Sprintf("%g, %g, %g", ratio, x, y)}
	}
	h, w := max(ratio*float32(in.Shape[0]), least), max(ratio*float32(in.Shape[1]), least)
	if !(max(h, w) < math.MaxInt32) {
		return &errs.Error{Kind: errs.Invalid, Want: "a canvas that can be addressed", Got: fmt.Sprintf("%g x %g", h, w)}
	}
	shape := tensor.Shape{int(h), int(w), in.Shape[2]}
	if _, err := shape.Bytes(tensor.Uint8); err != nil {
		return err
	}
	out := b.Out(0, s, shape...)
	n := copy(out.Data, k.fill)
	for n > 0 && n < len(out.Data) {
		n += copy(out.Data[n:], out.Data[:n])
	}
	top, left := int(y*float32(shape[0]-in.Shape[0])), int(x*float32(shape[1]-in.Shape[1]))
	var from, to [3]int
	at := (top*shape[1] + left) * shape[2]
	if in.Len() > 0 {
		strided.Copy(out.Data[at:], strided.Contiguous(to[:0], shape), in.Data, strided.Contiguous(from[:0], in.Shape), in.Shape, 1)
	}
	return nil
}
