package kernel

import "math"

// ProjectDoubles is Project in float64: element x of xs is slope[0]*x + start[0], divided by
// slope[2]*x + start[2], and then rounded to float32.
func ProjectDoubles(xs, ys []float32, start, slope *[3]float32) {
	ys = ys[:len(xs)]
	for x := projectDoubles(xs, ys, start, slope); x < len(xs); x++ {
		at := func(i int) float64 { return float64(float64(slope[i])*float64(x)) + float64(start[i]) }
		w := at(2)
		xs[x], ys[x] = float32(at(0)/w), float32(at(1)/w)
	}
}

// Taps is how many pixels a cubic curve goes through.
const Taps = 4

// Cubic mixes the 16 pixels around points of an image by cubic curves.
type Cubic struct {
	w, h   int
	points int
	index  []int32   // of the upper left pixel, or -1
	a      []float32 // the distance of a point from the second pixel
	across []float32 // the weights of columns: all first ones, all second ones, …
	down   []float32 // of rows
	second bool
}

// CubicSlack is how many floats a Cubic writes beyond a row.
const CubicSlack = 3

// NewCubic returns the Cubic of an image of w columns and h rows, for rows of at most as many
// points as index has elements. a has as many, and each list of weights four times as many. Second
// selects how products are ordered: as for Sums.
func NewCubic(w, h int, index []int32, a, across, down []float32, second bool) Cubic {
	n := len(index)
	if len(a) != n || len(across) != Taps*n || len(down) != Taps*n || w < 1 || h < 1 {
		panic("kernel: lists of different lengths, or an empty image")
	}
	return Cubic{w: w, h: h, points: n, index: index, a: a, across: across, down: down, second: second}
}

// Find finds the pixels around points, and their weights.
func (c *Cubic) Find(xs, ys []float32) {
	n := c.points
	index, ys := c.index[:len(xs)], ys[:len(xs)]
	// Pixels at the end of the image are left out, so that four elements of each can be read.
	last := c.w*c.h - (Taps-1)*c.w - 2*(Taps-1) - 1
	cells := Cells{c.w, c.h, index, c.a[:len(xs)], c.down[3*n : 3*n+len(xs)]}
	small, done := c.w < exactFloats && c.h < exactFloats && c.w*c.h <= math.MaxInt32, 0
	if small {
		done = cubicCells(&cells, xs, ys, last)
	}
	right, bottom := float32(c.w-Taps+1), float32(c.h-Taps+1)
	for i := done; i < len(xs); i++ {
		fx, fy := float32(math.Floor(float64(xs[i]))), float32(math.Floor(float64(ys[i])))
		cells.a[i], cells.b[i], index[i] = xs[i]-fx, ys[i]-fy, -1
		if small && fx >= 1 && fx <= right && fy >= 1 && fy <= bottom {
			if at := (int(fy)-1)*c.w + int(fx) - 1; at <= last {
				index[i] = int32(at)
			}
		}
	}
	for _, axis := range []struct{ to, from []float32 }{{c.across, cells.a}, {c.down, cells.b}} {
		done := cubicWeights(c, axis.to, axis.from)
		for i, v := range axis.from[done:] {
			for k, v := range CubicWeights(v, c.second) {
				axis.to[k*n+done+i] = v
			}
		}
	}
}

// CubicWeights returns the weights of four pixels for a point between the second and the third, at
// a distance from the second. The two ways of computing them differ in last bits.
func CubicWeights(a float32, second bool) (w [Taps]float32) {
	const depth = -.75
	z := 1 - a
	square, other := float32(a*a), float32(z*z)
	if second {
		w[0], w[3] = other*float32(a*depth), z*float32(square*depth)
	} else {
		w[0], w[3] = float32(other*a)*depth, float32(z*square)*depth
	}
	w[1] = Fuse(Fuse(depth+2, a, -(depth+3)), square, 1)
	w[2] = float32(float32(1-w[0])-w[1]) - w[3]
	return w
}

// Run returns how many points from a place on have all 16 pixels inside the image, or how many do
// not. Some pixels at the end of the image do not count as inside.
func (c *Cubic) Run(from, to int) (n int, inside bool) {
	return run(c.index[from:to])
}

// Element is the constraint of elements of pixels.
type Element interface {
	uint8 | uint16 | int16 | float32
}

// Sums computes n pixels from a point on, which Run found inside. A row of pixels is summed from
// left to right, and then the rows from top to bottom; products are added without rounding them
// first. Second means that the product of the second column comes before the first. dst has
// CubicSlack more elements, which are overwritten with undefined values.
func CubicSums[T Element](c *Cubic, dst []float32, src []T, from, n, channels int) {
	src, dst = src[:c.w*c.h*channels], dst[:n*channels+CubicSlack]
	checkInside(c.index[from : from+n])
	done := 0
	if channels <= Taps {
		done = cubicSums(c, dst, src, from, n, channels)
	}
	for i := done; i < n; i++ {
		at := int(c.index[from+i]) * channels
		cubicPixel(c, dst[i*channels:], src[at:], from+i, c.w, channels)
	}
}

// cubicPixel mixes the 16 pixels of rows of a width.
func cubicPixel[T Element](c *Cubic, dst []float32, src []T, point, width, channels int) {
	for k := range channels {
		var sum float32
		for r := range Taps {
			p := func(s int) float32 { return float32(src[(r*width+s)*channels+k]) }
			w := func(s int) float32 { return c.across[s*c.points+point] }
			first, next := 0, 1
			if c.second {
				first, next = 1, 0
			}
			row := Fuse(w(next), p(next), w(first)*p(first))
			row = Fuse(w(3), p(3), Fuse(w(2), p(2), row))
			if v := c.down[r*c.points+point]; r == 0 {
				sum = v * row
			} else {
				sum = Fuse(v, row, sum)
			}
		}
		dst[k] = sum
	}
}

// cubicPatchWidth is how many pixels a row of patches has.
const cubicPatchWidth = Taps*MostPatches + Taps

// CubicPatches holds the pixels around points that are not inside the image.
type CubicPatches[T Element] [Taps*cubicPatchWidth*Taps + Taps]T

// Row returns where the four pixels of a row around a point belong.
func (p *CubicPatches[T]) Row(point, row, channels int) []T {
	at := (row*cubicPatchWidth + Taps*point) * channels
	return p[at : at+Taps*channels]
}

var cubicPatchIndex = func() (list [MostPatches]int32) {
	for i := range list {
		list[i] = int32(Taps * i)
	}
	return list
}()

// Sums is CubicSums for n points with pixels of their own: points from, from+1, … have the patches
// 0, 1, …
func (p *CubicPatches[T]) Sums(c *Cubic, dst []float32, from, n, channels int) {
	own := Cubic{w: cubicPatchWidth, h: Taps, points: c.points, index: cubicPatchIndex[:n], across: c.across[from:],
		down: c.down[from:], second: c.second}
	CubicSums(&own, dst, p[:], 0, n, channels)
}
