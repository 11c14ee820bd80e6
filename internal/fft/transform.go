package fft

import (
	"math"
	"math/bits"
)

// transform is a transform of n complex elements.
type transform struct {
	n      int
	passes []pass
	chirp  *chirp // for sizes with a large prime factor
}

// pass is one pass of Stockham's algorithm: it takes m*radix blocks of s elements. Block p + m*k,
// for all k below radix, becomes block radix*p + k.
type pass struct {
	radix, m, s int
	turn        []float32 // exp(-2πipk/(m*radix)) for every p and k >= 1; nil if m is 1
	roots       []float32 // exp(-2πik/radix), for a radix other than 2 and 4
	waves       []float32 // cosines and sines of 2πjk/radix, for all k and j up to radix/2
}

func newTransform(n int) *transform {
	t := &transform{n: n}
	radices := factors(n)
	if radices == nil {
		t.chirp = newChirp(n)
		return t
	}
	rest, s := n, 1
	for _, r := range radices {
		p := pass{radix: r, m: rest / r, s: s}
		if p.m > 1 {
			for i := range p.m {
				for k := 1; k < r; k++ {
					re, im := root(i*k, rest)
					p.turn = append(p.turn, re, im)
				}
			}
		}
		if r != 2 && r != 4 {
			for k := range r {
				re, im := root(k, r)
				p.roots = append(p.roots, re, im)
			}
			for k := 1; k <= r/2; k++ {
				for j := 1; j <= r/2; j++ {
					at := j * k % r
					p.waves = append(p.waves, p.roots[2*at], -p.roots[2*at+1])
				}
			}
		}
		t.passes = append(t.passes, p)
		rest, s = p.m, s*r
	}
	return t
}

// factors returns the radices of a size: odd primes, then fours, then at most one two. It returns
// nil if a prime factor is too large, and an empty list for 1.
func factors(n int) []int {
	list := []int{}
	twos := bits.TrailingZeros(uint(n))
	n >>= twos
	for r := 3; r <= largestRadix; r += 2 {
		for n%r == 0 {
			list, n = append(list, r), n/r
		}
	}
	if n > 1 {
		return nil
	}
	for range twos / 2 {
		list = append(list, 4)
	}
	if twos%2 == 1 {
		list = append(list, 2)
	}
	return list
}

// room returns how many numbers of memory to work in run needs.
func (t *transform) room() int {
	if t.chirp != nil {
		return t.chirp.room()
	}
	return pair * t.n
}

// run transforms the n elements of z. The result lies in z or in work.
func (t *transform) run(z, work []float32) []float32 {
	if t.chirp != nil {
		t.chirp.run(z, work)
		return z
	}
	from, to := z[:pair*t.n], work[:pair*t.n]
	for i := range t.passes {
		p := &t.passes[i]
		switch {
		case p.radix == 4 && p.m > 1:
			radix4(to, from, p.turn, p.m, p.s)
		case p.radix == 4:
			radix4Last(to, from, p.s)
		case p.radix == 2:
			radix2Last(to, from, p.s)
		case p.radix == 3 && p.m > 1:
			radix3(to, from, p)
		case p.radix == 5 && p.m > 1:
			radix5(to, from, p)
		default:
			p.any(to, from)
		}
		from, to = to, from
	}
	return from
}

func radix4Generic(to, from, turn []float32, m, s int) {
	for p := range m {
		w := (*[6]float32)(turn[6*p:])
		for q := range s {
			at, step := pair*(q+s*p), pair*s*m
			a, b := (*[pair]float32)(from[at:]), (*[pair]float32)(from[at+step:])
			c, d := (*[pair]float32)(from[at+2*step:]), (*[pair]float32)(from[at+3*step:])
			at, step = pair*(q+s*4*p), pair*s
			y0, y1 := (*[pair]float32)(to[at:]), (*[pair]float32)(to[at+step:])
			y2, y3 := (*[pair]float32)(to[at+2*step:]), (*[pair]float32)(to[at+3*step:])
			for l := range Lanes {
				i := Lanes + l
				sr, si, dr, di := a[l]+c[l], a[i]+c[i], a[l]-c[l], a[i]-c[i]
				tr, ti, er, ei := b[l]+d[l], b[i]+d[i], b[l]-d[l], b[i]-d[i]
				y0[l], y0[i] = sr+tr, si+ti
				y1[l], y1[i] = times(dr+ei, di-er, w[0], w[1])
				y2[l], y2[i] = times(sr-tr, si-ti, w[2], w[3])
				y3[l], y3[i] = times(dr-ei, di+er, w[4], w[5])
			}
		}
	}
}

func times(ar, ai, wr, wi float32) (re, im float32) {
	return float32(ar*wr) - float32(ai*wi), float32(ar*wi) + float32(ai*wr)
}

func radix4LastGeneric(to, from []float32, s int) {
	for q := range s {
		at, step := pair*q, pair*s
		a, b := (*[pair]float32)(from[at:]), (*[pair]float32)(from[at+step:])
		c, d := (*[pair]float32)(from[at+2*step:]), (*[pair]float32)(from[at+3*step:])
		y0, y1 := (*[pair]float32)(to[at:]), (*[pair]float32)(to[at+step:])
		y2, y3 := (*[pair]float32)(to[at+2*step:]), (*[pair]float32)(to[at+3*step:])
		for l := range Lanes {
			i := Lanes + l
			sr, si, dr, di := a[l]+c[l], a[i]+c[i], a[l]-c[l], a[i]-c[i]
			tr, ti, er, ei := b[l]+d[l], b[i]+d[i], b[l]-d[l], b[i]-d[i]
			y0[l], y0[i] = sr+tr, si+ti
			y1[l], y1[i] = dr+ei, di-er
			y2[l], y2[i] = sr-tr, si-ti
			y3[l], y3[i] = dr-ei, di+er
		}
	}
}

