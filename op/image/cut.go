package image

import (
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/internal/region"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/tensor"
)

// cutter copies windows of arrays, with another element type where one is asked for
// and filled where they leave the array: what crop and slice have in common.
type cutter struct {
	config *op.Config
	dtype  tensor.DType // Invalid: that of the input
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

// output returns the type of the output for such an input.
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
	return 0, k.config.Unsupported("dtype", in.String()+", the type of the input, float32, float16 or uint8", k.dtype.String())
}

// known returns an error unless values of that type can be converted.
func known(c *op.Config, d tensor.DType) error {
	if element.Known(d) {
		return nil
	}
	return &errs.Error{Kind: errs.Unsupported, Op: c.Schema.FullName(), Subject: "node " + c.Node + ", input 0", Want: "numbers of 8 to 64 bits", Got: d.String()}
}

// cutState is what a worker keeps.
type cutState struct {
	spans  []window.Span
	copier region.Copier
	shape  []int
	filled tensor.DType // what fill is for
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

// fillAxis returns how many elements one step along the channels is, for fills of n values.
func fillAxis(shape []int, layout string, n int) (inner int, err error) {
	if n == 1 {
		return 1, nil
	}
	c := strings.IndexByte(layout, 'C')
	if c < 0 || c >= len(shape) || shape[c] != n {
		return 0, &errs.Error{Kind: errs.Invalid, Subject: "fill values", Want: "one, or one a channel", Got: tensor.Shape(shape).String() + " of layout " + layout}
	}
	inner = 1
	for _, d := range shape[c+1:] {
		inner *= d
	}
	return inner, nil
}
