package image

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/region"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "erase",
		Doc: "Overwrites regions of an array with a value. Anchors and shapes give the regions along some axes, " +
			"region after region. Along all other axes a region covers the whole axis. Starts and ends are truncated to integers.",
		Inputs:  []op.Port{{Name: "data", Doc: "arrays of any rank"}},
		Outputs: []op.Port{{Name: "erased", Doc: "arrays of the same shape"}},
		Params: []op.Parameter{
			{Name: "anchor", Type: op.Floats, Default: []float64{}, PerSample: true, Doc: "Starts of the regions: one value per axis, region after region. By default all starts are 0."},
			{Name: "axes", Type: op.Ints, Default: []int{1, 0}, Doc: "Axes of the values; negative numbers count from the last axis."},
			{Name: "axis_names", Type: op.String, Default: "HW", Doc: "The axes by the letters of the layout; overrides axes."},
			{Name: "centered_anchor", Type: op.Bool, Default: false, Doc: "Whether anchors are centres instead of starts."},
			{Name: "fill_value", Type: op.Floats, Default: []float64{0}, PerSample: true, Doc: "Fill value: one for all channels, or one for each."},
			{Name: "normalized", Type: op.Bool, Default: false, Doc: "Whether anchors and shapes are fractions of the extents."},
			{Name: "normalized_anchor", Type: op.Bool, Default: false, Doc: "Whether anchors are fractions of the extents."},
			{Name: "normalized_shape", Type: op.Bool, Default: false, Doc: "Whether shapes are fractions of the extents."},
			{Name: "shape", Type: op.Floats, Default: []float64{}, PerSample: true, Doc: "Extents of the regions: one value per axis, region after region."},
		},
		New: newErase,
	})
}

type erase struct {
	config               *op.Config
	anchor, shape, fill  op.Vector[float64]
	axes                 []int
	names                string // or ""
	centered             bool
	relAnchor, relExtent bool
}

func newErase(c *op.Config) (op.Kernel, error) {
	normalized := op.Get[bool](c, "normalized")
	k := &erase{config: c,
		anchor: op.GetVector[float64](c, "anchor"), shape: op.GetVector[float64](c, "shape"), fill: op.GetVector[float64](c, "fill_value"),
		axes: op.Get[[]int](c, "axes"), centered: op.Get[bool](c, "centered_anchor"),
		relAnchor: normalized || op.Get[bool](c, "normalized_anchor"), relExtent: normalized || op.Get[bool](c, "normalized_shape"),
	}
	if c.Given("axis_names") || !c.Given("axes") {
		k.names = op.Get[string](c, "axis_names")
	}
	if v, constant := k.fill.Const(); constant && len(v) == 0 {
		return nil, c.Invalid("fill_value", "at least one value", "no value", "")
	}
	return op.Each(k), nil
}

func (k *erase) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0].Shape != nil {
		if _, err := k.resolve(nil, len(in[0].Shape), in[0].Layout); err != nil {
			return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, err)
		}
	}
	return in[:1], nil
}

// resolve appends the numbers of the axes to which the values belong.
func (k *erase) resolve(axes []int, rank int, layout string) ([]int, error) {
	if k.names != "" && layout != "" {
		for i := range k.names {
			a := strings.IndexByte(layout, k.names[i])
			if a < 0 {
				return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument axis_names", Want: "axes of layout " + layout, Got: k.names}
			}
			axes = append(axes, a)
		}
		return axes, nil
	}
	for _, a := range k.axes {
		if a < -rank || a >= rank {
			return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument axes", Want: fmt.Sprintf("axes of data with %d axes", rank), Got: fmt.Sprint(k.axes)}
		}
		axes = append(axes, (a+rank)%max(rank, 1))
	}
	return axes, nil
}

// eraseState is a worker's state.
type eraseState struct {
	axes                []int
	anchor, shape, fill []float64
	spans               []window.Span
	eraser              region.Eraser
}

func (k *erase) Sample(b *op.Block, s int) (err error) {
	in := b.In(0, s)
	st := op.PerWorker[eraseState](b)
	if st.axes, err = k.resolve(st.axes[:0], len(in.Shape), in.Layout); err != nil {
		return err
	}
	var lists [3][]float64
	for i, v := range [...]struct {
		vector *op.Vector[float64]
		buf    *[]float64
	}{{&k.anchor, &st.anchor}, {&k.shape, &st.shape}, {&k.fill, &st.fill}} {
		if lists[i], err = v.vector.At(b, s, *v.buf); err != nil {
			return err
		}
		if _, constant := v.vector.Const(); !constant {
			*v.buf = lists[i]
		}
	}
	anchor, shape := lists[0], lists[1]
	n := len(st.axes)
	if len(anchor) != 0 && len(anchor) != len(shape) || n == 0 && len(shape) > 0 || n > 0 && len(shape)%n != 0 {
		return &errs.Error{Kind: errs.Invalid, Subject: "arguments anchor and shape", Want: fmt.Sprintf("the same number of values in both, a multiple of %d", n),
			Got: fmt.Sprintf("%d and %d", len(anchor), len(shape))}
	}
	value, inner, err := st.value(lists[2], in)
	if err != nil {
		return err
	}
	out := b.Out(0, s, in.Shape...)
	copy(out.Data, in.Data)
	for first := 0; first < len(shape); first += n {
		st.spans = st.spans[:0]
		for _, extent := range in.Shape {
			st.spans = append(st.spans, window.Span{Size: extent})
		}
		for i, axis := range st.axes {
			st.spans[axis] = k.span(anchor, shape, first+i, in.Shape[axis])
		}
		st.eraser.Run(out.Data, value, in.DType.Size(), inner, in.Shape, st.spans)
	}
	return nil
}

// span returns the span of an axis for the i-th values.
func (k *erase) span(anchor, shape []float64, i, extent int) window.Span {
	var start float32
	if len(anchor) > 0 {
		start = float32(anchor[i])
	}
	size := float32(shape[i])
	if k.relAnchor {
		start *= float32(extent)
	}
	if k.relExtent {
		size *= float32(extent)
	}
	if k.centered {
		start -= size / 2
	}
	cut := func(v float32) int {
		if v != v {
			return 0
		}
		return int(min(max(float64(v), 0), float64(extent)))
	}
	from := cut(start)
	return window.Span{Start: from, Size: max(0, cut(start+size)-from)}
}

// value returns the fill values as elements, and the step along the channels in elements.
func (st *eraseState) value(fill []float64, in tensor.Tensor) ([]byte, int, error) {
	inner, err := fillAxis(in.Shape, in.Layout, len(fill))
	if err != nil {
		return nil, 0, err
	}
	value, err := region.Values(in.DType, fill)
	return value, inner, err
}
