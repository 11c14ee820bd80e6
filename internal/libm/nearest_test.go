package libm

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

const digits = 300 // bits of the sums that the tests compare with

func number(x float64) *big.Float { return new(big.Float).SetPrec(digits).SetFloat64(x) }

// bigExp returns exp(x) for a small x.
func bigExp(x *big.Float) *big.Float {
	sum, term := number(1), number(1)
	for k := 1; k < 80; k++ {
		term.Quo(term.Mul(term, x), number(float64(k)))
		sum.Add(sum, term)
	}
	return sum
}

// bigCos returns cos(x) by its series, which converges for all numbers that the tests take.
func bigCos(x float64) *big.Float {
	x2 := number(x)
	x2.Mul(x2, x2)
	sum, term := number(1), number(1)
	for k := 1; k < 90; k++ {
		term.Quo(term.Mul(term, x2), number(-float64((2*k-1)*2*k)))
		sum.Add(sum, term)
	}
	return sum
}

// Log64 is the nearest float64: exp of the halves to both neighbours lies on both sides of x.
func TestLog64IsNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		x := r.Float64() + 0x1p-60
		if i%3 == 0 {
			x = math.Ldexp(x, -r.IntN(60))
		}
		y := Log64(x)
		for _, side := range []float64{math.Inf(-1), math.Inf(1)} {
			half := new(big.Float).SetPrec(digits).Add(number(y), number(math.Nextafter(y, side)))
			half.Quo(half, number(2*64)) // the 64th part, whose exp is raised to the 64th power
			e := bigExp(half)
			for range 6 {
				e.Mul(e, e)
			}
			if e.Cmp(number(x)) == int(math.Copysign(1, -side)) {
				t.Fatalf("Log64(%g) = %g, which is not the nearest number", x, y)
			}
		}
	}
	for _, c := range [][2]float64{{1, 0}, {2, math.Ln2}, {0.5, -math.Ln2}, {0x1p-64, -64 * math.Ln2}} {
		if got := Log64(c[0]); got != c[1] {
			t.Errorf("Log64(%g) = %g, want %g", c[0], got, c[1])
		}
	}
}

func TestCos64IsNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 3000 {
		x := r.Float64() * 2 * math.Pi
		if i%2 == 0 {
			x = r.Float64()*16 - 8
		}
		if want, _ := bigCos(x).Float64(); Cos64(x) != want {
			t.Fatalf("Cos64(%g) = %g, want %g", x, Cos64(x), want)
		}
	}
	for _, x := range []float64{0, math.Pi / 4, math.Pi / 2, math.Pi, 3 * math.Pi / 2, 2 * math.Pi, 1e-300} {
		if want, _ := bigCos(x).Float64(); Cos64(x) != want {
			t.Errorf("Cos64(%g) = %g, want %g", x, Cos64(x), want)
		}
	}
}

func BenchmarkLog64(b *testing.B) {
	for b.Loop() {
		Log64(0.3)
	}
}

func BenchmarkCos64(b *testing.B) {
	for b.Loop() {
		Cos64(2.3)
	}
}
