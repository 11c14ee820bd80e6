package libstdcxx

import (
	"github.com/bivouac-ml/bivouac/internal/libm"
	"math"
	"sort"
)

// Float is the constraint of real numbers: float or double in C++.
type Float interface{ ~float32 | ~float64 }

// Canonical returns a number in [0, 1), like std::generate_canonical with all bits of T. It takes
// enough numbers of the engine to fill these bits: two numbers of a 32-bit engine for float64,
// otherwise one.
func Canonical[T Float](g Source) T {
	lo, hi := g.Bounds()
	digits, below := 24, float64(math.Nextafter32(1, 0))
	if isDouble[T]() {
		digits, below = 53, math.Nextafter(1, 0)
	}
	size := float64(hi-lo) + 1 // 2^64 for an engine of 64 bits
	whole := int(math.Log2(size))
	if size < math.Ldexp(1, whole) { // Log2 may round up
		whole--
	}
	var sum T
	scale := T(1)
	for k := (digits + whole - 1) / whole; k > 0; k-- {
		sum += T(T(g.Next()-lo) * scale)
		scale = T(float64(scale) * size)
	}
	if x := sum / scale; x < 1 {
		return x
	}
	return T(below)
}

func isDouble[T Float]() bool {
	const odd = 1<<24 + 1 // the first integer that float32 cannot represent
	one := T(1)
	return T(odd)-T(odd-1) == one
}

// UniformReal returns a number in [a, b), or b because of rounding, like
// std::uniform_real_distribution.
func UniformReal[T Float](g Source, a, b T) T { return T(Canonical[T](g)*(b-a)) + a }

// Bernoulli returns true with the given probability, like std::bernoulli_distribution.
func Bernoulli(g Source, probability float64) bool { return Canonical[float64](g) < probability }

// Discrete is std::discrete_distribution: the numbers 0, 1, 2 …, each with its own probability. It
// is immutable and safe for concurrent use. The zero Discrete always returns 0.
type Discrete struct{ cumulative []float64 }

// NewDiscrete returns the distribution with the given weights. They must not be negative and not
// all be zero; they need not sum to 1. With fewer than two weights the distribution always returns
// 0 and takes no numbers.
func NewDiscrete(weights []float64) Discrete {
	if len(weights) < 2 {
		return Discrete{}
	}
	total := 0.0
	for _, w := range weights {
		total += w
	}
	cumulative := make([]float64, len(weights))
	sum := 0.0
	for i, w := range weights {
		sum += w / total
		cumulative[i] = sum
	}
	cumulative[len(weights)-1] = 1
	return Discrete{cumulative: cumulative}
}

// Next returns the index of a weight.
func (d Discrete) Next(g Source) int {
	if d.cumulative == nil {
		return 0
	}
	return sort.SearchFloat64s(d.cumulative, Canonical[float64](g))
}

// Normal is std::normal_distribution, by Marsaglia's polar method. The method makes two numbers at
// once and keeps one of them, which is the state. A Normal must not be used by several goroutines
// at once. In C++ the default StdDev is 1.
type Normal[T Float] struct {
	Mean, StdDev T

	saved T // of the standard distribution
	kept  bool
}

// Next returns the next number.
func (d *Normal[T]) Next(g Source) T { return T(d.standard(g)*d.StdDev) + d.Mean }

func (d *Normal[T]) standard(g Source) T {
	if d.kept {
		d.kept = false
		return d.saved
	}
	var x, y, square T
	for {
		x = 2*Canonical[T](g) - 1
		y = 2*Canonical[T](g) - 1
		square = T(x*x) + T(y*y)
		if square <= 1 && square != 0 {
			break
		}
	}
	scale := sqrt(-2 * log(square) / square)
	d.saved, d.kept = T(x*scale), true
	return T(y * scale)
}

// Exponential returns a number from the exponential distribution, like
// std::exponential_distribution. In C++ the default lambda is 1.
func Exponential[T Float](g Source, lambda T) T { return -log(1-Canonical[T](g)) / lambda }

// Gamma is std::gamma_distribution with shape Alpha and scale Beta, both above zero, by the method
// of Marsaglia and Tsang (2000). Its state is the state of its normal distribution. It must not be
// used by several goroutines at once.
type Gamma[T Float] struct {
	Alpha, Beta T

	normal Normal[T]
}

// Next returns the next number.
func (d *Gamma[T]) Next(g Source) T {
	shape := d.Alpha
	if shape < 1 {
		shape++
	}
	a1 := shape - T(1)/T(3)
	v := d.cube(g, a1, 1/sqrt(9*a1))
	if shape == d.Alpha {
		return T(a1*v) * d.Beta
	}
	u := Canonical[T](g)
	for u == 0 {
		u = Canonical[T](g)
	}
	return T(T(pow(u, 1/d.Alpha)*a1)*v) * d.Beta
}

