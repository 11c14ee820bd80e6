package libm

import "math"

// parts is the number of parts of a range of exp2Table.
const parts = 32

// exp2Table has the bits of 2^(i/parts), less i/parts of the distance to the next exponent: a
// number of parts that is added gives the exponent too.
var exp2Table = func() (table [parts]uint64) {
	for i := range table {
		table[i] = math.Float64bits(rootOf2(i)) - uint64(i)<<(52-5)
	}
	return table
}()

// rootOf2 returns 2^(i/parts), rounded to the nearest float64.
func rootOf2(i int) float64 {
	root := double{hi: 2}
	for range 5 {
		root = root.root()
	}
	y := double{hi: 1}
	for range i {
		y = y.times(root)
	}
	return y.hi
}

// The coefficients of 2^r - 1 for small r.
const exp2C, exp2B, exp2A = 0x1.c6af84b912394p-5, 0x1.ebfce50fac4f3p-3, 0x1.62e42ff0c52d6p-1

// Exp returns the natural exponential of x.
func Exp(x float32) float32 {
	switch {
	case x != x || x > 0x1.62e42ep6:
		return x * float32(math.Inf(1))
	case x < -0x1.9fe368p6:
		return 0
	}
	const scale, shift = 0x1.71547652b82fep0 * parts, 0x1.8p52
	k := math.FMA(scale, float64(x), shift)
	bits := math.Float64bits(k)
	k -= shift
	r := math.FMA(scale, float64(x), -k)
	s := math.Float64frombits(exp2Table[bits%parts] + bits<<(52-5))
	y := math.FMA(exp2C/parts/parts/parts, r, exp2B/parts/parts)
	return float32(math.FMA(y, r*r, math.FMA(exp2A/parts, r, 1)) * s)
}

// Pow returns x to the power of y.
func Pow(x, y float32) float32 {
	bits := math.Float32bits(x)
	if !(x > 0 && x <= math.MaxFloat32) || y == 0 || y-y != 0 {
		return float32(math.Pow(float64(x), float64(y)))
	}
	if bits < 0x00800000 {
		bits = math.Float32bits(x*0x1p23) - 23<<23
	}
	t := bits - logStart
	entry := binary.table[t>>19%16]
	top := t & 0xff800000
	r := math.FMA(float64(math.Float32frombits(bits-top)), entry[0], -1)
	y0 := entry[1] + float64(int32(top)>>23)
	r2 := r * r
	high := math.FMA(0x1.27616c9496e0bp-2, r, -0x1.71969a075c67ap-2)
	mid := math.FMA(0x1.ec70a6ca7baddp-2, r, -0x1.7154748bef6c8p-1)
	low := math.FMA(mid, r2, math.FMA(0x1.71547652ab82bp0, r, y0))
	power := float64(y) * math.FMA(high, r2*r2, low)
	switch {
	case power > 0x1.fffffffd1d571p6:
		return float32(math.Inf(1))
	case power <= -150:
		return 0
	}
	const shift = 0x1.8p52 / parts
	k := power + shift
	bits64 := math.Float64bits(k)
	r = power - (k - shift)
	s := math.Float64frombits(exp2Table[bits64%parts] + bits64<<(52-5))
	z := math.FMA(exp2C, r, exp2B)
	return float32(math.FMA(z, r*r, math.FMA(exp2A, r, 1)) * s)
}
