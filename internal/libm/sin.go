// Package libm has the functions that DALI takes from the C library.
//
// Results of float32 equal the results of glibc 2.28 to 2.40 on a processor with fused
// multiply-add. They are polynomials in float64, rounded to float32 at the end. The error is at
// most 0.56 units in the last place. So some results are not the nearest float32, which package
// math gives. Results of float64 are the nearest numbers, as glibc's nearly always are.
//
// glibc uses Arm's optimized routines. The constants and the order of operations come from them.
package libm

import "math"

const (
	smallest = 0x1p-12 // below, a sine is its argument and a cosine is 1
	direct   = 120     // below, arguments are reduced in float64
	halfPi   = 0x1.921fb54442d18p0
	inverse  = 0x1.45f306dc9c883p+23 // 2^24 over halfPi
)

// fourOverPi holds the digits of 4/π: element i has the 32 bits that begin at byte i.
var fourOverPi = [24]uint32{
	0xa2, 0xa2f9, 0xa2f983, 0xa2f9836e, 0xf9836e4e, 0x836e4e44, 0x6e4e4415, 0x4e441529,
	0x441529fc, 0x1529fc27, 0x29fc2757, 0xfc2757d1, 0x2757d1f5, 0x57d1f534, 0xd1f534dd, 0xf534ddc0,
	0x34ddc0db, 0xddc0db62, 0xc0db6295, 0xdb629599, 0x6295993c, 0x95993c43, 0x993c4390, 0x3c439041,
}

// Sin returns the sine of x in radians. The sine of an infinity is NaN.
func Sin(x float32) float32 {
	if x > -smallest && x < smallest {
		return x
	}
	return sine(x, 0)
}

// Cos returns the cosine of x in radians. The cosine of an infinity is NaN.
func Cos(x float32) float32 {
	if x > -smallest && x < smallest {
		return 1
	}
	return sine(x, 1)
}

// Sincos returns the sine and the cosine of x in radians.
func Sincos(x float32) (sin, cos float32) { return Sin(x), Cos(x) }

// sine returns the sine of x plus the given number of quarter turns.
func sine(x float32, quarters int) float32 {
	r := float64(x)
	switch bits := math.Float32bits(x); {
	case x-x != 0: // an infinity or NaN
		return float32(math.NaN())
	case bits&0x7ff00000 < 0x3f400000: // below 0.75
		return polynomial(r, quarters)
	case x > -direct && x < direct:
		n := int(int32(r*inverse)+1<<23) >> 24
		return polynomial(math.FMA(-float64(n), halfPi, r), n+quarters)
	default:
		r, n := reduce(bits)
		if y := polynomial(r, n+quarters); x > 0 || quarters == 1 {
			return y
		}
		return -polynomial(r, n)
	}
}

// reduce returns the magnitude of a float32 minus n quarter turns. The magnitude must be 2 or more.
func reduce(bits uint32) (r float64, n int) {
	digits := fourOverPi[bits>>26&15:]
	m := (bits&(1<<23-1) | 1<<23) << (bits >> 23 & 7)
	product := uint64(m*digits[0])<<32 | uint64(m)*uint64(digits[8])>>32
	product += uint64(m) * uint64(digits[4])
	turns := (product + 1<<61) >> 62
	return float64(int64(product-turns<<62)) * 0x1p-62 * halfPi, int(turns)
}

// polynomial returns the sine of x, which must be near 0, plus the given number of quarter turns.
func polynomial(x float64, quarters int) float32 {
	square := x * x
	var y float64
	if quarters&1 == 0 {
		cube := x * square
		y = math.FMA(cube, -0x1.555545995a603p-3, x)
		y = math.FMA(cube*square, math.FMA(square, -0x1.994eb3774cf24p-13, 0x1.1107605230bc4p-7), y)
	} else {
		fourth := square * square
		y = math.FMA(fourth, 0x1.55553e1068f19p-5, math.FMA(square, -0x1.ffffffd0c621cp-2, 1))
		y = math.FMA(fourth*square, math.FMA(square, 0x1.99343027bf8c3p-16, -0x1.6c087e89a359dp-10), y)
	}
	if quarters&2 != 0 {
		y = -y
	}
	return float32(y)
}
