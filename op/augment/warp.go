package augment

import (
	"math"

	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/internal/libm"
)

// affine maps the pixels of an output to the points of the input that they show. Points are counted
// from the corner of the image, so that the centre of the first pixel is (0.5, 0.5). Its arithmetic
// is the arithmetic of warp_affine and rotate.
type affine struct {
	matrix [2][2]float32
	offset [2]float32
}

// inverseOf returns the map back from a map of the input to the output.
func inverseOf(a affine) (out affine) {
	m := &a.matrix
	det := float32(m[0][0]*m[1][1]) - float32(m[0][1]*m[1][0])
	out.matrix = [2][2]float32{{m[1][1] / det, -m[0][1] / det}, {-m[1][0] / det, m[0][0] / det}}
	for i := range 2 {
		out.offset[i] = -(float32(out.matrix[i][0]*a.offset[0]) + float32(out.matrix[i][1]*a.offset[1]))
	}
	return out
}

// turned returns the rotation by an angle in degrees around the centre.
func turned(degrees float32, h, w int) (a affine) {
	sin, cos := libm.Sincos(degrees * float32(math.Pi/180))
	a.matrix = [2][2]float32{{cos, -sin}, {sin, cos}}
	size := [2]float32{float32(w), float32(h)}
	for i := range 2 {
		a.offset[i] = float32(a.matrix[i][0]*(-size[0]/2)) + float32(a.matrix[i][1]*(-size[1]/2)) + size[i]/2
	}
	return a
}

// tile is the number of pixels of a row whose points are computed by steps from the previous pixel.
const tile = 256

// points computes the points that the pixels of row y show.
func (a *affine) points(y int, xs, ys []float32) {
	fy := float32(y) + 0.5
	var first, step [2]float32
	for i := range 2 {
		step[i] = a.matrix[i][0]
		first[i] = a.offset[i] + float32(step[i]*0.5) + float32(a.matrix[i][1]*fy)
	}
	for start := 0; start < len(xs); start += tile {
		x, y := first[0], first[1]
		for i := start; i < min(start+tile, len(xs)); i++ {
			xs[i], ys[i] = x, y
			x, y = x+step[0], y+step[1]
		}
		first[0], first[1] = first[0]+tile*step[0], first[1]+tile*step[1]
	}
}

// border says what lies outside an image.
type border struct {
	clamp bool // the pixels at the edge
	fill  [channels]byte
}

// warp writes the pixels of the input at the points that a maps to.
func (p *painter) warp(dst, src []byte, h, w int, a affine, o *style) {
	p.xs, p.ys = grow(p.xs, w), grow(p.ys, w)
	p.sums = grow(p.sums, w*channels)
	for y := range h {
		a.points(y, p.xs, p.ys)
		row := dst[y*w*channels:][:w*channels]
		if o.nearest {
			nearest(row, src, h, w, p.xs, p.ys, &o.border)
			continue
		}
		bilinear(p.sums, src, h, w, p.xs, p.ys, &o.border)
		kernel.RoundBytesAway(row, p.sums)
	}
}

// index returns the coordinate of a pixel as an integer.
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

// at returns the channels of a pixel.
func (o *border) at(src []byte, h, w, y, x int) []byte {
	if o.clamp {
		y, x = min(max(y, 0), h-1), min(max(x, 0), w-1)
	} else if x < 0 || x >= w || y < 0 || y >= h {
		return o.fill[:]
	}
	return src[(y*w+x)*channels:][:channels]
}

// nearest writes the pixels that contain the points.
func nearest(dst, src []byte, h, w int, xs, ys []float32, o *border) {
	for i := range xs {
		copy(dst[i*channels:(i+1)*channels], o.at(src, h, w, index(ys[i]), index(xs[i])))
	}
}

// bilinear writes the weighted means of the pixels around the points.
func bilinear(dst []float32, src []byte, h, w int, xs, ys []float32, o *border) {
	right, bottom := float32(w-1), float32(h-1)
	pitch := w * channels
	ys = ys[:len(xs)]
	for i, x := range xs {
		x, y := x-0.5, ys[i]-0.5
		to := dst[i*channels : i*channels+channels : i*channels+channels]
		if x >= 0 && y >= 0 && x < right && y < bottom {
			x0, y0 := int(x), int(y)
			qx, qy := x-float32(x0), y-float32(y0)
			px := 1 - qx
			at := y0*pitch + x0*channels
			u, l := src[at:at+2*channels:at+2*channels], src[at+pitch:at+pitch+2*channels:at+pitch+2*channels]
			for j := range channels {
				a := float32(float32(u[j])*px) + float32(float32(u[j+channels])*qx)
				b := float32(float32(l[j])*px) + float32(float32(l[j+channels])*qx)
				to[j] = a + float32((b-a)*qy)
			}
			continue
		}
		x0, y0 := index(x), index(y)
		qx, qy := x-float32(x0), y-float32(y0)
		p00, p01 := o.at(src, h, w, y0, x0), o.at(src, h, w, y0, x0+1)
		p10, p11 := o.at(src, h, w, y0+1, x0), o.at(src, h, w, y0+1, x0+1)
		for j := range channels {
			a, b := mix(p00[j], p01[j], qx), mix(p10[j], p11[j], qx)
			to[j] = a + float32((b-a)*qy)
		}
	}
}

// mix returns the weighted mean of two values, with weight q for b.
func mix(a, b byte, q float32) float32 { return float32(float32(a)*(1-q)) + float32(float32(b)*q) }
