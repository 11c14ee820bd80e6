package reader

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// regionParams are the arguments of readers that can read a region of an array.
func regionParams() []op.Parameter {
	return []op.Parameter{
		{Name: "roi_start", Type: op.Ints, PerSample: true, Doc: "First element of the region on each axis; the default is 0. One number is for all axes."},
		{Name: "rel_roi_start", Type: op.Floats, PerSample: true, Doc: "Start of the region on each axis, relative to the extents."},
		{Name: "roi_end", Type: op.Ints, PerSample: true, Doc: "End of the region on each axis: the element after its last; the default is the extent."},
		{Name: "rel_roi_end", Type: op.Floats, PerSample: true, Doc: "End of the region on each axis, relative to the extents."},
		{Name: "roi_shape", Type: op.Ints, PerSample: true, Doc: "Extent of the region on each axis."},
		{Name: "rel_roi_shape", Type: op.Floats, PerSample: true, Doc: "Extent of the region on each axis, relative to the extents of the array."},
		{Name: "roi_axes", Type: op.Ints, Default: []int{}, Doc: "Axes of the region, in the order of its values; negative numbers count from the last axis; by default all axes."},
		{Name: "out_of_bounds_policy", Type: op.String, Default: "error", Doc: `What a region outside the array is: "error", "pad" (filled with fill_value) or "trim_to_shape" (cut).`},
		{Name: "fill_value", Type: op.Float, Default: 0.0, Doc: `What fills the outside of an array with "pad".`},
	}
}

// regionBehind leaves a region that differs per sample to the operator slice behind the reader,
// which reads whole arrays.
func regionBehind(args map[string]op.Argument) (own map[string]op.Argument, operator string,
	after func(spec tensor.Spec) map[string]op.Argument,
) {
	own, given := map[string]op.Argument{}, map[string]op.Argument{}
	for name, a := range args {
		switch name {
		case "roi_start", "rel_roi_start", "roi_end", "rel_roi_end", "roi_shape", "rel_roi_shape":
			given[strings.Replace(name, "roi_", "", 1)] = a
		case "roi_axes":
			given["axes"] = a
		case "fill_value":
			given["fill_values"] = a
		case "out_of_bounds_policy":
			given[name] = a
		default:
			own[name] = a
		}
	}
	return own, "slice", func(spec tensor.Spec) map[string]op.Argument {
		axes, _ := given["axes"].Const.([]int) //nolint:errcheck // slice says what is wrong with others
		if _, ok := given["axes"]; !ok || axes != nil && len(axes) == 0 {
			axes = make([]int, len(spec.Shape))
			for i := range axes {
				axes[i] = i
			}
			given["axes"] = op.Argument{Const: axes}
		}
		for _, name := range []string{"start", "end", "shape", "rel_start", "rel_end", "rel_shape"} {
			if a, ok := given[name]; ok {
				given[name] = op.Argument{Const: spread(a.Const, len(axes)), From: a.From}
			}
		}
		return given
	}
}

// spread makes a list of n numbers of one number.
func spread(v any, n int) any {
	switch v := v.(type) {
	case int:
		return slices.Repeat([]int{v}, n)
	case float64:
		return slices.Repeat([]float64{v}, n)
	case []int:
		if len(v) == 1 {
			return slices.Repeat(v, n)
		}
	case []float64:
		if len(v) == 1 {
			return slices.Repeat(v, n)
		}
	}
	return v
}

// region is the region that is read of each array.
type region struct {
	axes              []int
	start, end, shape bound
	pad, trim         bool
}

// bound is one argument of a region, absolute or relative.
type bound struct {
	name     string
	values   []float64
	relative bool
}

