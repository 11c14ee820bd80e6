// Package kernel holds the inner loops of operators on arrays of bytes and float32.
//
// Every function has a definition in Go and, on amd64 with AVX2, a version in assembly that
// tools/kernels/image generates. Both give the same bits. Each element of a result is computed by
// the same operations in the same order, a multiplication is never fused with an addition, and the
// number of elements computed at a time does not change the result. With the build tag purego only
// the Go code is left.
//
// Slices may not overlap unless a function says so. The caller passes slices of the right lengths;
// a slice that is too short causes a panic.
package kernel

// Widen converts bytes to float32. dst has the length of src.
func Widen(dst []float32, src []byte) {
	dst = dst[:len(src)]
	widen(dst, src)
}

// RoundBytes converts float32 to bytes: rounded half to even and saturated; NaN is 0.
// dst has the length of src.
func RoundBytes(dst []byte, src []float32) {
	dst = dst[:len(src)]
	roundBytes(dst, src)
}

// RoundBytesAway converts float32 to bytes: rounded half away from zero and saturated;
// NaN is 0. dst has the length of src.
func RoundBytesAway(dst []byte, src []float32) {
	dst = dst[:len(src)]
	roundBytesAway(dst, src)
}

// WeighFloats computes dst[j] = weights[0]*base[offsets[0]+j] + weights[1]*base[offsets[1]+j]
// + …, added from left to right. There are as many offsets as weights, at least one.
func WeighFloats(dst, base []float32, offsets []int, weights []float32) {
	offsets = offsets[:len(weights)]
	for _, o := range offsets {
		_ = base[o : o+len(dst)]
	}
	if len(dst) > 0 {
		weighFloats(dst, base, offsets, weights)
	}
}

// WeighBytes is WeighFloats for bytes.
func WeighBytes(dst []float32, base []byte, offsets []int, weights []float32) {
	offsets = offsets[:len(weights)]
	for _, o := range offsets {
		_ = base[o : o+len(dst)]
	}
	if len(dst) > 0 {
		weighBytes(dst, base, offsets, weights)
	}
}

// FuseFloats is WeighFloats whose products are not rounded before they are added.
func FuseFloats(dst, base []float32, offsets []int, weights []float32) {
	offsets = offsets[:len(weights)]
	for _, o := range offsets {
		_ = base[o : o+len(dst)]
	}
	if len(dst) > 0 {
		fuseFloats(dst, base, offsets, weights)
	}
}

// FuseBytes is FuseFloats for bytes.
func FuseBytes(dst []float32, base []byte, offsets []int, weights []float32) {
	offsets = offsets[:len(weights)]
	for _, o := range offsets {
		_ = base[o : o+len(dst)]
	}
	if len(dst) > 0 {
		fuseBytes(dst, base, offsets, weights)
	}
}

// Slack is how many elements after the last pixel Columns may read from the source and write to the
// destination.
const Slack = 3

// Columns computes rows of pixels from weighted pixels of other rows. It is immutable.
type Columns struct {
	first   []int32
	weights []float32
	taps    int
	end     int // minimum number of pixels of a source
}

// NewColumns returns the Columns whose pixel i is the sum, from left to right, of
// weights[i*taps+k] times pixel first[i]+k of the source, for all k below taps. It
// keeps both slices.
func NewColumns(first []int32, weights []float32, taps int) Columns {
	c := Columns{first: first, weights: weights[:len(first)*taps], taps: taps}
	for _, f := range first {
		if f < 0 {
			panic("kernel: a pixel before the first")
		}
		c.end = max(c.end, int(f)+taps)
	}
	return c
}

// Run computes a row of pixels with the given number of channels. Both slices have Slack more
// elements than the pixels need. In dst the extra elements are overwritten with undefined values.
func (c *Columns) Run(dst, src []float32, channels int) {
	if len(c.first) == 0 || c.taps == 0 || channels <= 0 {
		return
	}
	dst, src = dst[:len(c.first)*channels+Slack], src[:c.end*channels+Slack]
	if channels == 3 || channels == 4 {
		gatherPixels(dst, src, c.first, c.weights, c.taps, channels)
		return
	}
	gatherAny(dst, src, c.first, c.weights, c.taps, channels)
}

// Normalize splits n pixels of three interleaved bytes into planes: element i of plane
// c is (src[3*i+c] - mean[c]) * factor[c]. The planes have n elements each and lie
// stride elements apart in dst. Reversed, the first pixel comes last.
func Normalize(dst []float32, stride int, src []byte, n int, mean, factor *[3]float32, reversed bool) {
	src = src[:3*n]
	_ = dst[2*stride : 2*stride+n]
	if n > 0 {
		normalize(dst, stride, src, n, mean, factor, reversed)
	}
}
