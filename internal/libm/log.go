package libm

import "math"

// logStart is the float32 at which the range of a power of two begins for tables: 0.7.
const logStart = 0x3f330000

// base is the logarithm to one base.
type base struct {
	// table has, for 16 parts of a range, the inverse of a number c near its middle and the logarithm
	// of c.
	table [16][2]float64
	two   float64    // the logarithm of 2
	poly  [4]float64 // of the logarithm of 1+r, the highest power first
}

var natural = &base{
	two:  0x1.62e42fefa39efp-1,
	poly: [4]float64{-0x1.00ea348b88334p-2, 0x1.5575b0be00b6ap-2, -0x1.ffffef20a4123p-2, 1},
	table: [16][2]float64{
		{0x1.661ec79f8f3bep+0, -0x1.57bf7808caadep-2},
		{0x1.571ed4aaf883dp+0, -0x1.2bef0a7c06ddbp-2},
		{0x1.49539f0f010bp+0, -0x1.01eae7f513a67p-2},
		{0x1.3c995b0b80385p+0, -0x1.b31d8a68224e9p-3},
		{0x1.30d190c8864a5p+0, -0x1.6574f0ac07758p-3},
		{0x1.25e227b0b8eap+0, -0x1.1aa2bc79c81p-3},
		{0x1.1bb4a4a1a343fp+0, -0x1.a4e76ce8c0e5ep-4},
		{0x1.12358f08ae5bap+0, -0x1.1973c5a611cccp-4},
		{0x1.0953f419900a7p+0, -0x1.252f438e10c1ep-5},
		{0x1p+0, 0x0p+0},
		{0x1.e608cfd9a47acp-1, 0x1.aa5aa5df25984p-5},
		{0x1.ca4b31f026aap-1, 0x1.c5e53aa362eb4p-4},
		{0x1.b2036576afce6p-1, 0x1.526e57720db08p-3},
		{0x1.9c2d163a1aa2dp-1, 0x1.bc2860d22477p-3},
		{0x1.886e6037841edp-1, 0x1.1058bc8a07ee1p-2},
		{0x1.767dcf5534862p-1, 0x1.4043057b6ee09p-2},
	},
}

var binary = &base{
	two:  1,
	poly: [4]float64{-0x1.712b6f70a7e4dp-2, 0x1.ecabf496832ep-2, -0x1.715479ffae3dep-1, 0x1.715475f35c8b8p0},
	table: [16][2]float64{
		{0x1.661ec79f8f3bep+0, -0x1.efec65b963019p-2},
		{0x1.571ed4aaf883dp+0, -0x1.b0b6832d4fca4p-2},
		{0x1.49539f0f010bp+0, -0x1.7418b0a1fb77bp-2},
		{0x1.3c995b0b80385p+0, -0x1.39de91a6dcf7bp-2},
		{0x1.30d190c8864a5p+0, -0x1.01d9bf3f2b631p-2},
		{0x1.25e227b0b8eap+0, -0x1.97c1d1b3b7afp-3},
		{0x1.1bb4a4a1a343fp+0, -0x1.2f9e393af3c9fp-3},
		{0x1.12358f08ae5bap+0, -0x1.960cbbf788d5cp-4},
		{0x1.0953f419900a7p+0, -0x1.a6f9db6475fcep-5},
		{0x1p+0, 0x0p+0},
		{0x1.e608cfd9a47acp-1, 0x1.338ca9f24f53dp-4},
		{0x1.ca4b31f026aap-1, 0x1.476a9543891bap-3},
		{0x1.b2036576afce6p-1, 0x1.e840b4ac4e4d2p-3},
		{0x1.9c2d163a1aa2dp-1, 0x1.40645f0c6651cp-2},
		{0x1.886e6037841edp-1, 0x1.88e9c2c1b9ff8p-2},
		{0x1.767dcf5534862p-1, 0x1.ce0a44eb17bccp-2},
	},
}

// Log returns the natural logarithm of x. Log of 0 is -Inf, and of a negative number NaN.
func Log(x float32) float32 { return logarithm(x, natural) }

// Log2 returns the binary logarithm of x. Log2 of 0 is -Inf, and of a negative number NaN.
func Log2(x float32) float32 { return logarithm(x, binary) }

// logarithm returns the logarithm of x to a base.
func logarithm(x float32, b *base) float32 {
	bits := math.Float32bits(x)
	if bits-0x00800000 >= 0x7f800000-0x00800000 { // 0, subnormal, infinite, negative or NaN
		switch {
		case x == 0:
			return float32(math.Inf(-1))
		case x < 0 || x != x:
			return float32(math.NaN())
		case bits == 0x7f800000:
			return x
		}
		bits = math.Float32bits(x*0x1p23) - 23<<23
	}
	t := bits - logStart
	entry := &b.table[t>>19%16]
	top := t & 0xff800000
	z := float64(math.Float32frombits(bits - top))
	r := math.FMA(z, entry[0], -1)
	y0 := math.FMA(float64(int32(top)>>23), b.two, entry[1])
	r2 := r * r
	y := math.FMA(b.poly[1], r, b.poly[2])
	y = math.FMA(b.poly[0], r2, y)
	return float32(math.FMA(y, r2, math.FMA(b.poly[3], r, y0)))
}
