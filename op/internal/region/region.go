// Package region copies windows of arrays of any rank and fills the part outside the source. Arrays
// are dense and in row-major order.
package region

import (
	"math"

	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Copier copies windows. Its memory is reused; the zero value is ready.
type Copier struct {
	axes []axis
}

// axis is one loop of a copy.
type axis struct {
	n        int // number of iterations
	src, dst int // steps in bytes
}

// Job is one copy.
type Job struct {
	Dst, Src         []byte
	DstType, SrcType tensor.DType // they differ if elements are converted
	Shape            []int        // of the source
	Spans            []window.Span
	Mirror           uint64 // bit i: axis i of the window is reversed
}

// Inside reports whether the whole window lies in the source.
func (j *Job) Inside() bool {
	for i, s := range j.Spans {
		if s.Clip(j.Shape[i]) != s {
			return false
		}
	}
	return true
}

// Run copies the part that lies inside the source and leaves the rest of Dst unchanged. It returns
// an error for types that cannot be converted.
func (c *Copier) Run(j Job) error {
	src, dst := 0, 0
	c.axes = c.axes[:0]
	srcSize, dstSize := j.SrcType.Size(), j.DstType.Size()
	srcStep, dstStep := srcSize, dstSize
	for i := len(j.Spans) - 1; i >= 0; i-- {
		span := j.Spans[i]
		in := span.Clip(j.Shape[i])
		if in.Size == 0 {
			return nil
		}
		a := axis{n: in.Size, src: srcStep, dst: dstStep}
		src += in.Start * srcStep
		if j.Mirror>>i&1 != 0 {
			dst += (span.Start + span.Size - 1 - in.Start) * dstStep
			a.dst = -dstStep
		} else {
			dst += (in.Start - span.Start) * dstStep
		}
		srcStep *= j.Shape[i]
		dstStep *= span.Size
		c.push(a)
	}
	run := 1 // elements that are contiguous in both
	axes := c.axes
	if len(axes) > 0 && axes[0].src == srcSize && axes[0].dst == dstSize {
		run, axes = axes[0].n, axes[1:]
	}
	if j.SrcType == j.DstType {
		copyAxes(j.Dst, dst, j.Src, src, run*srcSize, axes)
		return nil
	}
	return convertAxes(&j, dst, src, run, axes)
}

// push adds an outer loop. It merges the loop with the last loop if their elements are contiguous.
func (c *Copier) push(a axis) {
	if a.n == 1 {
		return
	}
	if k := len(c.axes) - 1; k >= 0 {
		if last := &c.axes[k]; last.src*last.n == a.src && last.dst*last.n == a.dst {
			last.n *= a.n
			return
		}
	}
	c.axes = append(c.axes, a)
}

func copyAxes(dst []byte, d int, src []byte, s, run int, axes []axis) {
	if len(axes) == 0 {
		copy(dst[d:d+run], src[s:s+run])
		return
	}
	a := axes[len(axes)-1]
	if len(axes) > 1 {
		for range a.n {
			copyAxes(dst, d, src, s, run, axes[:len(axes)-1])
			d, s = d+a.dst, s+a.src
		}
		return
	}
	switch run {
	case 1:
		for range a.n {
			dst[d] = src[s]
			d, s = d+a.dst, s+a.src
		}
	case 3:
		for range a.n {
			to, from := dst[d:d+3:d+3], src[s:s+3:s+3]
			to[0], to[1], to[2] = from[0], from[1], from[2]
			d, s = d+a.dst, s+a.src
		}
	default:
		for range a.n {
			copy(dst[d:d+run], src[s:s+run])
			d, s = d+a.dst, s+a.src
		}
	}
}

func convertAxes(j *Job, d, s, run int, axes []axis) error {
	if len(axes) == 0 {
		return convert(j.DstType, j.Dst[d:d+run*j.DstType.Size()], j.SrcType, j.Src[s:s+run*j.SrcType.Size()])
	}
	a := axes[len(axes)-1]
	for range a.n {
		if err := convertAxes(j, d, s, run, axes[:len(axes)-1]); err != nil {
			return err
		}
		d, s = d+a.dst, s+a.src
	}
	return nil
}

// convert converts elements. Integers are saturated, floats are truncated to integers, and numbers
// outside the range of float16 become its largest value.
func convert(dstType tensor.DType, dst []byte, srcType tensor.DType, src []byte) error {
	limit := math.Inf(1)
	switch {
	case dstType == tensor.Float16:
		limit = 65504
	case !dstType.IsInteger() || !srcType.IsFloat():
		return element.Into(dstType, dst, srcType, src)
	}
	var part [256]float64
	from, to := srcType.Size(), dstType.Size()
	for len(src) > 0 {
		v := part[:min(len(part), len(src)/from)]
		if err := element.Into(tensor.Float64, element.Bytes(v), srcType, src[:len(v)*from]); err != nil {
			return err
		}
		for i := range v {
			if v[i] = min(max(v[i], -limit), limit); dstType.IsInteger() {
				v[i] = math.Trunc(v[i])
			}
		}
		if err := element.Into(dstType, dst[:len(v)*to], tensor.Float64, element.Bytes(v)); err != nil {
			return err
		}
		src, dst = src[len(v)*from:], dst[len(v)*to:]
	}
	return nil
}

// Values returns numbers as elements of the given type. An integer that does not fit keeps its low
// bits.
func Values(dtype tensor.DType, v []float64) ([]byte, error) {
	narrow := make([]float32, len(v))
	for i := range v {
		narrow[i] = float32(v[i])
	}
	out := make([]byte, len(v)*dtype.Size())
	if dtype.IsInteger() {
		return out, tensor.CastInto(dtype, out, tensor.Float32, element.Bytes(narrow))
	}
	return out, element.Into(dtype, out, tensor.Float32, element.Bytes(narrow))
}

// Fill writes values, elements of size bytes, to all of dst: one value everywhere, or value i at
// index i of the axis. inner is the number of elements of all axes after this axis.
func Fill(dst, values []byte, size, inner int) {
	n := len(values) / size
	if n == 0 || len(dst) == 0 {
		return
	}
	step := size * inner
	if n == 1 {
		step = len(dst)
	}
	for at, i := 0, 0; at < len(dst); at, i = at+step, i+1 {
		part := dst[at:min(at+step, len(dst))]
		copy(part, values[i%n*size:(i%n+1)*size])
		for done := size; done < len(part); done *= 2 {
			copy(part[done:], part[:done])
		}
	}
}

// Eraser writes values to windows of an array. Its memory is reused; the zero value is ready.
type Eraser struct {
	row []byte // the elements that are written along the innermost axes
}

// Run writes values to the spans of dst, an array of the given shape with elements of size bytes.
// The spans must lie inside. A single value is written everywhere. Of several values, value i is
// written at index i of the axis whose step is inner elements.
func (e *Eraser) Run(dst, values []byte, size, inner int, shape []int, spans []window.Span) {
	if len(dst) == 0 {
		return
	}
	// A row is the last axis, or the channels with all axes after them.
	axes, row := len(shape), 1
	if n := len(values) / size; n > 1 {
		for row < n*inner {
			axes--
			row *= shape[axes]
		}
	} else if axes > 0 {
		axes--
		row = shape[axes]
	}
	if cap(e.row) < row*size {
		e.row = make([]byte, row*size)
	}
	e.row = e.row[:row*size]
	Fill(e.row, values, size, inner)
	e.erase(dst, size, row, shape[:axes], spans[:axes], shape[axes:], spans[axes:], 0)
}

// erase walks over the outer axes. at is the current element.
func (e *Eraser) erase(dst []byte, size, row int, shape []int, spans []window.Span, rowShape []int, rowSpans []window.Span, at int) {
	if len(shape) == 0 {
		e.write(dst[at*row*size:], size, rowShape, rowSpans, 0)
		return
	}
	for i := range spans[0].Size {
		e.erase(dst, size, row, shape[1:], spans[1:], rowShape, rowSpans, at*shape[0]+spans[0].Start+i)
	}
}

// write copies the part of the row that lies in the spans.
func (e *Eraser) write(dst []byte, size int, shape []int, spans []window.Span, at int) {
	if len(shape) == 0 {
		copy(dst[at*size:(at+1)*size], e.row[at*size:])
		return
	}
	if len(shape) == 1 {
		from := (at*shape[0] + spans[0].Start) * size
		to := from + spans[0].Size*size
		copy(dst[from:to], e.row[from:to])
		return
	}
	for i := range spans[0].Size {
		e.write(dst, size, shape[1:], spans[1:], at*shape[0]+spans[0].Start+i)
	}
}
