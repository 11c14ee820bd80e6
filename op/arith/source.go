package arith

import "github.com/bivouac-ml/bivouac/tensor"

// sourceState is how a source is read for one sample.
type sourceState struct {
	mode   mode
	data   []byte // the input
	period int    // of a repeating source, in elements
	axes   []axis // of a gathered source, the innermost first
	raw    []byte // memory of a block in the type of the input
	buffer []byte // memory of the repeated elements, or of a block in the type of the step
}

type mode uint8

const (
	direct    mode = iota // a block is a piece of the input
	repeating             // the input fits a block and is repeated
	gathered              // a block is gathered along axes
)

// prepare decides how to read an input that is broadcast to a shape.
func (s *sourceState) prepare(src *source, in tensor.Tensor, shape tensor.Shape) {
	n := in.Shape.Len()
	s.data = in.Data
	switch {
	case n == shape.Len(): // only axes of length 1 may differ
		s.mode = direct
	case n <= blockLen && suffix(in.Shape, shape):
		s.repeat(src, in.Data, n)
	default:
		s.mode = gathered
		s.axes = moves(s.axes[:0], in.Shape, shape)
	}
}

// repeat makes s repeat n elements.
func (s *sourceState) repeat(src *source, data []byte, n int) {
	s.mode, s.period = repeating, n
	s.buffer = grown(s.buffer, (blockLen+n)*src.wide)
	if first := s.buffer[:n*src.wide]; src.convert == nil {
		copy(first, data)
	} else {
		src.convert(first, s.elements(data, src.size), nil, nil)
	}
	for done := n * src.wide; done < len(s.buffer); done *= 2 {
		copy(s.buffer[done:], s.buffer[:done])
	}
}

// suffix reports whether a shape, except for leading axes of length 1, is the end of another.
func suffix(in, out tensor.Shape) bool {
	for len(in) > 0 && in[0] == 1 {
		in = in[1:]
	}
	return len(in) <= len(out) && in.Equal(out[len(out)-len(in):])
}

// moves appends the strides of an input along the axes of the output. The innermost stride is 0 or
// 1.
func moves(axes []axis, in, out tensor.Shape) []axis {
	stride := 1
	for d := 1; d <= len(out); d++ {
		length, step := out[len(out)-d], 0
		if d <= len(in) && in[len(in)-d] > 1 {
			step = stride
			stride *= length
		}
		axes = appendAxis(axes, length, step)
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
		gather(raw, s.data, s.axes, 0, lo, src.size)
	default:
		raw = s.elements(s.data[lo*src.size:(lo+n)*src.size], src.size)
	}
	if src.convert == nil {
		return raw
	}
	s.buffer = grown(s.buffer, n*src.wide)
	src.convert(s.buffer, raw, nil, nil)
	return s.buffer
}

// elements returns data, or an aligned copy if the elements are not aligned in memory.
func (s *sourceState) elements(data []byte, size int) []byte {
	if aligned(data, size) {
		return data
	}
	s.raw = grown(s.raw, len(data))
	copy(s.raw, data)
	return s.raw
}
