//go:build !purego

package pure

import (
	"golang.org/x/sys/cpu"
)

var avx2 = cpu.X86.HasAVX2

// Vectors reports whether vector instructions are used here.
func Vectors() bool { return avx2 }

func inverse(dst []byte, stride int, blk *[64]int16, q *[64]uint16) {
	if !avx2 {
		inverseGeneric(dst, stride, blk, q)
		return
	}
	_ = dst[7*stride+7]
	inverseAVX2(&dst[0], stride, blk, q)
}

func columnSums(sums []int16, src, far []byte) {
	n := 0
	if avx2 {
		if n = len(src) &^ 15; n > 0 {
			_, _ = sums[n-1], far[n-1]
			columnSumsAVX2(&sums[0], &src[0], &far[0], n)
		}
	}
	columnSumsGeneric(sums[n:], src[n:], far[n:])
}

func widenRow(dst []byte, sums []int16) {
	n := 0
	if avx2 && len(sums) >= 18 {
		n = (len(sums) - 2) &^ 15
		_ = dst[2*n+1]
		widenRowAVX2(&dst[0], &sums[0], n)
	}
	widenRowGeneric(dst[2*n:], sums[n:])
}

func toRGB(dst, ys, cbs, crs []byte) {
	n := 0
	if avx2 {
		if n = len(dst) / 48 * 16; n > 0 {
			_, _, _ = ys[n-1], cbs[n-1], crs[n-1]
			toRGBAVX2(&dst[0], &ys[0], &cbs[0], &crs[0], n)
		}
	}
	toRGBGeneric(dst[3*n:], ys[n:], cbs[n:], crs[n:])
}

func quantize(levels *[64]int16, pix []byte, stride int, q *quantizer) bool {
	if !avx2 {
		return quantizeGeneric(levels, pix, stride, q)
	}
	_ = pix[7*stride+7]
	return quantizeAVX2(levels, &pix[0], stride, &q.half, &q.scale)
}

func fromRGB(ys, cbs, crs, rgb []byte) {
	n := 0
	if avx2 {
		if n = len(ys) &^ 15; n > 0 {
			_, _, _ = cbs[n-1], crs[n-1], rgb[3*n-1]
			fromRGBAVX2(&ys[0], &cbs[0], &crs[0], &rgb[0], n)
		}
	}
	fromRGBGeneric(ys[n:], cbs[n:], crs[n:], rgb[3*n:])
}

func halve(dst, above, below []byte) {
	n := 0
	if avx2 {
		if n = len(dst) &^ 15; n > 0 {
			_, _ = above[2*n-1], below[2*n-1]
			halveAVX2(&dst[0], &above[0], &below[0], n)
		}
	}
	halveGeneric(dst[n:], above[2*n:], below[2*n:])
}
