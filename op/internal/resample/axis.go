package resample

import (
	"math"

	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
)

// Axis says how one axis is resampled: Out elements are made from the part Lo to Hi of In elements.
// Integers are the edges of pixels; Lo and Hi may also lie between edges or outside the axis. If Hi
// < Lo, the result is reversed.
type Axis struct {
	In, Out  int
	Lo, Hi   float32
	Min, Mag Filter // Min is used if the axis shrinks, otherwise Mag
}

// Filter is a kind of filter. Antialias widens it by the factor by which the axis shrinks.
type Filter struct {
	Kind      op.InterpType
	Antialias bool
}

// extent returns the length of the part of the input.
func (a *Axis) extent() float32 { return float32(math.Abs(float64(a.Hi - a.Lo))) }

func (a *Axis) shrinks() bool { return a.extent() > float32(a.Out) }

func (a *Axis) kind() op.InterpType {
	if a.shrinks() {
		return a.Min.Kind
	}
	return a.Mag.Kind
}

// filter returns the filter of the axis. The filter must not be nearest neighbour.
func (a *Axis) filter() filter {
	f, from, to := a.Mag, float32(1), float32(1)
	if a.shrinks() {
		if f = a.Min; f.Antialias {
			from, to = a.extent(), float32(a.Out)
		}
	}
	g := newFilter(f.Kind, from, to)
	if g.support() > maxSupport {
		g = g.widened(maxSupport)
	}
	return g
}

// reach returns the number of inputs that take part in an output, and the range of inputs that take
// part in any output.
func (a *Axis) reach() (support, from, to int) {
	var f filter
	support = 1
	if a.kind() != op.InterpNN {
		f = a.filter()
		support = f.support()
	}
	lo, hi := min(a.Lo, a.Hi)-f.anchor, max(a.Lo, a.Hi)-f.anchor+float32(support)
	last := float64(max(a.In-1, 0)) // an input takes part even if the part lies outside
	from = int(min(max(math.Floor(float64(lo)), 0), last))
	return support, from, int(min(max(math.Ceil(float64(hi)), float64(from)+1), last+1))
}

// Reach returns the range of inputs that take part in any output.
func (a *Axis) Reach() (from, to int) {
	_, from, to = a.reach()
	return from, to
}

// taps are the coefficients of an axis. Output i is the sum over k of weights[i*n+k] times input
// first[i]+k. Inputs outside the axis equal the input at its edge.
type taps struct {
	n        int
	first    []int32
	weights  []float32
	from, to int // the outputs whose inputs all lie inside the axis
	inside   kernel.Columns
	is       described
}

// described holds the parameters of taps. Positions are computed relative to the input from, which
// changes their rounding. columns says that the axis runs along the elements of rows.
type described struct {
	axis    Axis
	from    int
	columns bool
}

// plan computes t, unless t already has these parameters.
func (t *taps) plan(d described) {
	if t.is == d && d.axis.Out > 0 {
		return
	}
	t.is = d
	a := d.axis
	t.first = grow(t.first, a.Out)
	origin, scale := a.Lo-float32(d.from), (a.Hi-a.Lo)/float32(a.Out)
	if a.kind() == op.InterpNN {
		t.nearest(origin, scale, d)
	} else {
		t.sum(origin, scale, d)
	}
	t.from, t.to = 0, a.Out
	inside := func(i int) bool { return t.first[i] >= 0 && int(t.first[i])+t.n <= a.In }
	for t.from < t.to && !inside(t.from) {
		t.from++
	}
	for t.to > t.from && !inside(t.to-1) {
		t.to--
	}
	t.inside = kernel.NewColumns(t.first[t.from:t.to], t.weights[t.from*t.n:t.to*t.n], t.n)
}

func (t *taps) sum(origin, scale float32, d described) {
	f := d.axis.filter()
	t.n = f.support()
	t.weights = grow(t.weights, d.axis.Out*t.n)
	origin += float32(0.5*scale) - 0.5 - f.anchor
	for i := range t.first {
		at := float32(float32(i)*scale) + origin
		first := math.Ceil(float64(at))
		t.first[i] = int32(first) + int32(d.from)
		w := t.weights[i*t.n : (i+1)*t.n]
		var sum float32
		for k := range w {
			w[k] = f.at((float32(first) - at + float32(k)) * f.scale)
			sum += w[k]
		}
		for k := range w {
			w[k] /= sum
		}
	}
}

// nearest takes one input with weight 1. DALI computes each position of columns directly, and adds
// up steps for the positions of rows and planes.
func (t *taps) nearest(origin, scale float32, d described) {
	t.n = 1
	t.weights = grow(t.weights, d.axis.Out)
	at := origin + float32(0.5*scale)
	for i := range t.first {
		if d.columns {
			at = float32((float32(i)+0.5)*scale) + origin
		}
		t.first[i] = int32(min(max(math.Floor(float64(at))+float64(d.from), 0), float64(d.axis.In-1)))
		t.weights[i] = 1
		at += scale
	}
}

// grow returns s with length n and undefined contents, reallocated when its capacity is less.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
