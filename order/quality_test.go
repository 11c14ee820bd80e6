package order

import (
	"math"
	"testing"

	"github.com/bivouac-ml/bivouac/internal/shuffletest"
)

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
		control, what := shuffletest.Worst(c.n, c.keys, shuffletest.FisherYates)
		if math.Abs(control) > limit {
			t.Errorf("n = %d: the control fails: %s is off by %.1f", c.n, what, control)
		}
		z, what := shuffletest.Worst(c.n, c.keys, shuffled)
		if math.Abs(z) > limit {
			t.Errorf("n = %d: %s is off by %.1f standard deviations (control %.1f)", c.n, what, z, control)
		}
		t.Logf("n = %6d: worst %5.2f (%s), control %5.2f", c.n, z, what, control)
		if z, what := shuffletest.Worst(c.n, c.keys, twoRounds); math.Abs(z) <= limit {
			t.Errorf("n = %d: the test does not see that two rounds are too few (%s: %.1f)", c.n, what, z)
		}
	}
}

// The differences of neighbours must be distributed as those of Fisher-Yates.
func TestShuffleDifferences(t *testing.T) {
	for _, c := range []struct{ n, keys int }{{16, 4000}, {33, 4000}, {65, 4000}, {100, 4000}, {257, 1000}, {1000, 1000}, {1797, 500}, {4096, 200}} {
		if z := shuffletest.DifferencesOff(c.n, c.keys, shuffled); math.Abs(z) > 5 {
			t.Errorf("n = %d: off by %.1f standard deviations", c.n, z)
		}
		if z := shuffletest.DifferencesOff(c.n, c.keys, twoRounds); math.Abs(z) <= 5 {
			t.Errorf("n = %d: the test does not see that two rounds are too few (%.1f)", c.n, z)
		}
	}
}

// For tiny n every permutation must be as likely as any other.
func TestShuffleUniform(t *testing.T) {
	for n := 2; n <= 7; n++ {
		if z := shuffletest.Uniform(n, 100, shuffled); z > 5 {
			t.Errorf("n = %d: chi² is %.1f standard deviations too large", n, z)
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
			r := shuffletest.Correlation(a, b) * math.Sqrt(n-1)
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
