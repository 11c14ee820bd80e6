// Package shuffletest measures shuffles: how far statistics of many of their permutations are from
// the statistics of all permutations.
package shuffletest

import (
	"math"
	"math/bits"

	"github.com/bivouac-ml/bivouac/rng"
)

// Draw fills p with permutation number k of a shuffle.
type Draw func(k int, p []int64)

// statistic is a number of a permutation whose mean and variance over all permutations of n are
// known; excess is the kurtosis above the kurtosis of a normal distribution.
type statistic struct {
	name   string
	value  func(p []int64) float64
	mean   func(n float64) float64
	vari   func(n float64) float64
	excess float64
}

// statistics are the five of the comparison with Fisher-Yates.
func statistics() []statistic {
	return []statistic{
		{"ascents", func(p []int64) float64 {
			c := 0
			for i := 1; i < len(p); i++ {
				if p[i] > p[i-1] {
					c++
				}
			}
			return float64(c)
		}, func(n float64) float64 { return (n - 1) / 2 }, func(n float64) float64 { return (n + 1) / 12 }, 0},
		{"fixed points", func(p []int64) float64 {
			c := 0
			for i, v := range p {
				if v == int64(i) {
					c++
				}
			}
			return float64(c)
		}, func(float64) float64 { return 1 }, func(float64) float64 { return 1 }, 1},
		{"successor pairs", func(p []int64) float64 {
			c := 0
			for i := 1; i < len(p); i++ {
				if p[i] == p[i-1]+1 {
					c++
				}
			}
			return float64(c)
		}, func(n float64) float64 { return (n - 1) / n }, func(float64) float64 { return 1 }, 1},
		{"rank correlation", func(p []int64) float64 {
			return Correlation(Identity(len(p)), p)
		}, func(float64) float64 { return 0 }, func(n float64) float64 { return 1 / (n - 1) }, 0},
		{"cycles", func(p []int64) float64 {
			seen, c := make([]bool, len(p)), 0
			for i := range p {
				if seen[i] {
					continue
				}
				c++
				for j := int64(i); !seen[j]; j = p[j] {
					seen[j] = true
				}
			}
			return float64(c)
		}, func(n float64) float64 { return harmonic(n, 1) }, func(n float64) float64 { return harmonic(n, 1) - harmonic(n, 2) }, 0},
	}
}

func harmonic(n, power float64) float64 {
	h := 0.0
	for i := 1.0; i <= n; i++ {
		h += math.Pow(i, -power)
	}
	return h
}

// Identity is 0, 1, …, n-1.
func Identity(n int) []int64 {
	p := make([]int64, n)
	for i := range p {
		p[i] = int64(i)
	}
	return p
}

// Correlation is Spearman's: 1 for equal orders, 0 for unrelated ones.
func Correlation(a, b []int64) float64 {
	n := float64(len(a))
	mid := (n - 1) / 2
	var s float64
	for i := range a {
		s += (float64(a[i]) - mid) * (float64(b[i]) - mid)
	}
	return s / (n * (n*n - 1) / 12)
}

// Worst returns the statistic whose mean or variance over many permutations is
// the most standard deviations off, and how many. draw fills p with permutation
// number k.
func Worst(n, keys int, draw Draw) (z float64, what string) {
	p, statistics := make([]int64, n), statistics()
	sum, sq, means := make([]float64, len(statistics)), make([]float64, len(statistics)), make([]float64, len(statistics))
	for i, s := range statistics {
		means[i] = s.mean(float64(n))
	}
	for k := range keys {
		draw(k, p)
		for i, s := range statistics {
			x := s.value(p) - means[i]
			sum[i] += x
			sq[i] += x * x
		}
	}
	count := float64(keys)
	for i, s := range statistics {
		v := s.vari(float64(n))
		mean := sum[i] / math.Sqrt(v*count)
		variance := (sq[i]/(v*count) - 1) / math.Sqrt((2+s.excess)/count)
		for _, c := range []struct {
			z    float64
			what string
		}{{mean, "mean of "}, {variance, "variance of "}} {
			if math.Abs(c.z) > math.Abs(z) {
				z, what = c.z, c.what+s.name
			}
		}
	}
	return z, what
}

// FisherYates is permutation number k of the shuffle that all others are measured by.
func FisherYates(k int, p []int64) {
	g := rng.NewPhilox(uint64(k), 0, 0)
	copy(p, Identity(len(p)))
	for i := len(p) - 1; i > 0; i-- {
		j := g.Intn(i + 1)
		p[i], p[j] = p[j], p[i]
	}
}

// Differences counts, over the pairs of positions at that distance in their bits,
// how often two pairs have the same difference in the bits of their ids. Weak
// round functions show here long before they do in the five statistics.
func Differences(p []int64, distance int, seen []int) float64 {
	clear(seen)
	c := 0
	for i := range p {
		if j := i ^ distance; j > i && j < len(p) {
			d := p[i] ^ p[j]
			c += seen[d]
			seen[d]++
		}
	}
	return float64(c)
}

// DifferencesOff returns how many standard deviations the mean of Differences is from the mean of
// FisherYates, at the worst of some distances.
func DifferencesOff(n, keys int, draw Draw) float64 {
	worst, b := 0.0, bits.Len(uint(n-1))
	seen, p := make([]int, 1<<b), make([]int64, n)
	for _, distance := range []int{1, 3, 1 << (b / 2), 1<<(b-1) | 1} {
		moments := func(draw Draw) (mean, variance float64) {
			var sum, sq float64
			for k := range keys {
				draw(k, p)
				x := Differences(p, distance, seen)
				sum, sq = sum+x, sq+x*x
			}
			mean = sum / float64(keys)
			return mean, sq/float64(keys) - mean*mean
		}
		want, variance := moments(FisherYates)
		got, _ := moments(draw)
		if z := (got - want) / math.Sqrt(2*variance/float64(keys)); math.Abs(z) > math.Abs(worst) {
			worst = z
		}
	}
	return worst
}

// Uniform returns how many standard deviations chi² of the permutations of n <= 8
// samples is above what it has if all are alike, with each draw times expected.
func Uniform(n, draws int, draw Draw) float64 {
	factorial := 1
	for i := 2; i <= n; i++ {
		factorial *= i
	}
	counts, p := map[[8]int8]int{}, make([]int64, n)
	for k := range draws * factorial {
		draw(k, p)
		var key [8]int8
		for i, id := range p {
			key[i] = int8(id)
		}
		counts[key]++
	}
	want := float64(draws)
	chi := want * float64(factorial-len(counts)) // those that never came
	for _, c := range counts {
		d := float64(c) - want
		chi += d * d / want
	}
	df := float64(factorial - 1)
	return (chi - df) / math.Sqrt(2*df)
}

// Missing returns how many ids below len(p) are not in p.
func Missing(p []int64) int {
	seen, missing := make([]bool, len(p)), len(p)
	for _, id := range p {
		if id >= 0 && id < int64(len(p)) && !seen[id] {
			seen[id], missing = true, missing-1
		}
	}
	return missing
}
