//go:build !purego

package kernel

// projectDoubles, cubicCells, cubicWeights and cubicSums return how many elements they made.
func projectDoubles(xs, ys []float32, start, slope *[3]float32) int {
	n := len(xs) &^ 3
	if !useFMA || n == 0 {
		return 0
	}
	projectDoublesAVX2(&xs[0], &ys[0], n, start, slope)
	return n
}

func cubicCells(c *Cells, xs, ys []float32, last int) int {
	n := len(xs) &^ (vector - 1)
	if !useAVX2 || n == 0 {
		return 0
	}
	cellsAVX2(&c.index[0], &c.a[0], &c.b[0], &xs[0], &ys[0], n, 1, float32(c.w-Taps+1), float32(c.h-Taps+1), int32(c.w),
		int32(last), int32(c.w+1))
	return n
}

func cubicWeights(c *Cubic, to, from []float32) int {
	n := len(from) &^ (vector - 1)
	if !useFMA || n == 0 {
		return 0
	}
	run := cubicWeightsAVX2
	if c.second {
		run = cubicWeightsSecondAVX2
	}
	_ = to[3*c.points+n-1]
	run(&to[0], 4*c.points, &from[0], n)
	return n
}

func cubicSums[T Element](c *Cubic, dst []float32, src []T, from, n, channels int) int {
	if !useFMA || n == 0 {
		return 0
	}
	d, index, across, down := &dst[0], &c.index[from], &c.across[from], &c.down[from]
	_, _ = c.across[3*c.points+from+n-1], c.down[3*c.points+from+n-1]
	stride, pitch := 4*c.points, c.w*channels
	switch src := any(src).(type) {
	case []uint8:
		if c.second {
			cubicSecondBytesAVX2(d, &src[0], index, across, down, stride, n, pitch, channels)
		} else {
			cubicBytesAVX2(d, &src[0], index, across, down, stride, n, pitch, channels)
		}
	case []uint16:
		if c.second {
			cubicSecondWordsAVX2(d, &src[0], index, across, down, stride, n, pitch, channels)
		} else {
			cubicWordsAVX2(d, &src[0], index, across, down, stride, n, pitch, channels)
		}
	case []int16:
		if !c.second {
			return 0
		}
		cubicSecondShortsAVX2(d, &src[0], index, across, down, stride, n, pitch, channels)
	case []float32:
		if c.second {
			cubicSecondFloatsAVX2(d, &src[0], index, across, down, stride, n, pitch, channels)
		} else {
			cubicFloatsAVX2(d, &src[0], index, across, down, stride, n, pitch, channels)
		}
	}
	return n
}
