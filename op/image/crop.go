package image

import (
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "crop",
		Doc:     "Cuts a window out of an image, every image of a sequence or a volume.",
		Inputs:  []op.Port{{Name: "images", Doc: "images to crop", Layouts: imageLayouts()}},
		Outputs: []op.Port{{Name: "windows", Doc: "the windows, with the layout of the input"}},
		Params: append(slices.Concat(window.CropParams(), window.BoundsParams(), deprecatedParams()),
			op.Parameter{Name: "dtype", Type: op.DType, Doc: "Output type; by default that of the input."}),
		New: func(c *op.Config) (op.Kernel, error) {
			cut, err := newCutter(c)
			if err != nil {
				return nil, err
			}
			w, err := window.NewCrop(c, cut.bounds.Policy)
			if err != nil {
				return nil, err
			}
			return &crop{window: w, cutter: cut}, nil
		},
	})
}

type crop struct {
	cutter
	window *window.Crop
}

func (k *crop) Grain() op.Grain { return op.PerSample }

func (k *crop) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	layout, err := layoutOf(k.config, in[0])
	if err != nil {
		return nil, err
	}
	dtype, err := k.output(in[0].DType)
	if err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: dtype, Shape: cropShape(k.window, in[0].Shape, layout), Layout: layout}}, nil
}

// cropAxes are the axes that depth, height and width of a window are for. The depth of a window
// of a sequence of images is in frames.
func cropAxes(layout string) string {
	if strings.Contains(layout, "F") && !strings.Contains(layout, "D") {
		return "FHW"
	}
	return "DHW"
}

// cropShape returns the shape of windows of images of that shape, which may be nil.
func cropShape(w *window.Crop, in tensor.Shape, layout string) tensor.Shape {
	out := unknown(len(layout))
	copy(out, in)
	size := dims(in, layout, cropAxes(layout), 1)
	d, h, l := w.Infer(size[0], size[1], size[2])
	depth := cropAxes(layout)[0]
	for i, letter := range []byte(layout) {
		switch letter {
		case depth:
			out[i] = d
		case 'H':
			out[i] = h
		case 'W':
			out[i] = l
		}
	}
	return out
}

// cropSpans appends the window of sample s to spans: of every axis of the image.
func cropSpans(w *window.Crop, b *op.Block, s int, in tensor.Shape, layout string, spans []window.Span) ([]window.Span, error) {
	size := dims(in, layout, cropAxes(layout), window.NoDepth)
	box, err := w.At(b, s, size[0], size[1], size[2])
	if err != nil {
		return spans, err
	}
	depth := cropAxes(layout)[0]
	for i, letter := range []byte(layout) {
		span := window.Span{Size: in[i]}
		switch letter {
		case depth:
			span = window.Span{Start: box.Z, Size: box.D}
		case 'H':
			span = window.Span{Start: box.Y, Size: box.H}
		case 'W':
			span = window.Span{Start: box.X, Size: box.W}
		}
		spans = append(spans, span)
	}
	return spans, nil
}

func (k *crop) Run(b *op.Block) error { return forEach(b, k.sample) }

func (k *crop) sample(b *op.Block, s int) (err error) {
	in, layout := b.In(0, s), b.Binding().Specs[0].Layout
	if err := checkRank(in, layout); err != nil {
		return err
	}
	st := op.PerWorker[cutState](b)
	if st.spans, err = cropSpans(k.window, b, s, in.Shape, layout, st.spans[:0]); err != nil {
		return err
	}
	return k.cut(b, s, st, in, layout)
}
