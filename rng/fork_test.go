package rng_test

import (
	"math"
	"testing"

	"github.com/bivouac-ml/bivouac/rng"
)

// The numbers that DALI 2.4.0 drew in random.uniform with two generators that stood there.
func TestFork(t *testing.T) {
	g, err := rng.ParsePhilox("Philox_0000000000000000_0000000000000000:0000000000000002_2")
	if err != nil {
		t.Fatal(err)
	}
	call := g.Fork()
	if got := math.Float32bits(rng.Uniform32(&call, 0, 1)); got != 0x3f013a0e {
		t.Errorf("a sample: %x", got)
	}
	keyer := rng.Forked{Start: g.Fork()}
	for slot, want := range [][]uint32{
		{0xbfb511e4, 0xbfd83ecc, 0x3fd6f5d4}, {0xbf7d6872, 0xbf8cc0fa, 0x3f57f044}, {0xbfb5e2e7, 0xbfc980cb, 0x3f9e2ed0},
	} {
		for e := range want {
			p := rng.Element(keyer.Stream(7, slot, 8, 9), e)
			if got := math.Float32bits(rng.Uniform32(&p, -2, 3)); got != want[e] {
				t.Errorf("sample %d, element %d: %x, want %x", slot, e, got, want[e])
			}
		}
	}
	if s := g.String(); s != "Philox_0000000000000000_0000000000000000:0000000000000006_0" {
		t.Error(s)
	}
}

// Every fork takes ForkWords words.
func TestForkTakes(t *testing.T) {
	a, b := rng.NewPhilox(3, 1, 1), rng.NewPhilox(3, 1, 1)
	a.Fork()
	b.Skip(rng.ForkWords)
	if a.String() != b.String() {
		t.Errorf("%v, want %v", a, b)
	}
}
