package generic

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func reshapingInputs() []op.Port {
	return []op.Port{
		{Name: "data", Doc: "data of any kind"},
		{Name: "shape_input", Doc: "the new shape, as integers, in place of the argument", Optional: true},
	}
}

func reshapingParams() []op.Parameter {
	return []op.Parameter{
		layoutParam("New layout. By default the layout stays if the number of axes stays."),
		{Name: "rel_shape", Type: op.Floats, PerSample: true, Doc: "New shape as fractions of the old extents; a negative extent takes the remaining elements."},
		{Name: "shape", Type: op.Ints, PerSample: true, Doc: "New shape; a negative extent takes the remaining elements."},
		{Name: "src_dims", Type: op.Ints, PerSample: true,
			Doc: "For each new axis, the axis of the input with its extent, before rel_shape is applied. -1 means a new axis of extent 1."},
	}
}

// reshaping is the kernel of reshape and reinterpret.
type reshaping struct {
	config      *op.Config
	shape       op.Vector[int]
	relative    op.Vector[float64]
	source      op.Vector[int]
	layout      string
	hasLayout   bool
	hasShape    bool
	hasRelative bool
	hasSource   bool
	hasInput    bool
	dtype       tensor.DType // Invalid: the input's
}

func newReshaping(c *op.Config) (op.Kernel, error) {
	k := &reshaping{
		config: c, shape: op.GetVector[int](c, "shape"), relative: op.GetVector[float64](c, "rel_shape"),
		source: op.GetVector[int](c, "src_dims"), layout: op.Get[string](c, "layout"), hasLayout: c.Given("layout"),
		hasShape: c.Given("shape"), hasRelative: c.Given("rel_shape"), hasSource: c.Given("src_dims"), hasInput: c.Inputs > 1,
	}
	var err error
	if k.dtype, err = elementType(c, "dtype"); err != nil {
		return nil, err
	}
	ways := 0
	for _, given := range []bool{k.hasShape, k.hasRelative, k.hasInput} {
		if given {
			ways++
		}
	}
	switch {
	case ways > 1:
		return nil, c.Invalid("shape", "one of shape, rel_shape and a second input", "more than one of them", "")
	case ways == 0 && !k.hasSource && !k.hasLayout && k.dtype == tensor.Invalid:
		return nil, c.Invalid("shape", "a new shape, layout or type", "none of them", "use copy")
	}
	if shape, ok := k.shape.Const(); ok {
		if err := oneWildcard(shape); err != nil || slices.Contains(shape, 0) {
			return nil, c.Invalid("shape", "extents other than 0, at most one of them negative", fmt.Sprint(shape), "")
		}
	}
	if shape, ok := k.relative.Const(); ok {
		if err := oneWildcard(shape); err != nil || slices.Contains(shape, 0) {
			return nil, c.Invalid("rel_shape", "fractions other than 0, at most one of them negative", fmt.Sprint(shape), "")
		}
	}
	return op.Each(k), nil
}

// oneWildcard returns an error if more than one extent is negative.
func oneWildcard[T int | float64](shape []T) error {
	n := 0
	for _, d := range shape {
		if d < 0 {
			n++
		}
	}
	if n > 1 {
		return &errs.Error{Kind: errs.Invalid, Want: "at most one negative extent", Got: fmt.Sprint(shape)}
	}
	return nil
}

func (k *reshaping) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := tensor.Spec{DType: in[0].DType}
	if k.dtype != tensor.Invalid {
		out.DType = k.dtype
	}
	if k.hasInput && !in[1].DType.IsInteger() {
		return nil, k.config.InvalidInput(1, "a shape, as integers", in[1].DType.String(), "cast it")
	}
	shape, err := k.inferShape(in, out.DType)
	if err != nil {
		return nil, k.config.InvalidInput(0, "data that fits the new shape", in[0].DType.String()+in[0].Shape.String()+": "+err.Error(), "")
	}
	out.Shape = shape
	if shape == nil {
		out.Layout = k.layout
		return []tensor.Spec{out}, nil
	}
	if err := fits(k.config, "layout", k.layout, len(shape)); err != nil {
		return nil, err
	}
	out.Layout, err = k.layoutOf(in[0].Layout, len(shape))
	return []tensor.Spec{out}, err
}

