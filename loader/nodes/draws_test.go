package nodes

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/rng"
)

// The weight that a number falls on is the one that subtraction finds, for numbers as close
// to the sums of weights as there are, and for weights of any size.
func TestWheelIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weight := rapid.OneOf(rapid.SampledFrom([]float64{.1, .3, 1, 2, 1.0 / 3, 1e-300, 5e-324, 1e300, math.MaxFloat64}),
			rapid.Float64Range(1e-12, 1e12))
		w := newWheel(rapid.SliceOfN(weight, 1, 60).Draw(t, "weights"))
		check := func(u float64) {
			if got, want := w.at(u), w.subtract(u); got != want {
				t.Fatalf("%v of %v falls on %d, want %d", u, w.weights, got, want)
			}
		}
		g := rng.NewPhilox(rapid.Uint64().Draw(t, "key"), 0, 0)
		for range 100 {
			check(g.Float64() * w.sum)
		}
		for _, sum := range w.sums {
			for _, towards := range []float64{math.Inf(1), 0} {
				u := sum
				for range 40 {
					check(u)
					u = math.Nextafter(u, towards)
				}
				check(sum + w.near*1.01)
				check(sum - w.near*1.01)
			}
		}
	})
}

// A draw takes a few comparisons, and not one for each weight: of a million numbers hardly
// any is so close to a sum that weights are subtracted from it.
func TestWheelSubtractsRarely(t *testing.T) {
	for _, n := range []int{10, 1000, 10000} {
		weights := make([]float64, n)
		for i := range weights {
			weights[i] = .1 * float64(1+i%7)
		}
		w, close := newWheel(weights), 0
		g := rng.NewPhilox(1, 2, 3)
		for range 1 << 20 {
			u := g.Float64() * w.sum
			if got := w.at(u); got > 0 && u < w.sums[got-1]+w.near || u >= w.sums[got]-w.near {
				close++
			}
		}
		if close > 10 {
			t.Errorf("%d weights: %d numbers were close to a sum", n, close)
		}
	}
}

// The draws are those that there were when each was found by subtraction.
func TestDrawsAreAsBefore(t *testing.T) {
	weights := make([]float64, 700)
	for i := range weights {
		weights[i] = math.Sqrt(float64(i + 1))
	}
	d, before := NewDraws(7, 3), NewDraws(7, 3).(*keyedDraws)
	d.Begin(2)
	before.Begin(2)
	for block := range 5 {
		got, want := make([]int64, 1000), make([]int64, 1000)
		if err := d.Draw(weights, got); err != nil {
			t.Fatal(err)
		}
		before.subtractAll(weights, want)
		if a, b := fmt.Sprint(got), fmt.Sprint(want); a != b {
			t.Fatalf("block %d: %s, want %s", block, a, b)
		}
	}
}

// subtractAll is Draw as it was.
func (k *keyedDraws) subtractAll(weights []float64, dst []int64) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	generator := rng.NewPhilox(rng.Mix(k.seed)^rng.Mix(uint64(k.rank)+1), uint64(k.epoch), 2*uint64(k.drawn))
	for i := range dst {
		u := generator.Float64() * sum
		last := len(weights) - 1
		for j, w := range weights {
			if u -= w; u < 0 || j == last {
				dst[i] = int64(j)
				break
			}
		}
		k.drawn++
	}
}
