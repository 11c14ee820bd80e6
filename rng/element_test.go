package rng

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// A float32 multiplication and addition that is rounded once, against arithmetic
// without rounding.
func TestFMALaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) float32 {
			x := float32(rapid.IntRange(-1<<24, 1<<24).Draw(t, name))
			return float32(math.Ldexp(float64(x), rapid.IntRange(-40, 40).Draw(t, name+" exponent")))
		}
		a, b, c := draw("a"), draw("b"), draw("c")
		sum := new(big.Float).SetPrec(300).SetFloat64(float64(a))
		sum.Mul(sum, big.NewFloat(float64(b)))
		sum.Add(sum, big.NewFloat(float64(c)))
		want, _ := sum.Float32()
		if got := fma32(a, b, c); got != want {
			t.Fatalf("%g*%g + %g = %g, want %g", a, b, c, got, want)
		}
	})
	// The product is 2^-24 + 2^-60: with 1 just above the middle of two float32,
	// where rounding twice goes down.
	if got, want := fma32(1774001*0x1p-30, 38737*0x1p-30, 1), float32(1+0x1p-23); got != want {
		t.Errorf("%b, want %b", got, want)
	}
}

func TestRandomEdges(t *testing.T) {
	p := NewPhilox(1, 0, 0)
	for range 100 {
		q := p
		if x := Uniform32(&p, 3, 2); x <= 2 || x > 3 {
			t.Fatalf("%g", x)
		}
		if x := Uniform64(&q, 3, 2); x <= 2 || x > 3 {
			t.Fatalf("%g", x)
		}
	}
	if !Flip(&p, 1) || !Flip(&p, 1.5) || Flip(&p, -1) || Flip(&p, 0) {
		t.Error("probabilities outside 0 to 1 are those at the ends")
	}
}
