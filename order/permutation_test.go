package order

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/internal/kernel/feistel"
)

// sizes are those where a bijection is likely to break: all small ones, and the
// neighbours of powers of two (Grain's permutation repeats a sample at 2^2k + 1).
func sizes() []int64 {
	var s []int64
	for n := int64(1); n <= 4096; n++ {
		s = append(s, n)
	}
	for k := 13; k <= 20; k++ {
		s = append(s, 1<<k-1, 1<<k, 1<<k+1)
	}
	return s
}

func TestBijection(t *testing.T) {
	oneGoroutine(t)
	ids := make([]int64, 1<<20+1)
	seen := make([]int64, 1<<20+1)
	for mark, n := range sizes() {
		p := NewPermutation(n, Key(uint64(n), 0, "bijection"))
		if got := p.Fill(0, ids); int64(got) != n {
			t.Fatalf("n = %d: %d ids", n, got)
		}
		for i, id := range ids[:n] {
			if id < 0 || id >= n || seen[id] == int64(mark)+1 {
				t.Fatalf("n = %d: id %d at position %d is outside or repeated", n, id, i)
			}
			seen[id] = int64(mark) + 1
			if n > 4096 && i%97 != 0 {
				continue
			}
			if p.At(int64(i)) != id || p.Inverse(id) != int64(i) {
				t.Fatalf("n = %d: position %d: Fill %d, At %d, Inverse %d", n, i, id, p.At(int64(i)), p.Inverse(id))
			}
		}
	}
}

// The network permutes only a few more indices than there are samples, so one pass is almost always
// enough. In version 1, just above a power of two, one pass is enough half of the time.
func TestOnePassIsEnough(t *testing.T) {
	outside := func(version int, n int64) (share float64) {
		p := makePermutation(version, n, 1)
		domain := p.radix << p.rightBits
		if domain < uint64(n) || p.radix > feistel.MaxRadix || p.rightBits > 32 {
			t.Fatalf("version %d, n = %d: %d left halves, %d bits of the right one", version, n, p.radix, p.rightBits)
		}
		return float64(domain-uint64(n)) / float64(domain)
	}
	list := append(sizes(), math.MaxInt64)
	for k := 21; k < 63; k++ {
		list = append(list, 1<<k-1, 1<<k, 1<<k+1)
	}
	for _, n := range list {
		if got, want := outside(Version, n), 2/math.Sqrt(float64(n)); got > want {
			t.Errorf("n = %d: a share of %.5f falls outside, want %.5f at most", n, got, want)
		}
	}
	if got := outside(1, 1<<20+1); got < .49 {
		t.Errorf("version 1: %.5f: the test does not see what it is for", got)
	}
}

func TestPermutationLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, math.MaxInt64), rapid.Just[int64](math.MaxInt64)).Draw(t, "n")
		p := NewPermutation(n, rapid.Uint64().Draw(t, "key"))
		i := rapid.Int64Range(0, n-1).Draw(t, "i")
		id := p.At(i)
		if id < 0 || id >= n || p.Inverse(id) != i || p.At(p.Inverse(i)) != i {
			t.Fatalf("At(%d) = %d, back %d", i, id, p.Inverse(id))
		}
		dst := make([]int64, rapid.IntRange(0, 700).Draw(t, "block"))
		got := p.Fill(i, dst)
		if want := min(int64(len(dst)), n-i); int64(got) != want {
			t.Fatalf("Fill wrote %d of %d", got, want)
		}
		for j, id := range dst[:got] {
			if id != p.At(i+int64(j)) {
				t.Fatalf("Fill and At differ at %d", i+int64(j))
			}
		}
	})
}

func BenchmarkAt(b *testing.B) {
	for _, n := range []int64{100, 1797, 1e6, 1<<20 + 1, 1e8, 1e9, 1 << 40} {
		b.Run(size(n), func(b *testing.B) {
			b.ReportAllocs()
			p := NewPermutation(n, Key(1, 0, ""))
			var i int64
			for b.Loop() {
				p.At(i)
				if i++; i == n {
					i = 0
				}
			}
		})
	}
}

func BenchmarkFill(b *testing.B) {
	for _, n := range []int64{100, 1797, 1e6, 1<<20 + 1, 1e8, 1e9, 1 << 40} {
		b.Run(size(n), func(b *testing.B) {
			b.ReportAllocs()
			p := NewPermutation(n, Key(1, 0, ""))
			dst := make([]int64, min(n, 1000))
			var pos int64
			for b.Loop() {
				p.Fill(pos, dst)
				if pos += int64(len(dst)); pos+int64(len(dst)) > n {
					pos = 0
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(dst)), "ns/index")
		})
	}
}

func size(n int64) string { return "n=" + strconv.FormatInt(n, 10) }
