package reduce

import (
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/internal/strided"
	"github.com/bivouac-ml/bivouac/tensor"
)

// statistics holds the means of normalize, and the factors that it uses in place of deviations.
// There is one of each per element that remains when axes are folded.
type statistics struct {
	n              int // number of elements that are folded into each mean
	means, factors []float32
	sums           []float64
	integers       []int64 // shares the memory of sums, while integers are summed
	squares        []int64 // for bytes, if deviations are wanted: sums of squares are exact and faster
	room           [8]int  // for axes
}

// newStatistics returns the statistics of data of the given shape, in scratch memory.
func newStatistics(b *op.Block, shape tensor.Shape, axes []int) *statistics {
	n, places := 1, 1
	for i, d := range shape {
		if slices.Contains(axes, i) {
			n *= d
		} else {
			places *= d
		}
	}
	p := op.PerWorker[statistics](b)
	p.n, p.integers, p.squares = n, nil, nil
	p.means, p.factors = op.Scratch[float32](b, places), op.Scratch[float32](b, places)
	p.sums = op.Scratch[float64](b, places)
	clear(p.sums)
	return p
}

// wantSquares prepares for the deviations of data of type d from computed means.
func (p *statistics) wantSquares(b *op.Block, d tensor.DType) {
	if d.IsInteger() && d.Size() == 1 {
		p.squares = op.Scratch[int64](b, len(p.sums))
		clear(p.squares)
	}
}

func (p *statistics) fill(to []float32, v float32) {
	for i := range to {
		to[i] = v
	}
}

// take writes to `to` the statistic that was given for a sample, if there is one.
func (p *statistics) take(b *op.Block, s int, g given, to []float32, in tensor.Shape, axes []int) error {
	if g.input < 0 {
		p.fill(to, g.value)
		return nil
	}
	t := b.Arg(g.input, s)
	if t.Len() != 1 || len(t.Shape) > 0 && len(t.Shape) != len(in) {
		want := in.Clone()
		for _, i := range axes {
			want[i] = 1
		}
		if !t.Shape.Equal(want) {
			return &errs.Error{Kind: errs.Mismatch, Subject: "mean or stddev", Want: "a number, or the shape " + want.String(), Got: t.String()}
		}
	}
	one := tensor.Tensor{DType: tensor.Float32, Shape: t.Shape, Data: element.Bytes(to[:min(t.Len(), len(to))])}
	if t.Len() == 1 && len(to) > 1 {
		one.Data = one.Data[:4]
	}
	if len(to) == 0 {
		return nil
	}
	if err := element.Convert(one, t); err != nil {
		return err
	}
	if t.Len() == 1 {
		p.fill(to, to[0])
	}
	return nil
}

// add adds the elements of a sample to the sums. Integers are summed as integers, in the same
// memory.
func (p *statistics) add(in tensor.Tensor, axes []int) {
	if in.DType.IsInteger() {
		p.integers = element.View[int64](element.Bytes(p.sums))
		add(p.integers, in, axes, false)
		if p.squares != nil {
			add(p.squares, in, axes, true)
		}
		return
	}
	add(p.sums, in, axes, false)
}

// finishMean makes the means from the sums and resets the sums. If the sums of squared distances
// follow from sums of squares, they become the new sums.
func (p *statistics) finishMean() {
	n := float64(p.n)
	for i, sum := range p.sums {
		if p.integers != nil {
			sum = float64(p.integers[i])
		}
		p.means[i] = float32(sum / n)
		p.sums[i] = 0
		if p.squares != nil {
			mean := float64(p.means[i])
			p.sums[i] = max(float64(p.squares[i])-float64(2*mean*sum)+float64(n*mean*mean), 0)
		}
	}
}

// addDeviations adds the squares of the distances from the means to the sums.
func (p *statistics) addDeviations(in tensor.Tensor, axes []int) {
	if p.squares == nil {
		addDeviations(p.sums, in, axes, p.means)
	}
}

// finishFactors makes the factors from the given deviations, or from the sums.
func (p *statistics) finishFactors(k *normalize) {
	if k.stddev.set {
		for i, d := range p.factors {
			if k.epsilon != 0 {
				d = float32(math.Sqrt(float64(float32(d*d) + k.epsilon)))
			}
			switch {
			case d == 0 && k.stddev.input >= 0:
				p.factors[i] = 0 // DALI gives 0 for a per-sample deviation, infinity for a number
			default:
				p.factors[i] = k.scale / d
			}
		}
		return
	}
	n := p.n - k.ddof
	for i, sum := range p.sums {
		variance := 0.0
		if n > 0 {
			variance = sum / float64(n)
		}
		p.factors[i] = 0
		if v := variance + float64(k.epsilon); v != 0 {
			p.factors[i] = float32(float64(k.scale) / math.Sqrt(v))
		}
	}
}

// apply writes (in - mean) * factor + shift, element by element.
func (p *statistics) apply(out []float32, in tensor.Tensor, axes []int, shift float32) {
	apply := element.Pick(in.DType, apply[uint8], apply[int8], apply[uint16], apply[int16],
		apply[uint32], apply[int32], nil, nil, apply[float32], nil)
	apply(p, out, in, axes, shift)
}

func apply[T number](p *statistics, out []float32, in tensor.Tensor, axes []int, shift float32) {
	elements := element.View[T](in.Data)
	strided.Fold(in.Shape, axes, func(r strided.Run) {
		from, to := elements[r.In:r.In+r.Rows*r.N], out[r.In:r.In+r.Rows*r.N]
		if r.Along {
			for i := range r.Rows {
				applyOne(to[i*r.N:(i+1)*r.N], from[i*r.N:(i+1)*r.N], p.means[r.Out+i], p.factors[r.Out+i], shift)
			}
			return
		}
		means, factors := p.means[r.Out:r.Out+r.N], p.factors[r.Out:r.Out+r.N]
		if r.N > lanes/2 || len(from) < 2*lanes {
			applyRows(to, from, means, factors, shift)
			return
		}
		var tiledMeans, tiledFactors [lanes]float32
		width := tile(tiledMeans[:], means)
		tile(tiledFactors[:], factors)
		whole := len(from) / width * width
		applyRows(to[:whole], from[:whole], tiledMeans[:width], tiledFactors[:width], shift)
		applyRows(to[whole:], from[whole:], means, factors, shift)
	})
}

// applyOne applies one mean and factor to a run of elements.
func applyOne[T number](to []float32, from []T, mean, factor, shift float32) {
	to = to[:len(from)]
	for i, x := range from {
		to[i] = float32((float32(x)-mean)*factor) + shift
	}
}

// applyRows applies a mean and a factor for each element of a row.
func applyRows[T number](to []float32, from []T, means, factors []float32, shift float32) {
	n := len(means)
	factors = factors[:n]
	for ; len(from) >= n && n > 0; from, to = from[n:], to[n:] {
		row, out := from[:n], to[:n]
		for j, x := range row {
			out[j] = float32((float32(x)-means[j])*factors[j]) + shift
		}
	}
}