// newBound reads the arguments name and rel_name, of which one may be given.
func newBound(c *op.Config, name string) (bound, error) {
	b := bound{name: name, relative: c.Has("rel_" + name)}
	switch {
	case c.Has(name) && b.relative:
		return b, c.Invalid(name, name+" or rel_"+name, "both", "")
	case b.relative:
		b.name = "rel_" + name
		for _, v := range op.Get[[]float64](c, b.name) {
			b.values = append(b.values, float64(float32(v))) // DALI keeps arguments in float32
		}
	default:
		for _, v := range op.Get[[]int](c, name) {
			b.values = append(b.values, float64(v))
		}
	}
	if c.Has(b.name) && len(b.values) == 0 {
		return b, c.Invalid(b.name, "a value for each axis", "none", "")
	}
	return b, nil
}

// newRegion reads the arguments of regionParams. It returns nil if they name no region.
func newRegion(c *op.Config) (*region, error) {
	r := &region{axes: op.Get[[]int](c, "roi_axes")}
	switch p := op.Get[string](c, "out_of_bounds_policy"); p {
	case "error":
	case "pad":
		r.pad = true
	case "trim_to_shape":
		r.trim = true
	default:
		return nil, c.Invalid("out_of_bounds_policy", "error, pad or trim_to_shape", strconv.Quote(p),
			op.Nearest(p, []string{"error", "pad", "trim_to_shape"}))
	}
	var err error
	for _, b := range []struct {
		bound *bound
		name  string
	}{{&r.start, "roi_start"}, {&r.end, "roi_end"}, {&r.shape, "roi_shape"}} {
		if *b.bound, err = newBound(c, b.name); err != nil {
			return nil, err
		}
	}
	switch {
	case r.end.values != nil && r.shape.values != nil:
		return nil, c.Invalid(r.end.name, "an end or a shape", "both", "")
	case r.start.values == nil && r.end.values == nil && r.shape.values == nil:
		return nil, nil
	}
	for _, v := range r.shape.values {
		if v < 0 {
			return nil, c.Invalid(r.shape.name, "extents of 0 or more", fmt.Sprint(v), "")
		}
	}
	return r, nil
}

// at returns the value for the i-th of n axes.
func (b *bound) at(i, n int) (float64, error) {
	switch len(b.values) {
	case n:
		return b.values[i], nil
	case 1:
		return b.values[0], nil
	}
	return 0, &errs.Error{Kind: errs.Mismatch, Subject: "argument " + b.name,
		Want: fmt.Sprintf("%d values, one for each axis", n), Got: strconv.Itoa(len(b.values))}
}

// scaled returns a value for an axis in elements, multiplied in float32 as in DALI.
func (b *bound) scaled(v float64, extent int) float64 {
	if b.relative {
		return float64(float32(v) * float32(extent))
	}
	return v
}

// box is a region of an array: where it begins, and how large it is, on each axis.
type box struct{ start, size []int }

// box returns the region of an array. It may begin before the array or end behind it, for pad.
func (r *region) box(shape []int) (box, error) {
	x := box{make([]int, len(shape)), append([]int(nil), shape...)}
	axes := r.axes
	if len(axes) == 0 {
		axes = make([]int, len(shape))
		for i := range axes {
			axes[i] = i
		}
	}
	seen := map[int]bool{}
	for i, axis := range axes {
		if axis < 0 {
			axis += len(shape)
		}
		if axis < 0 || axis >= len(shape) || seen[axis] {
			return x, &errs.Error{Kind: errs.Invalid, Subject: "argument roi_axes",
				Want: fmt.Sprintf("axes of an array with %d axes, each once", len(shape)),
				Got:  fmt.Sprint(axes)}
		}
		seen[axis] = true
		start, end, err := r.ends(i, len(axes), shape[axis])
		if err != nil {
			return x, err
		}
		if !(math.Abs(start) <= math.MaxInt32 && math.Abs(end) <= math.MaxInt32 && start <= end) {
			return x, &errs.Error{Kind: errs.Invalid, Subject: "region", Want: "a start that is not behind the end",
				Got: fmt.Sprintf("from %g to %g on axis %d", start, end, axis)}
		}
		x.start[axis], x.size[axis] = int(start), int(end-start)
	}
	for axis, n := range shape {
		lo, hi := max(0, min(x.start[axis], n)), max(0, min(x.start[axis]+x.size[axis], n))
		inside := lo == x.start[axis] && hi == x.start[axis]+x.size[axis]
		switch {
		case inside || r.pad:
		case r.trim:
			x.start[axis], x.size[axis] = lo, hi-lo
		default:
			return x, &errs.Error{Kind: errs.Invalid, Subject: "region",
				Want: "a part of an array of shape " + tensor.Shape(shape).Clone().String(),
				Got: fmt.Sprintf("from %d to %d on axis %d", x.start[axis], x.start[axis]+x.size[axis],
					axis), Remedy: `out_of_bounds_policy "pad" or "trim_to_shape" allows it`}
		}
	}
	return x, nil
}

