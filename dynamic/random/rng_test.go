package random_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/errs"
)

// Drawing, skipping, cloning and restoring agree, and equal places have equal states.
func TestStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, n := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 40).Draw(t, "n")
		drawn, skipped := random.New(seed), random.New(seed)
		for range n {
			drawn.Uint32()
		}
		skipped.Advance(uint64(n))
		if drawn.State() != skipped.State() {
			t.Fatalf("%v after drawing, %v after skipping", drawn.State(), skipped.State())
		}
		again, err := random.FromState(drawn.State().String())
		if err != nil {
			t.Fatal(err)
		}
		clone := drawn.Clone()
		for range 5 {
			if a, b, c, d := drawn.Uint32(), skipped.Uint32(), again.Uint32(), clone.Uint32(); a != b || a != c || a != d {
				t.Fatalf("%d, %d, %d, %d", a, b, c, d)
			}
		}
	})
}

// The first numbers of seed 1 are those that DALI drew.
func TestNumbers(t *testing.T) {
	g := random.New(1)
	if v := g.Uint32(); v != 3823634032 {
		t.Errorf("%d", v)
	}
	if s := g.State().String(); s != "Philox_0000000000000001_0000000000000000:0000000000000000_1" {
		t.Error(s)
	}
}

func TestSetStateRefuses(t *testing.T) {
	g := random.New(3)
	before := g.State()
	for _, c := range []struct {
		state any
		kind  errs.Kind
	}{{"", errs.Invalid}, {"Philox_", errs.Invalid}, {[]byte("Philox_"), errs.Invalid}, {7, errs.Mismatch}, {nil, errs.Mismatch}} {
		if err := g.SetState(c.state); !errors.Is(err, c.kind) {
			t.Errorf("%v: %v", c.state, err)
		}
	}
	if g.State() != before {
		t.Error("a refused state moved the generator")
	}
}
