package arith

import "unsafe"

// axis is one axis of a result, or several merged axes, over which the source advances by a
// constant step. It holds the length, the step in elements and the current index.
type axis struct{ length, stride, at int }

// appendAxis adds the next outer axis to axes, which begin with the innermost axis. It extends the
// last axis if the two can be merged.
func appendAxis(axes []axis, length, stride int) []axis {
	if length == 1 {
		return axes
	}
	if k := len(axes) - 1; k >= 0 && stride == axes[k].stride*axes[k].length {
		axes[k].length *= length
		return axes
	}
	return append(axes, axis{length: length, stride: stride})
}

// gather fills dst with the elements of the result from index lo on. An element has size bytes.
// Element 0 of the result is element from of src.
func gather(dst, src []byte, axes []axis, from, lo, size int) {
	if len(dst) == 0 {
		return
	}
	for k := range axes {
		a := &axes[k]
		a.at, lo = lo%a.length, lo/a.length
		from += a.at * a.stride
	}
	inner := &axes[0]
	for {
		run := dst[:min(len(dst), (inner.length-inner.at)*size)]
		switch inner.stride {
		case 0:
			fill(run, src[from*size:(from+1)*size])
		case 1:
			copy(run, src[from*size:])
		default:
			spread(run, src, from, inner.stride, size)
		}
		if dst = dst[len(run):]; len(dst) == 0 {
			return
		}
		from -= inner.at * inner.stride
		inner.at = 0
		for k := 1; ; k++ {
			a := &axes[k]
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

// spread copies elements of src from index from on, stride elements apart.
func spread(dst, src []byte, from, stride, size int) {
	switch {
	case size == 1:
		spreadOf[uint8](dst, src, from, stride)
	case size == 2 && aligned(dst, 2) && aligned(src, 2):
		spreadOf[uint16](dst, src, from, stride)
	case size == 4 && aligned(dst, 4) && aligned(src, 4):
		spreadOf[uint32](dst, src, from, stride)
	case size == 8 && aligned(dst, 8) && aligned(src, 8):
		spreadOf[uint64](dst, src, from, stride)
	default:
		for at := from * size; len(dst) > 0; at += stride * size {
			dst = dst[copy(dst[:size], src[at:]):]
		}
	}
}

func spreadOf[T integer](dst, src []byte, from, stride int) {
	d, x := view[T](dst), view[T](src)
	for i := range d {
		d[i] = x[from]
		from += stride
	}
}

func aligned(b []byte, size int) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(size) == 0
}
