//go:build !purego

package kernel

const gradualBlock = 16 // pixels

// alternating has bytes of 0 and 255 in turn, alternatingWords words of them, and uniform 16 bytes
// of 0 and then of 255.
var alternating, alternatingWords, uniform = stripes(1), stripes(2), stripes(gradualBlock)

func stripes(width int) (list [64]byte) {
	for i := range list {
		list[i] = byte(-(i / width & 1))
	}
	return list
}

// coloursOf has the shuffle masks that put red, green and blue side by side, for the colours of a
// row in the order own, green, other: of red rows, and of blue rows.
var (
	coloursOf      = [2][9][32]byte{colourMasks(1, false), colourMasks(1, true)}
	coloursOfWords = [2][9][32]byte{colourMasks(2, false), colourMasks(2, true)}
)

func colourMasks(size int, blue bool) (masks [9][32]byte) {
	for part := range 3 {
		for colour := range 3 {
			place := colour
			if blue {
				place = 2 - colour
			}
			m := &masks[3*part+colour]
			for k := range m {
				m[k] = 0x80
				if at := 16*part + k%16; at/size%3 == place {
					m[k] = byte(at/(3*size)*size + at%size)
				}
			}
		}
	}
	return masks
}

// kind returns the numbers of the pattern and of the masks.
func (m Bayer) kind() (phase, row int) {
	if m.Coloured {
		phase = 1
	}
	if m.Blue {
		row = 1
	}
	return phase, row
}

func bayerRow(m Bayer, dst, above, row, below []byte) {
	const block = 32
	n := len(row) - 2
	if !useAVX2 || n < block {
		bayerGeneric(m, dst, above, row, below)
		return
	}
	phase, colour := m.kind()
	masks, run := &coloursOf[colour], bayerAVX2
	if m.Edges {
		run = bayerEdgesAVX2
	}
	run(&dst[3], &above[1], &row[1], &below[1], n/block, &alternating[phase], masks)
	if from := n + 1 - block; n%block != 0 {
		run(&dst[3*from], &above[from], &row[from], &below[from], 1, &alternating[(phase+from-1)&1], masks)
	}
}

func bayerWords(m Bayer, dst, above, row, below []uint16) {
	const block = 16
	n := len(row) - 2
	if !useAVX2 || n < block {
		bayerGeneric(m, dst, above, row, below)
		return
	}
	phase, colour := m.kind()
	masks, run := &coloursOfWords[colour], bayerWordsAVX2
	if m.Edges {
		run = bayerEdgesWordsAVX2
	}
	run(&dst[3], &above[1], &row[1], &below[1], n/block, &alternatingWords[2*phase], masks)
	if from := n + 1 - block; n%block != 0 {
		run(&dst[3*from], &above[from], &row[from], &below[from], 1, &alternatingWords[2*((phase+from-1)&1)], masks)
	}
}

const grayRawBlock = 8 // pixels

// grayFactors are the factors of pixels in turn: see bayerGrayWordsAVX2.
func (m Bayer) grayFactors(coloured bool) (f [6][grayRawBlock]uint32) {
	own, other := m.weights()
	for i := range grayRawBlock {
		f[1][i] = other
		if coloured {
			f[0][i], f[2][i], f[3][i], f[4][i], f[5][i] = 1<<32-1, grayGreen, 4*own, 1<<15, 16
		} else {
			f[2][i], f[3][i], f[4][i], f[5][i] = own, 2*grayGreen, 1<<14, 15
		}
		coloured = !coloured
	}
	return f
}

// grayPairs are the factors of pairs of words: see bayerGrayAVX2.
func (m Bayer) grayPairs(coloured bool) (f [4][8]uint32) {
	own, other := m.weights()
	others := uint32(0xffff0000)
	if coloured {
		others = 0x0000ffff
	}
	for i := range f[0] {
		f[0][i] = others
		if coloured {
			f[1][i], f[2][i], f[3][i] = other|grayGreen<<16, 4*own|1<<14<<16, 16
		} else {
			f[1][i], f[2][i], f[3][i] = other|own<<16, 2*grayGreen|1<<13<<16, 15
		}
		coloured = !coloured
	}
	return f
}

func bayerGray(m Bayer, dst, above, row, below []byte) {
	const block = 16
	n := len(row) - 2
	if !useAVX2 || n < block {
		bayerGrayGeneric(m, dst, above, row, below)
		return
	}
	f := m.grayPairs(m.Coloured)
	bayerGrayAVX2(&dst[1], &above[1], &row[1], &below[1], n/block, &f)
	if from := n + 1 - block; n%block != 0 {
		f = m.grayPairs(m.Coloured != (from%2 == 0))
		bayerGrayAVX2(&dst[from], &above[from], &row[from], &below[from], 1, &f)
	}
}

func bayerGrayWords(m Bayer, dst, above, row, below []uint16) {
	n := len(row) - 2
	if !useAVX2 || n < grayRawBlock {
		bayerGrayGeneric(m, dst, above, row, below)
		return
	}
	f := m.grayFactors(m.Coloured)
	bayerGrayWordsAVX2(&dst[1], &above[1], &row[1], &below[1], n/grayRawBlock, &f)
	if from := n + 1 - grayRawBlock; n%grayRawBlock != 0 {
		f = m.grayFactors(m.Coloured != (from%2 == 0))
		bayerGrayWordsAVX2(&dst[from], &above[from], &row[from], &below[from], 1, &f)
	}
}
