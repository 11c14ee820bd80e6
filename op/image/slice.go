package image

import (
	"slices"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "slice",
		Doc: "Cuts a window out of an array of any rank: from a start to an end or of an extent, along axes that have a number or a name. " +
			"Relative positions are fractions of the extents.",
		Inputs: []op.Port{
			{Name: "data", Doc: "arrays of any rank"},
			{Name: "anchor", Doc: "the start on each axis; floats are relative unless normalized_anchor is false", Optional: true},
			{Name: "shape", Doc: "the extent on each axis; floats are relative unless normalized_shape is false", Optional: true},
		},
		Outputs: []op.Port{{Name: "windows", Doc: "the windows, with the layout of the data"}},
		Params: append(slices.Concat(window.SliceParams(), window.BoundsParams(), deprecatedParams()),
			op.Parameter{Name: "dtype", Type: op.DType, Doc: "Output type; by default that of the input."}),
		New: func(c *op.Config) (op.Kernel, error) {
			cut, err := newCutter(c)
			if err != nil {
				return nil, err
			}
			w, err := window.NewSlice(c)
			if err != nil {
				return nil, err
			}
			return &slice{window: w, cutter: cut}, nil
		},
	})
}

type slice struct {
	cutter
	window *window.Slice
}

func (k *slice) Grain() op.Grain { return op.PerSample }

func (k *slice) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	dtype, err := k.output(in[0].DType)
	if err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: dtype, Shape: k.window.Infer(in[0].Shape, in[0].Layout), Layout: in[0].Layout}}, nil
}

func (k *slice) Run(b *op.Block) error { return forEach(b, k.sample) }

func (k *slice) sample(b *op.Block, s int) (err error) {
	in := b.In(0, s)
	st := op.PerWorker[cutState](b)
	if st.spans, err = k.window.At(b, s, in.Shape, in.Layout, st.spans[:0]); err != nil {
		return err
	}
	return k.cut(b, s, st, in, in.Layout)
}
