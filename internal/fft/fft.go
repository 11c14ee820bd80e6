// Package fft computes discrete Fourier transforms of real float32 signals, eight signals at a
// time.
//
// The signals lie side by side: element t of signal l is at index 8*t + l. So one vector of a
// processor holds one element of every signal, and a transform needs no shuffles. An element of a
// spectrum has 16 numbers: the real parts of the eight signals, then the imaginary parts.
//
// Sizes whose prime factors are at most 31 use mixed radices. All other sizes use a convolution
// (Bluestein's algorithm). Every function has a definition in Go and, for the radices 2 and 4, a
// version in assembly for amd64 with AVX2, which tools/kernels/fft generates. Both give the same
// bits: products are never fused with sums, and the order of all sums is fixed. A signal's bits do
// not depend on the signals beside it.
package fft

import (
	"math"
	"sync"
)

// Lanes is how many signals a transform takes.
const Lanes = 8

// pair is how many numbers an element of a spectrum has.
const pair = 2 * Lanes

// largestRadix is the largest prime factor that has a pass of its own.
const largestRadix = 31

// Plan computes transforms of one size. It is immutable.
type Plan struct {
	n      int
	packed bool // two neighbours of a signal are one complex number
	inner  *transform
	turn   []float32 // exp(-2πik/n) for k up to n/4: real part, imaginary part
}

// memo keeps what was made for sizes. It is emptied when the sizes together exceed largestMemo, so
// that signals of many lengths do not fill the memory.
type memo[T any] struct {
	sync.Mutex
	made map[int]T
	size int
}

const largestMemo = 1 << 21

func (m *memo[T]) of(n int, build func(n int) T) T {
	m.Lock()
	v, ok := m.made[n]
	m.Unlock()
	if ok {
		return v
	}
	v = build(n)
	m.Lock()
	defer m.Unlock()
	if m.made == nil || m.size+n > largestMemo {
		m.made, m.size = map[int]T{}, 0
	}
	if _, ok := m.made[n]; !ok {
		m.made[n], m.size = v, m.size+n
	}
	return v
}

var (
	plans  memo[*Plan]
	wholes memo[*transform] // for Inverse
)

// Of returns the plan for signals of n elements, n >= 1. It keeps plans for later calls.
func Of(n int) *Plan { return plans.of(n, newPlan) }

func newPlan(n int) *Plan {
	p := &Plan{n: n, packed: n%2 == 0}
	if !p.packed {
		p.inner = newTransform(n)
		return p
	}
	p.inner = newTransform(n / 2)
	for k := range n/4 + 1 {
		re, im := root(k, n)
		p.turn = append(p.turn, re, im)
	}
	return p
}

// root returns exp(-2πik/n), rounded. Quarters of a turn are exact.
func root(k, n int) (re, im float32) {
	k %= n
	switch {
	case k == 0:
		return 1, 0
	case 4*k == n:
		return 0, -1
	case 2*k == n:
		return -1, 0
	case 4*k == 3*n:
		return 0, 1
	}
	s, c := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
	return float32(c), float32(s)
}

// Len returns the number of elements of a signal.
func (p *Plan) Len() int { return p.n }

// Bins returns the number of elements of a spectrum: n/2 + 1.
func (p *Plan) Bins() int { return p.n/2 + 1 }

// Room returns how many numbers of memory to work in Power and Spectrum need.
func (p *Plan) Room() int {
	if p.packed {
		return p.inner.room()
	}
	return p.inner.room() + pair*p.n
}

// spectrum transforms the packed signals. The result lies in signal or in work.
func (p *Plan) spectrum(signal, work []float32) []float32 {
	if p.packed {
		return p.inner.run(signal[:pair*p.inner.n], work)
	}
	wide := work[:pair*p.n]
	for t := range p.n {
		e := (*[pair]float32)(wide[pair*t:])
		copy(e[:Lanes], signal[Lanes*t:Lanes*t+Lanes])
		clear(e[Lanes:])
	}
	return p.inner.run(wide, work[pair*p.n:])
}

// Power writes the squares of the magnitudes of the spectra, 8 numbers for each of the Bins. signal
// has Len elements and is overwritten. work has Room numbers.
func (p *Plan) Power(power, signal, work []float32) {
	z := p.spectrum(signal, work)
	power = power[:Lanes*p.Bins()]
	if !p.packed {
		for k := range p.Bins() {
			square((*[Lanes]float32)(power[Lanes*k:]), (*[pair]float32)(z[pair*k:]))
		}
		return
	}
	half := p.n / 2
	z0, first, last := (*[pair]float32)(z), (*[Lanes]float32)(power), (*[Lanes]float32)(power[Lanes*half:])
	for l := range Lanes {
		sum, difference := z0[l]+z0[Lanes+l], z0[l]-z0[Lanes+l]
		first[l], last[l] = float32(sum*sum), float32(difference*difference)
	}
	if half > 1 {
		powerPairs(power, z[:pair*half], p.turn, half)
	}
}

