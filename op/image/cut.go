package image

import (
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/convert"
	"github.com/bivouac-ml/bivouac/op/internal/region"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/tensor"
)

// cutter copies windows of arrays, with another element type where one is asked for
// and filled where they leave the array: what crop and slice have in common.
type cutter struct {
	dtype  tensor.DType // Invalid: that of the input
	bounds window.Bounds
}

func newCutter(c *op.Config) (cutter, error) {
	bounds, err := window.ReadBounds(c)
	if err != nil {
		return cutter{}, err
	}
	dtype, err := outputType(c)
	return cutter{dtype: dtype, bounds: bounds}, err
}

// output returns the type of the output for such an input.
func (k *cutter) output(in tensor.DType) (tensor.DType, error) {
	if k.dtype == tensor.Invalid {
		return in, nil
	}
	_, err := convert.Between(k.dtype, in)
	return k.dtype, err
}

// cutState is what a worker keeps.
type cutState struct {
	spans  []window.Span
	copier region.Copier
	shape  []int
	types  [2]tensor.DType // what fill and convert are for
	fill   []byte
	conv   convert.Func
}

func (st *cutState) prepare(k *cutter, dst, src tensor.DType) (err error) {
	if st.types == [2]tensor.DType{dst, src} && st.fill != nil {
		return nil
	}
	st.conv = nil
	if dst != src {
		if st.conv, err = convert.Between(dst, src); err != nil {
			return err
		}
	}
	if st.fill, err = convert.Values(dst, k.bounds.Fill); err == nil {
		st.types = [2]tensor.DType{dst, src}
	}
	return err
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
	if _, err := tensor.Shape(st.shape).Bytes(dtype); err != nil {
		return err
	}
	if err := st.prepare(k, dtype, in.DType); err != nil {
		return err
	}
	out := b.Out(0, s, st.shape...)
	job := region.Job{Dst: out.Data, Src: in.Data, DstSize: dtype.Size(), SrcSize: in.DType.Size(),
		Shape: in.Shape, Spans: st.spans, Convert: st.conv}
	if !job.Inside() {
		inner, err := fillAxis(st.shape, layout, len(k.bounds.Fill))
		if err != nil {
			return err
		}
		region.Fill(out.Data, st.fill, dtype.Size(), inner)
	}
	st.copier.Run(job)
	return nil
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
