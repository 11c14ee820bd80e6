package augment

import "math"

// # Truncated pixels
//
// Pillow computes in its own way: values are truncated, gray is a sum of integers, and a pixel is
// sharpened against the mean of its 3x3 neighbours with a weight of 5 for itself.

// truncated applies a step as Pillow does.
func (p *painter) truncated(dst, src []byte, h, w int, s *step, extents [2]int, o *style) {
	m := s.magnitude
	switch s.kind {
	case shearX:
		p.transform(dst, src, h, w, plane{1, m, 0, 0, 1, 0}, o)
	case shearY:
		p.transform(dst, src, h, w, plane{1, 0, 0, m, 1, 0}, o)
	case translateX, translateXPixels:
		p.transform(dst, src, h, w, plane{1, 0, -s.pixels(extents[1]), 0, 1, 0}, o)
	case translateY, translateYPixels:
		p.transform(dst, src, h, w, plane{1, 0, 0, 0, 1, -s.pixels(extents[0])}, o)
	case rotate:
		p.transform(dst, src, h, w, turn(m, h, w), o)
	case brightness:
		p.toward(0, float32(s.factor()))
		p.table.look(dst, src)
	case contrast:
		p.toward(meanGray(src), float32(s.factor()))
		p.table.look(dst, src)
	case color:
		factor := float32(s.factor())
		for i := 0; i < len(src); i += channels {
			g := grayOf(src[i:])
			for c := range channels {
				dst[i+c] = blend(g, src[i+c], factor)
			}
		}
	case sharpness:
		smooth(dst, src, h, w, float32(s.factor()))
	case equalize:
		p.equalizeTruncated(src)
		lookEach(dst, src, &p.tables)
	case autoContrast:
		p.stretchTruncated(src)
		lookEach(dst, src, &p.tables)
	case posterize:
		p.table.mask(min(max(int(math.RoundToEven(m)), 0), 8))
		p.table.look(dst, src)
	default:
		p.simple(s)
		p.table.look(dst, src)
	}
}

// blend returns the value that lies between a and b, or beyond b if the share is above 1.
func blend(a, b byte, share float32) byte {
	v := float32(a) + float32(share*float32(int(b)-int(a)))
	switch {
	case v <= 0:
		return 0
	case v >= 255:
		return 255
	}
	return byte(v)
}

// toward sets p.table to the blends of one value with each value.
func (p *painter) toward(from byte, share float32) {
	for i := range p.table {
		p.table[i] = blend(from, byte(i), share)
	}
}

// grayOf returns the brightness of a pixel.
func grayOf(pixel []byte) byte {
	return byte((int(pixel[0])*19595 + int(pixel[1])*38470 + int(pixel[2])*7471 + 0x8000) >> 16)
}

// meanGray returns the mean brightness, rounded.
func meanGray(src []byte) byte {
	sum := 0
	for i := 0; i < len(src); i += channels {
		sum += int(grayOf(src[i:]))
	}
	return byte(float64(sum)/float64(len(src)/channels) + 0.5)
}

// smooth blends each pixel with the weighted mean around it. Pixels at the border have no mean.
func smooth(dst, src []byte, h, w int, share float32) {
	copy(dst, src)
	pitch := w * channels
	for y := 1; y < h-1; y++ {
		for i := y*pitch + channels; i < (y+1)*pitch-channels; i++ {
			up, at, down := src[i-pitch-channels:], src[i-channels:], src[i+pitch-channels:]
			sum := int(up[0]) + int(up[channels]) + int(up[2*channels]) + int(at[0]) + 5*int(at[channels]) +
				int(at[2*channels]) + int(down[0]) + int(down[channels]) + int(down[2*channels])
			dst[i] = blend(byte((2*sum+13)/26), src[i], share)
		}
	}
}

// equalizeTruncated sets tables to those that spread the values evenly, in whole steps.
func (p *painter) equalizeTruncated(src []byte) {
	counts(src, &p.counts)
	for c := range p.tables {
		n := &p.counts[c]
		_, hi := extremes(n)
		step := (len(src)/channels - int(n[hi])) / 255
		sum := step / 2
		for i := range 256 {
			p.tables[c][i] = byte(i)
			if step > 0 {
				p.tables[c][i] = byte(min(sum/step, 255))
			}
			sum += int(n[i])
		}
	}
}

// stretchTruncated sets tables to those that spread the values over the range.
func (p *painter) stretchTruncated(src []byte) {
	counts(src, &p.counts)
	for c := range p.tables {
		lo, hi := extremes(&p.counts[c])
		scale, offset := 1.0, 0.0
		if hi > lo {
			scale = 255 / float64(hi-lo)
			offset = float64(-float64(lo) * scale)
		}
		for i := range 256 {
			p.tables[c][i] = byte(min(max(int(float64(float64(i)*scale)+offset), 0), 255))
		}
	}
}

// plane maps the pixels of an output to the points of the input that they show: x is a*x + b*y + c,
// and y is d*x + e*y + f.
type plane [6]float64

