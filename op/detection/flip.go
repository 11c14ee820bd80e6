package detection

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "bb_flip",
		Doc:     "Mirrors boxes like the operator flip mirrors images. Coordinates are from 0 to 1.",
		Inputs:  []op.Port{boxPort("boxes of any number, 4 numbers each")},
		Outputs: []op.Port{{Name: "output", Doc: "the mirrored boxes"}},
		Params: []op.Parameter{
			{Name: "horizontal", Type: op.Int, Default: 1, PerSample: true, Doc: "Whether left and right change places: 0 means no."},
			{Name: "vertical", Type: op.Int, Default: 0, PerSample: true, Doc: "Whether top and bottom change places: 0 means no."},
			ltrbParam,
		},
		New: func(c *op.Config) (op.Kernel, error) {
			k := &flip{config: c, ltrb: op.Get[bool](c, "ltrb")}
			k.axes[0], k.axes[1] = op.GetScalar[int](c, "horizontal"), op.GetScalar[int](c, "vertical")
			return op.Each(k), nil
		},
	})
}

type flip struct {
	config *op.Config
	ltrb   bool
	axes   [2]op.Scalar[int] // x and y
}

func (k *flip) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return in[:1:1], wantBoxes(k.config, 0, in[0])
}

// Sample implements op.SampleKernel. DALI gives a box of width and height an end, mirrors both ends
// and takes the difference again, so that rounding can change the width of a box that is not
// mirrored.
func (k *flip) Sample(b *op.Block, s int) error {
	in, err := coordinates(b.In(0, s))
	if err != nil {
		return err
	}
	out, err := tensor.Of[float32](b.Out(0, s, b.In(0, s).Shape...))
	if err != nil {
		return err
	}
	for axis, p := range k.axes {
		turned, err := p.At(b, s)
		if err != nil {
			return err
		}
		for i := axis; i+2 < len(in); i += 4 {
			lo, hi := in[i], in[i+2]
			if !k.ltrb {
				hi += lo
			}
			if turned != 0 {
				lo, hi = 1-hi, 1-lo
			}
			if !k.ltrb {
				hi -= lo
			}
			out[i], out[i+2] = lo, hi
		}
	}
	return nil
}
