package kernel

import "math"

// Project computes the points of a row: element x of xs is slope[0]*x + start[0], not rounded
// before it is added, divided by slope[2]*x + start[2]. ys has the same of 1. There are fewer than
// 2^24 elements.
func Project(xs, ys []float32, start, slope *[3]float32) {
	ys = ys[:len(xs)]
	if len(xs) > exactFloats {
		panic("kernel: a row of 2^24 points")
	}
	for x := project(xs, ys, start, slope); x < len(xs); x++ {
		at := func(i int) float32 { return Fuse(slope[i], float32(x), start[i]) }
		w := at(2)
		xs[x], ys[x] = at(0)/w, at(1)/w
	}
}

// Cells finds the four pixels around points of an image, and mixes them.
type Cells struct {
	w, h  int
	index []int32 // of the upper left pixel, or -1
	a, b  []float32
}

// cellSlack is how many pixels at the end of an image are left out of cells, so that pixels can be
// read four bytes at a time.
const cellSlack = 5

// exactFloats is the number up to which a float32 holds every whole number.
const exactFloats = 1 << 24

// NewCells returns the Cells of an image of w columns and h rows. It keeps the slices, of the same
// length, which is the most points that Find takes.
func NewCells(w, h int, index []int32, a, b []float32) Cells {
	if len(a) != len(index) || len(b) != len(index) || w < 1 || h < 1 {
		panic("kernel: lists of different lengths, or an empty image")
	}
	return Cells{w, h, index, a, b}
}

// Find finds the pixels around points, column by column.
func (c *Cells) Find(xs, ys []float32) {
	c.index, c.a, c.b = c.index[:len(xs)], c.a[:len(xs)], c.b[:len(xs)]
	ys = ys[:len(xs)]
	last := c.w*c.h - c.w - cellSlack
	n := 0
	if c.w >= exactFloats || c.h >= exactFloats || c.w*c.h > math.MaxInt32 {
		last = -1
	} else {
		n = cells(c, xs, ys, last)
	}
	right, bottom := float32(c.w-2), float32(c.h-2)
	for i := n; i < len(xs); i++ {
		fx, fy := float32(math.Floor(float64(xs[i]))), float32(math.Floor(float64(ys[i])))
		c.a[i], c.b[i], c.index[i] = xs[i]-fx, ys[i]-fy, -1
		if fx >= 0 && fx <= right && fy >= 0 && fy <= bottom {
			if at := int(fy)*c.w + int(fx); at <= last {
				c.index[i] = int32(at)
			}
		}
	}
}

// Run returns how many points from a place on have all four pixels inside the image, or how many do
// not. Some pixels at the end of the image do not count as inside.
func (c *Cells) Run(from int) (n int, inside bool) {
	return run(c.index[from:])
}

// run counts the indices up to the first of another sign.
func run(index []int32) (n int, inside bool) {
	inside = index[0] >= 0
	for n = leading(index); n < len(index) && index[n] >= 0 == inside; n++ {
	}
	return n, inside
}

// checkInside panics if a point is outside.
func checkInside(index []int32) {
	if len(index) == 0 {
		return
	}
	if n, inside := run(index); n < len(index) || !inside {
		panic("kernel: a point outside")
	}
}

// Blend mixes the pixels around n points that Run found inside, by one line along the columns and
// one along the rows, each product added without rounding it first. The results are rounded half to
// even.
func (c *Cells) Blend(dst, src []byte, from, n, channels int) {
	src, dst = src[:c.w*c.h*channels], dst[:n*channels]
	checkInside(c.index[from : from+n])
	done := blend(c, dst, src, from, n, channels)
	for i := done; i < n; i++ {
		a, b := c.a[from+i], c.b[from+i]
		at := int(c.index[from+i]) * channels
		upper, lower := src[at:at+2*channels], src[at+c.w*channels:at+(c.w+2)*channels]
		for k := range channels {
			above := between(a, upper[k], upper[k+channels])
			below := between(a, lower[k], lower[k+channels])
			dst[i*channels+k] = byte(math.RoundToEven(float64(Fuse(b, below-above, above))))
		}
	}
}

// MostPatches is how many points BlendPatches takes.
const MostPatches = 64

// patchWidth is how many pixels a row of patches has.
const patchWidth = 2*MostPatches + cellSlack

// Patches holds the pixels around points that are not inside the image: in the upper row two pixels
// for each point, and in the lower row too.
type Patches[T Element] [2 * patchWidth * 4]T

// Around returns where the upper and the lower two pixels of a point belong.
func (p *Patches[T]) Around(point, channels int) (upper, lower []T) {
	upper, lower = p[2*point*channels:], p[(patchWidth+2*point)*channels:]
	return upper[:2*channels], lower[:2*channels]
}

var patchIndex = func() (list [MostPatches]int32) {
	for i := range list {
		list[i] = int32(2 * i)
	}
	return list
}()

// BlendPatches is Blend for n points with pixels of their own: points from, from+1, … have the
// patches 0, 1, …
func (c *Cells) BlendPatches(dst []byte, patches *Patches[byte], from, n, channels int) {
	own := c.ofPatches(from, n)
	own.Blend(dst, patches[:], 0, n, channels)
}

func (c *Cells) ofPatches(from, n int) Cells {
	return Cells{patchWidth, 2, patchIndex[:n], c.a[from : from+n], c.b[from : from+n]}
}

// BlendFloats is Blend for words and floats, whose results are not rounded. dst has BlendSlack more
// elements, which are overwritten with undefined values.
func BlendFloats[T uint16 | float32](c *Cells, dst []float32, src []T, from, n, channels int) {
	src, dst = src[:c.w*c.h*channels], dst[:n*channels+BlendSlack]
	checkInside(c.index[from : from+n])
	done := 0
	if channels <= BlendSlack+1 {
		done = blendFloats(c, dst, src, from, n, channels)
	}
	for i := done; i < n; i++ {
		at := int(c.index[from+i]) * channels
		blendPixel(dst[i*channels:], c.a[from+i], c.b[from+i], src[at:at+2*channels],
			src[at+c.w*channels:at+(c.w+2)*channels], channels)
	}
}

// BlendSlack is how many floats BlendFloats writes beyond a row.
const BlendSlack = 3

// BlendFloatPatches is BlendFloats for n points with pixels of their own.
func BlendFloatPatches[T uint16 | float32](c *Cells, dst []float32, patches *Patches[T], from, n, channels int) {
	own := c.ofPatches(from, n)
	BlendFloats(&own, dst, patches[:], 0, n, channels)
}

func blendPixel[T uint16 | float32](dst []float32, a, b float32, upper, lower []T, channels int) {
	for k := range channels {
		p, q, r, s := float32(upper[k]), float32(upper[k+channels]), float32(lower[k]), float32(lower[k+channels])
		above, below := Fuse(a, q-p, p), Fuse(a, s-r, r)
		dst[k] = Fuse(b, below-above, above)
	}
}

// between returns the value at a of the line from p to q.
func between(a float32, p, q byte) float32 { return Fuse(a, float32(q)-float32(p), float32(p)) }
