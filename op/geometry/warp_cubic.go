package geometry

import (
	"math"

	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// warpedCubic warps planes of one type with cubic curves.
type warpedCubic[T depth] struct {
	*warped[T]
	cubic   kernel.Cubic
	patches *kernel.CubicPatches[T]
	sums    []float32
	whole   bool // whole numbers: the sum of the shares of a fill value is rounded to it
}

func (st *warpState[T]) warpCubic(b *op.Block, out, in tensor.Tensor, v planes, h, w int, m *[3][3]float64) {
	p, q := &st.warped, &st.cubic
	// Pixels of two channels, and int16, are summed in another order, as in the reference.
	second := v.channels == 2 || in.DType == tensor.Int16
	*q = warpedCubic[T]{warped: p, sums: op.Scratch[float32](b, w*v.channels+kernel.CubicSlack),
		patches: &st.cubicPatches,
		whole:   in.DType != tensor.Float32 && p.k.border(-1, 1) < 0}
	q.cubic = kernel.NewCubic(v.w, v.h, op.Scratch[int32](b, w), op.Scratch[float32](b, w),
		op.Scratch[float32](b, kernel.Taps*w), op.Scratch[float32](b, kernel.Taps*w), second)
	all, to := element.View[T](in.Data), element.View[T](out.Data)
	size := v.h * v.w * v.channels
	for f := range v.frames {
		p.src = all[f*size : (f+1)*size]
		for y := range h {
			q.points(y, m)
			q.row(to[(f*h+y)*w*v.channels : (f*h+y+1)*w*v.channels])
		}
	}
}

// points computes the points of row y: what a row adds in float32, and the rest in float64.
func (q *warpedCubic[T]) points(y int, m *[3][3]float64) {
	var start, slope [3]float32
	for i := range m {
		slope[i] = float32(m[i][0])
		start[i] = float32(float32(m[i][1])*float32(y)) + float32(m[i][2])
	}
	kernel.ProjectDoubles(q.xs, q.ys, &start, &slope)
}

// row makes a row, many pixels at a time. Pixels around points that are not inside the image are
// copied first.
func (q *warpedCubic[T]) row(row []T) {
	q.cubic.Find(q.xs, q.ys)
	for i := 0; i < len(q.xs); {
		n, inside := q.cubic.Run(i, len(q.xs))
		sums := q.sums[i*q.c:]
		if inside {
			kernel.CubicSums(&q.cubic, sums, q.src, i, n, q.c)
			i += n
			continue
		}
		if q.whole && q.outside(i, 1) {
			q.put(i, i+1)
			i++
			continue
		}
		n = min(n, kernel.MostPatches)
		for k := range n {
			if q.whole && k > 0 && q.outside(i+k, 1) {
				n = k
				break
			}
			q.copy(k, i+k)
		}
		q.patches.Sums(&q.cubic, sums, i, n, q.c)
		i += n
	}
	q.filled()
	fromFloats(row, q.sums)
}

// filled puts the fill value where all pixels around points are outside: the sum of its shares has
// other last bits. As in the reference, this is so for blocks of eight points, the last of which
// ends with the row, or for each point of two channels.
func (q *warpedCubic[T]) filled() {
	if q.k.border(-1, 1) >= 0 {
		return
	}
	n, block := len(q.xs), 8
	if q.c == 2 {
		block = 1
	}
	last := n - block // where the last block begins
	for i := 0; i <= last; i += block {
		if end := min(i+block, last); q.outside(i, block) {
			q.put(i, end)
		}
	}
	if last >= 0 && q.outside(last, block) {
		q.put(last, n)
	}
}

// put puts the fill value from one point to another.
func (q *warpedCubic[T]) put(from, to int) {
	for i := from * q.c; i < to*q.c; i++ {
		q.sums[i] = float32(q.fill[i%q.c])
	}
}

// corner returns the first row and column of the pixels around a point.
func (q *warpedCubic[T]) corner(point int) (y, x int) {
	return place(float32(math.Floor(float64(q.ys[point])))) - 1, place(float32(math.Floor(float64(q.xs[point])))) - 1
}

// outside reports whether all pixels around n points are outside, at places that are numbers.
func (q *warpedCubic[T]) outside(from, n int) bool {
	for i := from; i < from+n; i++ {
		if y, x := q.corner(i); y >= -kernel.Taps && y < q.h && x >= -kernel.Taps && x < q.w {
			return false
		}
	}
	return true
}

// copy copies the pixels around a point into a patch.
func (q *warpedCubic[T]) copy(patch, point int) {
	y, x := q.corner(point)
	var columns [kernel.Taps]int
	for s := range columns {
		columns[s] = q.column(x + s)
	}
	for r := range kernel.Taps {
		q.pixels(q.patches.Row(patch, r, q.c), q.line(y+r), columns[:])
	}
}