// cube draws until a number is accepted. As in libstdc++ the comparisons are in
// float64 for either T.
func (d *Gamma[T]) cube(g Source, a1, a2 T) T {
	for {
		var n, v T
		for {
			n = d.normal.standard(g)
			if v = 1 + T(a2*n); v > 0 {
				break
			}
		}
		v = T(v*v) * v
		u := Canonical[T](g)
		n64, v64 := float64(n), float64(v)
		if float64(u) <= 1-float64(float64(float64(float64(0.0331*n64)*n64)*n64)*n64) {
			return v
		}
		bound := float64(float64(0.5*n64)*n64) + float64(float64(a1)*(1-v64+float64(log(v))))
		if float64(log(u)) <= bound {
			return v
		}
	}
}

// log, pow and sqrt are logf, powf and sqrtf for float32.

func log[T Float](x T) T {
	if isDouble[T]() {
		return T(math.Log(float64(x)))
	}
	return T(libm.Log(float32(x)))
}

func pow[T Float](x, y T) T {
	if isDouble[T]() {
		return T(math.Pow(float64(x), float64(y)))
	}
	return T(libm.Pow(float32(x), float32(y)))
}

func sqrt[T Float](x T) T { return T(math.Sqrt(float64(x))) }

// Poisson is std::poisson_distribution of 32-bit integers. It uses Devroye's rejection method
// (1986) for a mean of 12 or more, and multiplication below. Its state is the state of its normal
// distribution. It must not be used by several goroutines at once. Make it with NewPoisson or
// Reset.
type Poisson struct {
	mean, floor      float64
	threshold        float64 // e^-mean, or log(mean) from 12 on
	logFactorial     float64 // of floor
	sm, d, scx, icx  float64 // Devroye's √μ, δ, √(c/2), 1/c
	c1, c2, c3, c4   float64 // bounds of the parts of the hat function
	c5, total, twice float64

	normal Normal[float64]
}

// rejectionFrom is the least mean for which libstdc++ draws by rejection.
const rejectionFrom = 12

// NewPoisson returns the distribution with the given mean, which must not be negative.
func NewPoisson(mean float64) *Poisson {
	p := &Poisson{}
	p.Reset(mean)
	return p
}

// Reset makes p a new distribution with the given mean, which must not be negative.
func (p *Poisson) Reset(mean float64) {
	*p = Poisson{mean: mean, normal: Normal[float64]{StdDev: 1}}
	if mean < rejectionFrom {
		p.threshold = math.Exp(-mean)
		return
	}
	m := math.Floor(mean)
	p.floor = m
	p.threshold = math.Log(mean)
	p.logFactorial = logGamma(m + 1)
	p.sm = math.Sqrt(m)
	dx := math.Sqrt(2 * m * math.Log(32*m/(math.Pi/4)))
	p.d = math.Round(max(6, min(m, dx)))
	cx := 2*m + p.d
	p.scx = math.Sqrt(cx / 2)
	p.icx = 1 / cx
	c2b := math.Sqrt(math.Pi/4*cx) * math.Exp(p.icx)
	cb := 2 * cx * math.Exp(-p.d*p.icx*(1+p.d/2)) / p.d
	const sqrtHalfPi, e178 = 1.2533141373155002512078826424055226, 1.0129030479320018583185514777512983
	p.c1 = p.sm * sqrtHalfPi
	p.c2 = c2b + p.c1
	p.c3 = p.c2 + 1
	p.c4 = p.c3 + 1
	p.c5 = p.c4 + e178
	p.total = cb + p.c5
	p.twice = 2 * (2*m + p.d)
}

// Next returns the next number.
func (p *Poisson) Next(g Source) uint32 {
	if p.mean >= rejectionFrom {
		return p.reject(g)
	}
	product := 1.0
	for n := uint32(0); ; n++ {
		if product *= Canonical[float64](g); product <= p.threshold {
			return n
		}
	}
}

func (p *Poisson) reject(g Source) uint32 {
	const half = (1 - 0x1p-52) / 2 // rounds to nearest when truncated
	for {
		u := p.total * Canonical[float64](g)
		e := -math.Log(1 - Canonical[float64](g))
		x, w, ok := p.propose(g, u)
		if !ok {
			continue
		}
		if w-e-float64(x*p.threshold) <= p.logFactorial-logGamma(x+p.floor+1) && x+p.floor < math.MaxUint32+half {
			return uint32(x + p.floor + half)
		}
	}
}

// propose draws a distance x from the mean in the part of the hat function that
// u points to, with the logarithm w of the hat there.
func (p *Poisson) propose(g Source, u float64) (x, w float64, ok bool) {
	switch {
	case u <= p.c1:
		n := p.normal.Next(g)
		x = math.Floor(float64(-math.Abs(n)*p.sm) - 1)
		return x, -n * n / 2, x >= -p.floor
	case u <= p.c2:
		y := 1 + float64(math.Abs(p.normal.Next(g))*p.scx)
		x = math.Ceil(y)
		return x, y * (2 - y) * p.icx, x <= p.d
	case u <= p.c3:
		return -1, 0, true
	case u <= p.c4:
		return 0, 0, true
	case u <= p.c5:
		return 1, 1.0 / 78, true
	}
	v := -math.Log(1 - Canonical[float64](g))
	y := p.d + v*p.twice/p.d
	return math.Ceil(y), -p.d * p.icx * (1 + y/2), true
}

func logGamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}
