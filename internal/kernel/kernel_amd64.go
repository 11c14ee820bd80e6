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
	// useVBMI: tables of 256 bytes are looked up in registers.
	useVBMI = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI
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

func correlateFloats(m *Correlation, dst, base []float32, n int) {
	if !useFMA || n < vector {
		correlateGeneric(m, dst, base, n)
		return
	}
	run := correlateFloatsAVX2
	if m.Fused {
		run = correlateFusedFloatsAVX2
	}
	run(&dst[0], 4*n, (*byte)(unsafe.Pointer(&base[0])), 4*m.Pitch, n, &m.Weights[0], m.Rows, m.Columns, 4*m.Step)
}

func correlateBytes(m *Correlation, dst []float32, base []byte, n int) {
	if !useFMA || n < vector {
		correlateGeneric(m, dst, base, n)
		return
	}
	run := correlateBytesAVX2
	if m.Fused {
		run = correlateFusedBytesAVX2
	}
	run(&dst[0], 4*n, &base[0], m.Pitch, n, &m.Weights[0], m.Rows, m.Columns, m.Step)
}

const vector = 8 // float32

const grayBlock = 32 // pixels

func gray(dst, src []byte, weights *[3]uint16) {
	if !useAVX2 || len(dst) < grayBlock {
		grayGeneric(dst, src, weights)
		return
	}
	pairs := [2]uint32{uint32(weights[0]) | uint32(weights[1])<<16, uint32(weights[2]) | 1<<14<<16}
	grayAVX2(&dst[0], &src[0], len(dst)/grayBlock, &pairs)
	if last := len(dst) - grayBlock; len(dst)%grayBlock != 0 {
		grayAVX2(&dst[last], &src[3*last], 1, &pairs)
	}
}

// project, cells and blend return how many elements they made.
func project(xs, ys []float32, start, slope *[3]float32) int {
	n := len(xs) &^ 7
	if !useFMA || n == 0 {
		return 0
	}
	projectAVX2(&xs[0], &ys[0], n, start, slope)
	return n
}

func cells(c *Cells, xs, ys []float32, last int) int {
	n := len(xs) &^ 7
	if !useAVX2 || n == 0 {
		return 0
	}
	cellsAVX2(&c.index[0], &c.a[0], &c.b[0], &xs[0], &ys[0], n, 0, float32(c.w-2), float32(c.h-2), int32(c.w),
		int32(last), 0)
	return n
}

func blend(c *Cells, dst, src []byte, from, n, channels int) int {
	if !useFMA || n == 0 {
		return 0
	}
	index, a, b := &c.index[from], &c.a[from], &c.b[from]
	switch pitch := c.w * channels; channels {
	case 1:
		if n >= 8 {
			blend1AVX2(&dst[0], &src[0], index, a, b, n/8, pitch)
		}
		return n &^ 7
	case 3:
		if n > 1 { // the last pixel has no fourth byte
			blend3AVX2(&dst[0], &src[0], index, a, b, n-1, pitch)
		}
		return n - 1
	case 4:
		blend4AVX2(&dst[0], &src[0], index, a, b, n, pitch)
		return n
	}
	return 0
}

func gradients(out []int16, plane int, above, row, below []byte) {
	n := len(row) - 2
	if !useAVX2 || n < vectorWords {
		gradientsGeneric(out, plane, above, row, below)
		return
	}
	_, _, _ = out[(planes-1)*plane+len(row)-1], above[len(row)-1], below[len(row)-1]
	gradientsAVX2(&out[1], 2*plane, &above[1], &row[1], &below[1], n/vectorWords)
	if from := len(row) - 1 - vectorWords; n%vectorWords != 0 {
		gradientsAVX2(&out[from], 2*plane, &above[from], &row[from], &below[from], 1)
	}
}

// vector returns how many pixels it made from the column first on.
func (r *gradualRow) vector(dst []byte) int {
	blocks := (r.wide - r.first) / gradualBlock
	if !useAVX2 || blocks == 0 {
		return 0
	}
	x, swap := r.first, 0
	phase := 0 // 1 if the first pixel is not green
	if r.green != ((x-margin)%2 == 0) {
		phase = 1
	}
	if r.blue {
		swap = gradualBlock
	}
	run := func(x, blocks int) { // an even number of columns from the first
		_ = dst[3*(x-margin+gradualBlock*blocks)-1]
		row := func(y int) *int16 { return &r.rows[y%3][x] }
		gradualAVX2(&dst[3*(x-margin)], &r.padded[r.y*r.pitch+x], r.pitch, row(r.y-1), row(r.y), row(r.y+1), 2*r.plane,
			blocks, &alternating[phase], &uniform[swap])
	}
	run(x, blocks)
	if x+gradualBlock*blocks < r.wide {
		run(r.wide-gradualBlock, 1)
	}
	return r.wide - r.first
}

const wide = 64 // bytes

// look and look3 return how many bytes they made.
func look(dst, src []byte, table *[256]byte) int {
	blocks := len(src) / wide
	if !useVBMI || blocks == 0 {
		return 0
	}
	lookAVX512(&dst[0], &src[0], blocks, &table[0])
	return blocks * wide
}

func look3(dst, src []byte, tables *[3][256]byte) int {
	blocks := len(src) / (3 * wide)
	if !useVBMI || blocks == 0 {
		return 0
	}
	look3AVX512(&dst[0], &src[0], blocks, &tables[0][0])
	return blocks * 3 * wide
}