// layoutOf returns the layout of an output of the given rank.
func (k *reshaping) layoutOf(layout string, rank int) (string, error) {
	switch {
	case k.hasLayout:
		return k.layout, nil
	case len(layout) == rank:
		return layout, nil
	case layout != "" && k.hasSource && !k.hasShape && !k.hasRelative && !k.hasInput:
		return "", k.config.Invalid("src_dims", fmt.Sprintf("the axes of %q", layout), fmt.Sprintf("%d axes, which the layout does not name", rank), "give a layout")
	}
	return "", nil
}

// inferShape returns the known part of the new shape, or nil if not even its rank is known.
func (k *reshaping) inferShape(in []tensor.Spec, dtype tensor.DType) (tensor.Shape, error) {
	if k.hasInput {
		if s := in[1].Shape; op.Static(in[1]) && s.Len() <= 1<<10 {
			return unknown(s.Len()), nil
		}
		return nil, nil
	}
	shape, ok1 := k.shape.Const()
	relative, ok2 := k.relative.Const()
	source, ok3 := k.source.Const()
	if !ok1 || !ok2 || !ok3 {
		return nil, nil
	}
	if op.Static(in[0]) {
		return k.extents(nil, in[0].Shape, in[0].DType, dtype, shape, relative, source)
	}
	switch {
	case k.hasShape:
		return tensor.Shape(shape).Clone(), nil // a negative extent is unknown
	case k.hasRelative:
		return unknown(len(relative)), nil
	case in[0].Shape == nil && !k.hasSource:
		return nil, nil
	case k.hasSource:
		return unknown(len(source)), nil
	case k.dtype == tensor.Invalid:
		return in[0].Shape, nil
	}
	return unknown(len(in[0].Shape)), nil
}

func (k *reshaping) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	w := op.PerWorker[workspace](b)
	shape, err := k.shape.At(b, s, w.arguments[0])
	if err != nil {
		return err
	}
	relative, err := k.relative.At(b, s, w.parts)
	if err != nil {
		return err
	}
	source, err := k.source.At(b, s, w.arguments[1])
	if err != nil {
		return err
	}
	if k.hasInput {
		if shape, err = integers(b.In(1, s), w.arguments[0][:0]); err != nil {
			return err
		}
	}
	out := in
	if k.dtype != tensor.Invalid {
		out.DType = k.dtype
	}
	if out.Shape, err = k.extents(w.shape[:0], in.Shape, in.DType, out.DType, shape, relative, source); err != nil {
		return err
	}
	w.shape = out.Shape
	if out.Layout, err = k.layoutOf(in.Layout, len(out.Shape)); err != nil {
		return err
	}
	if err := fits(k.config, "layout", out.Layout, len(out.Shape)); err != nil {
		return err
	}
	b.Alias(0, s, out)
	return nil
}

// extents appends to out the new shape of data of shape in, whose elements of type from become
// elements of type dtype.
func (k *reshaping) extents(out, in tensor.Shape, from, dtype tensor.DType, shape []int, relative []float64, source []int) (tensor.Shape, error) {
	base, err := k.base(out, in, source)
	if err != nil {
		return nil, err
	}
	old, err := in.Bytes(from)
	if err != nil {
		return nil, err
	}
	switch {
	case k.hasShape || k.hasInput:
		out = append(base[:0], shape...)
	case k.hasRelative:
		if out, err = k.scaled(base, relative); err != nil {
			return nil, err
		}
	default:
		out = base
		if err := resizeLast(out, from, dtype); err != nil {
			return nil, err
		}
	}
	if err := oneWildcard(out); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(out, func(d int) bool { return d < 0 }); i >= 0 {
		out[i] = 1
		rest, err := out.Bytes(dtype)
		if err != nil {
			return nil, err
		}
		if out[i] = 0; rest > 0 {
			out[i] = old / rest
		}
	}
	if n, err := out.Bytes(dtype); err != nil || n != old {
		return nil, mismatch(fmt.Sprintf("a shape of %d bytes", old), dtype.String()+out.String())
	}
	return out, nil
}

