// Package sound has the arithmetic of audio that operators, decoders and readers share: resampling,
// and the conversion between numbers from -1 to 1 and integers.
package sound

import (
	"fmt"
	"math"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/libm"
)

// Filter is a windowed sinc, as a table between whose entries values are interpolated. It is
// immutable.
type Filter struct {
	lobes         int
	scale, center float32
	table         [][2]float32 // the value, and the difference to the next
}

var filters sync.Map // int -> *Filter

// NewFilter returns the filter of a quality: 0 has 3 lobes, 50 has 16 and 100 has 64.
func NewFilter(quality float64) (*Filter, error) {
	if !(quality >= 0 && quality <= 100) {
		return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument quality", Want: "a number from 0 to 100",
			Got: fmt.Sprint(quality)}
	}
	lobes := int(math.Round(0.007*quality*quality - 0.09*quality + 3))
	if f, ok := filters.Load(lobes); ok {
		return f.(*Filter), nil
	}
	f, _ := filters.LoadOrStore(lobes, newFilter(lobes))
	return f.(*Filter), nil
}

// steps is how many entries of the table a lobe has on either side.
const steps = 64

func newFilter(lobes int) *Filter {
	n := lobes*steps + 1
	scale, envelope := 2*float32(lobes)/float32(n-1), 2/float32(n)
	center := (n - 1) / 2
	values := make([]float32, n+5)
	for i := range n {
		x, y := float32(i-center)*scale, float32(i-center)*envelope
		values[i+1] = float32(float64(sinc(x)) * hann(float64(y)))
	}
	f := &Filter{lobes: lobes, scale: 1 / scale, center: float32(center + 1)}
	for i, v := range values[1:] {
		f.table = append(f.table, [2]float32{values[i], v - values[i]})
	}
	return f
}

func sinc(x float32) float32 {
	x = float32(float64(x) * math.Pi)
	if math.Abs(float64(x)) < 1e-5 {
		return 1 - float32(float32(x*x)*(1.0/6))
	}
	return libm.Sin(x) / x
}

func hann(x float64) float64 { return 0.5 * (1 + math.Cos(x*math.Pi)) }

// at returns the filter at x.
func (f *Filter) at(x float32) float32 {
	fi := float32(x*f.scale) + f.center
	i := int32(fi)
	di := fi - float32(i)
	entry := &f.table[i]
	return entry[0] + float32(di*entry[1])
}

// Length returns the number of frames that n frames become: n times the scale, rounded up.
func Length(n int, scale float64) int { return int(math.Ceil(float64(n) * scale)) }

// block is how many frames have positions relative to the same whole number. So positions keep
// their precision in long signals.
const block = 256

// Resample computes all frames of to from the frames of from, with channels interleaved. rate is
// the number of input frames per output frame. Frames outside the input count as 0. The order of
// all sums is fixed: with one channel, four sums run side by side.
func (f *Filter) Resample(to, from []float32, channels int, rate float64) {
	n, frames := len(to)/channels, len(from)/channels
	step := float32(rate)
	size := block
	if rate > 1<<14 { // positions in a block would exceed the whole numbers of float32
		size = 1
	}
	for first := 0; first < n; first += size {
		whole := float64(first) * rate
		base := int(math.Floor(whole))
		at := float32(whole - float64(base))
		for o := first; o < min(first+size, n); o++ {
			middle := int(math.Ceil(float64(at)))
			lo, hi := max(middle-f.lobes, -base), min(middle+f.lobes, frames-base)
			if channels == 1 {
				to[o] = f.mono(from, base, lo, hi, at)
			} else {
				f.frame(to[o*channels:(o+1)*channels], from, base, lo, hi, at)
			}
			at += step
		}
	}
}

func (f *Filter) mono(from []float32, base, lo, hi int, at float32) float32 {
	if lo >= hi {
		return 0
	}
	in := from[base+lo : base+hi]
	x := float32(lo) - at
	groups := len(in) / 4
	sum := weigh(in[:4*groups], f, x)
	x = float32(lo+4*groups) - at
	for _, v := range in[4*groups:] {
		sum += float32(v * f.at(x))
		x++
	}
	return sum
}

// weighGeneric returns the sum of the weighted elements of in, the first of which is at x. There
// are four sums side by side, which are added at the end.
func weighGeneric(in []float32, f *Filter, x float32) float32 {
	at, sums := [4]float32{x, x + 1, x + 2, x + 3}, [4]float32{}
	for ; len(in) >= 4; in = in[4:] {
		v := (*[4]float32)(in)
		for l := range at {
			sums[l] += float32(v[l] * f.at(at[l]))
			at[l] += 4
		}
	}
	return (sums[0] + sums[2]) + (sums[1] + sums[3])
}

func (f *Filter) frame(to, from []float32, base, lo, hi int, at float32) {
	clear(to)
	x := float32(lo) - at
	for i := lo; i < hi; i++ {
		w := f.at(x)
		for c, v := range from[(base+i)*len(to) : (base+i+1)*len(to)] {
			to[c] += float32(v * w)
		}
		x++
	}
}
