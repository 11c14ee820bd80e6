package kernel

// Gradual makes RGB of raw pixels with a variable number of gradients: the gradients in eight
// directions decide which neighbours take part. The image is mirrored at its edges by two pixels,
// without the edges. A Gradual keeps its memory from image to image.
type Gradual struct {
	padded []byte
	rows   [3][]int16 // gradients of three rows of the padded image
	pitch  int        // pixels in a row of the padded image
	plane  int        // numbers from a plane of a row of gradients to the next
	// greens and others say what green pixels and others take from a direction.
	greens, others [8]pairs
}

// margin is the width of the mirrored margin.
const margin = 2

// What describes the change around a pixel: the planes of a row of gradients. Some places stay
// empty, so that vector code reaches the rest by factors of 1, 2, 3, 4, 6 and 8.
const (
	vertical   = 0
	horizontal = 1
	rising     = 2 // along the diagonals, for green pixels
	falling    = 3
	up         = 4 // along the diagonals, for other pixels: from bottom left, from top left
	down       = 6
	around     = 8 // twice the mean of the four neighbours
	planes     = 9
)

// directions are N, S, W, E, NE, SW, NW, SE as steps of rows and columns.
var directions = [8][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, 1}, {1, -1}, {-1, -1}, {1, 1}}

// pairs are the distances of the pixels that a direction adds up: two of each colour.
type pairs struct{ own, green, other [2]int }

// pairsOf returns the pairs for green pixels and for others. Own is the colour of other pixels, or
// the colour at the sides of a green pixel.
func pairsOf(pitch int) (greens, others [8]pairs) {
	at := func(y, x int) int { return y*pitch + x }
	for i, d := range directions {
		y, x := d[0], d[1]
		g, o := &greens[i], &others[i]
		o.own = [2]int{at(2*y, 2*x), 0}
		o.green = [2]int{at(y, x), at(y, x)} // of diagonals: the mean is taken instead
		switch {
		case i >= 4:
			o.other = [2]int{at(y, x), at(y, x)}
			g.own, g.green, g.other = [2]int{at(2*y, x), at(0, x)}, [2]int{at(y, x), at(y, x)}, [2]int{at(y, 0), at(y, 2*x)}
		case x == 0:
			o.other = [2]int{at(y, -1), at(y, 1)}
			g.own, g.green, g.other = [2]int{at(2*y, -1), at(2*y, 1)}, [2]int{at(2*y, 0), 0}, [2]int{at(y, 0), at(y, 0)}
		default:
			o.other = [2]int{at(-1, x), at(1, x)}
			g.own, g.green, g.other = [2]int{at(0, x), at(0, x)}, [2]int{at(0, 2*x), 0}, [2]int{at(-1, 2*x), at(1, 2*x)}
		}
	}
	return greens, others
}

// RGB makes the image of h rows and w columns, both at least 3. Blue has the pixels whose row and
// column less 1 are blueY and blueX, modulo 2.
func (g *Gradual) RGB(dst, src []byte, h, w, blueY, blueX int) {
	src, dst = src[:h*w], dst[:3*h*w]
	g.pad(src, h, w)
	g.gradients(1)
	g.gradients(2)
	for y := range h {
		g.gradients(y + margin + 1)
		blueRow := (y-1)&1 == blueY
		g.row(dst[3*y*w:3*(y+1)*w], y, blueRow != (blueX == 1), blueRow)
	}
}

// pad copies the image into the middle of the padded image.
func (g *Gradual) pad(src []byte, h, w int) {
	pitch := w + 2*margin
	if g.pitch != pitch {
		g.pitch, g.plane = pitch, (pitch+vectorWords-1)/vectorWords*vectorWords
		g.greens, g.others = pairsOf(pitch)
		for i := range g.rows {
			g.rows[i] = make([]int16, planes*g.plane)
		}
	}
	if n := pitch * (h + 2*margin); cap(g.padded) < n {
		g.padded = make([]byte, n)
	} else {
		g.padded = g.padded[:n]
	}
	for y := range h + 2*margin {
		row, from := g.padded[y*pitch:(y+1)*pitch], src[mirror(y-margin, h)*w:]
		copy(row[margin:], from[:w])
		for i := range margin {
			row[i], row[pitch-1-i] = from[mirror(i-margin, w)], from[mirror(w+margin-1-i, w)]
		}
	}
}

// mirror returns the pixel that stands for pixel i, at most n-1 beyond an edge.
func mirror(i, n int) int {
	if i < 0 {
		i = -i
	}
	return min(i, 2*n-2-i)
}

// vectorWords is how many numbers of 16 bits vector code makes at a time.
const vectorWords = 16

// gradients computes the gradients of row y of the padded image.
func (g *Gradual) gradients(y int) {
	row := func(y int) []byte { return g.padded[y*g.pitch : (y+1)*g.pitch] }
	gradients(g.rows[y%3], g.plane, row(y-1), row(y), row(y+1))
}