// base returns the extents that source names, or the extents of the input if source is empty.
func (k *reshaping) base(out, in tensor.Shape, source []int) (tensor.Shape, error) {
	if !k.hasSource {
		return append(out, in...), nil
	}
	for _, d := range source {
		switch {
		case d == -1:
			out = append(out, 1)
		case d < 0 || d >= len(in):
			return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument src_dims", Want: fmt.Sprintf("axes of -1 to %d", len(in)-1), Got: fmt.Sprint(d)}
		default:
			out = append(out, in[d])
		}
	}
	return out, nil
}

// scaled returns the extents multiplied by the fractions, in the memory of base.
func (k *reshaping) scaled(base tensor.Shape, parts []float64) (tensor.Shape, error) {
	if k.hasSource && len(parts) != len(base) {
		return nil, mismatch(fmt.Sprintf("a rel_shape of %d axes, like src_dims", len(base)), fmt.Sprint(parts))
	}
	for len(base) < len(parts) {
		if parts[len(base)] >= 0 {
			return nil, mismatch(fmt.Sprintf("a rel_shape of at most %d axes", len(base)), fmt.Sprint(parts))
		}
		base = append(base, -1)
	}
	base = base[:len(parts)]
	for i, p := range parts {
		d := float32(base[i]) * float32(p)
		switch {
		case p < 0:
			base[i] = -1
		case d != d || d >= math.MaxInt32:
			return nil, mismatch("extents that can be addressed", fmt.Sprint(d))
		default:
			base[i] = int(op.RoundFloat[int64](d))
		}
	}
	return base, nil
}

// resizeLast converts the last extent to elements of another size.
func resizeLast(shape tensor.Shape, from, to tensor.DType) error {
	if from.Size() == to.Size() {
		return nil
	}
	last := len(shape) - 1
	if last < 0 || shape[last]*from.Size()%to.Size() != 0 {
		return mismatch(fmt.Sprintf("a last axis whose bytes are a multiple of %d", to.Size()), from.String()+shape.String())
	}
	shape[last] = shape[last] * from.Size() / to.Size()
	return nil
}

// integers appends the elements of a tensor of integers to buf.
func integers(t tensor.Tensor, buf []int) ([]int, error) {
	if t.Len() > 1<<10 {
		return nil, mismatch("a shape of at most 1024 axes", t.String())
	}
	for i := range t.Len() {
		v, ok := t.Float64(i)
		if !ok || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			return nil, mismatch("integers", t.String())
		}
		buf = append(buf, int(v))
	}
	return buf, nil
}

func init() {
	op.Register(op.Schema{
		Name:    "reshape",
		Doc:     "Changes the shape or layout of data. The elements keep their order.",
		Inputs:  reshapingInputs(),
		Outputs: []op.Port{{Name: "output", Doc: "the same elements in the other shape"}},
		Params:  reshapingParams(),
		New:     newReshaping,
	})
}

func init() {
	op.Register(op.Schema{
		Name: "reinterpret",
		Doc: "Interprets the bytes of the elements as elements of another type. Without a shape the last axis " +
			"becomes longer or shorter by the ratio of the sizes of the two types.",
		Inputs:  reshapingInputs(),
		Outputs: []op.Port{{Name: "output", Doc: "the same bytes with the other type and shape"}},
		Params: append(reshapingParams(),
			op.Parameter{Name: "dtype", Type: op.DType, Doc: "Type of the output; by default the input's type."}),
		New: newReshaping,
	})
}
