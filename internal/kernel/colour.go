package kernel

// Gray computes the weighted means of pixels of three interleaved bytes, in units of 2^-15 and
// rounded. The sum of the weights is at most 2^15. src has three bytes for each byte of dst.
func Gray(dst, src []byte, weights *[3]uint16) {
	src = src[:3*len(dst)]
	if int(weights[0])+int(weights[1])+int(weights[2]) > 1<<15 || max(weights[0], weights[1], weights[2]) == 1<<15 {
		panic("kernel: weights of more than 1 together, or one of 1")
	}
	gray(dst, src, weights)
}

func grayGeneric(dst, src []byte, weights *[3]uint16) {
	a, b, c := uint32(weights[0]), uint32(weights[1]), uint32(weights[2])
	for i := range dst {
		p := src[:3:3]
		dst[i] = byte((uint32(p[0])*a + uint32(p[1])*b + uint32(p[2])*c + 1<<14) >> 15)
		src = src[3:]
	}
}

// Bayer is how a row of raw pixels, of which every other one is green, becomes RGB.
type Bayer struct {
	Coloured bool // whether the first pixel is not green
	Blue     bool // whether pixels that are not green are blue; otherwise they are red
	Edges    bool // whether green is taken from above and below or from the sides, where it changes less
}

// Row makes all pixels of a row but the first and the last. The rows have a length of at least 3,
// and dst has three elements for each pixel.
func (m Bayer) Row(dst, above, row, below []byte) {
	n := len(row) - 2
	above, below, dst = above[:n+2], below[:n+2], dst[:3*(n+2)]
	if n > 0 {
		bayerRow(m, dst, above, row, below)
	}
}

// BayerWords is Row for larger numbers.
func BayerWords(m Bayer, dst, above, row, below []uint16) { bayerGeneric(m, dst, above, row, below) }

func bayerGeneric[T uint8 | uint16](m Bayer, dst, above, row, below []T) {
	own, other := 0, 2
	if m.Blue {
		own, other = 2, 0
	}
	n := len(row)
	above, below = above[:n], below[:n]
	mean := func(a, b T) T { return T((uint32(a) + uint32(b) + 1) >> 1) }
	quarter := func(a, b, c, d T) T { return T((uint32(a) + uint32(b) + uint32(c) + uint32(d) + 2) >> 2) }
	coloured := m.Coloured
	for x := 1; x < n-1; x++ {
		d := dst[3*x : 3*x+3]
		up, down, left, right := above[x], below[x], row[x-1], row[x+1]
		switch {
		case !coloured:
			d[own], d[1], d[other] = mean(left, right), row[x], mean(up, down)
		case m.Edges:
			if d[1] = mean(left, right); distance(left, right) > distance(up, down) {
				d[1] = mean(up, down)
			}
			d[own], d[other] = row[x], quarter(above[x-1], above[x+1], below[x-1], below[x+1])
		default:
			d[own], d[1] = row[x], quarter(up, left, right, down)
			d[other] = quarter(above[x-1], above[x+1], below[x-1], below[x+1])
		}
		coloured = !coloured
	}
}

func distance[T uint8 | uint16](a, b T) T { return max(a, b) - min(a, b) }
