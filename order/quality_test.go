package order

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/bivouac-ml/bivouac/rng"
)

// statistic is a number of a permutation whose mean and variance over all
// permutations of n are known; excess is the kurtosis above that of a normal.
type statistic struct {
	name   string
	value  func(p []int64) float64
	mean   func(n float64) float64
	vari   func(n float64) float64
	excess float64
}

// statistics are the five of the comparison with Fisher-Yates.
var statistics = []statistic{
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
		return correlation(identity(len(p)), p)
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

func harmonic(n, power float64) float64 {
	h := 0.0
	for i := 1.0; i <= n; i++ {
		h += math.Pow(i, -power)
	}
	return h
}

func identity(n int) []int64 {
	p := make([]int64, n)
	for i := range p {
		p[i] = int64(i)
	}
	return p
}

// correlation is Spearman's: 1 for equal orders, 0 for unrelated ones.
func correlation(a, b []int64) float64 {
	n := float64(len(a))
	mid := (n - 1) / 2
	var s float64
	for i := range a {
		s += (float64(a[i]) - mid) * (float64(b[i]) - mid)
	}
	return s / (n * (n*n - 1) / 12)
}

// worst returns the statistic whose mean or variance over many permutations is
// the most standard deviations off, and how many. draw fills p with permutation
// number k.
func worst(n, keys int, draw func(k int, p []int64)) (z float64, what string) {
	p := make([]int64, n)
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

func fisherYates(k int, p []int64) {
	g := rng.NewPhilox(uint64(k), 0, 0)
	copy(p, identity(len(p)))
	for i := len(p) - 1; i > 0; i-- {
		j := g.Intn(i + 1)
		p[i], p[j] = p[j], p[i]
	}
}

func shuffled(k int, p []int64) {
	NewPermutation(int64(len(p)), Key(1, int64(k), "quality")).Fill(0, p)
}

func twoRounds(k int, p []int64) {
	f := makePermutation(int64(len(p)), Key(1, int64(k), "quality"))
	f.rounds = 2
	f.Fill(0, p)
}

// The shuffle must be as good as Fisher-Yates in the five statistics: no mean or
// variance further than 5 standard deviations off, of ten looked at per size. The
// same test must see that two rounds are not enough.
func TestShuffleQuality(t *testing.T) {
	const limit = 5
	for _, c := range []struct{ n, keys int }{{10, 2000}, {100, 2000}, {256, 2000}, {257, 2000}, {1000, 1000}, {1797, 1000}, {65536, 40}, {65537, 40}} {
		control, what := worst(c.n, c.keys, fisherYates)
		if math.Abs(control) > limit {
			t.Errorf("n = %d: the control fails: %s is off by %.1f", c.n, what, control)
		}
		z, what := worst(c.n, c.keys, shuffled)
		if math.Abs(z) > limit {
			t.Errorf("n = %d: %s is off by %.1f standard deviations (control %.1f)", c.n, what, z, control)
		}
		t.Logf("n = %6d: worst %5.2f (%s), control %5.2f", c.n, z, what, control)
		if z, what := worst(c.n, c.keys, twoRounds); math.Abs(z) <= limit {
			t.Errorf("n = %d: the test does not see that two rounds are too few (%s: %.1f)", c.n, what, z)
		}
	}
}

// differences counts, over the pairs of positions at that distance in their bits,
// how often two pairs have the same difference in the bits of their ids. Weak
// round functions show here long before they do in the five statistics.
func differences(p []int64, distance int, seen []int) float64 {
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

// The differences of neighbours must be distributed as those of Fisher-Yates.
func TestShuffleDifferences(t *testing.T) {
	for _, c := range []struct{ n, keys int }{{16, 4000}, {33, 4000}, {65, 4000}, {100, 4000}, {257, 1000}, {1000, 1000}, {1797, 500}, {4096, 200}} {
		b := bits.Len(uint(c.n - 1))
		seen, p := make([]int, 1<<b), make([]int64, c.n)
		for _, distance := range []int{1, 3, 1 << (b / 2), 1<<(b-1) | 1} {
			moments := func(keys int, draw func(int, []int64)) (mean, variance float64) {
				var sum, sq float64
				for k := range keys {
					draw(k, p)
					x := differences(p, distance, seen)
					sum, sq = sum+x, sq+x*x
				}
				mean = sum / float64(keys)
				return mean, sq/float64(keys) - mean*mean
			}
			want, variance := moments(c.keys, fisherYates)
			z := func(draw func(int, []int64)) float64 {
				got, _ := moments(c.keys, draw)
				return (got - want) / math.Sqrt(2*variance/float64(c.keys))
			}
			if z := z(shuffled); math.Abs(z) > 5 {
				t.Errorf("n = %d, distance %d: off by %.1f standard deviations", c.n, distance, z)
			}
			if z := z(twoRounds); math.Abs(z) <= 5 {
				t.Errorf("n = %d, distance %d: the test does not see that two rounds are too few (%.1f)", c.n, distance, z)
			}
		}
	}
}

// For tiny n every permutation must be as likely as any other.
func TestShuffleUniform(t *testing.T) {
	for n, factorial := 2, 2; n <= 7; n, factorial = n+1, factorial*(n+1) {
		counts := map[string]int{}
		p := make([]int64, n)
		draws := 100 * factorial
		for k := range draws {
			shuffled(k, p)
			counts[fmt.Sprint(p)]++
		}
		chi := 100.0 * float64(factorial-len(counts)) // those that never came
		for _, c := range counts {
			d := float64(c) - 100
			chi += d * d / 100
		}
		df := float64(factorial - 1)
		if z := (chi - df) / math.Sqrt(2*df); z > 5 {
			t.Errorf("n = %d: chi² = %.0f with %.0f degrees of freedom (%.1f standard deviations)", n, chi, df, z)
		}
	}
}

// Orders of neighbouring seeds and epochs, other domains and keys that differ in
// one bit are unrelated.
func TestKeysAreIndependent(t *testing.T) {
	const n, keys = 1000, 400
	a, b := make([]int64, n), make([]int64, n)
	for name, other := range map[string]func(k int64) uint64{
		"epoch":  func(k int64) uint64 { return Key(7, k+1, "d") },
		"seed":   func(k int64) uint64 { return Key(8, k, "d") },
		"domain": func(k int64) uint64 { return Key(7, k, "e") },
		"bit":    func(k int64) uint64 { return Key(7, k, "d") ^ 1<<(k%64) },
	} {
		var sum, sq float64
		equal := 0
		for k := range int64(keys) {
			NewPermutation(n, Key(7, k, "d")).Fill(0, a)
			NewPermutation(n, other(k)).Fill(0, b)
			r := correlation(a, b) * math.Sqrt(n-1)
			sum += r
			sq += r * r
			for i := range a {
				if a[i] == b[i] {
					equal++
				}
			}
		}
		mean, variance := sum/math.Sqrt(keys), (sq/keys-1)/math.Sqrt(2.0/keys)
		same := (float64(equal) - keys) / math.Sqrt(keys)
		if math.Abs(mean) > 5 || math.Abs(variance) > 5 || math.Abs(same) > 5 {
			t.Errorf("%s: correlation off by %.1f, its variance by %.1f, equal places by %.1f standard deviations", name, mean, variance, same)
		}
	}
}
