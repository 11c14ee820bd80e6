package zarr

import (
	"fmt"
	"iter"
	"slices"

	"github.com/bivouac-ml/bivouac/tensor"
)

// Box is a region of an array: Shape elements from Origin on, along each axis.
type Box struct {
	Origin, Shape []int
}

// WholeBox returns the box of all elements of an array.
func WholeBox(shape tensor.Shape) Box {
	return Box{Origin: make([]int, len(shape)), Shape: slices.Clone(shape)}
}

// Len returns the number of elements.
func (b Box) Len() int { return tensor.Shape(b.Shape).Len() }

// String returns the box as ranges, such as "[0:3,4:8]".
func (b Box) String() string {
	s := "["
	for i, o := range b.Origin {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprintf("%d:%d", o, o+b.Shape[i])
	}
	return s + "]"
}

// Intersect returns the common region; ok is false if the boxes have no common region.
func (b Box) Intersect(c Box) (common Box, ok bool) {
	common = Box{make([]int, len(b.Origin)), make([]int, len(b.Origin))}
	for i, o := range b.Origin {
		low := max(o, c.Origin[i])
		high := min(o+b.Shape[i], c.Origin[i]+c.Shape[i])
		if low >= high {
			return Box{}, false
		}
		common.Origin[i], common.Shape[i] = low, high-low
	}
	return common, true
}

// Equal reports whether the boxes hold the same elements at the same place.
func (b Box) Equal(c Box) bool {
	return slices.Equal(b.Origin, c.Origin) && slices.Equal(b.Shape, c.Shape)
}

// Inside reports whether b is a well-formed box of an array of that shape.
func (b Box) Inside(shape []int) bool {
	if len(b.Origin) != len(shape) || len(b.Shape) != len(shape) {
		return false
	}
	for i, n := range shape {
		if b.Origin[i] < 0 || b.Shape[i] < 0 || b.Origin[i] > n || b.Shape[i] > n-b.Origin[i] {
			return false
		}
	}
	return true
}

// cells yields the cells of a grid of chunks of the given shape that a region
// from low to high touches, in C order. The slice is reused.
func cells(low, high, chunk []int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		first, cell := make([]int, len(low)), make([]int, len(low))
		for i := range low {
			if low[i] >= high[i] {
				return
			}
			first[i] = low[i] / chunk[i]
			cell[i] = first[i]
		}
		for {
			if !yield(cell) {
				return
			}
			i := len(cell) - 1
			for ; i >= 0; i-- {
				if cell[i]++; cell[i]*chunk[i] < high[i] {
					break
				}
				cell[i] = first[i]
			}
			if i < 0 {
				return
			}
		}
	}
}

// Cells yields what b holds of the cells of a grid of the given shape, which
// begins at the origin of the array, in C order.
func Cells(b Box, cell []int) iter.Seq[Box] {
	return func(yield func(Box) bool) {
		high := make([]int, len(b.Origin))
		for i, o := range b.Origin {
			high[i] = o + b.Shape[i]
		}
		for at := range cells(b.Origin, high, cell) {
			c := Box{make([]int, len(at)), slices.Clone(cell)}
			for i, n := range at {
				c.Origin[i] = n * cell[i]
			}
			if c, ok := c.Intersect(b); ok && !yield(c) {
				return
			}
		}
	}
}

// strides returns the bytes between neighbours along each axis of an array in C
// order.
func strides(shape []int, size int) []int {
	out := make([]int, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = size
		size *= shape[i]
	}
	return out
}

// offset returns where in memory of the given strides an element lies.
func offset(at, origin, strides []int) int {
	n := 0
	for i := range at {
		n += (at[i] - origin[i]) * strides[i]
	}
	return n
}

// transfer is a copy of a region between two memories with strides: runs of
// bytes along at most len(shape) axes.
type transfer struct {
	run   int // bytes that lie together on both sides
	shape []int
	dst   []int // strides
	src   []int
}

