package libstdcxx

const (
	minstdModulus    = 1<<31 - 1
	minstdMultiplier = 16807
)

// MinstdRand0 is std::minstd_rand0, in libstdc++ also std::default_random_engine: x = 16807*x mod
// 2^31-1, of Lewis, Goodman and Miller. Its state is one number from 1 to 2^31-2. The zero
// MinstdRand0 is not seeded; it always returns 0.
type MinstdRand0 struct{ x uint32 }

// NewMinstdRand0 returns the engine of a seed. In C++ the default is 1.
func NewMinstdRand0(seed uint64) MinstdRand0 {
	x := uint32(seed % minstdModulus)
	return MinstdRand0{x: max(x, 1)}
}

// Minstd returns the std::minstd_rand0 that is seeded by s.
func (s SeedSeq) Minstd() MinstdRand0 {
	var w [4]uint32
	s.Generate(w[:])
	return NewMinstdRand0(uint64(w[3]))
}

// Next implements Source.
func (g *MinstdRand0) Next() uint64 {
	g.x = uint32(uint64(g.x) * minstdMultiplier % minstdModulus)
	return uint64(g.x)
}

// Bounds implements Source.
func (g *MinstdRand0) Bounds() (lo, hi uint64) { return 1, minstdModulus - 1 }

// Discard skips n numbers, in a time that does not grow with n.
func (g *MinstdRand0) Discard(n uint64) {
	factor := uint64(minstdMultiplier)
	x := uint64(g.x)
	for n %= minstdModulus - 1; n > 0; n >>= 1 { // Fermat: the period divides 2^31-2
		if n&1 == 1 {
			x = x * factor % minstdModulus
		}
		factor = factor * factor % minstdModulus
	}
	g.x = uint32(x)
}

// DiscardInts skips the numbers that n calls of UniformInt(g, 0, last) take, at about a nanosecond
// per call. It must compute the numbers, because a call takes more than one number if some are
// rejected.
func (g *MinstdRand0) DiscardInts(n uint64, last uint32) {
	if last >= minstdModulus-2 { // no number is scaled down
		for range n {
			UniformInt(g, 0, int64(last))
		}
		return
	}
	const four = minstdMultiplier * minstdMultiplier % minstdModulus * minstdMultiplier % minstdModulus * minstdMultiplier % minstdModulus
	size := uint64(last) + 1
	accepted := (minstdModulus - 2) / size * size // numbers from 1 to this are
	for n >= 4 {
		// Four numbers that do not wait for one another, unless one is rejected.
		a := minstdStep(uint64(g.x), minstdMultiplier)
		b := minstdStep(a, minstdMultiplier)
		c := minstdStep(b, minstdMultiplier)
		d := minstdStep(c, minstdMultiplier)
		for max(a, b, c, d) <= accepted && n >= 4 {
			g.x = uint32(d)
			n -= 4
			a, b, c, d = minstdStep(a, four), minstdStep(b, four), minstdStep(c, four), minstdStep(d, four)
		}
		for range min(n, 4) {
			for g.Next() > accepted {
			}
			n--
		}
	}
	for ; n > 0; n-- {
		for g.Next() > accepted {
		}
	}
}

// minstdStep returns x*factor mod 2^31-1, for x and factor below 2^31-1.
func minstdStep(x, factor uint64) uint64 {
	x *= factor
	x = x&minstdModulus + x>>31 // 2^31 is 1
	x = x&minstdModulus + x>>31
	if x >= minstdModulus {
		x -= minstdModulus
	}
	return x
}
