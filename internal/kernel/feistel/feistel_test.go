package feistel

import (
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The code that the machine runs, assembly if there is any, gives the same bits as the definition.
func TestMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.UintRange(1, 63).Draw(t, "bits")
		shift := b - b/2
		rounds := make([]Round, 2*rapid.IntRange(1, 16).Draw(t, "pairs"))
		for i := range rounds {
			rounds[i] = Round{rapid.Uint64().Draw(t, "k"), rapid.Uint64().Draw(t, "m")}
		}
		x := rapid.SliceOfN(rapid.Int64Range(0, 1<<b-1), 0, 40).Draw(t, "x")
		lmask, rmask := uint64(1)<<(b/2)-1, uint64(1)<<shift-1
		want := slices.Clone(x)
		for i, v := range want {
			l, r := uint64(v)>>shift, uint64(v)&rmask
			for k := 0; k < len(rounds); k += 2 {
				l ^= of(rounds[k], r) & lmask
				r ^= of(rounds[k+1], l) & rmask
			}
			want[i] = int64(l<<shift | r)
		}
		generic := slices.Clone(x)
		mapGeneric(generic, rounds, shift, lmask, rmask)
		Map(x, rounds, shift, lmask, rmask)
		if !slices.Equal(x, want) || !slices.Equal(generic, want) {
			t.Fatalf("got %v, in Go %v, want %v", x, generic, want)
		}
	})
}

// The same law for halves of mixed radix. The result is also a permutation.
func TestMapMixed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shift := rapid.UintRange(0, 32).Draw(t, "shift")
		radix := rapid.OneOf(rapid.Uint64Range(1, 9), rapid.Uint64Range(1, MaxRadix), rapid.Just[uint64](MaxRadix)).Draw(t, "radix")
		rounds := make([]Round, 2*rapid.IntRange(1, 16).Draw(t, "pairs"))
		for i := range rounds {
			rounds[i] = Round{rapid.Uint64().Draw(t, "k"), rapid.Uint64().Draw(t, "m")}
		}
		start := rapid.SliceOfN(rapid.Uint64Range(0, radix<<shift-1), 0, 40).Draw(t, "x")
		x := make([]int64, len(start))
		want := make([]int64, len(start))
		for i, v := range start {
			x[i] = int64(v)
			l, r := v>>shift, v&(1<<shift-1)
			for k := 0; k < len(rounds); k += 2 {
				l = (l + of(rounds[k], r)*radix>>32) % radix
				r ^= of(rounds[k+1], l) & (1<<shift - 1)
			}
			want[i] = int64(l<<shift | r)
			for k := len(rounds) - 2; k >= 0; k -= 2 {
				r ^= rounds[k+1].Of(l) & (1<<shift - 1)
				l = rounds[k].Sub(l, r, radix)
			}
			if l<<shift|r != v {
				t.Fatalf("%d comes back as %d", v, l<<shift|r)
			}
		}
		generic := slices.Clone(x)
		mixedGeneric(generic, rounds, shift, radix, 1<<shift-1)
		MapMixed(x, rounds, shift, radix)
		if !slices.Equal(x, want) || !slices.Equal(generic, want) {
			t.Fatalf("got %v, in Go %v, want %v", x, generic, want)
		}
	})
}

// of is the round function by products of 128 bits.
func of(r Round, half uint64) uint64 {
	_, h := bits.Mul64(half^r.K, r.M)
	_, h = bits.Mul64(h^h>>32, 0x94D049BB133111EB)
	return h >> 32
}

func BenchmarkMap(b *testing.B) {
	x, rounds := make([]int64, 256), make([]Round, 8)
	for i := range rounds {
		rounds[i] = Round{uint64(i) * 0x9E3779B97F4A7C15, uint64(i)<<33 | 1}
	}
	for name, do := range map[string]func([]int64, []Round, uint, uint64, uint64){
		"machine": mapAll, "go": mapGeneric, "mixed/machine": mixedAll, "mixed/go": mixedGeneric,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				do(x, rounds, 15, 1<<15-1, 1<<15-1)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/index")
		})
	}
}
