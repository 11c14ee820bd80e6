package pure

import "math"

// The fast transform is by Arai, Agui and Nakajima, with 16-bit integers. It is computed like the
// vector code of libjpeg-turbo: multiplications keep the upper 16 bits, and sums wrap around.

// Constants of the fast transform, times 2^14, for values that are shifted left by two bits.
const (
	fast1082 = 277 << 6
	fast1414 = 362 << 6
	fast1847 = 473 << 6
	fast1613 = -(669 - 256) << 6 // -2.613 without its -1
)

// fastScale holds the factors of the transform that are applied by dequantization, times 2^14.
var fastScale = func() (s [64]int32) {
	factor := func(k int) float64 {
		if k == 0 {
			return 1
		}
		return math.Cos(float64(k)*math.Pi/16) * math.Sqrt2
	}
	for i := range s {
		s[i] = int32(math.Round(factor(i/8) * factor(i%8) * (1 << 14)))
	}
	return s
}()

// fastTable returns the factors of a quantization table times the factors of the transform, with
// two fractional bits.
func fastTable(q *[64]uint16) (t [64]int16) {
	for i, v := range q {
		t[i] = int16((int32(v)*fastScale[i] + 1<<11) >> 12)
	}
	return t
}

// fastInverse works like inverse, with the fast transform. t is the result of fastTable.
func fastInverse(dst []byte, stride int, blk *[64]int16, t *[64]int16) {
	var work [64]int16
	for x := range 8 {
		at := func(y int) int16 { return blk[8*y+x] * t[8*y+x] }
		v := fastButterfly([8]int16{at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)})
		for y := range 8 {
			work[8*y+x] = v[y]
		}
	}
	for y := range 8 {
		row := dst[y*stride : y*stride+8 : y*stride+8]
		v := fastButterfly([8]int16(work[8*y : 8*y+8]))
		for x := range 8 {
			row[x] = clamp(int32(v[x]>>5) + 128)
		}
	}
}

func times(v int16, factor int32) int16 { return int16(int32(v<<2) * factor >> 16) }

// fastButterfly is the one-dimensional transform.
func fastButterfly(in [8]int16) (out [8]int16) {
	e10, e11 := in[0]+in[4], in[0]-in[4]
	e13 := in[2] + in[6]
	e12 := times(in[2]-in[6], fast1414) - e13
	e0, e3, e1, e2 := e10+e13, e10-e13, e11+e12, e11-e12

	z13, z10, z11, z12 := in[5]+in[3], in[5]-in[3], in[1]+in[7], in[1]-in[7]
	o7 := z11 + z13
	o11 := times(z11-z13, fast1414)
	z5 := times(z10+z12, fast1847)
	o10 := times(z12, fast1082) - z5
	o12 := times(z10, fast1613) - z10 + z5
	o6 := o12 - o7
	o5 := o11 - o6
	o4 := o10 + o5
	return [8]int16{e0 + o7, e1 + o6, e2 + o5, e3 - o4, e3 + o4, e2 - o5, e1 - o6, e0 - o7}
}
