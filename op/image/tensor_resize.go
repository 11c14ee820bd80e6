package image

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	schema := op.Schema{
		Name: "tensor_resize",
		Doc: "Changes the extents of some axes of arrays of any rank to given sizes, or by given scales. At most three adjacent axes change. " +
			"The other axes keep their extent, unless mode scales all axes alike.",
		Inputs:  []op.Port{{Name: "data", Doc: "arrays of uint8, int16, uint16 or float32"}},
		Outputs: []op.Port{{Name: "resized", Doc: "arrays of the new extents, with the layout of the input"}},
		Params: append(filterParams(),
			op.Parameter{Name: "alignment", Type: op.Floats, Default: []float64{0.5}, PerSample: true,
				Doc: "The fixed point of the resized part if a size is rounded: 0 at its start, 1 at its end; one for all axes or one for each."},
			op.Parameter{Name: "axes", Type: op.Ints, Doc: "Axes to resize, in the order of the other arguments; by default all. Negative numbers count from the last axis."},
			op.Parameter{Name: "axis_names", Type: op.String, Doc: "Axes to resize, by the letters of the layout."},
			op.Parameter{Name: "max_size", Type: op.Floats, Doc: "Largest extent of the result, one for all axes or one for each; 0 means no limit."},
			op.Parameter{Name: "mode", Type: op.String, Default: "default", Doc: `How sizes are used, as in resize: "default", "stretch", "not_larger" or "not_smaller".`},
			op.Parameter{Name: "roi_end", Type: op.Floats, PerSample: true, Doc: "End of the part that is resized, on each axis."},
			op.Parameter{Name: "roi_relative", Type: op.Bool, Default: false, Doc: "Whether the part is given in fractions of the extents."},
			op.Parameter{Name: "roi_start", Type: op.Floats, PerSample: true, Doc: "Start of the part that is resized, on each axis."},
			op.Parameter{Name: "scales", Type: op.Floats, PerSample: true, Doc: "Factor of each axis, or one for all; not together with sizes."},
			op.Parameter{Name: "size_rounding", Type: op.String, Default: "round", Doc: `How sizes become integers: "round", "truncate" or "ceil".`},
			op.Parameter{Name: "sizes", Type: op.Floats, PerSample: true, Doc: "Extent of each axis, or one for all; 0 derives it from the others."},
			op.Parameter{Name: "subpixel_scale", Type: op.Bool, Default: true, Doc: "Whether the resized part grows or shrinks to match a rounded size."}),
		Precision: op.Tolerance,
		New:       newTensorResize,
	}
	op.Register(schema)
	schema.Module, schema.Deprecated = []string{"experimental"}, "use tensor_resize"
	op.Register(schema)
}

type tensorResize struct {
	resizer
	sizes, scales, align op.Vector[float64]
	alignOthers          float64 // for axes that are not listed: as in DALI, their start if alignment is given
	byScale              bool
	axes                 []int
	names                string
	maxSize              sizeLimits
	how                  sizing
	roi                  roi
}

func newTensorResize(c *op.Config) (op.Kernel, error) {
	k := &tensorResize{resizer: newResizer(c), sizes: op.GetVector[float64](c, "sizes"), scales: op.GetVector[float64](c, "scales"),
		align: op.GetVector[float64](c, "alignment"), byScale: c.Has("scales"), axes: op.Get[[]int](c, "axes"), names: op.Get[string](c, "axis_names"), maxSize: readLimits(c)}
	if c.Has("sizes") == c.Has("scales") {
		return nil, c.Invalid("sizes", "one of sizes and scales", "both or neither", "")
	}
	if len(k.axes) > 0 && k.names != "" {
		return nil, c.Invalid("axes", "one of axes and axis_names", "both", "")
	}
	var err error
	if k.how.mode, err = readMode(c); err != nil {
		return nil, err
	}
	if k.byScale && (k.how.mode == scaleNotLarger || k.how.mode == scaleNotSmaller) {
		return nil, c.Invalid("mode", `"default" or "stretch" together with scales`, fmt.Sprintf("%q", op.Get[string](c, "mode")), "")
	}
	k.how.subpixel = op.Get[bool](c, "subpixel_scale")
	switch r := op.Get[string](c, "size_rounding"); r {
	case "round":
		k.how.round = math.Round
	case "truncate":
		k.how.round = math.Trunc
	case "ceil":
		k.how.round = math.Ceil
	default:
		return nil, c.Invalid("size_rounding", `"round", "truncate" or "ceil"`, fmt.Sprintf("%q", r), "")
	}
	if !c.Given("alignment") {
		k.alignOthers = 0.5
	}
	k.roi, err = readROI(c)
	return op.Each(k), err
}

