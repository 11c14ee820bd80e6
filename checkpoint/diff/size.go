package diff

import (
	"math"
	"slices"
	"strconv"
)

// Size says how large the change of an array is as a whole. A value is NaN or infinite if the array
// holds such values, or if its type has no order.
type Size struct {
	Elements int     // of the array
	RMS      float64 // root of the mean square of the differences
	Was, Is  float64 // root of the mean square of the elements, before and after
	Relative float64 // RMS in relation to Was; +Inf if all elements were 0
}

// Histogram counts the elements of a changed array by the size of their differences.
type Histogram struct {
	Same      int64 // elements with the same bits
	NotFinite int64 // differences that are NaN or infinite
	// Decades are the other elements, ascending. Elements with other bits and the same value, such as
	// 0 and -0, are in a decade whose From and To are 0.
	Decades []Decade
}

// Decade counts differences of at least From and below To, which are powers of ten.
type Decade struct {
	From, To float64
	Count    int64

	exponent int
}

// Extremes of exponents: differences below 1e-30 are in the first decade, and differences of at
// least 1e30 in the last.
const lowest, highest = -30, 30

// add counts a difference.
func (h *Histogram) add(diff float64) {
	if math.IsNaN(diff) || math.IsInf(diff, 0) {
		h.NotFinite++
		return
	}
	e := lowest - 1
	if diff > 0 {
		e = decadeOf(diff)
	}
	i, ok := slices.BinarySearchFunc(h.Decades, e, func(d Decade, e int) int { return d.exponent - e })
	if !ok {
		d := Decade{exponent: e}
		if diff > 0 {
			d.From, d.To = power(e), power(e+1)
		}
		switch {
		case e == lowest && diff > 0:
			d.From = 0
		case e == highest:
			d.To = math.Inf(1)
		}
		h.Decades = slices.Insert(h.Decades, i, d)
	}
	h.Decades[i].Count++
}

// decadeOf returns the exponent of the power of ten at or below a difference.
func decadeOf(diff float64) int {
	e := min(max(int(math.Floor(math.Log10(diff))), lowest), highest)
	// The logarithm is rounded.
	if e < highest && diff >= power(e+1) {
		e++
	}
	if e > lowest && diff < power(e) {
		e--
	}
	return e
}

// power returns the power of ten that is written 1eN. math.Pow10 may return a neighbour.
func power(e int) float64 {
	v, _ := strconv.ParseFloat("1e"+strconv.Itoa(e), 64)
	return v
}
