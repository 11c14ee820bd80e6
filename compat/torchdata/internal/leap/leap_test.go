package leap

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
)

// words returns the words of an engine.
func words(t require, g libstdcxx.MT19937) (x [Size]uint32) {
	b, err := g.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for i := range x {
		x[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return x
}

type require interface{ Fatal(...any) }

func TestBlocks(t *testing.T) {
	for _, n := range []uint64{0, 1, 2, 3, 25, 26, 31, 32, 33, 100, 1000, 12345, 100000} {
		g := libstdcxx.NewMT19937(5489 + n)
		got := words(t, g)
		Blocks(&got, n)
		g.Discard(Size * n)
		if want := words(t, g); got != want {
			t.Errorf("after %d blocks the words differ", n)
		}
	}
}

// Far away there is nothing to compare with but another way to get there.
func TestBlocksAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Uint64Range(0, MaxBlocks).Draw(t, "a")
		b := rapid.Uint64Range(0, MaxBlocks-a).Draw(t, "b")
		once := words(t, libstdcxx.NewMT19937(rapid.Uint64().Draw(t, "seed")))
		twice := once
		Blocks(&once, a+b)
		Blocks(&twice, a)
		Blocks(&twice, b)
		if once != twice {
			t.Fatalf("%d and %d blocks", a, b)
		}
	})
}

// The polynomial belongs to the recurrence: the words at its exponents cancel out.
func TestCharacteristicPolynomial(t *testing.T) {
	first := words(t, libstdcxx.NewMT19937(1))
	x := make([]uint32, 2*degree)
	copy(x, first[:])
	extend(x)
	for i := 1; i < degree; i++ {
		sum := x[i+degree]
		for _, e := range lower {
			sum ^= x[i+e]
		}
		if sum != 0 {
			t.Fatalf("words from %d on: %08x", i, sum)
		}
	}
	if last := lower[len(lower)-1]; degree-last < 64 {
		t.Errorf("exponent %d is too near to the degree", last)
	}
}

func BenchmarkBlocks(b *testing.B) {
	g := libstdcxx.NewMT19937(1)
	x := words(b, g)
	for b.Loop() {
		Blocks(&x, 1<<53)
	}
}
