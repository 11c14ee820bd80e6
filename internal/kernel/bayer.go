package kernel

// Bayer is how a row of raw pixels, of which every other one is green, becomes RGB.
type Bayer struct {
	Coloured bool // whether the second pixel is not green
	Blue     bool // whether pixels that are not green are blue; otherwise they are red
	Edges    bool // whether green is taken from above and below or from the sides, where it changes less
}

// Row makes all pixels of a row but the first and the last. The rows have a length of at least 3,
// and dst has three elements for each pixel.
func (m Bayer) Row(dst, above, row, below []byte) {
	n := len(row) - 2
	above, below, dst = above[:n+2:n+2], below[:n+2:n+2], dst[:3*(n+2)]
	if n > 0 {
		bayerRow(m, dst, above, row, below)
	}
}

// Words is Row for larger numbers.
func (m Bayer) Words(dst, above, row, below []uint16) {
	n := len(row) - 2
	above, below, dst = above[:n+2:n+2], below[:n+2:n+2], dst[:3*(n+2)]
	if n > 0 {
		bayerWords(m, dst, above, row, below)
	}
}

// The weights of gray, in units of 2^-14.
const (
	grayRed, grayGreen, grayBlue = 4899, 9617, 1868
)

// weights returns the weights of the row's colour and of the other.
func (m Bayer) weights() (own, other uint32) {
	if m.Blue {
		return grayBlue, grayRed
	}
	return grayRed, grayBlue
}

// Gray makes gray pixels instead, the weighted means of the colours around them: all but the first
// and the last. Edges has no effect.
func (m Bayer) Gray(dst, above, row, below []byte) {
	n := len(row) - 2
	above, below, dst = above[:n+2:n+2], below[:n+2:n+2], dst[:n+2]
	if n > 0 {
		bayerGray(m, dst, above, row, below)
	}
}

// GrayWords is Gray for larger numbers.
func (m Bayer) GrayWords(dst, above, row, below []uint16) {
	n := len(row) - 2
	above, below, dst = above[:n+2:n+2], below[:n+2:n+2], dst[:n+2]
	if n > 0 {
		bayerGrayWords(m, dst, above, row, below)
	}
}

func bayerGrayGeneric[T uint8 | uint16](m Bayer, dst, above, row, below []T) {
	own, other := m.weights()
	n := len(row)
	above, below, dst = above[:n], below[:n], dst[:n]
	coloured := m.Coloured
	for x := 1; x < n-1; x++ {
		upright, sides := uint32(above[x])+uint32(below[x]), uint32(row[x-1])+uint32(row[x+1])
		if coloured {
			diagonal := uint32(above[x-1]) + uint32(above[x+1]) + uint32(below[x-1]) + uint32(below[x+1])
			dst[x] = T((diagonal*other + (upright+sides)*grayGreen + uint32(row[x])*4*own + 1<<15) >> 16)
		} else {
			dst[x] = T((upright*other + sides*own + uint32(row[x])*2*grayGreen + 1<<14) >> 15)
		}
		coloured = !coloured
	}
}

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
