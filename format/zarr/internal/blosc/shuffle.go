package blosc

// shuffleBytes puts byte k of every element of src behind byte k-1 of all of
// them. What does not fill an element stays at the end.
func shuffleBytes(dst, src []byte, size int) {
	n := len(src) / size
	for k := range size {
		row := dst[k*n : (k+1)*n]
		for i := range row {
			row[i] = src[i*size+k]
		}
	}
	copy(dst[n*size:], src[n*size:])
}

// unshuffleBytes is the inverse of shuffleBytes.
func unshuffleBytes(dst, src []byte, size int) {
	n := len(src) / size
	for k := range size {
		row := src[k*n : (k+1)*n]
		for i, b := range row {
			dst[i*size+k] = b
		}
	}
	copy(dst[n*size:], src[n*size:])
}

// transpose8 transposes a matrix of 8×8 bits: row i is byte i, column j bit j.
func transpose8(x uint64) uint64 {
	t := (x ^ x>>7) & 0x00aa00aa00aa00aa
	x ^= t ^ t<<7
	t = (x ^ x>>14) & 0x0000cccc0000cccc
	x ^= t ^ t<<14
	t = (x ^ x>>28) & 0x00000000f0f0f0f0
	return x ^ t ^ t<<28
}

// shuffleBits puts the first bits of the first bytes of all elements together, then the second bits
// of these bytes, and so on: eight elements share a byte.
func shuffleBits(dst, src []byte, size int) { moveBits(dst, src, size, true) }

// unshuffleBits is the inverse of shuffleBits.
func unshuffleBits(dst, src []byte, size int) { moveBits(dst, src, size, false) }

func moveBits(dst, src []byte, size int, shuffle bool) {
	n := len(src) / size
	if n%8 != 0 {
		copy(dst, src)
		return
	}
	row := n / 8
	for g := range row {
		for k := range size {
			// Byte k of eight elements, and the eight rows of its bits.
			from, fromStep, to, toStep := g*8*size+k, size, k*8*row+g, row
			if !shuffle {
				from, fromStep, to, toStep = to, toStep, from, fromStep
			}
			var x uint64
			for i := range 8 {
				x |= uint64(src[from+i*fromStep]) << (8 * i)
			}
			x = transpose8(x)
			for i := range 8 {
				dst[to+i*toStep] = byte(x >> (8 * i))
			}
		}
	}
	copy(dst[n*size:], src[n*size:])
}
