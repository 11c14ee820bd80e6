package reduce

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/internal/strided"
	"github.com/bivouac-ml/bivouac/tensor"
)

// number is the constraint of elements that can be folded.
type number interface{ op.Integer | float32 }

// total is the constraint of sums.
type total interface{ int64 | uint64 | float64 }

// add adds the elements of in to the sums, or their squares.
func add[A total](sums []A, in tensor.Tensor, axes []int, squares bool) {
	switch in.DType {
	case tensor.Uint8:
		addAll(sums, element.View[uint8](in.Data), in.Shape, axes, squares)
	case tensor.Uint16:
		addAll(sums, element.View[uint16](in.Data), in.Shape, axes, squares)
	case tensor.Uint32:
		addAll(sums, element.View[uint32](in.Data), in.Shape, axes, squares)
	case tensor.Uint64:
		addAll(sums, element.View[uint64](in.Data), in.Shape, axes, squares)
	case tensor.Int8:
		addAll(sums, element.View[int8](in.Data), in.Shape, axes, squares)
	case tensor.Int16:
		addAll(sums, element.View[int16](in.Data), in.Shape, axes, squares)
	case tensor.Int32:
		addAll(sums, element.View[int32](in.Data), in.Shape, axes, squares)
	case tensor.Int64:
		addAll(sums, element.View[int64](in.Data), in.Shape, axes, squares)
	case tensor.Float32:
		addAll(sums, element.View[float32](in.Data), in.Shape, axes, squares)
	}
}

func addAll[A total, T number](sums []A, in []T, shape tensor.Shape, axes []int, squares bool) {
	strided.Fold(shape, axes, func(r strided.Run) {
		block := in[r.In : r.In+r.Rows*r.N]
		switch {
		case r.Along && squares:
			for i := range r.Rows {
				sums[r.Out+i] += sumOfSquares[A](block[i*r.N : (i+1)*r.N])
			}
		case r.Along:
			for i := range r.Rows {
				sums[r.Out+i] += sum[A](block[i*r.N : (i+1)*r.N])
			}
		default:
			addRows(sums[r.Out:r.Out+r.N], block, squares)
		}
	})
}

// sum returns the sum of v. It adds four parts separately, so that additions do not wait for each
// other.
func sum[A total, T number](v []T) A {
	var a, b, c, d A
	for ; len(v) >= 4; v = v[4:] {
		a, b, c, d = a+A(v[0]), b+A(v[1]), c+A(v[2]), d+A(v[3])
	}
	for _, x := range v {
		a += A(x)
	}
	return (a + b) + (c + d)
}

func sumOfSquares[A total, T number](v []T) A {
	var a, b A
	for ; len(v) >= 2; v = v[2:] {
		x, y := A(v[0]), A(v[1])
		a, b = a+x*x, b+y*y
	}
	for _, x := range v {
		a += A(x) * A(x)
	}
	return a + b
}

// lanes is the number of sums of short rows that are kept side by side. Several rows are added as
// if they were one long row. At the end, the sums of equal places are added.
const lanes = 64

// addRows adds rows. A row has one element per sum.
func addRows[A total, T number](sums []A, rows []T, squares bool) {
	n := len(sums)
	if n > lanes/2 || len(rows) < 2*lanes {
		addLongRows(sums, rows, squares)
		return
	}
	var wide [lanes]A
	width := lanes / n * n
	whole := len(rows) / width * width
	addLongRows(wide[:width], rows[:whole], squares)
	for i, v := range wide[:width] {
		sums[i%n] += v
	}
	addLongRows(sums, rows[whole:], squares)
}

func addLongRows[A total, T number](sums []A, rows []T, squares bool) {
	n := len(sums)
	for ; len(rows) >= n && n > 0; rows = rows[n:] {
		row := rows[:n]
		if squares {
			for j, x := range row {
				sums[j] += A(x) * A(x)
			}
			continue
		}
		for j, x := range row {
			sums[j] += A(x)
		}
	}
}

// addDeviations adds the squares of the distances of the elements from the means,
// one for each sum.
func addDeviations(sums []float64, in tensor.Tensor, axes []int, means []float32) {
	switch in.DType {
	case tensor.Uint8:
		deviations(sums, element.View[uint8](in.Data), in.Shape, axes, means)
	case tensor.Uint16:
		deviations(sums, element.View[uint16](in.Data), in.Shape, axes, means)
	case tensor.Uint32:
		deviations(sums, element.View[uint32](in.Data), in.Shape, axes, means)
	case tensor.Uint64:
		deviations(sums, element.View[uint64](in.Data), in.Shape, axes, means)
	case tensor.Int8:
		deviations(sums, element.View[int8](in.Data), in.Shape, axes, means)
	case tensor.Int16:
		deviations(sums, element.View[int16](in.Data), in.Shape, axes, means)
	case tensor.Int32:
		deviations(sums, element.View[int32](in.Data), in.Shape, axes, means)
	case tensor.Int64:
		deviations(sums, element.View[int64](in.Data), in.Shape, axes, means)
	case tensor.Float32:
		deviations(sums, element.View[float32](in.Data), in.Shape, axes, means)
	}
}

func deviations[T number](sums []float64, in []T, shape tensor.Shape, axes []int, means []float32) {
	strided.Fold(shape, axes, func(r strided.Run) {
		block := in[r.In : r.In+r.Rows*r.N]
		if r.Along {
			for i := range r.Rows {
				sums[r.Out+i] += deviation(block[i*r.N:(i+1)*r.N], float64(means[r.Out+i]))
			}
			return
		}
		to, from := sums[r.Out:r.Out+r.N], means[r.Out:r.Out+r.N]
		if r.N > lanes/2 || len(block) < 2*lanes {
			deviationsOfRows(to, block, from)
			return
		}
		var wide [lanes]float64
		var tiled [lanes]float32
		width := tile(tiled[:], from)
		whole := len(block) / width * width
		deviationsOfRows(wide[:width], block[:whole], tiled[:width])
		for i, v := range wide[:width] {
			to[i%r.N] += v
		}
		deviationsOfRows(to, block[whole:], from)
	})
}

// tile fills wide with copies of v and returns the length of all whole copies.
func tile(wide, v []float32) int {
	width := len(wide) / len(v) * len(v)
	for i := range width {
		wide[i] = v[i%len(v)]
	}
	return width
}

func deviationsOfRows[T number](sums []float64, rows []T, means []float32) {
	n := len(sums)
	means = means[:n]
	for ; len(rows) >= n && n > 0; rows = rows[n:] {
		for j, x := range rows[:n] {
			d := float64(x) - float64(means[j])
			sums[j] += float64(d * d)
		}
	}
}

// deviation returns the sum of the squares of the distances of v from the mean.
func deviation[T number](v []T, mean float64) float64 {
	var a, b float64
	for ; len(v) >= 2; v = v[2:] {
		x, y := float64(v[0])-mean, float64(v[1])-mean
		a, b = a+float64(x*x), b+float64(y*y)
	}
	for _, x := range v {
		d := float64(x) - mean
		a += float64(d * d)
	}
	return a + b
}
