package pure

// putOut upsamples the planes and writes the rows of the window.
func (d *Decoder) putOut(dst []byte, stride, x, y, w, h int, out Output) {
	n := len(d.comps)
	if out == Luma && d.header.Space != RGB {
		n = 1
	}
	for row := range h {
		var lines [4][]byte
		for i := range n {
			lines[i] = d.line(i, x, y+row, w)
		}
		to := dst[row*stride : row*stride+w*out.Channels()]
		switch {
		case out == Luma && n == 3:
			toGray(to, lines[0], lines[1], lines[2])
		case out == Luma:
			copy(to, lines[0])
		case n == 1:
			for i, v := range lines[0][:w] {
				to[3*i], to[3*i+1], to[3*i+2] = v, v, v
			}
		case d.header.Space == YCbCr:
			toRGB(to, lines[0], lines[1], lines[2])
		case d.header.Space == YCCK:
			toCMYK(to, lines[0], lines[1], lines[2], lines[3])
		default:
			for k := range n {
				for i, v := range lines[k][:w] {
					to[n*i+k] = v
				}
			}
		}
	}
}

// line returns w samples of component i for row y of pixels from column x on. They stay valid until
// the next line of the component.
func (d *Decoder) line(i, x, y, w int) []byte {
	c, p := &d.comps[i], &d.planes[i]
	kh, kv := d.hmax/c.h, d.vmax/c.v
	if kh == 1 && kv == 1 {
		return p.row(y)[x-8*p.bx:]
	}
	sy := y / kv
	first := 8 * p.bx
	size := kh * 8 * p.bw
	buf := grown(d.rows[i], size)
	d.rows[i] = buf
	near := sy + 2*(y%kv) - 1 // with two rows per sample: the other row that takes part
	near = min(max(near, 0), c.height-1)
	fancy := c.width > 2
	from, to := p.row(sy), min(8*p.bw, c.width-first)
	switch {
	case kh == 2 && kv == 1 && fancy:
		widen(buf, from, to, first == 0, first+to == c.width)
	case kh == 2 && kv == 2 && fancy:
		if cap(d.sums) < to {
			d.sums = make([]int16, to)
		}
		widenSums(buf, from[:to], p.row(near)[:to], d.sums[:to], first == 0, first+to == c.width)
	case kh == 1 && kv == 2:
		bias := 1 + y%2
		for k, v := range from[:to] {
			buf[k] = byte((3*int(v) + int(p.row(near)[k]) + bias) >> 2)
		}
	default:
		for k, v := range from[:to] {
			for u := range kh {
				buf[kh*k+u] = v
			}
		}
	}
	return buf[x-kh*first:]
}

// row returns the samples of a row that lie in the window.
func (p *plane) row(y int) []byte {
	at := (y - 8*p.by) * p.stride
	return p.pix[at : at+p.stride]
}

// widen doubles n samples. Each result is three quarters of the nearer sample and one quarter of
// the further sample.
func widen(dst, src []byte, n int, first, last bool) {
	dst, src = dst[:2*n], src[:n]
	for i := 1; i < n-1; i++ {
		v := 3 * int(src[i])
		dst[2*i], dst[2*i+1] = byte((v+int(src[i-1])+1)>>2), byte((v+int(src[i+1])+2)>>2)
	}
	if first {
		dst[0] = src[0]
		dst[1] = byte((3*int(src[0]) + int(src[1]) + 2) >> 2)
	}
	if last {
		dst[2*n-2] = byte((3*int(src[n-1]) + int(src[n-2]) + 1) >> 2)
		dst[2*n-1] = src[n-1]
	}
}

// widenSums does this in both directions. src is the nearer row, and far is the further row.
func widenSums(dst, src, far []byte, sums []int16, first, last bool) {
	n := len(src)
	columnSums(sums, src, far)
	widenRow(dst[:2*n], sums)
	if first {
		dst[0] = byte((4*sums[0] + 8) >> 4)
		dst[1] = byte((3*sums[0] + sums[1] + 7) >> 4)
	}
	if last {
		dst[2*n-2] = byte((3*sums[n-1] + sums[n-2] + 8) >> 4)
		dst[2*n-1] = byte((4*sums[n-1] + 7) >> 4)
	}
}

func columnSumsGeneric(sums []int16, src, far []byte) {
	far = far[:len(src)]
	sums = sums[:len(src)]
	for i, v := range src {
		sums[i] = 3*int16(v) + int16(far[i])
	}
}

// widenRowGeneric widens all sums except the first and the last.
func widenRowGeneric(dst []byte, sums []int16) {
	for i := 1; i < len(sums)-1; i++ {
		v := 3 * sums[i]
		dst[2*i], dst[2*i+1] = byte((v+sums[i-1]+8)>>4), byte((v+sums[i+1]+7)>>4)
	}
}

// Constants of the conversion, times 2^16.
const (
	crToR = 91881
	cbToB = 116130
	crToG = 46802
	cbToG = 22554
	half  = 1 << 15
)

func toRGBGeneric(dst, ys, cbs, crs []byte) {
	n := len(dst) / 3
	ys, cbs, crs = ys[:n], cbs[:n], crs[:n]
	for i, v := range ys {
		y, cb, cr := int32(v), int32(cbs[i])-128, int32(crs[i])-128
		p := dst[3*i : 3*i+3 : 3*i+3]
		p[0] = clamp(y + (crToR*cr+half)>>16)
		p[1] = clamp(y + (-cbToG*cb-crToG*cr+half)>>16)
		p[2] = clamp(y + (cbToB*cb+half)>>16)
	}
}

func toGray(dst, rs, gs, bs []byte) {
	for i := range dst {
		dst[i] = byte((19595*uint32(rs[i]) + 38470*uint32(gs[i]) + 7471*uint32(bs[i]) + half) >> 16)
	}
}

func toCMYK(dst, ys, cbs, crs, ks []byte) {
	n := len(dst) / 4
	ys, cbs, crs, ks = ys[:n], cbs[:n], crs[:n], ks[:n]
	for i, v := range ys {
		y, cb, cr := int32(v), int32(cbs[i])-128, int32(crs[i])-128
		p := dst[4*i : 4*i+4 : 4*i+4]
		p[0] = clamp(255 - (y + (crToR*cr+half)>>16))
		p[1] = clamp(255 - (y + (-cbToG*cb-crToG*cr+half)>>16))
		p[2] = clamp(255 - (y + (cbToB*cb+half)>>16))
		p[3] = ks[i]
	}
}
