package image

import (
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/internal/region"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/tensor"
)

// cutter is the common part of crop and slice. It copies windows of arrays, converts the element
// type, and fills the part outside the array.
type cutter struct {
	config *op.Config
	dtype  tensor.DType // Invalid: the input's
	bounds window.Bounds
}

func newCutter(c *op.Config) (cutter, error) {
	bounds, err := window.ReadBounds(c)
	if err != nil {
		return cutter{}, err
	}
	dtype, err := outputType(c)
	return cutter{config: c, dtype: dtype, bounds: bounds}, err
}

// output returns the type of the output for an input of type in.
func (k *cutter) output(in tensor.DType) (tensor.DType, error) {
	if err := known(k.config, in); err != nil {
		return 0, err
	}
	switch k.dtype {
	case tensor.Invalid, in:
		return in, nil
	case tensor.Float32, tensor.Float16, tensor.Uint8:
		return k.dtype, nil
	}
	return 0, k.config.Unsupported("dtype", "the type of the input ("+in.String()+"), float32, float16 or uint8", k.dtype.String())
}

// known returns an error unless values of type d can be converted.
func known(c *op.Config, d tensor.DType) error {
	if element.Known(d) {
		return nil
	}
	return &errs.Error{Kind: errs.Unsupported, Op: c.Schema.FullName(), Subject: "node " + c.Node + ", input 0", Want: "numbers of 8 to 64 bits", Got: d.String()}
}

// cutState is a worker's state.
type cutState struct {
	spans  []window.Span
	copier region.Copier
	shape  []int
	filled tensor.DType // the type of the values in fill
	fill   []byte
}

// values returns the fill values as elements.
func (st *cutState) values(k *cutter, dtype tensor.DType) (v []byte, err error) {
	if st.filled != dtype || st.fill == nil {
		st.filled = dtype
		st.fill, err = region.Values(dtype, k.bounds.Fill)
	}
	return st.fill, err
}

// cut writes the window st.spans of in to sample s of output 0.
func (k *cutter) cut(b *op.Block, s int, st *cutState, in tensor.Tensor, layout string) error {
	if err := k.bounds.Policy.Fit(st.spans, in.Shape); err != nil {
		return err
	}
	dtype, whole := k.dtype, true
	if dtype == tensor.Invalid {
		dtype = in.DType
	}
	st.shape = st.shape[:0]
	for i, span := range st.spans {
		st.shape = append(st.shape, span.Size)
		whole = whole && span == window.Span{Start: 0, Size: in.Shape[i]}
	}
	if whole && dtype == in.DType {
		in.Layout = layout
		b.Alias(0, s, in)
		return nil
	}
	if err := checkSize(st.shape, dtype); err != nil {
		return err
	}
	out := b.Out(0, s, st.shape...)
	job := region.Job{Dst: out.Data, Src: in.Data, DstType: dtype, SrcType: in.DType, Shape: in.Shape, Spans: st.spans}
	if !job.Inside() {
		inner, err := fillAxis(st.shape, layout, len(k.bounds.Fill))
		if err != nil {
			return err
		}
		fill, err := st.values(k, dtype)
		if err != nil {
			return err
		}
		region.Fill(out.Data, fill, dtype.Size(), inner)
	}
	return st.copier.Run(job)
}

// fillAxis returns the step along the channels in elements, for n fill values.
func fillAxis(shape []int, layout string, n int) (inner int, err error) {
	if n == 1 {
		return 1, nil
	}
	c := strings.IndexByte(layout, 'C')
	if c < 0 || c >= len(shape) || shape[c] != n {
		return 0, &errs.Error{Kind: errs.Invalid, Subject: "fill values", Want: "one value, or one per channel", Got: tensor.Shape(shape).String() + " of layout " + layout}
	}
	inner = 1
	for _, d := range shape[c+1:] {
		inner *= d
	}
	return inner, nil
}

func init() {
	op.Register(op.Schema{
		Name:    "crop",
		Doc:     "Cuts a window out of an image, out of every image of a sequence, or out of a volume.",
		Inputs:  []op.Port{{Name: "images", Doc: "images to crop", Layouts: imageLayouts()}},
		Outputs: []op.Port{{Name: "windows", Doc: "the windows, with the layout of the input"}},
		Params: append(slices.Concat(window.CropParams(), window.BoundsParams(), deprecatedParams()),
			op.Parameter{Name: "dtype", Type: op.DType, Doc: "Output type; by default the input's type."}),
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

// cropAxes returns the axes of depth, height and width of a window. For a sequence of images, the
// depth is in frames.
func cropAxes(layout string) string {
	if strings.Contains(layout, "F") && !strings.Contains(layout, "D") {
		return "FHW"
	}
	return "DHW"
}

// cropShape returns the shape of windows of images of shape in, which may be nil.
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

// cropSpans appends the window of sample s to spans: one span per axis of the image.
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

func (k *crop) Run(b *op.Block) error { return b.Each(func(s int) error { return k.sample(b, s) }) }

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

func init() {
	op.Register(op.Schema{
		Name: "slice",
		Doc: "Cuts a window out of an array of any rank. A window has a start, and an end or an extent, along axes given by number or by letter. " +
			"Relative positions are fractions of the extents.",
		Inputs: []op.Port{
			{Name: "data", Doc: "arrays of any rank"},
			{Name: "anchor", Doc: "the start on each axis; floats are relative unless normalized_anchor is false", Optional: true},
			{Name: "shape", Doc: "the extent on each axis; floats are relative unless normalized_shape is false", Optional: true},
		},
		Outputs: []op.Port{{Name: "windows", Doc: "the windows, with the layout of the data"}},
		Params: append(slices.Concat(window.SliceParams(), window.BoundsParams(), deprecatedParams()),
			op.Parameter{Name: "dtype", Type: op.DType, Doc: "Output type; by default the input's type."}),
		New: func(c *op.Config) (op.Kernel, error) {
			cut, err := newCutter(c)
			if err != nil {
				return nil, err
			}
			w, err := window.NewSlice(c)
			if err != nil {
				return nil, err
			}
			return op.Each(&slice{window: w, cutter: cut}), nil
		},
	})
}

type slice struct {
	cutter
	window *window.Slice
}

func (k *slice) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	dtype, err := k.output(in[0].DType)
	if err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: dtype, Shape: k.window.Infer(in[0].Shape, in[0].Layout), Layout: in[0].Layout}}, nil
}

func (k *slice) Sample(b *op.Block, s int) (err error) {
	in := b.In(0, s)
	st := op.PerWorker[cutState](b)
	if st.spans, err = k.window.At(b, s, in.Shape, in.Layout, st.spans[:0]); err != nil {
		return err
	}
	return k.cut(b, s, st, in, in.Layout)
}
