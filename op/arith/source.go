package arith

import (
	"unsafe"

	"github.com/bivouac-ml/bivouac/tensor"
)

// sourceState is how a source is read for one sample.
type sourceState struct {
	mode   mode
	data   []byte // the input
	period int    // of a repeating source, in elements
	axes   []axis // of a gathered source, the innermost first
	raw    []byte // memory of a block as it is in the input
	buffer []byte // memory of what is repeated, or of a block in the type of the step
}

type mode uint8

const (
	direct    mode = iota // a block is a piece of the input
	repeating             // what the input has comes again and again, and fits a block
	gathered              // a block is put together by axes
)

// axis is one or several axes of the output over which a source moves evenly.
type axis struct{ length, stride, at int }

// prepare finds out how to read an input that broadcasts to a shape.
func (s *sourceState) prepare(src *source, in tensor.Tensor, shape tensor.Shape) {
	n := in.Shape.Len()
	s.data = in.Data
	switch {
	case n == shape.Len(): // axes of length 1 alone may differ
		s.mode = direct
	case n <= blockLen && suffix(in.Shape, shape):
		s.repeat(src, in.Data, n)
	default:
		s.mode = gathered
		s.axes = moves(s.axes[:0], in.Shape, shape)
	}
}

// repeat makes s one that repeats n elements.
func (s *sourceState) repeat(src *source, data []byte, n int) {
	s.mode, s.period = repeating, n
	s.buffer = grown(s.buffer, (blockLen+n)*src.wide)
	if first := s.buffer[:n*src.wide]; src.convert == nil {
		copy(first, data)
	} else {
		src.convert(first, s.aligned(data, src.size), nil, nil)
	}
	for done := n * src.wide; done < len(s.buffer); done *= 2 {
		copy(s.buffer[done:], s.buffer[:done])
	}
}

// suffix reports whether a shape, but for leading axes of length 1, is the end of another.
func suffix(in, out tensor.Shape) bool {
	for len(in) > 0 && in[0] == 1 {
		in = in[1:]
	}
	return len(in) <= len(out) && in.Equal(out[len(out)-len(in):])
}

// moves appends how an input moves over the axes of the output. The innermost
// stride is 0 or 1.
func moves(axes []axis, in, out tensor.Shape) []axis {
	stride := 1
	for d := 1; d <= len(out); d++ {
		next := axis{length: out[len(out)-d]}
		if d <= len(in) && in[len(in)-d] > 1 {
			next.stride = stride
			stride *= next.length
		}
		if next.length == 1 {
			continue
		}
		if k := len(axes) - 1; k >= 0 && (next.stride == 0) == (axes[k].stride == 0) && next.stride == axes[k].stride*axes[k].length {
			axes[k].length *= next.length
			continue
		}
		axes = append(axes, next)
	}
	return axes
}

// block returns elements lo to lo+n in the type of the step.
func (s *sourceState) block(src *source, lo, n int) []byte {
	var raw []byte
	switch s.mode {
	case repeating:
		at := lo % s.period
		return s.buffer[at*src.wide : (at+n)*src.wide]
	case gathered:
		s.raw = grown(s.raw, n*src.size)
		raw = s.raw
		s.gather(raw, lo, src.size)
	default:
		raw = s.aligned(s.data[lo*src.size:(lo+n)*src.size], src.size)
	}
	if src.convert == nil {
		return raw
	}
	s.buffer = grown(s.buffer, n*src.wide)
	src.convert(s.buffer, raw, nil, nil)
	return s.buffer
}

// gather fills dst with elements from lo on.
func (s *sourceState) gather(dst []byte, lo, size int) {
	from := 0
	for k := range s.axes {
		a := &s.axes[k]
		a.at, lo = lo%a.length, lo/a.length
		from += a.at * a.stride
	}
	inner := &s.axes[0]
	for {
		run := min(len(dst), (inner.length-inner.at)*size)
		if inner.stride == 0 {
			fill(dst[:run], s.data[from*size:(from+1)*size])
		} else {
			copy(dst[:run], s.data[from*size:])
		}
		if dst = dst[run:]; len(dst) == 0 {
			return
		}
		from -= inner.at * inner.stride
		inner.at = 0
		for k := 1; ; k++ {
			a := &s.axes[k]
			if a.at++; a.at < a.length {
				from += a.stride
				break
			}
			from -= (a.length - 1) * a.stride
			a.at = 0
		}
	}
}

// fill repeats an element.
func fill(dst, element []byte) {
	for n := copy(dst, element); n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// aligned returns data, or a copy where elements of that size lie crooked in memory.
func (s *sourceState) aligned(data []byte, size int) []byte {
	if uintptr(unsafe.Pointer(unsafe.SliceData(data)))%uintptr(size) == 0 {
		return data
	}
	s.raw = grown(s.raw, len(data))
	copy(s.raw, data)
	return s.raw
}
