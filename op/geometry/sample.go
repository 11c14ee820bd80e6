package geometry

import "math"

// pixel is an element of an image that can be warped.
type pixel interface {
	uint8 | int16 | int32 | float32
}

// source is what a warped image takes its pixels from.
type source[T pixel] struct {
	volume
	data      []T
	channels  int
	clamp     bool
	fill      float32
	fillPixel [1]T
}

// index returns the coordinate of a pixel as an integer; what lies far outside,
// and NaN, is the first one outside.
func index(v float64) int {
	v = math.Floor(v)
	if !(v > -1<<30 && v < 1<<30) {
		if v >= 1<<30 {
			return 1 << 30
		}
		return -1 << 30
	}
	return int(v)
}

// at returns the channels of a pixel, or nil when it is outside and has the fill value.
func (s *source[T]) at(z, y, x int) []T {
	if s.clamp {
		z, y, x = min(max(z, 0), s.d-1), min(max(y, 0), s.h-1), min(max(x, 0), s.w-1)
	} else if z < 0 || z >= s.d || y < 0 || y >= s.h || x < 0 || x >= s.w {
		return nil
	}
	i := ((z*s.h+y)*s.w + x) * s.channels
	return s.data[i : i+s.channels]
}

// nearest writes the pixels that the points of a row lie in.
func (s *source[T]) nearest(out []T, xs, ys, zs []float64) {
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

// value returns channel j of a pixel of at.
func (s *source[T]) value(p []T, j int) float32 {
	if p == nil {
		return s.fill
	}
	return float32(p[j])
}

// bilinear writes the pixels around the points of a row, weighed.
func (s *source[T]) bilinear(out []float32, xs, ys []float64) {
	c := s.channels
	for i, x := range xs {
		x0, y0 := index(x-0.5), index(ys[i]-0.5)
		fx, fy := float32(x-0.5-float64(x0)), float32(ys[i]-0.5-float64(y0))
		to := out[i*c : (i+1)*c]
		if x0 >= 0 && y0 >= 0 && x0+1 < s.w && y0+1 < s.h {
			upper := s.data[(y0*s.w+x0)*c:][:2*c]
			lower := s.data[((y0+1)*s.w+x0)*c:][:2*c]
			for j := range to {
				a, b := float32(upper[j]), float32(lower[j])
				a += float32((float32(upper[j+c]) - a) * fx)
				b += float32((float32(lower[j+c]) - b) * fx)
				to[j] = a + float32((b-a)*fy)
			}
			continue
		}
		s.plane(to, 0, 0, y0, x0, fy, fx)
	}
}

// mostChannels is how many channels of a volume are weighed at a time.
const mostChannels = 16

// trilinear writes the pixels of a volume around the points of a row, weighed.
func (s *source[T]) trilinear(out []float32, xs, ys, zs []float64) {
	c := s.channels
	var behind [mostChannels]float32
	for i, x := range xs {
		x0, y0, z0 := index(x-0.5), index(ys[i]-0.5), index(zs[i]-0.5)
		fx, fy, fz := float32(x-0.5-float64(x0)), float32(ys[i]-0.5-float64(y0)), float32(zs[i]-0.5-float64(z0))
		to := out[i*c : (i+1)*c]
		s.plane(to, 0, z0, y0, x0, fy, fx)
		if fz == 0 {
			continue
		}
		for j := 0; j < c; j += mostChannels {
			part := to[j:min(j+mostChannels, c)]
			next := behind[:len(part)]
			s.plane(next, j, z0+1, y0, x0, fy, fx)
			for m := range part {
				part[m] += float32((next[m] - part[m]) * fz)
			}
		}
	}
}

// plane writes the weighed pixels around a point of plane z, wherever it is: as many
// channels as to holds, from first on.
func (s *source[T]) plane(to []float32, first, z, y, x int, fy, fx float32) {
	p00, p01, p10, p11 := s.at(z, y, x), s.at(z, y, x+1), s.at(z, y+1, x), s.at(z, y+1, x+1)
	for m := range to {
		j := first + m
		a, b := s.value(p00, j), s.value(p10, j)
		a += float32((s.value(p01, j) - a) * fx)
		b += float32((s.value(p11, j) - b) * fx)
		to[m] = a + float32((b-a)*fy)
	}
}
