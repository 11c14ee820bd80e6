//go:build !purego

package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate sh -c "cd ../../tools && go run ./kernels/image -out ../internal/kernel/avx2_amd64.s -stubs ../internal/kernel/avx2_amd64.go -pkg kernel"

var (
	useAVX2 = cpu.X86.HasAVX2
	useFMA  = cpu.X86.HasAVX2 && cpu.X86.HasFMA
)

func widen(dst []float32, src []byte) {
	if !useAVX2 || len(src) < 8 {
		widenGeneric(dst, src)
		return
	}
	widenAVX2(&dst[0], &src[0], len(src))
}

// roundBlock is how many bytes the rounding kernels make at a time.
const roundBlock = 32

func roundBytes(dst []byte, src []float32) {
	if !useAVX2 || len(src) < roundBlock {
		roundBytesGeneric(dst, src)
		return
	}
	roundBytesAVX2(&dst[0], &src[0], len(src)/roundBlock)
	if last := len(src) - roundBlock; len(src)%roundBlock != 0 {
		roundBytesAVX2(&dst[last], &src[last], 1)
	}
}

func roundBytesAway(dst []byte, src []float32) {
	if !useAVX2 || len(src) < roundBlock {
		roundBytesAwayGeneric(dst, src)
		return
	}
	roundBytesAwayAVX2(&dst[0], &src[0], len(src)/roundBlock)
	if last := len(src) - roundBlock; len(src)%roundBlock != 0 {
		roundBytesAwayAVX2(&dst[last], &src[last], 1)
	}
}

func weighFloats(dst, base []float32, offsets []int, weights []float32) {
	if !useAVX2 || len(dst) < 8 {
		weighFloatsGeneric(dst, base, offsets, weights)
		return
	}
	weighFloatsAVX2(&dst[0], (*byte)(unsafe.Pointer(&base[0])), &offsets[0], &weights[0], len(dst), len(weights))
}

func weighBytes(dst []float32, base []byte, offsets []int, weights []float32) {
	if !useAVX2 || len(dst) < 8 {
		weighBytesGeneric(dst, base, offsets, weights)
		return
	}
	weighBytesAVX2(&dst[0], &base[0], &offsets[0], &weights[0], len(dst), len(weights))
}

func gatherPixels(dst, src []float32, first []int32, weights []float32, taps, channels int) {
	if !useAVX2 {
		gatherPixelsGeneric(dst, src, first, weights, taps, channels)
		return
	}
	if channels == 3 {
		gather3AVX2(&dst[0], &src[0], &first[0], &weights[0], len(first), taps)
		return
	}
	gather4AVX2(&dst[0], &src[0], &first[0], &weights[0], len(first), taps)
}

// forward and backward are shuffle masks that pick the bytes of each channel out of the first and
// the last 16 bytes of 8 pixels.
var forward, backward = masks(false), masks(true)

func masks(reversed bool) (m [6][16]byte) {
	for c := range 3 {
		for i := range 16 {
			m[2*c][i], m[2*c+1][i] = 0x80, 0x80
		}
		for i := range 8 {
			from, to := 3*i+c, i
			if reversed {
				to = 7 - i
			}
			if from < 16 {
				m[2*c][to] = byte(from)
			} else {
				m[2*c+1][to] = byte(from - 8)
			}
		}
	}
	return m
}

func normalize(dst []float32, stride int, src []byte, n int, mean, factor *[3]float32, reversed bool) {
	const block = 8
	switch {
	case !useAVX2 || n < block:
		normalizeGeneric(dst, stride, src, n, mean, factor, reversed)
	case reversed:
		normalizeAVX2(&dst[n-block], 4*stride, &src[0], n/block, -4*block, &backward, mean, factor)
		if n%block != 0 {
			normalizeAVX2(&dst[0], 4*stride, &src[3*(n-block)], 1, 0, &backward, mean, factor)
		}
	default:
		normalizeAVX2(&dst[0], 4*stride, &src[0], n/block, 4*block, &forward, mean, factor)
		if n%block != 0 {
			normalizeAVX2(&dst[n-block], 4*stride, &src[3*(n-block)], 1, 0, &forward, mean, factor)
		}
	}
}

func fuseFloats(dst, base []float32, offsets []int, weights []float32) {
	if !useFMA || len(dst) < 8 {
		fuseFloatsGeneric(dst, base, offsets, weights)
		return
	}
	fuseFloatsAVX2(&dst[0], (*byte)(unsafe.Pointer(&base[0])), &offsets[0], &weights[0], len(dst), len(weights))
}

func fuseBytes(dst []float32, base []byte, offsets []int, weights []float32) {
	if !useFMA || len(dst) < 8 {
		fuseBytesGeneric(dst, base, offsets, weights)
		return
	}
	fuseBytesAVX2(&dst[0], &base[0], &offsets[0], &weights[0], len(dst), len(weights))
}
