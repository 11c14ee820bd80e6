//go:build !amd64 || purego

package kernel

func widen(dst []float32, src []byte) { widenGeneric(dst, src) }

func roundBytes(dst []byte, src []float32) { roundBytesGeneric(dst, src) }

func roundBytesAway(dst []byte, src []float32) { roundBytesAwayGeneric(dst, src) }

func weighFloats(dst, base []float32, offsets []int, weights []float32) {
	weighFloatsGeneric(dst, base, offsets, weights)
}

func weighBytes(dst []float32, base []byte, offsets []int, weights []float32) {
	weighBytesGeneric(dst, base, offsets, weights)
}

func gatherPixels(dst, src []float32, first []int32, weights []float32, taps, channels int) {
	gatherPixelsGeneric(dst, src, first, weights, taps, channels)
}

func normalize(dst []float32, stride int, src []byte, n int, mean, factor *[3]float32, reversed bool) {
	normalizeGeneric(dst, stride, src, n, mean, factor, reversed)
}

func fuseFloats(dst, base []float32, offsets []int, weights []float32) {
	fuseFloatsGeneric(dst, base, offsets, weights)
}

func fuseBytes(dst []float32, base []byte, offsets []int, weights []float32) {
	fuseBytesGeneric(dst, base, offsets, weights)
}

func correlateFloats(m *Correlation, dst, base []float32, n int) { correlateGeneric(m, dst, base, n) }

func correlateBytes(m *Correlation, dst []float32, base []byte, n int) {
	correlateGeneric(m, dst, base, n)
}

func gray(dst, src []byte, weights *[3]uint16) { grayGeneric(dst, src, weights) }

func bayerRow(m Bayer, dst, above, row, below []byte) { bayerGeneric(m, dst, above, row, below) }

func bayerWords(m Bayer, dst, above, row, below []uint16) { bayerGeneric(m, dst, above, row, below) }

func bayerGray(m Bayer, dst, above, row, below []byte) { bayerGrayGeneric(m, dst, above, row, below) }

func bayerGrayWords(m Bayer, dst, above, row, below []uint16) {
	bayerGrayGeneric(m, dst, above, row, below)
}

func project(_, _ []float32, _, _ *[3]float32) int { return 0 }

func cells(_ *Cells, _, _ []float32, _ int) int { return 0 }

func blend(_ *Cells, _, _ []byte, _, _, _ int) int { return 0 }

func gradients(out []int16, plane int, above, row, below []byte) {
	gradientsGeneric(out, plane, above, row, below)
}

// vector returns how many pixels it made from the column first on.
func (r *gradualRow) vector([]byte) int { return 0 }

func look(_, _ []byte, _ *[256]byte) int { return 0 }

func look3(_, _ []byte, _ *[3][256]byte) int { return 0 }

func labFromRGB(_ *Lab, _, _, _, _ []byte) int { return 0 }

func labToRGB(_ *Lab, _, _, _, _ []byte) int { return 0 }

func projectDoubles(_, _ []float32, _, _ *[3]float32) int { return 0 }

func cubicCells(*Cells, []float32, []float32, int) int { return 0 }

func cubicWeights(*Cubic, []float32, []float32) int { return 0 }

func cubicSums[T Element](*Cubic, []float32, []T, int, int, int) int { return 0 }

func nearest(*Cells, []float32, []float32) int { return 0 }

func copyPixels([]byte, []byte, []int32, int) int { return 0 }

func roundWords([]uint16, []float32) int { return 0 }

func roundShorts([]int16, []float32) int { return 0 }

func blendFloats[T uint16 | float32](*Cells, []float32, []T, int, int, int) int { return 0 }

func leading([]int32) int { return 0 }

func projectUnits([]int32, []int32, []float32, []float32, *[3]float64, *[3]float64) int { return 0 }

func blendCoarse[T Element](*Cells, []float32, []T, int, int, int) int { return 0 }
