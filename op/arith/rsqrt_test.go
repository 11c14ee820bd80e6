package arith

import (
	"math"
	"testing"
)

// What DALI 2.4.0 gave.
func TestRsqrtOfSingles(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ x, want float32 }{{4, 0.5}, {1, 1}, {0, nan}, {float32(math.Copysign(0, -1)), nan}, {-1, nan}, {inf, nan}, {1e-40, -inf}} {
		if got := rsqrt32(c.x); got != c.want && !(got != got && c.want != c.want) {
			t.Errorf("rsqrt(%g): got %g, want %g", c.x, got, c.want)
		}
	}
}