func (k *tensorResize) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	dtype, err := k.output(in[0])
	if err != nil {
		return nil, err
	}
	out := in[0]
	out.DType = dtype
	if out.Shape != nil {
		var buf [maxRank]int
		axes, err := k.resolve(buf[:0], len(out.Shape), out.Layout)
		if err != nil {
			return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, err)
		}
		out.Shape = out.Shape.Clone()
		for i := range out.Shape {
			if slices.Contains(axes, i) || k.how.mode != scaleDefault {
				out.Shape[i] = -1
			}
		}
	}
	return []tensor.Spec{out}, nil
}

// resolve returns the axes to which the arguments belong.
func (k *tensorResize) resolve(axes []int, rank int, layout string) ([]int, error) {
	bad := func(want string) error {
		return &errs.Error{Kind: errs.Invalid, Subject: "axes", Want: want, Got: fmt.Sprintf("%v%s for data with %d axes, layout %q", k.axes, k.names, rank, layout)}
	}
	if rank > maxRank || rank == 0 {
		return nil, bad(fmt.Sprintf("data with 1 to %d axes", maxRank))
	}
	switch {
	case k.names != "":
		for i := range k.names {
			axes = append(axes, strings.IndexByte(layout, k.names[i]))
		}
	case len(k.axes) > 0:
		for _, a := range k.axes {
			if a < 0 {
				a += rank
			}
			axes = append(axes, a)
		}
	default:
		for a := range rank {
			axes = append(axes, a)
		}
	}
	for i, a := range axes {
		if a < 0 || a >= rank || slices.Contains(axes[:i], a) {
			return nil, bad("axes of the data, each at most once")
		}
	}
	return axes, nil
}

func (k *tensorResize) Sample(b *op.Block, s int) (err error) {
	in, st := b.In(0, s), op.PerWorker[resizeState](b)
	var buf [maxRank]int
	axes, err := k.resolve(buf[:0], len(in.Shape), in.Layout)
	if err != nil {
		return err
	}
	if st.targets, err = k.targets(b, s, st, in.Shape, axes); err != nil {
		return err
	}
	// Axes at both ends count as frames and channels, as in DALI, if they keep their extent and their
	// part, truncated to integers, is the whole axis. But at least two axes are resampled, which
	// matters for filters that change data of unchanged size.
	first, last := 0, len(in.Shape)
	keeps := func(axis int) bool {
		t, extent := st.targets[axis], in.Shape[axis]
		return t.size == extent && int(t.lo) == 0 && int(t.hi) == extent
	}
	for first < last-1 && keeps(first) {
		first++
	}
	for last > first+1 && keeps(last-1) {
		last--
	}
	switch {
	case last-first > 1:
	case last < len(in.Shape):
		last++
	case first > 0:
		first--
	}
	if last-first > maxSpatial {
		return &errs.Error{Kind: errs.Unsupported, Want: "at most three adjacent axes that change", Got: fmt.Sprintf("axes %d to %d", first, last-1)}
	}
	st.targets = st.targets[first:last]
	return k.run(b, s, st, first, last-first)
}

// targets returns the targets of all axes: the axes of the arguments, and the other axes, which
// keep their sizes unless the mode changes them.
func (k *tensorResize) targets(b *op.Block, s int, st *resizeState, shape, axes []int) ([]target, error) {
	var want, lo, hi, align, limits, given, from, to [maxRank]float64
	n, rank := len(axes), len(shape)
	st.in = st.in[:0]
	for _, a := range axes {
		st.in = append(st.in, shape[a])
	}
	if err := k.roi.at(b, s, st.in, from[:n], to[:n]); err != nil {
		return nil, err
	}
	for i, extent := range shape {
		want[i], hi[i], align[i] = float64(extent), float64(extent), k.alignOthers
	}
	most, err := k.maxSize.of(n)
	if err != nil {
		return nil, err
	}
	sizes := &k.sizes
	if k.byScale {
		sizes = &k.scales
	}
	for _, v := range [...]struct {
		vector *op.Vector[float64]
		to     *[maxRank]float64
	}{{sizes, &want}, {&k.align, &align}} {
		values, err := v.vector.At(b, s, given[:0])
		if err != nil {
			return nil, err
		}
		if len(values) != 1 && len(values) != n {
			return nil, &errs.Error{Kind: errs.Invalid, Subject: "sizes, scales and alignment", Want: fmt.Sprintf("1 or %d values", n), Got: fmt.Sprint(len(values))}
		}
		for i, a := range axes {
			v.to[a] = float64(float32(values[i%len(values)]))
		}
	}
	for i, a := range axes {
		lo[a], hi[a] = from[i], to[i]
		if k.byScale {
			want[a] = float64(float32(want[a] * float64(shape[a])))
		}
		if most != nil {
			limits[a] = most[i]
		}
		if !(math.Abs(want[a]) <= math.MaxInt32) {
			return nil, &errs.Error{Kind: errs.Invalid, Subject: "size", Want: "a number of elements", Got: fmt.Sprint(want[a])}
		}
	}
	how := k.how
	how.limits, how.align = limits[:rank], align[:rank]
	return how.targets(st.targets[:0], want[:rank], lo[:rank], hi[:rank], shape), nil
}