// newTransfer merges axes that lie together on both sides.
func newTransfer(shape, dst, src []int, size int) transfer {
	t := transfer{run: size}
	merging := true
	for i := len(shape) - 1; i >= 0; i-- {
		switch {
		case shape[i] == 1:
		case merging && dst[i] == t.run && src[i] == t.run:
			t.run *= shape[i]
		default:
			merging = false
			t.shape = append(t.shape, shape[i])
			t.dst = append(t.dst, dst[i])
			t.src = append(t.src, src[i])
		}
	}
	slices.Reverse(t.shape)
	slices.Reverse(t.dst)
	slices.Reverse(t.src)
	return t
}

// contiguous reports whether the region is one run on both sides.
func (t transfer) contiguous() bool { return len(t.shape) == 0 }

// do calls move with the offsets of every run, in C order of the region.
func (t transfer) do(move func(dst, src int)) {
	last := len(t.shape) - 1
	if last < 0 {
		move(0, 0)
		return
	}
	at := make([]int, last)
	d, s := 0, 0
	for {
		for i, dd, ss := 0, d, s; i < t.shape[last]; i++ {
			move(dd, ss)
			dd += t.dst[last]
			ss += t.src[last]
		}
		i := last - 1
		for ; i >= 0; i-- {
			d += t.dst[i]
			s += t.src[i]
			if at[i]++; at[i] < t.shape[i] {
				break
			}
			d -= at[i] * t.dst[i]
			s -= at[i] * t.src[i]
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// copy copies the region; both memories begin with its first element.
func (t transfer) copy(dst, src []byte) {
	n := t.run
	switch n {
	case 1:
		t.do(func(d, s int) { dst[d] = src[s] })
	case 2:
		t.do(func(d, s int) { *(*[2]byte)(dst[d:]) = *(*[2]byte)(src[s:]) })
	case 4:
		t.do(func(d, s int) { *(*[4]byte)(dst[d:]) = *(*[4]byte)(src[s:]) })
	case 8:
		t.do(func(d, s int) { *(*[8]byte)(dst[d:]) = *(*[8]byte)(src[s:]) })
	default:
		t.do(func(d, s int) { copy(dst[d:d+n], src[s:s+n]) })
	}
}

// CopyBox copies the elements that two boxes of one array share from src, the
// memory of box from, to dst, the memory of box to: both in C order, of elements
// of the given size in bytes.
func CopyBox(to Box, dst []byte, from Box, src []byte, size int) {
	common, ok := to.Intersect(from)
	if !ok {
		return
	}
	d, s := strides(to.Shape, size), strides(from.Shape, size)
	t := newTransfer(common.Shape, d, s, size)
	t.copy(dst[offset(common.Origin, to.Origin, d):], src[offset(common.Origin, from.Origin, s):])
}

// Run returns where region, which lies inside of b, lies in the memory of b, of
// elements of the given size; ok is false if it is no single run of bytes.
func (b Box) Run(region Box, size int) (place Place, ok bool) {
	d := strides(b.Shape, size)
	if !newTransfer(region.Shape, d, strides(region.Shape, size), size).contiguous() {
		return Place{}, false
	}
	return Place{offset(region.Origin, b.Origin, d), region.Len() * size}, true
}

// fillElements writes element, as often as it fits, to p; nil is zero.
func fillElements(p, element []byte) {
	if element == nil {
		clear(p)
		return
	}
	for n := copy(p, element); n > 0 && n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
}

// Runs calls run for each run of elements of region that lie together in an
// array of that shape, in C order: with the place of its first byte in src, the
// elements of srcBox in C order, and in the array, and its length in bytes.
// srcBox must hold the region and lie inside of the array.
func Runs(region, srcBox Box, shape []int, size int, run func(src, whole, length int)) {
	if region.Len() == 0 {
		return
	}
	from, to := strides(srcBox.Shape, size), strides(shape, size)
	first, start := offset(region.Origin, srcBox.Origin, from), offset(region.Origin, make([]int, len(shape)), to)
	t := newTransfer(region.Shape, to, from, size)
	t.do(func(d, s int) { run(first+s, start+d, t.run) })
}
