package image

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/region"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "flip",
		Doc:  "Reverses images along their axes: left and right, top and bottom, front and back.",
		Inputs: []op.Port{{Name: "images", Doc: "images, sequences or volumes of any type",
			Layouts: []string{"FDHWC", "FHWC", "DHWC", "HWC", "FCDHW", "FCHW", "CDHW", "CHW"}}},
		Outputs: []op.Port{{Name: "flipped", Doc: "images of the same shape"}},
		Params: []op.Parameter{
			{Name: "depthwise", Type: op.Int, Default: 0, PerSample: true, Doc: "Whether front and back of a volume are exchanged: 0 means no."},
			{Name: "horizontal", Type: op.Int, Default: 1, PerSample: true, Doc: "Whether left and right are exchanged: 0 means no."},
			{Name: "vertical", Type: op.Int, Default: 0, PerSample: true, Doc: "Whether top and bottom are exchanged: 0 means no."},
		},
		New: func(c *op.Config) (op.Kernel, error) {
			return op.Each(&flip{config: c, axes: [3]op.Scalar[int]{
				op.GetScalar[int](c, "depthwise"), op.GetScalar[int](c, "vertical"), op.GetScalar[int](c, "horizontal"),
			}}), nil
		},
	})
}

type flip struct {
	config *op.Config
	axes   [3]op.Scalar[int] // D, H, W
}

func (k *flip) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	layout, err := flipLayout(k.config, in[0])
	if err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: in[0].Shape, Layout: layout}}, nil
}

// flipLayout works like layoutOf, but treats data of unknown rank as an image.
func flipLayout(c *op.Config, in tensor.Spec) (string, error) {
	if in.Layout == "" && in.Shape == nil {
		return layoutHWC, nil
	}
	return layoutOf(c, in)
}

func (k *flip) Sample(b *op.Block, s int) error {
	in, layout := b.In(0, s), b.Binding().Specs[0].Layout
	if err := checkRank(in, layout); err != nil {
		return err
	}
	var flips [3]bool
	for i := range k.axes {
		v, err := k.axes[i].At(b, s)
		if err != nil {
			return err
		}
		flips[i] = v != 0
	}
	mirror := mirrorAxes(layout, flips)
	if mirror == 0 {
		in.Layout = layout
		b.Alias(0, s, in)
		return nil
	}
	st := op.PerWorker[cutState](b)
	st.spans = st.spans[:0]
	for _, n := range in.Shape {
		st.spans = append(st.spans, window.Span{Size: n})
	}
	return st.copier.Run(region.Job{Dst: b.Out(0, s, in.Shape...).Data, Src: in.Data, DstType: in.DType, SrcType: in.DType,
		Shape: in.Shape, Spans: st.spans, Mirror: mirror})
}

// mirrorAxes returns the axes of a layout that are reversed. flips says whether depth, height and
// width are reversed.
func mirrorAxes(layout string, flips [3]bool) (mask uint64) {
	for i, letter := range layout {
		if letter == 'D' && flips[0] || letter == 'H' && flips[1] || letter == 'W' && flips[2] {
			mask |= 1 << i
		}
	}
	return mask
}