func gradientsGeneric(out []int16, plane int, above, row, below []byte) {
	away := func(a, b byte) int16 { return int16(distance(a, b)) }
	for x := 1; x < len(row)-1; x++ {
		a, b, c := above[x-1], above[x], above[x+1]
		d, e := row[x-1], row[x+1]
		f, g, h := below[x-1], below[x], below[x+1]
		rise, fall := 2*away(c, f), 2*away(a, h)
		o := out[x:]
		o[vertical*plane] = away(a, f) + 2*away(b, g) + away(c, h)
		o[horizontal*plane] = away(a, c) + 2*away(d, e) + away(f, h)
		o[rising*plane], o[falling*plane] = rise, fall
		o[up*plane], o[down*plane] = rise+away(b, d)+away(g, e), fall+away(b, e)+away(g, d)
		o[around*plane] = (int16(b) + int16(d) + int16(e) + int16(g)) >> 1
	}
}

// row makes row y. green and blue describe its first pixel: whether it is green, and whether its
// row has blue.
func (g *Gradual) row(dst []byte, y int, green, blue bool) {
	// The reference computes 8 columns at a time, and multiplies the others by factors of fewer
	// digits.
	first := margin
	if green {
		first++
	}
	wide := first
	if first <= g.pitch-10 {
		wide += ((g.pitch-10-first)/8 + 1) * 8
	}
	end := g.pitch - margin
	r := gradualRow{g, y + margin, green, blue, first, wide}
	done := r.vector(dst)
	if done == 0 {
		r.generic(dst, margin, end)
		return
	}
	r.generic(dst, margin, first)
	r.generic(dst, first+done, end)
}

// gradualRow is a row of the padded image on its way.
type gradualRow struct {
	*Gradual
	y           int
	green, blue bool // of the first pixel of the image
	first, wide int  // the columns that are computed 8 at a time
}

// generic makes the pixels from one column of the padded image to another.
func (r *gradualRow) generic(dst []byte, from, to int) {
	above, here, below := r.rows[(r.y-1)%3], r.rows[r.y%3], r.rows[(r.y+1)%3]
	own := 0
	if r.blue {
		own = 2
	}
	for x := from; x < to; x++ {
		green := r.green == ((x-margin)%2 == 0)
		at := func(row []int16, plane, d int) int32 { return int32(row[plane*r.plane+x+d]) }
		list := [8]int32{at(above, vertical, 0) + at(here, vertical, 0), at(here, vertical, 0) + at(below, vertical, 0),
			at(here, horizontal, -1) + at(here, horizontal, 0), at(here, horizontal, 0) + at(here, horizontal, 1)}
		table := &r.others
		if green {
			table = &r.greens
			list[4] = at(above, rising, 0) + at(above, rising, 1) + at(here, rising, 0) + at(here, rising, 1)
			list[5] = at(here, rising, 0) + at(here, rising, -1) + at(below, rising, 0) + at(below, rising, -1)
			list[6] = at(above, falling, 0) + at(above, falling, -1) + at(here, falling, 0) + at(here, falling, -1)
			list[7] = at(here, falling, 0) + at(here, falling, 1) + at(below, falling, 0) + at(below, falling, 1)
		} else {
			list[4], list[5] = at(above, up, 1)+at(here, up, 0), at(here, up, 0)+at(below, up, -1)
			list[6], list[7] = at(above, down, -1)+at(here, down, 0), at(here, down, 0)+at(below, down, 1)
		}
		least, most := list[0], list[0]
		for _, v := range list[1:] {
			least, most = min(least, v), max(most, v)
		}
		limit := least + max(most/2, 1)
		place := r.y*r.pitch + x
		var sum [3]int32 // of own, green, other
		count := 0
		for i, v := range list {
			if v >= limit {
				continue
			}
			t := &table[i]
			sum[0] += int32(r.padded[place+t.own[0]]) + int32(r.padded[place+t.own[1]])
			sum[2] += int32(r.padded[place+t.other[0]]) + int32(r.padded[place+t.other[1]])
			if green || i < 4 {
				sum[1] += int32(r.padded[place+t.green[0]]) + int32(r.padded[place+t.green[1]])
			} else {
				row := [4][]int16{above, below, above, below}[i-4]
				sum[1] += at(row, around, directions[i][1])
			}
			count++
		}
		scale := 0.5 / float32(count)
		if count == 7 && (x < r.first || x >= r.wide) {
			scale = 0.0714286
		}
		pixel, base := int32(r.padded[place]), sum[0]
		if green {
			base = sum[1]
		}
		d := dst[3*(x-margin):]
		for i, c := range [3]int{own, 1, 2 - own} {
			v := float32(float32(sum[i]-base)*scale) + magic
			d[c] = byte(min(max(pixel+int32(v-magic), 0), 255))
		}
	}
}
