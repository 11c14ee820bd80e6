package kernel

import "math"

// Units is how many parts a pixel has for ProjectUnits.
const Units = 32

// ProjectUnits computes the points of a row in parts of a pixel: element x of xi is
// slope[0]*x + start[0], divided by slope[2]*x + start[2], times Units and rounded half to even. yi
// has the same of 1. Both are 0 where the divisor is, and the least int32 where there is no place
// for a number. xs and ys have the points in pixels.
func ProjectUnits(xi, yi []int32, xs, ys []float32, start, slope *[3]float64) {
	n := len(xi)
	yi, xs, ys = yi[:n], xs[:n], ys[:n]
	for x := projectUnits(xi, yi, xs, ys, start, slope); x < n; x++ {
		at := func(i int) float64 { return float64(slope[i]*float64(x)) + start[i] }
		w := at(2)
		if w != 0 {
			w = Units / w
		}
		xi[x], yi[x] = toInt32(at(0)*w), toInt32(at(1)*w)
		xs[x], ys[x] = float32(xi[x])*(1./Units), float32(yi[x])*(1./Units)
	}
}

func toInt32(v float64) int32 {
	if v = math.RoundToEven(v); v >= math.MinInt32 && v <= math.MaxInt32 {
		return int32(v)
	}
	return math.MinInt32
}

// SetPlace sets the place of a point between its pixels, in parts of a pixel: far points have no
// exact place in float32.
func (c *Cells) SetPlace(point int, xi, yi int32) {
	c.a[point], c.b[point] = float32(xi&(Units-1))/Units, float32(yi&(Units-1))/Units
}

// BlendCoarse mixes the pixels around n points that Find found inside, by their weights: products
// are rounded before they are added. dst has BlendSlack more elements, which are overwritten with
// undefined values.
func BlendCoarse[T Element](c *Cells, dst []float32, src []T, from, n, channels int) {
	src, dst = src[:c.w*c.h*channels], dst[:n*channels+BlendSlack]
	checkInside(c.index[from : from+n])
	done := 0
	if channels <= BlendSlack+1 {
		done = blendCoarse(c, dst, src, from, n, channels)
	}
	for i := done; i < n; i++ {
		at := int(c.index[from+i]) * channels
		coarsePixel(dst[i*channels:], c.a[from+i], c.b[from+i], src[at:at+2*channels],
			src[at+c.w*channels:at+(c.w+2)*channels], channels)
	}
}

// BlendCoarsePatches is BlendCoarse for n points with pixels of their own.
func BlendCoarsePatches[T Element](c *Cells, dst []float32, patches *Patches[T], from, n, channels int) {
	own := c.ofPatches(from, n)
	BlendCoarse(&own, dst, patches[:], 0, n, channels)
}

func coarsePixel[T Element](dst []float32, a, b float32, upper, lower []T, channels int) {
	w00, w01, w10, w11 := (1-b)*(1-a), (1-b)*a, b*(1-a), b*a
	for k := range channels {
		v := float32(float32(upper[k])*w00) + float32(float32(upper[k+channels])*w01)
		v += float32(float32(lower[k]) * w10)
		v += float32(float32(lower[k+channels]) * w11)
		dst[k] = v
	}
}
