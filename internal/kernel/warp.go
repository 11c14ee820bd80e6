package kernel

import "math"

// Project divides xs and ys by ws, element by element. All have the same length.
func Project(xs, ys, ws []float32) {
	xs, ys = xs[:len(ws)], ys[:len(ws)]
	n := project(xs, ys, ws)
	for i, w := range ws[n:] {
		xs[n+i] /= w
		ys[n+i] /= w
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
const cellSlack = 4

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

// Run returns how many points from a place on have all four pixels inside the image. Some at the end
// of the image do not count.
func (c *Cells) Run(from int) (n int) {
	for _, v := range c.index[from:] {
		if v < 0 {
			break
		}
		n++
	}
	return n
}

// Blend mixes the pixels around n points that Run counted, by one line along the columns and one
// along the rows, each product added without rounding it first. The results are rounded half to
// even.
func (c *Cells) Blend(dst, src []byte, from, n, channels int) {
	src, dst = src[:c.w*c.h*channels], dst[:n*channels]
	for _, v := range c.index[from : from+n] {
		if v < 0 {
			panic("kernel: a point outside")
		}
	}
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

// between returns the value at a of the line from p to q.
func between(a float32, p, q byte) float32 { return Fuse(a, float32(q)-float32(p), float32(p)) }
