package chart

import "math"

// buckets is how many pieces a Series has at most: about one a pixel.
const buckets = 1024

// Series collects a line of any length in little memory. Neighbouring values share a piece, of
// which the lowest and the highest value stay. So no peak is lost.
type Series struct {
	Smooth float64 // weight of the past in the moving average, from 0 to below 1; 0 makes none
	Gaps   int64   // values that are not finite

	pieces []piece
	each   int // values of a piece
	mean   float64
	weight float64
}

// piece holds neighbouring values.
type piece struct {
	first, low, high, last Point
	mean                   Point // the moving average at the end
	n                      int
	gap                    bool // a value that is not finite lies in it
	some                   bool // a finite value lies in it
}

// Add appends a value.
func (s *Series) Add(x, y float64) {
	s.each = max(s.each, 1)
	if len(s.pieces) == 0 || s.pieces[len(s.pieces)-1].n >= s.each {
		if len(s.pieces) == buckets {
			s.halve()
		}
		s.pieces = append(s.pieces, piece{})
	}
	p := &s.pieces[len(s.pieces)-1]
	p.n++
	if math.IsNaN(y) || math.IsInf(y, 0) {
		s.Gaps++
		p.gap = true
		return
	}
	// The average of the first values has no weight of an invented past.
	s.mean = s.Smooth*s.mean + (1-s.Smooth)*y
	s.weight = s.Smooth*s.weight + (1 - s.Smooth)
	at := Point{x, y}
	q := piece{first: at, low: at, high: at, last: at, mean: Point{x, s.mean / s.weight}, some: true}
	*p = joined(*p, q, p.n)
}

// joined returns a piece with the values of two.
func joined(a, b piece, n int) piece {
	if !a.some {
		b.n, b.gap = n, a.gap || b.gap
		return b
	}
	if b.some {
		if b.low.Y < a.low.Y {
			a.low = b.low
		}
		if b.high.Y > a.high.Y {
			a.high = b.high
		}
		a.last, a.mean = b.last, b.mean
	}
	a.n, a.gap = n, a.gap || b.gap
	return a
}

// halve joins each two pieces.
func (s *Series) halve() {
	for i := range len(s.pieces) / 2 {
		a, b := s.pieces[2*i], s.pieces[2*i+1]
		s.pieces[i] = joined(a, b, a.n+b.n)
	}
	s.pieces = s.pieces[:len(s.pieces)/2]
	s.each *= 2
}

// Points returns the line: of each piece its first, lowest, highest and last value in their order.
// Pieces without a finite value are gaps.
func (s *Series) Points() (out []Point) {
	for i := range s.pieces {
		p := &s.pieces[i]
		if p.gap {
			out = append(out, Point{Y: math.NaN()})
		}
		if !p.some {
			continue
		}
		low, high := p.low, p.high
		if high.X < low.X {
			low, high = high, low
		}
		for _, q := range []Point{p.first, low, high, p.last} {
			if n := len(out); n == 0 || out[n-1] != q {
				out = append(out, q)
			}
		}
	}
	return out
}

// Means returns the moving average.
func (s *Series) Means() (out []Point) {
	for i := range s.pieces {
		if s.pieces[i].some {
			out = append(out, s.pieces[i].mean)
		}
	}
	return out
}
