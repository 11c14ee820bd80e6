package image

import (
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/tensor"
)

// normalizer walks over the window of an image and over its output, whose axes may be in another
// order. It takes one row of one channel at a time. Steps are in elements.
type normalizer struct {
	outer    []walkAxis // all axes but the rows and channels
	row      walkAxis
	channel  walkAxis
	src, dst int  // start of the walk
	partial  bool // the walk does not cover the whole output
}

// walkAxis is one axis of the walk, with n steps.
type walkAxis struct{ n, src, dst int }

// plan prepares the walk and reports whether the whole window lies in the image.
func (w *normalizer) plan(in []int, layout string, spans []window.Span, out []int, outLayout string, mirror bool) (inside bool) {
	var strides [8]int
	step := 1
	for i := len(out) - 1; i >= 0; i-- {
		strides[strings.IndexByte(layout, outLayout[i])] = step
		step *= out[i]
	}
	w.outer, w.src, w.dst, w.partial, inside = w.outer[:0], 0, 0, false, true
	step = 1
	for i := len(in) - 1; i >= 0; i-- {
		span := spans[i]
		part := span.Clip(in[i])
		inside = inside && part == span
		a := walkAxis{n: part.Size, src: step, dst: strides[i]}
		w.src += part.Start * a.src
		if letter := layout[i]; letter == 'W' && mirror {
			w.dst += (span.Start + span.Size - 1 - part.Start) * a.dst
			a.dst = -a.dst
		} else {
			w.dst += (part.Start - span.Start) * a.dst
		}
		switch layout[i] {
		case 'W':
			w.row = a
		case 'C':
			w.channel = a
			w.partial = out[strings.IndexByte(outLayout, 'C')] != in[i]
		default:
			w.outer = append(w.outer, a)
		}
		step *= in[i]
	}
	w.partial = w.partial || !inside
	return inside
}

// each calls row for the first element of every row of pixels, in the source and the output.
func (w *normalizer) each(row func(src, dst int)) { w.walk(w.outer, w.src, w.dst, row) }

func (w *normalizer) walk(axes []walkAxis, src, dst int, row func(src, dst int)) {
	if w.row.n == 0 {
		return
	}
	if len(axes) == 0 {
		row(src, dst)
		return
	}
	a := axes[len(axes)-1]
	for range a.n {
		w.walk(axes[:len(axes)-1], src, dst, row)
		src, dst = src+a.src, dst+a.dst
	}
}

// compute writes float32 values.
func (w *normalizer) compute(dst, src []float32, channels []affine) {
	n, dx, sx := w.row.n, w.row.dst, w.row.src
	w.each(func(s, d int) {
		for c, a := range channels {
			to, from := d+c*w.channel.dst, s+c*w.channel.src
			for range n {
				dst[to] = a.at(src[from])
				to, from = to+dx, from+sx
			}
		}
	})
}

// splits reports whether rows of pixels with three interleaved values become rows of three planes.
func (w *normalizer) splits() bool {
	return w.row.src == 3 && w.channel.src == 1 && w.channel.n == 3 && (w.row.dst == 1 || w.row.dst == -1) && w.channel.dst > 0
}

// split writes float32 values of bytes, if splits returns true.
func (w *normalizer) split(dst []float32, src []byte, channels []affine) {
	var mean, factor [3]float32
	for c, a := range channels {
		mean[c], factor[c] = a.mean, a.factor
	}
	n, reversed := w.row.n, w.row.dst < 0
	w.each(func(s, d int) {
		if reversed {
			d -= n - 1
		}
		kernel.Normalize(dst[d:], w.channel.dst, src[s:], n, &mean, &factor, reversed)
	})
}

// look writes the table entries of bytes, with one table per channel.
func (w *normalizer) look(out tensor.Tensor, src []byte, tables []byte) {
	switch out.DType.Size() {
	case 1:
		lookRows[uint8](w, out.Data, src, tables)
	case 2:
		lookRows[uint16](w, out.Data, src, tables)
	default:
		lookRows[uint32](w, out.Data, src, tables)
	}
}

func lookRows[W uint8 | uint16 | uint32](w *normalizer, out, src, tables []byte) {
	dst, all := element.View[W](out), element.View[W](tables)
	w.each(func(s, d int) {
		for c := range w.channel.n {
			table := (*[256]W)(all[256*c:])
			mapRow(dst, d+c*w.channel.dst, w.row.dst, src[s+c*w.channel.src:], w.row.src, w.row.n, table)
		}
	})
}

// mapRow looks up n bytes that lie step apart, and writes the elements dx apart from dst[at] on.
func mapRow[T any](dst []T, at, dx int, src []uint8, step, n int, table *[256]T) {
	switch {
	case dx == 1:
		from := 0
		for i := range dst[at : at+n] {
			dst[at+i] = table[src[from]]
			from += step
		}
	case dx == -1:
		row := dst[at-n+1 : at+1]
		from := 0
		for i := len(row) - 1; i >= 0; i-- {
			row[i] = table[src[from]]
			from += step
		}
	default:
		for i := range n {
			dst[at+i*dx] = table[src[i*step]]
		}
	}
}

// byteTable holds the result for each byte in each channel.
type byteTable struct {
	built []affine
	dtype tensor.DType
	wide  []float32
	data  []byte
}

// build returns the tables of all channels. It makes them again only if the maps changed.
func (t *byteTable) build(channels []affine, dtype tensor.DType) ([]byte, error) {
	if slices.Equal(t.built, channels) && t.dtype == dtype {
		return t.data, nil
	}
	t.wide = t.wide[:0]
	for _, a := range channels {
		for v := range 256 {
			t.wide = append(t.wide, a.at(float32(v)))
		}
	}
	if size := len(t.wide) * dtype.Size(); cap(t.data) < size {
		t.data = tensor.New(dtype, len(t.wide)).Data
	} else {
		t.data = t.data[:size]
	}
	t.built, t.dtype = append(t.built[:0], channels...), dtype
	return t.data, element.Into(dtype, t.data, tensor.Float32, element.Bytes(t.wide))
}
