package geometry

import "math"

// pixel is the type of an element of an image that can be warped.
type pixel interface {
	uint8 | int16 | int32 | float32
}

// source is the image from which a warped image takes its pixels.
type source[T pixel] struct {
	volume
	data      []T
	channels  int
	clamp     bool
	fill      float32
	fillPixel [1]T
}

// index returns the coordinate of a pixel as an integer. NaN, and numbers outside the range of
// 32-bit integers, become the least 32-bit integer, as on the processors of DALI.
func index(v float32) int {
	if !(v >= math.MinInt32 && v < -math.MinInt32) {
		return math.MinInt32
	}
	i := int(v)
	if float32(i) > v {
		i--
	}
	return i
}

// at returns the channels of a pixel. It returns nil for a pixel outside, which has the fill value.
func (s *source[T]) at(z, y, x int) []T {
	if s.clamp {
		z, y, x = min(max(z, 0), s.d-1), min(max(y, 0), s.h-1), min(max(x, 0), s.w-1)
	} else if z < 0 || z >= s.d || y < 0 || y >= s.h || x < 0 || x >= s.w {
		return nil
	}
	i := ((z*s.h+y)*s.w + x) * s.channels
	return s.data[i : i+s.channels]
}

// nearest writes, for each point of a row, the pixel that contains the point.
func (s *source[T]) nearest(out []T, xs, ys, zs []float32) {
	c := s.channels
	for i := range xs {
		to := out[i*c : (i+1)*c]
		if p := s.at(index(zs[i]), index(ys[i]), index(xs[i])); p != nil {
			copy(to, p)
			continue
		}
		for j := range to {
			to[j] = s.fillPixel[0]
		}
	}
}

// fillOutside writes the fill value, in the type of the output, to the pixels whose points lie
// outside. nearest writes the fill value limited to the range of the input.
func (s *source[T]) fillOutside(out, fill []byte, xs, ys, zs []float32) {
	size := s.channels * len(fill)
	for i := range xs {
		if s.at(index(zs[i]), index(ys[i]), index(xs[i])) == nil {
			for to := out[i*size : (i+1)*size]; len(to) > 0; to = to[len(fill):] {
				copy(to, fill)
			}
		}
	}
}

// value returns channel j of a pixel p that at returned.
func (s *source[T]) value(p []T, j int) float32 {
	if p == nil {
		return s.fill
	}
	return float32(p[j])
}

// mix returns the weighted mean of two values, with weight q for b.
func mix(a, b, q float32) float32 { return float32(a*(1-q)) + float32(b*q) }

// bilinear writes the weighted means of the pixels around the points of a row.
func (s *source[T]) bilinear(out []float32, xs, ys []float32) {
	c := s.channels
	for i, x := range xs {
		x, y := x-0.5, ys[i]-0.5
		x0, y0 := index(x), index(y)
		qx, qy := x-float32(x0), y-float32(y0)
		to := out[i*c : (i+1)*c]
		if x0 >= 0 && y0 >= 0 && x0+1 < s.w && y0+1 < s.h {
			px := 1 - qx
			upper := s.data[(y0*s.w+x0)*c:][:2*c]
			lower := s.data[((y0+1)*s.w+x0)*c:][:2*c]
			for j := range to {
				a := float32(float32(upper[j])*px) + float32(float32(upper[j+c])*qx)
				b := float32(float32(lower[j])*px) + float32(float32(lower[j+c])*qx)
				to[j] = a + float32((b-a)*qy)
			}
			continue
		}
		p00, p01, p10, p11 := s.at(0, y0, x0), s.at(0, y0, x0+1), s.at(0, y0+1, x0), s.at(0, y0+1, x0+1)
		for j := range to {
			a := mix(s.value(p00, j), s.value(p01, j), qx)
			b := mix(s.value(p10, j), s.value(p11, j), qx)
			to[j] = a + float32((b-a)*qy)
		}
	}
}

// trilinear writes the weighted means of the pixels of a volume around the points of a row.
func (s *source[T]) trilinear(out []float32, xs, ys, zs []float32) {
	c := s.channels
	for i, x := range xs {
		x, y, z := x-0.5, ys[i]-0.5, zs[i]-0.5
		x0, y0, z0 := index(x), index(y), index(z)
		qx, qy, qz := x-float32(x0), y-float32(y0), z-float32(z0)
		var p [8][]T
		for k := range p {
			p[k] = s.at(z0+k>>2, y0+k>>1&1, x0+k&1)
		}
		to := out[i*c : (i+1)*c]
		for j := range to {
			front := mix(mix(s.value(p[0], j), s.value(p[1], j), qx), mix(s.value(p[2], j), s.value(p[3], j), qx), qy)
			back := mix(mix(s.value(p[4], j), s.value(p[5], j), qx), mix(s.value(p[6], j), s.value(p[7], j), qx), qy)
			to[j] = front + float32((back-front)*qz)
		}
	}
}
