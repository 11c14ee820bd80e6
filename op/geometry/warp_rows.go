package geometry

import (
	"math"
	"unsafe"

	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// depth is the constraint of elements of pixels.
type depth interface {
	uint8 | uint16 | int16 | float32
}

// warped warps planes of one type.
type warped[T depth] struct {
	k       *perspective
	src     []T
	h, w, c int
	fill    [4]T
	xs, ys  []float32
	xi, yi  []int32 // coarse points
	cells   kernel.Cells
	patches *kernel.Patches[T]
	sums    []float32 // of a row, before they are rounded
}

// warpState is a worker's state.
type warpState[T depth] struct {
	warped       warped[T]
	cubic        warpedCubic[T]
	patches      kernel.Patches[T]
	cubicPatches kernel.CubicPatches[T]
}

func warpPlanes[T depth](k *perspective, b *op.Block, out, in tensor.Tensor, v planes, h, w int,
	m *[3][3]float64) error {
	st := op.PerWorker[warpState[T]](b)
	p := &st.warped
	*p = warped[T]{k: k, h: v.h, w: v.w, c: v.channels, xs: op.Scratch[float32](b, w), ys: op.Scratch[float32](b, w),
		patches: &st.patches}
	for i := range p.fill {
		fill := 0.0
		if len(k.fill) > 0 {
			fill = float64(float32(k.fill[min(i, len(k.fill)-1)]))
		}
		p.fill[i] = evenly[T](float32(fill))
	}
	if k.cubic {
		st.warpCubic(b, out, in, v, h, w, m)
		return nil
	}
	p.cells = kernel.NewCells(v.w, v.h, op.Scratch[int32](b, w), op.Scratch[float32](b, w), op.Scratch[float32](b, w))
	// Pixels of two channels, and int16, have weights of five bits, as in the reference.
	coarse := !k.nearest && (v.channels == 2 || in.DType == tensor.Int16)
	if coarse {
		p.xi, p.yi = op.Scratch[int32](b, w), op.Scratch[int32](b, w)
	}
	if !k.nearest && (coarse || in.DType != tensor.Uint8) {
		p.sums = op.Scratch[float32](b, w*v.channels+kernel.BlendSlack)
	}
	all, to := element.View[T](in.Data), element.View[T](out.Data)
	size := v.h * v.w * v.channels
	for f := range v.frames {
		p.src = all[f*size : (f+1)*size]
		for y := range h {
			row := to[(f*h+y)*w*v.channels : (f*h+y+1)*w*v.channels]
			if coarse {
				p.coarse(row, y, m)
				continue
			}
			p.points(y, m)
			if k.nearest {
				p.nearest(row)
			} else {
				p.linear(row)
			}
		}
	}
	return nil
}

// points computes the points of row y. Blocks of 16 columns add in another order than the rest.
func (p *warped[T]) points(y int, m *[3][3]float64) {
	w, fy := len(p.xs), float32(y)
	blocks := w &^ 15
	var start, slope, by [3]float32
	for i := range m {
		slope[i] = float32(m[i][0])
		by[i] = float32(m[i][1]) * fy
		start[i] = by[i] + float32(m[i][2])
	}
	kernel.Project(p.xs[:blocks], p.ys[:blocks], &start, &slope)
	for x := blocks; x < w; x++ {
		at := func(i int) float32 { return kernel.Fuse(slope[i], float32(x), by[i]) + float32(m[i][2]) }
		p.xs[x], p.ys[x] = at(0)/at(2), at(1)/at(2)
	}
}

// place returns a float as an int of 32 bits; what has no place there is the least.
func place(v float32) int {
	if v >= math.MinInt32 && v < math.MaxInt32 {
		return int(v)
	}
	return math.MinInt32
}

// at returns the pixel at row y and column x.
func (p *warped[T]) at(y, x int) []T {
	if uint(y) >= uint(p.h) || uint(x) >= uint(p.w) {
		if y, x = p.k.border(y, p.h), p.k.border(x, p.w); y < 0 || x < 0 {
			return p.fill[:p.c]
		}
	}
	i := (y*p.w + x) * p.c
	return p.src[i : i+p.c]
}

func (p *warped[T]) nearest(row []T) {
	p.cells.FindNearest(p.xs, p.ys)
	size := int(unsafe.Sizeof(row[0])) * p.c
	for i := 0; i < len(p.xs); {
		n, inside := p.cells.Run(i)
		if inside {
			p.cells.Copy(element.Bytes(row)[i*size:], element.Bytes(p.src), i, n, size)
			i += n
			continue
		}
		for end := i + n; i < end; i++ {
			y, x := math.RoundToEven(float64(p.ys[i])), math.RoundToEven(float64(p.xs[i]))
			copy(row[i*p.c:(i+1)*p.c], p.at(place(float32(y)), place(float32(x))))
		}
	}
}

// linear makes a row, many pixels at a time. Pixels that are not inside the image are copied first.
func (p *warped[T]) linear(row []T) {
	p.cells.Find(p.xs, p.ys)
	for i := 0; i < len(p.xs); {
		n, inside := p.cells.Run(i)
		if !inside {
			n = min(n, kernel.MostPatches)
			for k := range n {
				p.around(k, i+k)
			}
		}
		switch q := any(p).(type) {
		case *warped[uint8]:
			blendBytes(q, any(row).([]uint8), i, n, inside)
		case *warped[uint16]:
			blendFloats(q, i, n, inside)
		case *warped[float32]:
			blendFloats(q, i, n, inside)
		}
		i += n
	}
	if p.sums != nil {
		fromFloats(row, p.sums)
	}
}

// around copies the four pixels around a point into a patch.
func (p *warped[T]) around(patch, point int) {
	y := place(float32(math.Floor(float64(p.ys[point]))))
	x := place(float32(math.Floor(float64(p.xs[point]))))
	p.aroundPixel(patch, y, x)
}

// aroundPixel copies a pixel, the next one, and those below into a patch.
func (p *warped[T]) aroundPixel(patch, y, x int) {
	upper, lower := p.patches.Around(patch, p.c)
	columns := [2]int{p.column(x), p.column(x + 1)}
	p.pixels(upper, p.line(y), columns[:])
	p.pixels(lower, p.line(y+1), columns[:])
}

// column and line return the column and the row that stand for those that may be outside, or -1.
func (p *warped[T]) column(x int) int {
	if uint(x) < uint(p.w) {
		return x
	}
	return p.k.border(x, p.w)
}

func (p *warped[T]) line(y int) int {
	if uint(y) < uint(p.h) {
		return y
	}
	return p.k.border(y, p.h)
}

// pixels copies the pixels of a row and of columns. Where one of them is -1, it is the fill value.
func (p *warped[T]) pixels(to []T, y int, columns []int) {
	for i, x := range columns {
		from := p.fill[:p.c]
		if y >= 0 && x >= 0 {
			from = p.src[(y*p.w+x)*p.c:][:p.c]
		}
		d := to[i*p.c : (i+1)*p.c]
		for k := range d {
			d[k] = from[k]
		}
	}
}

func blendBytes(p *warped[uint8], row []uint8, i, n int, inside bool) {
	if row = row[i*p.c : (i+n)*p.c]; inside {
		p.cells.Blend(row, p.src, i, n, p.c)
	} else {
		p.cells.BlendPatches(row, p.patches, i, n, p.c)
	}
}

func blendFloats[T uint16 | float32](p *warped[T], i, n int, inside bool) {
	if sums := p.sums[i*p.c:]; inside {
		kernel.BlendFloats(&p.cells, sums, p.src, i, n, p.c)
	} else {
		kernel.BlendFloatPatches(&p.cells, sums, p.patches, i, n, p.c)
	}
}

// fromFloats converts a row.
func fromFloats[T depth](row []T, sums []float32) {
	sums = sums[:len(row)]
	switch to := any(row).(type) {
	case []uint8:
		kernel.RoundBytes(to, sums)
	case []uint16:
		kernel.RoundWords(to, sums)
	case []int16:
		kernel.RoundShorts(to, sums)
	case []float32:
		copy(to, sums)
	}
}

// coarse warps row y with points in units of 1/32.
func (p *warped[T]) coarse(row []T, y int, m *[3][3]float64) {
	var start, slope [3]float64
	for i := range m {
		slope[i], start[i] = m[i][0], float64(m[i][1]*float64(y))+m[i][2]
	}
	kernel.ProjectUnits(p.xi, p.yi, p.xs, p.ys, &start, &slope)
	p.cells.Find(p.xs, p.ys)
	for i := 0; i < len(p.xs); {
		n, inside := p.cells.Run(i)
		if sums := p.sums[i*p.c:]; inside && p.w < coarseWidth && p.h < coarseWidth {
			kernel.BlendCoarse(&p.cells, sums, p.src, i, n, p.c)
		} else {
			n = min(n, kernel.MostPatches)
			for k := range n {
				xi, yi := p.xi[i+k], p.yi[i+k]
				p.cells.SetPlace(i+k, xi, yi)
				p.aroundPixel(k, int(yi>>5), int(xi>>5))
			}
			kernel.BlendCoarsePatches(&p.cells, sums, p.patches, i, n, p.c)
		}
		i += n
	}
	if to, ok := any(row).([]uint8); ok {
		kernel.RoundBytesAway(to, p.sums[:len(to)])
		return
	}
	fromFloats(row, p.sums)
}

// coarseWidth is the extent up to which points in units of 1/32 are exact in float32.
const coarseWidth = 1 << 24 / kernel.Units

// evenly converts a float to a type; integers are rounded half to even and saturated.
func evenly[T depth](v float32) (out T) {
	switch p := any(&out).(type) {
	case *float32:
		*p = v
	case *uint8:
		*p = uint8(min(max(place(float32(math.RoundToEven(float64(v)))), 0), math.MaxUint8))
	case *uint16:
		*p = uint16(min(max(place(float32(math.RoundToEven(float64(v)))), 0), math.MaxUint16))
	case *int16:
		*p = int16(min(max(place(float32(math.RoundToEven(float64(v)))), math.MinInt16), math.MaxInt16))
	}
	return out
}