func radix2LastGeneric(to, from []float32, s int) {
	n := pair * s
	a, b, x, y := from[:n], from[n:2*n], to[:n], to[n:2*n]
	for i := range a {
		x[i], y[i] = a[i]+b[i], a[i]-b[i]
	}
}

// any is the pass of an odd radix. Elements j and radix-j of a sum are added and subtracted first,
// because their factors are conjugates.
func (p *pass) any(to, from []float32) {
	var sums, differences [largestRadix / 2][pair]float32
	r, half := p.radix, p.radix/2
	for i := range p.m {
		for q := range p.s {
			first := (*[pair]float32)(from[pair*(q+p.s*i):])
			all := *first
			for j := range half {
				x := (*[pair]float32)(from[pair*(q+p.s*(i+p.m*(j+1))):])
				y := (*[pair]float32)(from[pair*(q+p.s*(i+p.m*(r-1-j))):])
				sum, difference := &sums[j], &differences[j]
				for l := range pair {
					sum[l], difference[l] = x[l]+y[l], x[l]-y[l]
					all[l] += sum[l]
				}
			}
			*(*[pair]float32)(to[pair*(q+p.s*r*i):]) = all
			for k := 1; k <= half; k++ {
				// The result is even - i*odd, and for r-k it is even + i*odd.
				even, odd := *first, [pair]float32{}
				for j, at := 0, k; j < half; j++ {
					c, s := p.roots[2*at], -p.roots[2*at+1]
					sum, difference := &sums[j], &differences[j]
					for l := range pair {
						even[l] += float32(c * sum[l])
						if j == 0 {
							odd[l] = s * difference[l]
						} else {
							odd[l] += float32(s * difference[l])
						}
					}
					if at += k; at >= r {
						at -= r
					}
				}
				y, z := (*[pair]float32)(to[pair*(q+p.s*(r*i+k)):]), (*[pair]float32)(to[pair*(q+p.s*(r*i+r-k)):])
				for l := range Lanes {
					y[l], y[Lanes+l] = even[l]+odd[Lanes+l], even[Lanes+l]-odd[l]
					z[l], z[Lanes+l] = even[l]-odd[Lanes+l], even[Lanes+l]+odd[l]
				}
				if p.m > 1 {
					p.turned(y, i, k)
					p.turned(z, i, r-k)
				}
			}
		}
	}
}

// turned multiplies element k of block i by its factor.
func (p *pass) turned(y *[pair]float32, i, k int) {
	at := 2 * (i*(p.radix-1) + k - 1)
	wr, wi := p.turn[at], p.turn[at+1]
	for l := range Lanes {
		y[l], y[Lanes+l] = times(y[l], y[Lanes+l], wr, wi)
	}
}

// chirp is Bluestein's algorithm: a convolution with exp(πik²/n), by transforms of a power of two.
type chirp struct {
	n, m   int
	inner  *transform
	wave   []float32 // exp(-πik²/n)
	kernel []float32 // the spectrum of the conjugated wave, divided by m
}

func newChirp(n int) *chirp {
	c := &chirp{n: n, m: 1}
	for c.m < 2*n-1 {
		c.m *= 2
	}
	c.inner = newTransform(c.m)
	conjugated := make([]complex128, c.m)
	for k := range n {
		turns := k * k % (2 * n)
		s, v := math.Sincos(-math.Pi * float64(turns) / float64(n))
		c.wave = append(c.wave, float32(v), float32(s))
		conjugated[k] = complex(v, -s)
		if k > 0 {
			conjugated[c.m-k] = conjugated[k]
		}
	}
	for _, v := range double(conjugated) {
		c.kernel = append(c.kernel, float32(real(v)/float64(c.m)), float32(imag(v)/float64(c.m)))
	}
	return c
}

// double is a transform in double precision, of a power of two. Plans use it.
func double(x []complex128) []complex128 {
	n := len(x)
	if n == 1 {
		return x
	}
	even, odd := make([]complex128, n/2), make([]complex128, n/2)
	for i := range n / 2 {
		even[i], odd[i] = x[2*i], x[2*i+1]
	}
	even, odd = double(even), double(odd)
	y := make([]complex128, n)
	for k := range n / 2 {
		s, c := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
		t := complex(c, s) * odd[k]
		y[k], y[k+n/2] = even[k]+t, even[k]-t
	}
	return y
}

func (c *chirp) room() int { return 2 * pair * c.m }

func (c *chirp) run(z, work []float32) {
	a, more := work[:pair*c.m], work[pair*c.m:2*pair*c.m]
	scale(a, z, c.wave, c.n, 1)
	clear(a[pair*c.n:])
	f := c.inner.run(a, more)
	if &f[0] != &a[0] {
		a, more = more, a
	}
	scale(a, a, c.kernel, c.m, -1) // conjugated, for the way back
	f = c.inner.run(a, more)
	for i := range c.n {
		e := (*[pair]float32)(f[pair*i:])
		for l := range Lanes {
			e[Lanes+l] = -e[Lanes+l]
		}
	}
	scale(z, f, c.wave, c.n, 1)
}

// scale writes the products of n elements and factors, with the imaginary parts times sign.
func scale(to, from, factors []float32, n int, sign float32) {
	for i := range n {
		x, y := (*[pair]float32)(from[pair*i:]), (*[pair]float32)(to[pair*i:])
		for l := range Lanes {
			re, im := times(x[l], x[Lanes+l], factors[2*i], factors[2*i+1])
			y[l], y[Lanes+l] = re, sign*im
		}
	}
}
