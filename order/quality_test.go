package order

import (
	"math"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/proof/shuffletest"
)

func shuffled(k int, p []int64) {
	NewPermutation(int64(len(p)), Key(1, int64(k), "quality")).Fill(0, p)
}

func twoRounds(k int, p []int64) {
	f := makePermutation(Version, int64(len(p)), Key(1, int64(k), "quality"))
	f.rounds = 2
	f.Fill(0, p)
}

// oneGoroutine skips a test that computes much in one goroutine, because the race detector has
// nothing to find there.
func oneGoroutine(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("one goroutine computes: there is nothing for the race detector")
	}
}

// The shuffle must be as good as Fisher-Yates in five statistics: no mean or variance may be off by
// more than 5 standard deviations, for ten values of each size. The same test must notice that two
// rounds are not enough.
func TestShuffleQuality(t *testing.T) {
	oneGoroutine(t)
	const limit = 5
	for _, c := range []struct{ n, keys int }{{10, 2000}, {20, 2000}, {65, 2000}, {100, 2000}, {256, 2000}, {257, 2000}, {1000, 1000}, {1797, 1000}, {65536, 40}, {65537, 40}} {
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

// The differences of neighbours must have the distribution that Fisher-Yates gives.
func TestShuffleDifferences(t *testing.T) {
	oneGoroutine(t)
	for _, c := range []struct{ n, keys int }{{16, 4000}, {20, 4000}, {33, 4000}, {65, 4000}, {100, 4000}, {257, 1000}, {1000, 1000}, {1797, 500}, {4096, 200}} {
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
	oneGoroutine(t)
	for n := 2; n <= 7; n++ {
		if z := shuffletest.Uniform(n, 100, shuffled); z > 5 {
			t.Errorf("n = %d: chi² is %.1f standard deviations too large", n, z)
		}
	}
}

// Orders of neighbouring seeds and epochs, other domains, keys that differ in one bit
// and other lengths are unrelated. Version 1 fails for lengths.
func TestKeysAreIndependent(t *testing.T) {
	oneGoroutine(t)
	const n, keys = 1000, 400
	same := func(k int64) uint64 { return Key(7, k, "d") }
	for name, other := range map[string]struct {
		key     func(k int64) uint64
		n       int64
		version int
	}{
		"epoch":              {func(k int64) uint64 { return Key(7, k+1, "d") }, n, Version},
		"seed":               {func(k int64) uint64 { return Key(8, k, "d") }, n, Version},
		"domain":             {func(k int64) uint64 { return Key(7, k, "e") }, n, Version},
		"bit":                {func(k int64) uint64 { return Key(7, k, "d") ^ 1<<(k%64) }, n, Version},
		"length + 1":         {same, n + 1, Version},
		"length + 10":        {same, n + 10, Version},
		"a quarter longer":   {same, n + n/4, Version},
		"twice the length":   {same, 2 * n, Version},
		"first, length + 10": {same, n + 10, 1},
	} {
		a, b := make([]int64, n), make([]int64, other.n)
		var sum, sq float64
		equal := 0
		for k := range int64(keys) {
			p, q := makePermutation(other.version, n, same(k)), makePermutation(other.version, other.n, other.key(k))
			p.Fill(0, a)
			q.Fill(0, b)
			b := ranks(b[:n])
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
		if off := math.Abs(mean) > 5 || math.Abs(variance) > 5 || math.Abs(same) > 5; off != (other.version == 1) {
			t.Errorf("%s: correlation off by %.1f, its variance by %.1f, equal places by %.1f standard deviations", name, mean, variance, same)
		}
	}
}

// ranks replaces each id by its rank among the ids. So ids that only the longer of two data sets
// has do not count.
func ranks(ids []int64) []int64 {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	out := make([]int64, len(ids))
	for i, id := range ids {
		rank, _ := slices.BinarySearch(sorted, id)
		out[i] = int64(rank)
	}
	return out
}

// Two data sets of similar length have no more equal places than chance gives, for any pair of
// lengths, seeds, domains and epochs. In version 1 nearly all places were equal.
func TestLikeLengthsHaveOrdersOfTheirOwn(t *testing.T) {
	const n = 100_000
	draw := func(version int, n int64, seed uint64, domain string, epoch int64) []int64 {
		ids := make([]int64, n)
		At(NewShuffled(n, seed, domain), version).Fill(epoch*n, ids)
		return ids
	}
	share := func(a, b []int64) int {
		equal := 0
		for i := range min(len(a), len(b)) {
			if a[i] == b[i] {
				equal++
			}
		}
		return equal
	}
	for _, longer := range []int64{1, 17, 1000, n / 4, n} {
		for _, c := range []struct {
			seed   uint64
			domain string
			epoch  int64
		}{{7, "loader", 0}, {7, "loader", 1}, {8, "loader", 0}, {7, "other", 0}} {
			equal := share(draw(Version, n, 7, "loader", 0), draw(Version, n+longer, c.seed, c.domain, c.epoch))
			if equal > 12 { // about 1 of 100,000 by chance
				t.Errorf("%d and %d samples, %+v: %d places alike", n, n+longer, c, equal)
			}
		}
	}
	if equal := share(draw(1, n, 7, "loader", 0), draw(1, n+1000, 7, "loader", 0)); equal < n*9/10 {
		t.Errorf("version 1: %d places alike: the test does not see what it is for", equal)
	}
}
