// Package strided copies arrays between memory layouts. The copy can transpose an array, cut it out
// of a larger array, put it beside other arrays, or repeat it.
//
// Strides say how far apart the elements of an axis are. A copy has one shape and the strides of
// both sides. It uses the largest pieces that both sides allow. Axes that are contiguous in both
// are merged. Runs that are contiguous in both are copied whole. The rest is a loop over two axes
// in tiles that stay in the cache.
package strided

import (
	"encoding/binary"
	"unsafe"
)

// axis is an axis of a copy: its extent and the steps to its next element, in elements.
type axis struct{ n, dst, src int }

// ranks is the number of axes that a copy keeps without allocating.
const ranks = 8

// Contiguous appends the strides of a dense array of the given shape.
func Contiguous(strides, shape []int) []int {
	at := len(strides)
	for range shape {
		strides = append(strides, 0)
	}
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[at+i] = step
		step *= shape[i]
	}
	return strides
}

// Copy copies an array of the given shape, with elements of size bytes, from src to dst. There is
// one stride per axis of shape, in elements, and it is not negative. A source stride of 0 repeats.
// The arrays begin at the start of the memory and must not overlap.
func Copy(dst []byte, dstStrides []int, src []byte, srcStrides []int, shape []int, size int) {
	var buf [ranks]axis
	axes := buf[:0]
	for i, n := range shape {
		if n == 0 {
			return
		}
		if n > 1 {
			axes = append(axes, axis{n, dstStrides[i], srcStrides[i]})
		}
	}
	axes = merge(axes)
	run := 1 // elements that are contiguous on both sides
	if k := len(axes) - 1; k >= 0 && axes[k].dst == 1 && axes[k].src == 1 {
		run, axes = axes[k].n, axes[:k]
	}
	each(axes, func(d, s int, rows, columns axis) {
		block(dst[d*size:], src[s*size:], rows, columns, run, size)
	})
}

// merge merges neighbouring axes that are contiguous on both sides.
func merge(axes []axis) []axis {
	out := axes[:0]
	for _, a := range axes {
		if k := len(out) - 1; k >= 0 && out[k].dst == a.dst*a.n && out[k].src == a.src*a.n {
			out[k] = axis{out[k].n * a.n, a.dst, a.src}
			continue
		}
		out = append(out, a)
	}
	return out
}

// each calls f for every position of all axes except two: the last axis, and the axis along which
// the source is densest (or else the second to last axis).
func each(axes []axis, f func(d, s int, rows, columns axis)) {
	one := axis{n: 1}
	switch len(axes) {
	case 0:
		f(0, 0, one, one)
		return
	case 1:
		f(0, 0, one, axes[0])
		return
	}
	last := len(axes) - 1
	dense := last - 1
	for i := range last {
		if axes[i].src < axes[dense].src {
			dense = i
		}
	}
	axes[dense], axes[last-1] = axes[last-1], axes[dense]
	rows, columns, outer := axes[last-1], axes[last], axes[:last-1]
	var buf [ranks]int
	at := buf[:0]
	for range outer {
		at = append(at, 0)
	}
	for d, s := 0, 0; ; {
		f(d, s, rows, columns)
		i := len(outer) - 1
		for ; i >= 0; i-- {
			d, s = d+outer[i].dst, s+outer[i].src
			if at[i]++; at[i] < outer[i].n {
				break
			}
			d, s = d-outer[i].n*outer[i].dst, s-outer[i].n*outer[i].src
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// tile is the side of the squares in which two axes are walked. 64 rows fit the first-level cache
// even for elements of 8 bytes.
const tile = 64

// block copies rows x columns runs.
func block(dst, src []byte, rows, columns axis, run, size int) {
	if run > 1 {
		runs(dst, src, rows, columns, run*size, size)
		return
	}
	switch size {
	case 1:
		tiles(view[uint8](dst), view[uint8](src), rows, columns)
	case 2:
		tiles(view[uint16](dst), view[uint16](src), rows, columns)
	case 4:
		tiles(view[uint32](dst), view[uint32](src), rows, columns)
	case 8:
		tiles(view[uint64](dst), view[uint64](src), rows, columns)
	default:
		runs(dst, src, rows, columns, size, size)
	}
}

// runs copies pieces of n bytes.
func runs(dst, src []byte, rows, columns axis, n, size int) {
	dstStep, srcStep := columns.dst*size, columns.src*size
	for r := range rows.n {
		d, s := r*rows.dst*size, r*rows.src*size
		switch n {
		case 3: // pixels of three bytes: too short for the call of a copy
			for range columns.n {
				to, from := dst[d:d+3:d+3], src[s:s+3:s+3]
				to[0], to[1], to[2] = from[0], from[1], from[2]
				d, s = d+dstStep, s+srcStep
			}
		case 12: // pixels of three floats
			for range columns.n {
				to, from := dst[d:d+12:d+12], src[s:s+12:s+12]
				binary.NativeEndian.PutUint64(to, binary.NativeEndian.Uint64(from))
				binary.NativeEndian.PutUint32(to[8:], binary.NativeEndian.Uint32(from[8:]))
				d, s = d+dstStep, s+srcStep
			}
		default:
			for range columns.n {
				copy(dst[d:d+n], src[s:s+n])
				d, s = d+dstStep, s+srcStep
			}
		}
	}
}

// tiles copies single elements.
func tiles[T any](dst, src []T, rows, columns axis) {
	if columns.n < 16 && columns.n < rows.n { // channels: the inner loop should be the longer loop
		rows, columns = columns, rows
	}
	if rows.n == 1 {
		line(dst, src, columns)
		return
	}
	for r := 0; r < rows.n; r += tile {
		for c := 0; c < columns.n; c += tile {
			part := axis{min(tile, columns.n-c), columns.dst, columns.src}
			for i := r; i < min(r+tile, rows.n); i++ {
				line(dst[i*rows.dst+c*columns.dst:], src[i*rows.src+c*columns.src:], part)
			}
		}
	}
}

// line copies the elements of one axis.
func line[T any](dst, src []T, a axis) {
	if a.dst == 1 {
		dst = dst[:a.n]
		for i, s := 0, 0; i < len(dst); i, s = i+1, s+a.src {
			dst[i] = src[s]
		}
		return
	}
	if a.src == 1 {
		for d, s := 0, 0; s < a.n; d, s = d+a.dst, s+1 {
			dst[d] = src[s]
		}
		return
	}
	for d, s, n := 0, 0, a.n; n > 0; n-- {
		dst[d] = src[s]
		d, s = d+a.dst, s+a.src
	}
}

// view returns memory as elements; bytes after the last whole element are left out.
func view[T any](data []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), len(data)/int(unsafe.Sizeof(zero)))
}
