package libm

import (
	"math"
	"testing"
)

// The logarithm is within 0.76 units in the last place, everywhere.
func TestLog2(t *testing.T) {
	for bits := uint32(1); bits < 0x7f800000; bits += 977 {
		x := math.Float32frombits(bits)
		want := math.Log2(float64(x))
		got := Log2(x)
		ulp := float64(math.Nextafter32(float32(math.Abs(want)), math.MaxFloat32)) - math.Abs(float64(float32(want)))
		if d := math.Abs(float64(got) - want); d > 0.76*ulp {
			t.Fatalf("Log2(%g) = %g, want %g, %.3f ulp", x, got, want, d/ulp)
		}
	}
	inf := float32(math.Inf(1))
	for _, c := range []struct{ x, want float32 }{{1, 0}, {2, 1}, {0.5, -1}, {0x1p-149, -149}, {0, -inf}, {inf, inf}} {
		if got := Log2(c.x); got != c.want {
			t.Errorf("Log2(%g) = %g, want %g", c.x, got, c.want)
		}
	}
	for _, x := range []float32{-1, -inf, float32(math.NaN())} {
		if got := Log2(x); got == got {
			t.Errorf("Log2(%g) = %g, want NaN", x, got)
		}
	}
}
