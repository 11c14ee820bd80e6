package libstdcxx

import "math"

// Normal is std::normal_distribution, by Marsaglia's polar method, which makes
// two numbers at once and keeps one: its state is that number. It must not be
// used by several goroutines at once. In C++ the default StdDev is 1.
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

// Exponential returns a number of the exponential distribution, as
// std::exponential_distribution does; in C++ the default lambda is 1.
func Exponential[T Float](g Source, lambda T) T { return -log(1-Canonical[T](g)) / lambda }

// Gamma is std::gamma_distribution with shape Alpha and scale Beta, both above zero, by Marsaglia
// and Tsang (2000). Its state is the state of the normal distribution in it. It must not be used by
// several goroutines at once.
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
	return T(T(T(math.Pow(float64(u), float64(1/d.Alpha)))*a1)*v) * d.Beta
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

// log and sqrt are rounded to T once; of float32 they are logf and sqrtf.

func log[T Float](x T) T { return T(math.Log(float64(x))) }

func sqrt[T Float](x T) T { return T(math.Sqrt(float64(x))) }