// Spectrum writes the spectra, 16 numbers for each of the Bins. signal has Len elements and is
// overwritten. work has Room numbers.
func (p *Plan) Spectrum(spectrum, signal, work []float32) {
	z := p.spectrum(signal, work)
	if !p.packed {
		copy(spectrum[:pair*p.Bins()], z)
		return
	}
	half := p.n / 2
	z0, first, last := (*[pair]float32)(z), (*[pair]float32)(spectrum), (*[pair]float32)(spectrum[pair*half:])
	for l := range Lanes {
		re, im := z0[l], z0[Lanes+l]
		first[l], last[l] = re+im, re-im
		first[Lanes+l], last[Lanes+l] = 0, 0
	}
	for k := 1; 2*k <= half; k++ {
		a, b := (*[pair]float32)(z[pair*k:]), (*[pair]float32)(z[pair*(half-k):])
		x, y := (*[pair]float32)(spectrum[pair*k:]), (*[pair]float32)(spectrum[pair*(half-k):])
		for l := range Lanes {
			xr, xi, yr, yi := split(a[l], a[Lanes+l], b[l], b[Lanes+l], p.turn[2*k], p.turn[2*k+1])
			x[l], x[Lanes+l], y[l], y[Lanes+l] = xr, xi, yr, -yi
		}
	}
}

// split returns the elements k and n/2-k of the spectrum of a signal, the second one conjugated. a
// and b are these elements of the packed signal's spectrum, and w is exp(-2πik/n).
func split(ar, ai, br, bi, wr, wi float32) (xr, xi, yr, yi float32) {
	er, ei := 0.5*(ar+br), 0.5*(ai-bi)
	or, oi := 0.5*(ai+bi), 0.5*(br-ar)
	tr, ti := float32(or*wr)-float32(oi*wi), float32(or*wi)+float32(oi*wr)
	return er + tr, ei + ti, er - tr, ei - ti
}

func square(power *[Lanes]float32, z *[pair]float32) {
	for l := range Lanes {
		power[l] = float32(z[l]*z[l]) + float32(z[Lanes+l]*z[Lanes+l])
	}
}

func powerPairsGeneric(power, z, turn []float32, half int) {
	for k := 1; 2*k <= half; k++ {
		a, b := (*[pair]float32)(z[pair*k:]), (*[pair]float32)(z[pair*(half-k):])
		x, y := (*[Lanes]float32)(power[Lanes*k:]), (*[Lanes]float32)(power[Lanes*(half-k):])
		wr, wi := turn[2*k], turn[2*k+1]
		for l := range Lanes {
			xr, xi, yr, yi := split(a[l], a[Lanes+l], b[l], b[Lanes+l], wr, wi)
			x[l] = float32(xr*xr) + float32(xi*xi)
			y[l] = float32(yr*yr) + float32(yi*yi)
		}
	}
}

// Inverse writes the signals whose spectra are given, as Spectrum returns them. The imaginary parts
// of bin 0, and of the last bin if n is even, have no effect. spectrum is only read. work has
// InverseRoom numbers.
func (p *Plan) Inverse(signal, spectrum, work []float32) {
	n := p.n
	z := work[:pair*n]
	for k := range n {
		e := (*[pair]float32)(z[pair*k:])
		if k < p.Bins() {
			s := (*[pair]float32)(spectrum[pair*k:])
			for l := range Lanes {
				e[l], e[Lanes+l] = s[l], -s[Lanes+l]
			}
			if k == 0 || 2*k == n {
				clear(e[Lanes:])
			}
			continue
		}
		copy(e[:], spectrum[pair*(n-k):pair*(n-k)+pair])
	}
	z = whole(n).run(z, work[pair*n:])
	scale := 1 / float32(n)
	for t := range n {
		e, s := (*[pair]float32)(z[pair*t:]), (*[Lanes]float32)(signal[Lanes*t:])
		for l := range Lanes {
			s[l] = e[l] * scale
		}
	}
}

// InverseRoom returns how many numbers of memory to work in Inverse needs.
func (p *Plan) InverseRoom() int { return pair*p.n + whole(p.n).room() }

// whole returns the complex transform of n elements.
func whole(n int) *transform { return wholes.of(n, newTransform) }
