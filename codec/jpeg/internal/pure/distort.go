package pure

// Distorter makes what is left of RGB images after they were encoded with half the colour
// resolution and decoded again. It leaves out the entropy coding, which loses nothing. Its memory
// is reused; the zero value is ready.
type Distorter struct {
	planes  [3]plane
	colours [2][]byte // a pair of rows of Cb and Cr before they are halved
	sums    []int16
	wide    [2][]byte
	quality int
	tables  [2]quantizer // of luma and chroma
	levels  [64]int16    // of a block on its way
}

// quantizer holds the steps of a table, and numbers to divide by them.
type quantizer struct {
	step  [64]uint16
	half  [64]uint32 // 4 * step
	scale [64]uint32 // 2^32 / (8 * step), rounded up
}

// The tables for quality 50, of luma and chroma.
var baseSteps = [2][64]uint8{{
	16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
	18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
}, {
	17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
	99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
}}

// setQuality computes the tables for a quality from 1 to 100.
func (d *Distorter) setQuality(quality int) {
	if quality = min(max(quality, 1), 100); d.quality == quality {
		return
	}
	d.quality = quality
	percent := 200 - 2*quality
	if quality < 50 {
		percent = 5000 / quality
	}
	for t := range d.tables {
		for i, v := range baseSteps[t] {
			step := min(max((int(v)*percent+50)/100, 1), 255)
			q := &d.tables[t]
			q.step[i], q.half[i], q.scale[i] = uint16(step), uint32(4*step), uint32((1<<32-1)/(8*step)+1)
		}
	}
}

// Distort writes the image of w times h pixels to dst. Both w and h must be at least 1.
func (d *Distorter) Distort(dst, src []byte, w, h, quality int) {
	d.setQuality(quality)
	halfW, halfH := (w+1)/2, (h+1)/2
	d.planes[0].size(w, h)
	d.planes[1].size(halfW, halfH)
	d.planes[2].size(halfW, halfH)
	d.encode(src, w, h)
	for i := range d.planes {
		d.requantize(&d.planes[i], &d.tables[min(i, 1)])
	}
	d.sums = d.sums[:0]
	if cap(d.sums) < halfW {
		d.sums = make([]int16, halfW)
	}
	for y := range h {
		for i := range d.wide {
			p := &d.planes[i+1]
			d.wide[i] = grown(d.wide[i], 2*halfW)
			from := p.row(y / 2)[:halfW]
			if halfW <= 2 {
				for k, v := range from {
					d.wide[i][2*k], d.wide[i][2*k+1] = v, v
				}
				continue
			}
			near := min(max(y/2+2*(y%2)-1, 0), halfH-1)
			widenSums(d.wide[i], from, p.row(near)[:halfW], d.sums[:halfW], true, true)
		}
		toRGB(dst[3*y*w:3*(y+1)*w], d.planes[0].row(y), d.wide[0], d.wide[1])
	}
}

// size makes a plane of whole blocks for w times h samples.
func (p *plane) size(w, h int) {
	p.bw = (w + 7) / 8
	p.stride = 8 * p.bw
	p.pix = grown(p.pix, p.stride*((h+7)&^7))
}

// encode fills the planes. Blocks that reach beyond the image repeat its last column and row.
func (d *Distorter) encode(src []byte, w, h int) {
	luma, even := &d.planes[0], (w+1)&^1
	for i := range d.colours {
		d.colours[i] = grown(d.colours[i], 2*even)
	}
	for y := 0; y < h; y += 2 {
		for k := range 2 {
			row := luma.row(min(y+k, h-1))
			cb, cr := d.colours[0][k*even:(k+1)*even], d.colours[1][k*even:(k+1)*even]
			if y+k >= h {
				copy(cb, d.colours[0][:even])
				copy(cr, d.colours[1][:even])
				continue
			}
			fromRGB(row[:w], cb[:w], cr[:w], src[3*(y+k)*w:])
			repeatLast(row, w)
			repeatLast(cb, w)
			repeatLast(cr, w)
		}
		for i, c := range d.colours {
			row := d.planes[i+1].row(y / 2)
			above, below := c[:even], c[even:2*even]
			halve(row[:even/2], above, below)
			// Columns beyond the image are halved as well, so that they have the bias of their place.
			last := int(above[even-1]) + int(below[even-1])
			for x := even / 2; x < len(row); x++ {
				row[x] = byte((2*last + 1 + x&1) >> 2)
			}
		}
	}
	for i, rows := range [3]int{h, (h + 1) / 2, (h + 1) / 2} {
		p := &d.planes[i]
		for y := rows; y < len(p.pix)/p.stride; y++ {
			copy(p.row(y), p.row(rows-1))
		}
	}
}

