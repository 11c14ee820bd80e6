package image

import "github.com/bivouac-ml/bivouac/op/internal/tone"

// The algorithm with a variable number of gradients: the gradients in eight directions decide which
// neighbours take part. The image is mirrored at its edges by two pixels, without the edges.

// vngMargin is the width of the mirrored margin.
const vngMargin = 2

// gradient describes the change around a pixel.
type gradient struct {
	vertical, horizontal int32
	rising, falling      int32 // along the diagonals, for green pixels
	up, down             int32 // along the diagonals, for other pixels: from bottom left, from top left
	mean                 int32 // twice the mean of the four neighbours
}

// directions are N, S, W, E, NE, SW, NW, SE as steps of rows and columns.
var directions = [8][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, 1}, {1, -1}, {-1, -1}, {1, 1}}

// pairs are the distances of the pixels that a direction adds up: two of each colour.
type pairs struct{ own, green, other [2]int32 }

// pairsOf returns the pairs for green pixels and for others. Own is the colour of other pixels, or
// the colour at the sides of a green pixel.
func pairsOf(pitch int) (greens, others [8]pairs) {
	at := func(y, x int) int32 { return int32(y*pitch + x) }
	for i, d := range directions {
		y, x := d[0], d[1]
		g, o := &greens[i], &others[i]
		o.own = [2]int32{at(2*y, 2*x), 0}
		o.green = [2]int32{at(y, x), at(y, x)} // of diagonals: the mean is taken instead
		switch {
		case i >= 4:
			o.other = [2]int32{at(y, x), at(y, x)}
			g.own, g.green, g.other = [2]int32{at(2*y, x), at(0, x)}, [2]int32{at(y, x), at(y, x)}, [2]int32{at(y,
				0), at(y, 2*x)}
		case x == 0:
			o.other = [2]int32{at(y, -1), at(y, 1)}
			g.own, g.green, g.other = [2]int32{at(2*y, -1), at(2*y, 1)}, [2]int32{at(2*y, 0), 0}, [2]int32{at(y,
				0), at(y, 0)}
		default:
			o.other = [2]int32{at(-1, x), at(1, x)}
			g.own, g.green, g.other = [2]int32{at(0, x), at(0, x)}, [2]int32{at(0, 2*x), 0}, [2]int32{at(-1, 2*x),
				at(1, 2*x)}
		}
	}
	return greens, others
}

// gradual makes an RGB image.
func (st *debayerState) gradual(p *raw[uint8]) {
	pitch := p.w + 2*vngMargin
	st.padded = grow(st.padded, pitch*(p.h+2*vngMargin))
	for y := range p.h + 2*vngMargin {
		row, from := st.padded[y*pitch:(y+1)*pitch], p.src[tone.Reflect(y-vngMargin, p.h)*p.w:]
		copy(row[vngMargin:], from[:p.w])
		for i := range vngMargin {
			row[i], row[pitch-1-i] = from[tone.Reflect(i-vngMargin, p.w)], from[tone.Reflect(p.w+vngMargin-1-i, p.w)]
		}
	}
	if st.pitch != pitch {
		st.pitch = pitch
		st.greens, st.others = pairsOf(pitch)
	}
	for i := range st.gradients {
		st.gradients[i] = grow(st.gradients[i], pitch)
	}
	st.gradientRow(1, pitch)
	st.gradientRow(2, pitch)
	for y := range p.h {
		st.gradientRow(y+vngMargin+1, pitch)
		st.gradualRow(p, y, pitch)
	}
}

