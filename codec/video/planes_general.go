package video

import "encoding/binary"

// tap is where a pixel lies between two samples of chroma: the weights of the first and the second
// of them add up to unit.
type tap struct {
	first, second int
	weight        int64 // of the second
}

const (
	unitBits = 14
	unit     = 1 << unitBits
	half     = 1 << (2*unitBits - 1)
)

// findTap returns the tap of pixel i of n, for samples that are spread evenly over the same length.
// Pixels beyond the middle of the last sample have its value.
func findTap(i, n, samples int) tap {
	// (i + 1/2) · samples/n - 1/2, in units of 1/unit
	at := ((2*int64(i)+1)*int64(samples)*unit/int64(n) - unit) / 2
	if at <= 0 {
		return tap{}
	}
	first := int(at >> unitBits)
	if first >= samples-1 {
		return tap{samples - 1, samples - 1, 0}
	}
	return tap{first, first + 1, at & (unit - 1)}
}

// general converts frames of any size with samples of up to 12 bits. toRGB has the quick way for
// frames of 8 bits whose size is a multiple of the chroma's.
func (p *planes) general(dst, src []byte, f format, w, h int, c *matrix) {
	size := (f.bits + 7) / 8
	cw, ch := f.chroma(w, h)
	chroma := [2][]byte{src[w*h*size : (w*h+cw*ch)*size], src[(w*h+cw*ch)*size:]}
	p.across = p.across[:0]
	for x := range w {
		p.across = append(p.across, findTap(x, w, cw))
	}
	if cap(p.wide) < 2*cw {
		p.wide = make([]int64, 2*cw)
	}
	// sample returns a sample times 16, as if it had 8 bits.
	sample := func(plane []byte, i int) int64 {
		if size == 1 {
			return int64(plane[i]) << 4
		}
		return int64(binary.LittleEndian.Uint16(plane[2*i:])) << (12 - f.bits)
	}
	us, vs := p.wide[:cw], p.wide[cw:2*cw]
	for y := range h {
		down := findTap(y, h, ch)
		for x := range cw {
			us[x] = (unit-down.weight)*sample(chroma[0], cw*down.first+x) + down.weight*sample(chroma[0], cw*down.second+x)
			vs[x] = (unit-down.weight)*sample(chroma[1], cw*down.first+x) + down.weight*sample(chroma[1], cw*down.second+x)
		}
		row := dst[3*w*y : 3*w*(y+1)]
		for x, t := range p.across {
			u := (unit-t.weight)*us[t.first] + t.weight*us[t.second]
			v := (unit-t.weight)*vs[t.first] + t.weight*vs[t.second]
			u, v = (u+half)>>(2*unitBits)-middle, (v+half)>>(2*unitBits)-middle
			l := int64(c.luma)*(sample(src, w*y+x)-16*int64(c.offset)) + 16*one/2
			row[3*x] = clip(int32((l + int64(c.red)*v) >> (fraction + 4)))
			row[3*x+1] = clip(int32((l - int64(c.greenU)*u - int64(c.greenV)*v) >> (fraction + 4)))
			row[3*x+2] = clip(int32((l + int64(c.blue)*u) >> (fraction + 4)))
		}
	}
}
