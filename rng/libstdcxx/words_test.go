package libstdcxx

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/rng"
)

func TestWordsLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rng.NewPhilox(rapid.Uint64().Draw(t, "seed"), 0, 0)
		q := p
		a, b := rapid.Int32().Draw(t, "a"), rapid.Int32().Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		lo, hi := rapid.Float32().Draw(t, "lo"), rapid.Float32().Draw(t, "hi")
		for range 5 {
			if got, want := (Words{&p}).UniformInt(a, b), UniformInt(Words{&q}, int64(a), int64(b)); int64(got) != want {
				t.Fatalf("%d, want %d", got, want)
			}
			if got, want := (Words{&p}).UniformReal(lo, hi), UniformReal(Words{&q}, lo, hi); got != want && got == got {
				t.Fatalf("%g, want %g", got, want)
			}
		}
		if p != q {
			t.Fatal("another number of words was taken")
		}
	})
}

func TestWordsAllocate(t *testing.T) {
	n := testing.AllocsPerRun(10, func() {
		p := rng.NewPhilox(1, 0, 0)
		w := Words{&p}
		w.UniformInt(0, 7)
		w.UniformReal(0, 1)
	})
	if n != 0 {
		t.Errorf("%g allocations", n)
	}
}