// ends returns start and end on the i-th of n axes. DALI rounds them half away from zero.
func (r *region) ends(i, n, extent int) (start, end float64, err error) {
	size := 0.0
	end = float64(extent)
	if r.start.values != nil {
		start, err = r.start.at(i, n)
	}
	switch {
	case err != nil:
	case r.end.values != nil:
		end, err = r.end.at(i, n)
		end = r.end.scaled(end, extent)
	case r.shape.values != nil:
		size, err = r.shape.at(i, n)
		if r.start.relative && r.shape.relative {
			end = (start + size) * float64(extent)
		} else {
			end = r.start.scaled(start, extent) + r.shape.scaled(size, extent)
		}
	}
	return math.Round(r.start.scaled(start, extent)), math.Round(end), err
}

// pieceBytes is how many bytes of an array are read at once, if the region does not need all of
// them.
const pieceBytes = 64 << 10

// fetch reads the region of an array with the header h to output 0. read reads bytes of the data.
func (r *region) fetch(h npy.Header, s int, dst *op.Block, fill []byte, read func(p []byte, at int64) error) error {
	x, err := r.box(h.Shape)
	if err != nil {
		return err
	}
	out := dst.Out(0, s, x.size...).Data
	if len(out) == 0 {
		return nil
	}
	// The axes of the file from the outermost to the innermost, as in C order.
	rank, size := len(h.Shape), h.DType.Size()
	c := copier{axes: make([]axisCopy, rank), size: size}
	whole := true
	stride := size
	for axis := rank - 1; axis >= 0; axis-- {
		at := axis
		if h.Fortran {
			at = rank - 1 - axis
		}
		a := &c.axes[at]
		a.lo, a.hi = max(0, x.start[axis]), min(x.start[axis]+x.size[axis], h.Shape[axis])
		a.n, a.to = h.Shape[axis], stride
		c.base += (a.lo - x.start[axis]) * stride
		whole = whole && a.hi-a.lo == x.size[axis]
		stride *= x.size[axis]
		if a.hi <= a.lo {
			c.empty = true
		}
	}
	if !whole {
		element := fill
		if h.BigEndian { // all is turned at the end
			element = append([]byte(nil), fill...)
			npy.Header{DType: h.DType, BigEndian: true}.Arrange(element, element)
		}
		for done := copy(out, element); done < len(out); done *= 2 {
			copy(out[done:], out[:done])
		}
	}
	if !c.empty {
		if err := c.run(out, dst, read); err != nil {
			return err
		}
	}
	npy.Header{DType: h.DType, BigEndian: h.BigEndian}.Arrange(out, out)
	return nil
}

// axisCopy is an axis of an array as a file has it.
type axisCopy struct {
	lo, hi int // the part that is copied
	n      int // the extent
	from   int // bytes from one element to the next in the file
	to     int // the same in the output
}

// copier copies a region of a file to an output.
type copier struct {
	axes  []axisCopy
	size  int // bytes of an element
	base  int // where the region begins in the output
	empty bool
}

