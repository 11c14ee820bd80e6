package window

import (
	"fmt"
	"math"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// SliceParams returns the parameters that NewSlice reads.
func SliceParams() []op.Parameter {
	list := func(name string, t op.Type, doc string) op.Parameter {
		return op.Parameter{Name: name, Type: t, PerSample: true, Doc: doc}
	}
	return []op.Parameter{
		{Name: "axes", Type: op.Ints, Default: []int{1, 0}, PerSample: true, Doc: "Axes of the window, in the order of its values; negative numbers count from the last axis."},
		{Name: "axis_names", Type: op.String, Default: "WH", Doc: "The axes by the letters of the layout; overrides axes."},
		{Name: "normalized_anchor", Type: op.Bool, Default: true, Doc: "Whether an input anchor of floats is relative to the extents."},
		{Name: "normalized_shape", Type: op.Bool, Default: true, Doc: "Whether an input shape of floats is relative to the extents."},
		list("start", op.Ints, "First element of the window on each axis; the default is 0."),
		list("rel_start", op.Floats, "Start of the window on each axis, relative to the extents."),
		list("end", op.Ints, "End of the window on each axis: the element after its last; the default is the extent."),
		list("rel_end", op.Floats, "End of the window on each axis, relative to the extents."),
		list("shape", op.Ints, "Extent of the window on each axis."),
		list("rel_shape", op.Floats, "Extent of the window on each axis, relative to the extents of the data."),
	}
}

// Slice computes the windows of slicing operators from the positional inputs anchor and shape, or
// from the arguments. It is immutable and safe for concurrent use.
type Slice struct {
	names            string // letters of the axes, or ""
	axes             op.Vector[int]
	positional       bool
	relAnchor, relSh bool // for positional inputs of floats
	start, end       edge
	shape            edge
}

// edge is an edge of the window. One of two arguments gives it: an absolute or a relative one.
type edge struct {
	name     string
	ints     op.Vector[int]
	floats   op.Vector[float64]
	given    bool
	relative bool
}

func newEdge(c *op.Config, name string) (edge, error) {
	e := edge{name: name, given: c.Has(name) || c.Has("rel_"+name), relative: c.Has("rel_" + name)}
	if c.Has(name) && e.relative {
		return e, c.Invalid(name, name+" or rel_"+name, "both", "")
	}
	if e.relative {
		e.name = "rel_" + name
		e.floats = op.GetVector[float64](c, e.name)
	} else {
		e.ints = op.GetVector[int](c, name)
	}
	return e, nil
}

// at returns the value for the i-th of n axes.
func (e *edge) at(b *op.Block, s, i, n int) (v float64, err error) {
	var count int
	if e.relative {
		var buf [maxAxes]float64
		list, err := e.floats.At(b, s, buf[:])
		if err != nil {
			return 0, err
		}
		if count = len(list); count == n {
			v = float64(float32(list[i])) // DALI keeps arguments in float32
		}
	} else {
		var buf [maxAxes]int
		list, err := e.ints.At(b, s, buf[:])
		if err != nil {
			return 0, err
		}
		if count = len(list); count == n {
			v = float64(list[i])
		}
	}
	if count != n {
		return 0, &errs.Error{Kind: errs.Mismatch, Subject: "argument " + e.name, Want: fmt.Sprintf("%d values, one per axis", n), Got: fmt.Sprint(count)}
	}
	return v, nil
}

// maxAxes is more axes than the data of any operator has. Longer lists only cost an allocation.
const maxAxes = 8

// NewSlice reads the arguments of SliceParams. If the operator's inputs 1 and 2 are given, they are
// anchor and shape, and the arguments for start, end and shape must not be given.
func NewSlice(c *op.Config) (*Slice, error) {
	w := &Slice{
		axes: op.GetVector[int](c, "axes"), positional: c.Inputs > 1,
		relAnchor: op.Get[bool](c, "normalized_anchor"), relSh: op.Get[bool](c, "normalized_shape"),
	}
	if c.Given("axis_names") || !c.Given("axes") {
		w.names = op.Get[string](c, "axis_names")
	}
	var err error
	for _, e := range []struct {
		edge *edge
		name string
	}{{&w.start, "start"}, {&w.end, "end"}, {&w.shape, "shape"}} {
		if *e.edge, err = newEdge(c, e.name); err != nil {
			return nil, err
		}
	}
	switch {
	case w.end.given && w.shape.given:
		return nil, c.Invalid(w.end.name, "either an end or a shape", "both", "")
	case w.positional && (w.start.given || w.end.given || w.shape.given):
		return nil, c.Invalid("start", "either the inputs anchor and shape or arguments", "both", "")
	case !w.positional && !w.start.given && !w.end.given && !w.shape.given:
		return nil, c.Invalid("start", "a start, an end or a shape, as an argument or as an input", "none of them", "")
	case c.Inputs == 2:
		return nil, &errs.Error{Kind: errs.Invalid, Op: c.Schema.FullName(), Subject: "node " + c.Node, Want: "both inputs anchor and shape, or neither", Got: "only an anchor"}
	}
	return w, nil
}

// Infer returns the shape of windows of data of the given shape and layout. -1 means that an extent
// is known only from the data. It returns nil for a nil shape.
func (w *Slice) Infer(shape tensor.Shape, layout string) tensor.Shape {
	if shape == nil {
		return nil
	}
	out := append(tensor.Shape(nil), shape...)
	axes, constant := w.axes.Const()
	if !constant && w.names == "" {
		for i := range out {
			out[i] = -1
		}
		return out
	}
	for i := range w.count(axes, layout) {
		if axis, err := w.axis(axes, i, len(shape), layout); err == nil {
			out[axis] = -1
		}
	}
	return out
}

// byName reports whether axis_names decides.
func (w *Slice) byName(layout string) bool { return w.names != "" && layout != "" }

func (w *Slice) count(axes []int, layout string) int {
	if w.byName(layout) {
		return len(w.names)
	}
	return len(axes)
}

// axis returns the axis to which the i-th value of the arguments belongs.
func (w *Slice) axis(axes []int, i, rank int, layout string) (int, error) {
	if w.byName(layout) {
		if axis := strings.IndexByte(layout, w.names[i]); axis >= 0 && axis < rank {
			return axis, nil
		}
		return 0, &errs.Error{Kind: errs.Invalid, Subject: "argument axis_names", Want: "axes of layout " + layout, Got: w.names}
	}
	axis := axes[i]
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis >= rank {
		return 0, &errs.Error{Kind: errs.Invalid, Subject: "argument axes", Want: fmt.Sprintf("axes of data with %d axes", rank), Got: fmt.Sprint(axes[i])}
	}
	return axis, nil
}

// At appends the window of sample s to spans: one span for each axis of data of the given shape and
// layout. A span may lie outside its axis.
func (w *Slice) At(b *op.Block, s int, shape []int, layout string, spans []Span) ([]Span, error) {
	first := len(spans)
	for _, extent := range shape {
		spans = append(spans, Span{0, extent})
	}
	var buf [maxAxes]int
	axes, err := w.axes.At(b, s, buf[:])
	if err != nil {
		return spans, err
	}
	n, seen := w.count(axes, layout), uint64(0)
	for i := range n {
		axis, err := w.axis(axes, i, len(shape), layout)
		if err != nil {
			return spans, err
		}
		if seen&(1<<axis) != 0 {
			return spans, &errs.Error{Kind: errs.Invalid, Subject: "argument axes", Want: "each axis at most once", Got: fmt.Sprintf("axis %d twice", axis)}
		}
		seen |= 1 << axis
		start, end, err := w.ends(b, s, i, n, float64(shape[axis]))
		if err != nil {
			return spans, err
		}
		start, end = math.Round(start), math.Round(end)
		if !(math.Abs(start) <= math.MaxInt32 && math.Abs(end) <= math.MaxInt32 && start <= end) {
			return spans, &errs.Error{Kind: errs.Invalid, Subject: "window", Want: "a start before the end", Got: fmt.Sprintf("from %g to %g on axis %d", start, end, axis)}
		}
		spans[first+axis] = Span{int(start), int(end - start)}
	}
	return spans, nil
}

// ends returns the start and the end of the window on the i-th of n axes, before rounding.
func (w *Slice) ends(b *op.Block, s, i, n int, extent float64) (start, end float64, err error) {
	var size float64
	relStart, relSize, hasSize := w.start.relative, w.shape.relative, w.shape.given
	end = extent
	switch {
	case w.positional:
		anchor, shape := b.In(1, s), b.In(2, s)
		hasSize = true
		relStart, relSize = w.relAnchor && anchor.DType.IsFloat(), w.relSh && shape.DType.IsFloat()
		if start, err = input("anchor", anchor, i, n); err == nil {
			size, err = input("shape", shape, i, n)
		}
	default:
		if w.start.given {
			start, err = w.start.at(b, s, i, n)
		}
		switch {
		case err != nil:
		case w.end.given:
			if end, err = w.end.at(b, s, i, n); w.end.relative {
				end = scaled(end, extent)
			}
		case hasSize:
			size, err = w.shape.at(b, s, i, n)
		}
	}
	if err != nil {
		return 0, 0, err
	}
	times := scaled
	if w.positional {
		times = func(v, extent float64) float64 { return v * extent }
	}
	if hasSize && relStart && relSize {
		return times(start, extent), (start + size) * extent, nil
	}
	if relStart {
		start = times(start, extent)
	}
	if hasSize {
		if relSize {
			size = times(size, extent)
		}
		end = start + size
	}
	return start, end, nil
}

// scaled multiplies a relative argument by the extent in float32, as DALI does. It multiplies
// positional inputs, and the sum of rel_start and rel_shape, in float64.
func scaled(v, extent float64) float64 { return float64(float32(v) * float32(extent)) }

// input returns the i-th of n values of a positional input.
func input(name string, t tensor.Tensor, i, n int) (float64, error) {
	if t.Shape.Len() != n {
		return 0, &errs.Error{Kind: errs.Mismatch, Subject: "input " + name, Want: fmt.Sprintf("%d values, one per axis", n), Got: t.String()}
	}
	v, ok := op.Number(t, i)
	if !ok {
		return 0, &errs.Error{Kind: errs.Invalid, Subject: "input " + name, Want: "numbers", Got: t.String()}
	}
	return v, nil
}
