//go:build !amd64 || purego

package pure

// Vectors reports whether vector instructions are used here.
func Vectors() bool { return false }

func inverse(dst []byte, stride int, blk *[64]int16, q *[64]uint16) {
	inverseGeneric(dst, stride, blk, q)
}

func columnSums(sums []int16, src, far []byte) { columnSumsGeneric(sums, src, far) }

func widenRow(dst []byte, sums []int16) { widenRowGeneric(dst, sums) }

func toRGB(dst, ys, cbs, crs []byte) { toRGBGeneric(dst, ys, cbs, crs) }

func quantize(levels *[64]int16, pix []byte, stride int, q *quantizer) bool {
	return quantizeGeneric(levels, pix, stride, q)
}

func fromRGB(ys, cbs, crs, rgb []byte) { fromRGBGeneric(ys, cbs, crs, rgb) }

func halve(dst, above, below []byte) { halveGeneric(dst, above, below) }
