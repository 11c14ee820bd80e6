package libm

import (
	"math"
	"testing"
)

// The hashes are of expf and powf of glibc 2.36 on x86-64 with FMA.
func TestExpAndPowEqualGlibc(t *testing.T) {
	const wantExp, wantPow = 0x8afecf5d06eca084, 0xd4f5dcf3410244c5
	const start, prime = uint64(14695981039346656037), 1099511628211
	hash := start
	for _, sign := range []uint32{0, 1 << 31} {
		for bits := uint32(0); bits <= 0x42d00000; bits += 1009 {
			hash = (hash ^ uint64(math.Float32bits(Exp(math.Float32frombits(bits|sign))))) * prime
		}
	}
	if hash != wantExp {
		t.Errorf("Exp: hash %#x, want %#x", hash, uint64(wantExp))
	}
	hash = start
	const low, high = 0x3a000000, 0x42c80000
	for x, y := uint32(1), uint32(low); x < 0x7f800000; x += 1013 {
		for _, sign := range []uint32{0, 1 << 31} {
			power := Pow(math.Float32frombits(x), math.Float32frombits(y|sign))
			hash = (hash ^ uint64(math.Float32bits(power))) * prime
		}
		if y += 100003; y > high {
			y -= high - low
		}
	}
	if hash != wantPow {
		t.Errorf("Pow: hash %#x, want %#x", hash, uint64(wantPow))
	}
}

func TestEdgesOfExpAndPow(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ got, want float32 }{
		{Exp(0), 1}, {Exp(inf), inf}, {Exp(-inf), 0}, {Exp(100), inf}, {Exp(-200), 0},
		{Pow(0, 2), 0}, {Pow(0, -1), inf}, {Pow(-2, 3), -8}, {Pow(inf, -1), 0}, {Pow(nan, 0), 1},
		{Pow(2, inf), inf}, {Pow(1e30, 5), inf}, {Pow(1e-30, 9), 0}, {Pow(1, 1e30), 1}, {Pow(2, 0.5), math.Sqrt2},
	} {
		if c.got != c.want {
			t.Errorf("got %g, want %g", c.got, c.want)
		}
	}
	for _, got := range []float32{Exp(nan), Pow(-2, 0.5), Pow(nan, 1)} {
		if got == got {
			t.Errorf("got %g, want NaN", got)
		}
	}
}
