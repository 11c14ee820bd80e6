package grain

import (
	"math"
	"math/bits"
)

// wide is an index of up to 128 bits. Grain counts with Python's integers. An index below 2^63 of a
// map after an endless repeat is a larger index of the repeated map.
type wide struct{ hi, lo uint64 }

// everywhere is the end of a map that knows all its elements.
var everywhere = wide{hi: 1 << 62}

func narrow(index int64) wide { return wide{lo: uint64(index)} }

// divide returns w / n and w % n for n > 0.
func (w wide) divide(n int64) (quotient wide, rest int64) {
	if w.hi == 0 {
		return wide{lo: w.lo / uint64(n)}, int64(w.lo % uint64(n))
	}
	high, rem := w.hi/uint64(n), w.hi%uint64(n)
	low, rem := bits.Div64(rem, w.lo, uint64(n))
	return wide{high, low}, int64(rem)
}

// at returns w*n + add. The caller must know that it is below 2^128.
func (w wide) at(n, add int64) wide {
	high, low := bits.Mul64(w.lo, uint64(n))
	low, carry := bits.Add64(low, uint64(add), 0)
	return wide{high + w.hi*uint64(n) + carry, low}
}

func (w wide) below(v wide) bool { return w.hi < v.hi || w.hi == v.hi && w.lo < v.lo }

func least(a, b wide) wide {
	if b.below(a) {
		return b
	}
	return a
}

// short returns w, or the largest int64 if w is larger.
func (w wide) short() int64 {
	if w.hi > 0 || w.lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(w.lo)
}

// reaching is a map that knows elements by wide indices.
type reaching[T any] interface {
	// reach returns an element below end.
	reach(index wide) (element T, ok bool)
	// end returns the first index whose element is not known.
	end() wide
}

// reached returns a function for the elements of a map, and the index up to which it works.
func reached[T any](m Map[T]) (at func(wide) (T, bool), end wide) {
	if r, ok := m.(reaching[T]); ok {
		return r.reach, r.end()
	}
	return func(i wide) (T, bool) { return m.At(int64(i.lo)) }, wide{lo: math.MaxInt64}
}

// epochs returns the end of a map with epochs of n elements, each made from one of parent elements.
func epochs(end wide, parent, n int64) wide {
	if parent == 0 || n == 0 {
		return everywhere
	}
	whole, _ := end.divide(parent)
	if whole.hi >= 1<<62/uint64(n)+1 {
		return everywhere
	}
	return least(whole.at(n, 0), everywhere)
}

// known returns how many elements of an epoch are known, at most Len.
func known[T any](m Map[T]) int64 {
	_, end := reached(m)
	return min(m.Len(), end.short())
}
