package libm

import "math"

// double is a number of about 106 bits: the sum of two float64, the second at most half a unit in
// the last place of the first.
type double struct{ hi, lo float64 }

// sum returns a + b exactly.
func sum(a, b float64) double {
	s := a + b
	t := s - a
	return double{s, (a - (s - t)) + (b - t)}
}

// product returns a * b exactly.
func product(a, b float64) double {
	p := a * b
	return double{p, math.FMA(a, b, -p)}
}

func (a double) plus(b double) double {
	s := sum(a.hi, b.hi)
	return sum(s.hi, s.lo+(a.lo+b.lo))
}

func (a double) times(b double) double {
	p := product(a.hi, b.hi)
	return sum(p.hi, p.lo+(float64(a.hi*b.lo)+float64(a.lo*b.hi)))
}

// over returns a / b.
func (a double) over(b double) double {
	q := a.hi / b.hi
	p := b.times(double{hi: q})
	return sum(q, ((a.hi-p.hi)-p.lo+a.lo)/b.hi)
}

// root returns the square root of a.
func (a double) root() double {
	y := math.Sqrt(a.hi)
	p := product(y, y)
	return sum(y, ((a.hi-p.hi)-p.lo+a.lo)/(2*y))
}

// ratio returns 1/n.
func ratio(n float64) double { return double{hi: 1}.over(double{hi: n}) }

// series returns the sum of c(k) * x^k. The terms from the fourth on, which are small, are in
// float64.
func series(x double, terms int, c func(k int) double) double {
	var tail float64
	for k := terms - 1; k >= 4; k-- {
		tail = math.FMA(tail, x.hi, c(k).hi)
	}
	s := double{hi: tail}
	for k := 3; k >= 0; k-- {
		s = s.times(x).plus(c(k))
	}
	return s
}

var oddRatios, cosines, sines = func() (odd, cos, sin [16]double) {
	factorial := double{hi: 1}
	for k := range odd {
		odd[k] = ratio(float64(2*k + 1))
		sign := double{hi: float64(1 - k%2*2)}
		if k > 0 {
			factorial = factorial.times(double{hi: float64((2*k - 1) * (2 * k))})
		}
		cos[k] = sign.over(factorial)
		sin[k] = cos[k].times(odd[k])
	}
	return odd, cos, sin
}()

// Log64 returns the float64 nearest to the natural logarithm of x, which must be positive, finite
// and not subnormal.
func Log64(x float64) float64 {
	m, exponent := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, exponent = 2*m, exponent-1
	}
	s := double{hi: m - 1}.over(sum(m, 1))
	y := s.times(series(s.times(s), 16, func(k int) double { return oddRatios[k] }))
	const ln2, ln2Rest = 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56
	n := float64(exponent)
	return double{ln2, ln2Rest}.times(double{hi: n}).plus(double{2 * y.hi, 2 * y.lo}).hi
}

// Cos64 returns the float64 nearest to the cosine of x, which must lie between -8 and 8.
func Cos64(x float64) float64 {
	const halfPiRest, halfPiLast = 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110
	n := math.Round(x / halfPi)
	r := double{hi: x}.plus(product(-n, halfPi)).plus(product(-n, halfPiRest)).plus(double{hi: -n * halfPiLast})
	r2 := r.times(r)
	var y double
	if int(n)&1 == 0 {
		y = series(r2, 14, func(k int) double { return cosines[k] })
	} else {
		y = r.times(series(r2, 14, func(k int) double { return sines[k] }))
	}
	if q := int(n) & 3; q == 1 || q == 2 {
		return -y.hi
	}
	return y.hi
}
