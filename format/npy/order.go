package npy

import (
	"encoding/binary"

	"github.com/bivouac-ml/bivouac/tensor"
)

// tile is the edge of the squares in which transpose goes through the outermost
// and the innermost axis, so that either side's cache lines are used up.
const tile = 32

// transpose turns the elements src, of size bytes each and in Fortran order of
// shape, into C order. Called with the reversed shape it does the opposite.
func transpose(dst, src []byte, shape tensor.Shape, size int) {
	rank := len(shape)
	if len(src) == 0 || rank < 2 {
		copy(dst, src)
		return
	}
	from, to := make([]int, rank), make([]int, rank) // strides in bytes
	from[0], to[rank-1] = size, size
	for i := 1; i < rank; i++ {
		from[i] = from[i-1] * shape[i-1]
		to[rank-1-i] = to[rank-i] * shape[rank-i]
	}
	place := make([]int, rank) // in the axes between the first and the last
	s, d := 0, 0
	for {
		plane(dst[d:], src[s:], shape[0], shape[rank-1], to[0], from[rank-1], size)
		i := rank - 2
		for ; i > 0; i-- {
			s, d = s+from[i], d+to[i]
			if place[i]++; place[i] < shape[i] {
				break
			}
			s, d = s-shape[i]*from[i], d-shape[i]*to[i]
			place[i] = 0
		}
		if i <= 0 {
			return
		}
	}
}

// plane transposes rows × columns elements: in dst the elements of a row are adjacent and rows are
// dstRow bytes apart; in src the elements of a column are adjacent and columns are srcColumn bytes
// apart.
func plane(dst, src []byte, rows, columns, dstRow, srcColumn, size int) {
	for r0 := 0; r0 < rows; r0 += tile {
		for c0 := 0; c0 < columns; c0 += tile {
			for r := r0; r < min(r0+tile, rows); r++ {
				d, s := r*dstRow+c0*size, r*size+c0*srcColumn
				for range min(tile, columns-c0) {
					moveElement(dst[d:], src[s:], size)
					d, s = d+size, s+srcColumn
				}
			}
		}
	}
}

func moveElement(dst, src []byte, size int) {
	switch size {
	case 1:
		dst[0] = src[0]
	case 2:
		copy(dst[:2], src[:2])
	case 4:
		copy(dst[:4], src[:4])
	case 8:
		copy(dst[:8], src[:8])
	default:
		copy(dst[:size], src[:size])
	}
}

// Arrange writes data, the elements of an array as a file with the header h has them, to dst in C
// order and little-endian. Both have h.Size bytes. They may be the same memory unless h has Fortran
// order and more than one axis.
func (h Header) Arrange(dst, data []byte) {
	if h.Fortran && len(h.Shape) > 1 {
		transpose(dst, data, h.Shape, h.DType.Size())
	} else if len(data) > 0 && &dst[0] != &data[0] {
		copy(dst, data)
	}
	if h.BigEndian {
		swap(dst, h.DType)
	}
}

// swap reverses the bytes of each number in place; a complex one is two.
func swap(data []byte, d tensor.DType) {
	size := d.Size()
	if d.IsComplex() {
		size /= 2
	}
	switch size {
	case 2:
		for ; len(data) >= 2; data = data[2:] {
			binary.LittleEndian.PutUint16(data, binary.BigEndian.Uint16(data))
		}
	case 4:
		for ; len(data) >= 4; data = data[4:] {
			binary.LittleEndian.PutUint32(data, binary.BigEndian.Uint32(data))
		}
	case 8:
		for ; len(data) >= 8; data = data[8:] {
			binary.LittleEndian.PutUint64(data, binary.BigEndian.Uint64(data))
		}
	}
}
