//go:build !purego

package kernel

// These functions return how many elements they made.

func nearest(c *Cells, xs, ys []float32) int {
	n := len(xs) &^ (vector - 1)
	if !useAVX2 || n == 0 {
		return 0
	}
	nearestAVX2(&c.index[0], &c.a[0], &c.b[0], &xs[0], &ys[0], n, 0, float32(c.w-1), float32(c.h-1), int32(c.w),
		int32(c.w*c.h-2), 0)
	return n
}

// copyPixels leaves out the last pixels, if more bytes than they have are copied. No index is the
// last pixel of the image.
func copyPixels(dst, src []byte, index []int32, size int) int {
	width, run := 16, copyPixels16
	for _, k := range []struct {
		width int
		run   func(dst, src *byte, index *int32, n, size int)
	}{{8, copyPixels8}, {4, copyPixels4}, {2, copyPixels2}, {1, copyPixels1}} {
		if size <= k.width {
			width, run = k.width, k.run
		}
	}
	n := len(index) - (width-size+size-1)/max(size, 1)
	if size > width || n <= 0 {
		return 0
	}
	run(&dst[0], &src[0], &index[0], n, size)
	return n
}

func roundWords(dst []uint16, src []float32) int {
	blocks := len(src) / 16
	if !useAVX2 || blocks == 0 {
		return 0
	}
	roundWordsAVX2(&dst[0], &src[0], blocks)
	return 16 * blocks
}

func roundShorts(dst []int16, src []float32) int {
	blocks := len(src) / 16
	if !useAVX2 || blocks == 0 {
		return 0
	}
	roundShortsAVX2(&dst[0], &src[0], blocks)
	return 16 * blocks
}

func blendFloats[T uint16 | float32](c *Cells, dst []float32, src []T, from, n, channels int) int {
	if !useFMA || n == 0 {
		return 0
	}
	index, a, b := &c.index[from], &c.a[from], &c.b[from]
	switch src := any(src).(type) {
	case []uint16:
		blendWordsAVX2(&dst[0], &src[0], index, a, b, n, c.w*channels, channels)
	case []float32:
		blendFloatsAVX2(&dst[0], &src[0], index, a, b, n, c.w*channels, channels)
	}
	return n
}

// leading counts the indices, of a multiple of 8, that have the sign of the first.
func leading(index []int32) int {
	n := len(index) &^ (vector - 1)
	if !useAVX2 || n == 0 {
		return 0
	}
	return leadingAVX2(&index[0], n, index[0])
}

func projectUnits(xi, yi []int32, xs, ys []float32, start, slope *[3]float64) int {
	n := len(xi) &^ 3
	if !useAVX2 || n == 0 {
		return 0
	}
	projectUnitsAVX2(&xi[0], &yi[0], &xs[0], &ys[0], n, start, slope)
	return n
}

func blendCoarse[T Element](c *Cells, dst []float32, src []T, from, n, channels int) int {
	if !useAVX2 || n == 0 {
		return 0
	}
	d, index, a, b, pitch := &dst[0], &c.index[from], &c.a[from], &c.b[from], c.w*channels
	switch src := any(src).(type) {
	case []uint8:
		coarseBytesAVX2(d, &src[0], index, a, b, n, pitch, channels)
	case []uint16:
		coarseWordsAVX2(d, &src[0], index, a, b, n, pitch, channels)
	case []int16:
		coarseShortsAVX2(d, &src[0], index, a, b, n, pitch, channels)
	case []float32:
		coarseFloatsAVX2(d, &src[0], index, a, b, n, pitch, channels)
	}
	return n
}
