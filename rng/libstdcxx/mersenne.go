package libstdcxx

// MT19937 is std::mt19937, the Mersenne twister of Matsumoto and Nishimura (1998) with 32-bit
// words. Make it with NewMT19937; the zero MT19937 always returns 0.
type MT19937 struct {
	x [624]uint32
	p int // index of the next word of x; len(x) if all are used
}

// NewMT19937 returns the engine of a seed. Only the low 32 bits of the seed count. In C++ the
// default is 5489.
func NewMT19937(seed uint64) MT19937 {
	var g MT19937
	g.x[0] = uint32(seed)
	for i := 1; i < len(g.x); i++ {
		g.x[i] = 1812433253*(g.x[i-1]^g.x[i-1]>>30) + uint32(i)
	}
	g.p = len(g.x)
	return g
}

// MT19937 returns the std::mt19937 that is seeded by s.
func (s SeedSeq) MT19937() MT19937 {
	var g MT19937
	s.Generate(g.x[:])
	notAllZero(g.x[:], 1<<31)
	g.p = len(g.x)
	return g
}

// Next implements Source.
func (g *MT19937) Next() uint64 {
	if g.p >= len(g.x) {
		g.twist()
	}
	y := g.x[g.p]
	g.p++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return uint64(y ^ y>>18)
}

// Bounds implements Source.
func (g *MT19937) Bounds() (lo, hi uint64) { return 0, 1<<32 - 1 }

// Discard skips n numbers; 624 of them cost about as much as 300 of Next.
func (g *MT19937) Discard(n uint64) {
	for n > uint64(len(g.x)-g.p) {
		n -= uint64(len(g.x) - g.p)
		g.twist()
	}
	g.p += int(n)
}

func (g *MT19937) twist() {
	twist(g.x[:], 397, 1<<31, 0x9908b0df)
	g.p = 0
}

// MT19937x64 is std::mt19937_64, the Mersenne twister of Nishimura (2000) with 64-bit words. Make
// it with NewMT19937x64; the zero MT19937x64 always returns 0.
type MT19937x64 struct {
	x [312]uint64
	p int
}

// NewMT19937x64 returns the engine of a seed. In C++ the default is 5489.
func NewMT19937x64(seed uint64) MT19937x64 {
	var g MT19937x64
	g.x[0] = seed
	for i := 1; i < len(g.x); i++ {
		g.x[i] = 6364136223846793005*(g.x[i-1]^g.x[i-1]>>62) + uint64(i)
	}
	g.p = len(g.x)
	return g
}

// MT19937x64 returns the std::mt19937_64 that is seeded by s.
func (s SeedSeq) MT19937x64() MT19937x64 {
	var w [624]uint32
	s.Generate(w[:])
	var g MT19937x64
	for i := range g.x {
		g.x[i] = uint64(w[2*i]) | uint64(w[2*i+1])<<32
	}
	notAllZero(g.x[:], 1<<63)
	g.p = len(g.x)
	return g
}

// Next implements Source.
func (g *MT19937x64) Next() uint64 {
	if g.p >= len(g.x) {
		g.twist()
	}
	y := g.x[g.p]
	g.p++
	y ^= y >> 29 & 0x5555555555555555
	y ^= y << 17 & 0x71d67fffeda60000
	y ^= y << 37 & 0xfff7eee000000000
	return y ^ y>>43
}

// Bounds implements Source: all 64-bit words.
func (g *MT19937x64) Bounds() (lo, hi uint64) { return 0, 1<<64 - 1 }

// Discard skips n numbers; 312 of them cost about as much as 150 of Next.
func (g *MT19937x64) Discard(n uint64) {
	for n > uint64(len(g.x)-g.p) {
		n -= uint64(len(g.x) - g.p)
		g.twist()
	}
	g.p += int(n)
}

func (g *MT19937x64) twist() {
	twist(g.x[:], 156, 1<<64-1<<31, 0xb5026f5aa96619e9)
	g.p = 0
}

// twist makes the next words of a Mersenne twister. Each word is made from the bits of upper in the
// old word, the other bits of its successor, and the word m places further.
func twist[W uint32 | uint64](x []W, m int, upper, a W) {
	n := len(x)
	step := func(k, next, far int) {
		y := x[k]&upper | x[next]&^upper
		x[k] = x[far] ^ y>>1 ^ -(y&1)&a
	}
	for k := range n - m {
		step(k, k+1, k+m)
	}
	for k := n - m; k < n-1; k++ {
		step(k, k+1, k+m-n)
	}
	step(n-1, 0, m-1)
}

// notAllZero keeps a seeded twister away from its fixed point. If only the unused low bits of the
// first word are set, the standard sets its top bit.
func notAllZero[W uint32 | uint64](x []W, top W) {
	const unused = 31
	zero := x[0]>>unused == 0
	for _, w := range x[1:] {
		zero = zero && w == 0
	}
	if zero {
		x[0] = top
	}
}