// gradientRow computes the gradients of row y of the padded image.
func (st *debayerState) gradientRow(y, pitch int) {
	above, row, below := st.padded[(y-1)*pitch:y*pitch], st.padded[y*pitch:(y+1)*pitch], st.padded[(y+1)*pitch:(y+2)*pitch]
	out := st.gradients[y%3]
	for x := 1; x < pitch-1; x++ {
		a, b, c := int32(above[x-1]), int32(above[x]), int32(above[x+1])
		d, e := int32(row[x-1]), int32(row[x+1])
		f, g, h := int32(below[x-1]), int32(below[x]), int32(below[x+1])
		rising, falling := 2*magnitude(c-f), 2*magnitude(a-h)
		out[x] = gradient{
			vertical: magnitude(a-f) + 2*magnitude(b-g) + magnitude(c-h), horizontal: magnitude(a-c) +
				2*magnitude(d-e) + magnitude(f-h),
			rising: rising, falling: falling,
			up: rising + magnitude(b-d) + magnitude(g-e), down: falling + magnitude(b-e) +
				magnitude(g-d), mean: (b + d + e + g) >> 1,
		}
	}
}

// gradualRow makes row y.
func (st *debayerState) gradualRow(p *raw[uint8], y, pitch int) {
	up, here, down := st.gradients[(y+vngMargin-1)%3], st.gradients[(y+vngMargin)%3], st.gradients[(y+vngMargin+1)%3]
	green, blue := p.kind(y, 0)
	// The reference computes 8 columns at a time, and multiplies the others by factors of fewer
	// digits.
	first := vngMargin
	if green {
		first++
	}
	wide := first
	if first <= pitch-10 {
		wide += ((pitch-10-first)/8 + 1) * 8
	}
	own := 0
	if blue {
		own = 2
	}
	dst := p.dst[3*y*p.w:]
	for x := vngMargin; x < pitch-vngMargin; x++ {
		g, l, r := &here[x], &here[x-1], &here[x+1]
		n, s := &up[x], &down[x]
		list := [8]int32{n.vertical + g.vertical, g.vertical + s.vertical, l.horizontal + g.horizontal,
			g.horizontal + r.horizontal}
		ne, sw, nw, se := &up[x+1], &down[x-1], &up[x-1], &down[x+1]
		table := &st.others
		if green {
			table = &st.greens
			list[4], list[5] = n.rising+ne.rising+g.rising+r.rising, g.rising+l.rising+s.rising+sw.rising
			list[6], list[7] = n.falling+nw.falling+g.falling+l.falling, g.falling+r.falling+s.falling+se.falling
		} else {
			list[4], list[5], list[6], list[7] = ne.up+g.up, g.up+sw.up, nw.down+g.down, g.down+se.down
		}
		least, most := list[0], list[0]
		for _, v := range list[1:] {
			least, most = min(least, v), max(most, v)
		}
		limit := least + max(most/2, 1)
		at := (y+vngMargin)*pitch + x
		around := st.padded
		var sum [3]int32 // of own, green, other
		count := 0
		for i, v := range list {
			if v >= limit {
				continue
			}
			t := &table[i]
			sum[0] += int32(around[at+int(t.own[0])]) + int32(around[at+int(t.own[1])])
			sum[2] += int32(around[at+int(t.other[0])]) + int32(around[at+int(t.other[1])])
			if green || i < 4 {
				sum[1] += int32(around[at+int(t.green[0])]) + int32(around[at+int(t.green[1])])
			} else {
				sum[1] += [4]*gradient{ne, sw, nw, se}[i-4].mean
			}
			count++
		}
		scale := 0.5 / float32(count)
		if count == 7 && (x < first || x >= wide) {
			scale = 0.0714286
		}
		pixel, base := int32(around[at]), sum[0]
		if green {
			base = sum[1]
		}
		d := dst[3*(x-vngMargin):]
		for i, c := range [3]int{own, 1, 2 - own} {
			d[c] = saturateByte(pixel + evenInt(float32(sum[i]-base)*scale))
		}
		green = !green
	}
}

// evenInt rounds a small float half to even.
func evenInt(v float32) int32 {
	const shift = 3 << 22
	return int32(float32(v+shift) - shift)
}