// run reads the region. It reads whole runs of the outer axes, or runs of inner axes if these are
// long.
func (c *copier) run(out []byte, dst *op.Block, read func(p []byte, at int64) error) error {
	from := c.size
	for i := len(c.axes) - 1; i >= 0; i-- {
		c.axes[i].from = from
		from *= c.axes[i].n
	}
	if len(c.axes) == 0 {
		return read(out[:c.size], 0)
	}
	depth := 0
	for i := range c.axes {
		if a := &c.axes[i]; (a.hi-a.lo)*a.from >= pieceBytes {
			depth = i
		}
	}
	a := &c.axes[depth]
	run := (a.hi - a.lo) * a.from
	straight := c.straight(depth)
	var piece []byte
	if !straight {
		piece = op.Scratch[uint8](dst, run)
	}
	place := make([]int, depth)
	for i := range place {
		place[i] = c.axes[i].lo
	}
	for {
		at, to := int64(a.lo)*int64(a.from), c.base
		for i, p := range place {
			at += int64(p) * int64(c.axes[i].from)
			to += (p - c.axes[i].lo) * c.axes[i].to
		}
		p := piece
		if straight {
			p = out[to : to+run]
		}
		if err := read(p, at); err != nil {
			return err
		}
		if !straight {
			c.copy(out[to:], p[:], depth, true)
		}
		i := depth - 1
		for ; i >= 0; i-- {
			if place[i]++; place[i] < c.axes[i].hi {
				break
			}
			place[i] = c.axes[i].lo
		}
		if i < 0 {
			return nil
		}
	}
}

// straight reports whether a run of an axis has its bytes in the output as they are in the file.
func (c *copier) straight(depth int) bool {
	for i := depth; i < len(c.axes); i++ {
		a := &c.axes[i]
		if a.from != a.to || i > depth && a.hi-a.lo != a.n {
			return false
		}
	}
	return true
}

// copy copies the part of an axis from src to dst. src begins at its first element if begun is set,
// else at element 0.
func (c *copier) copy(dst, src []byte, axis int, begun bool) {
	a := &c.axes[axis]
	if !begun {
		src = src[a.lo*a.from:]
	}
	n := a.hi - a.lo
	if axis == len(c.axes)-1 {
		if a.to == c.size {
			copy(dst[:n*c.size], src)
			return
		}
		for i := range n {
			copy(dst[i*a.to:i*a.to+c.size], src[i*c.size:])
		}
		return
	}
	for i := range n {
		c.copy(dst[i*a.to:], src[i*a.from:], axis+1, false)
	}
}

// elementOf returns the bytes of an element of a type that is nearest to v, as DALI converts
// numbers.
func elementOf(d tensor.DType, v float64) ([]byte, error) {
	v = float64(float32(v)) // DALI keeps arguments in float32
	le := binary.LittleEndian
	switch d {
	case tensor.Bool:
		if v != 0 {
			return []byte{1}, nil
		}
		return []byte{0}, nil
	case tensor.Uint8:
		return []byte{op.Round[uint8](v)}, nil
	case tensor.Int8:
		return []byte{byte(op.Round[int8](v))}, nil
	case tensor.Uint16:
		return le.AppendUint16(nil, op.Round[uint16](v)), nil
	case tensor.Int16:
		return le.AppendUint16(nil, uint16(op.Round[int16](v))), nil
	case tensor.Uint32:
		return le.AppendUint32(nil, op.Round[uint32](v)), nil
	case tensor.Int32:
		return le.AppendUint32(nil, uint32(op.Round[int32](v))), nil
	case tensor.Uint64:
		return le.AppendUint64(nil, op.Round[uint64](v)), nil
	case tensor.Int64:
		return le.AppendUint64(nil, uint64(op.Round[int64](v))), nil
	case tensor.Float32:
		return le.AppendUint32(nil, math.Float32bits(float32(v))), nil
	case tensor.Float64:
		return le.AppendUint64(nil, math.Float64bits(v)), nil
	case tensor.Float16:
		t, err := tensor.Cast(d, tensor.FromSlice([]float32{float32(v)}, 1))
		return t.Data, err
	}
	return nil, &errs.Error{Kind: errs.Unsupported, Want: "integers, floats or bools", Got: d.String()}
}
