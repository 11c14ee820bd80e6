package png

import "encoding/binary"

// The filters add a neighbour to each byte. It is the byte n before it (of the pixel to the left),
// the byte above, or the byte above and to the left. For pixels of three and four bytes, the
// neighbours are kept in registers.

func addLeft(row []byte, n int) {
	switch {
	case n == 3:
		var a, b, c uint8
		for p := row; len(p) >= 3; p = p[3:] {
			a, b, c = a+p[0], b+p[1], c+p[2]
			p[0], p[1], p[2] = a, b, c
		}
	case n == 4:
		var left uint32
		for p := row; len(p) >= 4; p = p[4:] {
			left = addBytes(left, binary.LittleEndian.Uint32(p))
			binary.LittleEndian.PutUint32(p, left)
		}
	default:
		for i := n; i < len(row); i++ {
			row[i] += row[i-n]
		}
	}
}

// addBytes adds words byte by byte.
func addBytes[W uint32 | uint64](a, b W) W {
	low := ^W(0) / 0xff * 0x7f
	return (a&low + b&low) ^ (a^b)&^low
}

func addAbove(row, above []byte) {
	for len(row) >= 8 {
		binary.LittleEndian.PutUint64(row, addBytes(binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint64(above)))
		row, above = row[8:], above[8:]
	}
	for i, v := range above[:len(row)] {
		row[i] += v
	}
}

// addMean adds the mean of the bytes to the left and above, rounded down.
func addMean(row, above []byte, n int) {
	if n == 3 {
		var a, b, c uint32
		for up := above; len(row) >= 3 && len(up) >= 3; row, up = row[3:], up[3:] {
			a = (uint32(row[0]) + (a+uint32(up[0]))/2) & 0xff
			b = (uint32(row[1]) + (b+uint32(up[1]))/2) & 0xff
			c = (uint32(row[2]) + (c+uint32(up[2]))/2) & 0xff
			row[0], row[1], row[2] = uint8(a), uint8(b), uint8(c)
		}
		return
	}
	for i := range min(n, len(row)) {
		row[i] += above[i] / 2
	}
	for i := n; i < len(row); i++ {
		row[i] += uint8((int(row[i-n]) + int(above[i])) / 2)
	}
}

// addPaeth adds the neighbour that paeth chooses.
func addPaeth(row, above []byte, n int) {
	if n == 3 {
		var a, b, c, x, y, z int32 // to the left, and the corners
		for up := above; len(row) >= 3 && len(up) >= 3; row, up = row[3:], up[3:] {
			u, v, w := int32(up[0]), int32(up[1]), int32(up[2])
			a = (int32(row[0]) + paeth(a, u, x)) & 0xff
			b = (int32(row[1]) + paeth(b, v, y)) & 0xff
			c = (int32(row[2]) + paeth(c, w, z)) & 0xff
			row[0], row[1], row[2] = uint8(a), uint8(b), uint8(c)
			x, y, z = u, v, w
		}
		return
	}
	for i := range min(n, len(row)) {
		row[i] += above[i]
	}
	for i := n; i < len(row); i++ {
		row[i] += uint8(paeth(int32(row[i-n]), int32(above[i]), int32(above[i-n])))
	}
}

// paeth returns which of left, above and the corner between is nearest to left + above - corner;
// the first of them. It has no branches, because branches on pixels are not predictable.
func paeth(left, above, corner int32) int32 {
	toLeft, toAbove := above-corner, left-corner
	toCorner := toLeft + toAbove
	toLeft, toAbove, toCorner = max(toLeft, -toLeft), max(toAbove, -toAbove), max(toCorner, -toCorner)
	if toAbove < toLeft {
		left, toLeft = above, toAbove
	}
	if toCorner < toLeft {
		left = corner
	}
	return left
}
