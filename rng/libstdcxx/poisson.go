package libstdcxx

import "math"

// Poisson is std::poisson_distribution of 32-bit integers, by Devroye's rejection (1986) from a
// mean of 12 on and by multiplication below. Its state is the state of the normal distribution in
// it. It must not be used by several goroutines at once. Make it with NewPoisson or Reset.
type Poisson struct {
	mean, floor      float64
	threshold        float64 // e^-mean, or log(mean) from 12 on
	logFactorial     float64 // of floor
	sm, d, scx, icx  float64 // Devroye's √μ, δ, √(c/2), 1/c
	c1, c2, c3, c4   float64 // bounds of the parts of the hat function
	c5, total, twice float64

	normal Normal[float64]
}

// rejectionFrom is the mean from which on libstdc++ draws by rejection.
const rejectionFrom = 12

// NewPoisson returns the distribution of a mean, which is not negative.
func NewPoisson(mean float64) *Poisson {
	p := &Poisson{}
	p.Reset(mean)
	return p
}

// Reset makes p the distribution of a mean, which is not negative, as if new.
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