// turn returns the rotation by an angle in degrees around the centre.
func turn(degrees float64, h, w int) plane {
	sin, cos := math.Sincos(-math.Mod(degrees, 360) * math.Pi / 180)
	sin, cos = math.Round(sin*1e15)/1e15, math.Round(cos*1e15)/1e15
	x, y := float64(w)/2, float64(h)/2
	return plane{cos, sin, float64(cos*-x) + float64(sin*-y) + x, -sin, cos, float64(-sin*-x) + float64(cos*-y) + y}
}

func (p *painter) transform(dst, src []byte, h, w int, a plane, o *style) {
	fill := &o.border.fill
	if o.nearest {
		if a[1] == 0 && a[3] == 0 {
			shifted(dst, src, h, w, a, fill)
		} else {
			fixed(dst, src, h, w, a, fill)
		}
		return
	}
	for y := range h {
		fy := float64(y) + 0.5
		for x := range w {
			fx := float64(x) + 0.5
			px := float64(a[0]*fx) + float64(a[1]*fy) + a[2]
			py := float64(a[3]*fx) + float64(a[4]*fy) + a[5]
			to := dst[(y*w+x)*channels:][:channels]
			switch {
			case !(px >= 0 && px < float64(w) && py >= 0 && py < float64(h)):
				copy(to, fill[:])
			case o.cubic:
				cubic(to, src, h, w, px-0.5, py-0.5)
			default:
				linear(to, src, h, w, px-0.5, py-0.5)
			}
		}
	}
}

// shifted writes the pixels that contain the points of a map without rotation or shear.
func shifted(dst, src []byte, h, w int, a plane, fill *[channels]byte) {
	fy := a[5] + float64(a[4]*0.5)
	for y := range h {
		fx := a[2] + float64(a[0]*0.5)
		for x := range w {
			from := fill[:]
			if fx >= 0 && fx < float64(w) && fy >= 0 && fy < float64(h) {
				from = src[(int(fy)*w+int(fx))*channels:][:channels]
			}
			copy(dst[(y*w+x)*channels:][:channels], from)
			fx += a[0]
		}
		fy += a[4]
	}
}

// fixed writes the pixels that contain the points, in steps of 1/65536.
func fixed(dst, src []byte, h, w int, a plane, fill *[channels]byte) {
	fix := func(v float64) int { return int(math.Floor(float64(v*65536) + 0.5)) }
	dx, dy := fix(a[0]), fix(a[3])
	x0 := fix(a[2] + float64(a[0]*0.5) + float64(a[1]*0.5))
	y0 := fix(a[5] + float64(a[3]*0.5) + float64(a[4]*0.5))
	for y := range h {
		fx, fy := x0, y0
		for x := range w {
			from := fill[:]
			if px, py := fx>>16, fy>>16; px >= 0 && px < w && py >= 0 && py < h {
				from = src[(py*w+px)*channels:][:channels]
			}
			copy(dst[(y*w+x)*channels:][:channels], from)
			fx, fy = fx+dx, fy+dy
		}
		x0, y0 = x0+fix(a[1]), y0+fix(a[4])
	}
}

// linear writes the weighted mean of the four pixels around a point.
func linear(to, src []byte, h, w int, x, y float64) {
	fx, fy := math.Floor(x), math.Floor(y)
	dx, dy := x-fx, y-fy
	x0, y0 := int(fx), int(fy)
	left, right := min(max(x0, 0), w-1)*channels, min(max(x0+1, 0), w-1)*channels
	upper := src[min(max(y0, 0), h-1)*w*channels:]
	for c := range channels {
		a := float64(upper[left+c])
		v := a + float64((float64(upper[right+c])-a)*dx)
		if y0+1 >= 0 && y0+1 < h {
			lower := src[(y0+1)*w*channels:]
			b := float64(lower[left+c])
			b += float64((float64(lower[right+c]) - b) * dx)
			v += float64((b - v) * dy)
		}
		to[c] = byte(v)
	}
}

// cubic writes the value at a point of the cubic curves through the pixels around it.
func cubic(to, src []byte, h, w int, x, y float64) {
	fx, fy := math.Floor(x), math.Floor(y)
	dx, dy := x-fx, y-fy
	x0, y0 := int(fx)-1, int(fy)-1
	for c := range channels {
		var v [4]float64
		for j := range 4 {
			row := y0 + j
			if j == 0 {
				row = min(max(row, 0), h-1)
			}
			if row < 0 || row >= h {
				v[j] = v[j-1]
				continue
			}
			var q [4]float64
			for i := range 4 {
				q[i] = float64(src[(row*w+min(max(x0+i, 0), w-1))*channels+c])
			}
			v[j] = curve(&q, dx)
		}
		to[c] = byte(min(max(curve(&v, dy), 0), 255))
	}
}

func curve(v *[4]float64, d float64) float64 {
	p2, p3 := v[2]-v[0], 2*(v[0]-v[1])+v[2]-v[3]
	p4 := -v[0] + v[1] - v[2] + v[3]
	return v[1] + float64(d*(p2+float64(d*(p3+float64(d*p4)))))
}