func repeatLast(row []byte, n int) {
	for x := n; x < len(row); x++ {
		row[x] = row[n-1]
	}
}

// halveGeneric takes the means of 2 by 2 samples, rounded down and up by turns.
func halveGeneric(dst, above, below []byte) {
	for x := range dst {
		bias := 1 + x&1
		dst[x] = byte((int(above[2*x]) + int(above[2*x+1]) + int(below[2*x]) + int(below[2*x+1]) + bias) >> 2)
	}
}

// fromRGBGeneric converts pixels to Y, Cb and Cr.
func fromRGBGeneric(ys, cbs, crs, rgb []byte) {
	const centre = 128<<16 + half - 1
	cbs, crs = cbs[:len(ys)], crs[:len(ys)]
	for i := range ys {
		p := rgb[:3:3]
		r, g, b := int32(p[0]), int32(p[1]), int32(p[2])
		ys[i] = byte((19595*r + 38470*g + 7471*b + half) >> 16)
		cbs[i] = byte((-11059*r - 21709*g + 32768*b + centre) >> 16)
		crs[i] = byte((32768*r - 27439*g - 5329*b + centre) >> 16)
		rgb = rgb[3:]
	}
}

// requantize transforms each block, rounds it to the steps, and transforms it back.
func (d *Distorter) requantize(p *plane, q *quantizer) {
	block := &d.levels
	for y := 0; y < len(p.pix); y += 8 * p.stride {
		for x := 0; x < p.stride; x += 8 {
			pix := p.pix[y+x:]
			if quantize(block, pix, p.stride, q) {
				inverse(pix, p.stride, block, &q.step)
			} else {
				flat(pix, p.stride, block[0], q.step[0])
			}
		}
	}
}

// quantizeGeneric transforms the 8 by 8 samples at pix and rounds the results to the steps. rest
// says whether any but the first is not 0.
func quantizeGeneric(levels *[64]int16, pix []byte, stride int, q *quantizer) (rest bool) {
	var coefficients [64]int32
	forward(&coefficients, pix, stride)
	for i, v := range &coefficients {
		level := int16((uint64(max(v, -v)) + uint64(q.half[i])) * uint64(q.scale[i]) >> 32)
		if v < 0 {
			level = -level
		}
		levels[i] = level
		rest = rest || i > 0 && level != 0
	}
	return rest
}

// forward transforms the 8 by 8 samples at pix, less 128: rows first, with two more bits in the
// results, and then columns. The result is 8 times the transform.
func forward(out *[64]int32, pix []byte, stride int) {
	for y := range 8 {
		row := pix[y*stride : y*stride+8 : y*stride+8]
		at := (*[8]int32)(out[8*y:])
		for x, v := range row {
			at[x] = int32(v) - 128
		}
		spread(at, 1<<10, 11)
		at[0], at[4] = at[0]<<2, at[4]<<2
	}
	for x := range 8 {
		var column [8]int32
		for y := range 8 {
			column[y] = out[8*y+x]
		}
		spread(&column, 1<<14, 15)
		column[0], column[4] = (column[0]+2)>>2, (column[4]+2)>>2
		for y := range 8 {
			out[8*y+x] = column[y]
		}
	}
}

// spread is the one-dimensional transform. All results but 0 and 4 lose shift bits, rounded.
func spread(v *[8]int32, round int32, shift uint) {
	s0, s1, s2, s3 := v[0]+v[7], v[1]+v[6], v[2]+v[5], v[3]+v[4]
	d0, d1, d2, d3 := v[0]-v[7], v[1]-v[6], v[2]-v[5], v[3]-v[4]
	a, b, c, e := s0+s3, s1+s2, s1-s2, s0-s3
	v[0], v[4] = a+b, a-b
	z := (c + e) * f0541
	v[2], v[6] = (z+e*f0765+round)>>shift, (z-c*f1847+round)>>shift
	z1, z2, z3, z4 := (d3+d0)*f0899, (d2+d1)*f2562, d3+d1, d2+d0
	z5 := (z3 + z4) * f1175
	z3, z4 = z5-z3*f1961, z5-z4*f0390
	v[7] = (d3*f0298 - z1 + z3 + round) >> shift
	v[5] = (d2*f2053 - z2 + z4 + round) >> shift
	v[3] = (d1*f3072 - z2 + z3 + round) >> shift
	v[1] = (d0*f1501 - z1 + z4 + round) >> shift
}
