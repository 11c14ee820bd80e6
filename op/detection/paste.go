package detection

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "bbox_paste",
		Doc:     "Moves boxes with an image that the operator paste puts on a larger canvas. Coordinates are from 0 to 1.",
		Inputs:  []op.Port{boxPort("boxes of any number, 4 numbers each")},
		Outputs: []op.Port{{Name: "output", Doc: "the boxes on the canvas"}},
		Params: []op.Parameter{
			ltrbParam,
			{Name: "paste_x", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Horizontal place of the image: 0 at the left edge of the canvas, 1 at the right edge."},
			{Name: "paste_y", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Vertical place of the image: 0 at the top edge of the canvas, 1 at the bottom edge."},
			{Name: "ratio", Type: op.Float, Required: true, PerSample: true, Doc: "Height and width of the canvas relative to the image: 1 or more."},
		},
		New: func(c *op.Config) (op.Kernel, error) {
			k := &paste{config: c, ltrb: op.Get[bool](c, "ltrb"), ratio: op.GetScalar[float64](c, "ratio")}
			k.place[0], k.place[1] = op.GetScalar[float64](c, "paste_x"), op.GetScalar[float64](c, "paste_y")
			return op.Each(k), nil
		},
	})
}

type paste struct {
	config *op.Config
	ltrb   bool
	ratio  op.Scalar[float64]
	place  [2]op.Scalar[float64] // x and y
}

func (k *paste) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return in[:1:1], wantBoxes(k.config, 0, in[0])
}

func (k *paste) Sample(b *op.Block, s int) error {
	in, err := coordinates(b.In(0, s))
	if err != nil {
		return err
	}
	wide, err := k.ratio.At(b, s)
	if err != nil {
		return err
	}
	ratio := float32(wide)
	if !(ratio > 0) || math.IsInf(wide, 0) {
		return &errs.Error{Kind: errs.Invalid, Subject: "argument ratio", Want: "a finite number above 0",
			Got: fmt.Sprint(wide)}
	}
	out, err := tensor.Of[float32](b.Out(0, s, b.In(0, s).Shape...))
	if err != nil {
		return err
	}
	scale := 1 / ratio
	for axis, p := range k.place {
		place, err := p.At(b, s)
		if err != nil {
			return err
		}
		shift := margin(float32(place), ratio, scale)
		for i := axis; i+2 < len(in); i += 4 {
			out[i] = float32(in[i]*scale) + shift
			if out[i+2] = float32(in[i+2] * scale); k.ltrb {
				out[i+2] += shift
			}
		}
	}
	return nil
}

// margin returns the distance of an image from the edge of its canvas. A coordinate of 1 in the
// image stays at 1 or below.
func margin(place, ratio, scale float32) float32 {
	m := float32(place * ((ratio - 1) / ratio))
	if scale+m > 1 {
		for m = 1 - scale; scale+m > 1; {
			m = math.Nextafter32(m, -1)
		}
	}
	return m
}
