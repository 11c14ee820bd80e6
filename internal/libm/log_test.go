package libm

import (
	"math"
	"testing"
)

// The hash is of logf of glibc 2.36 on x86-64 with FMA.
func TestLogEqualsGlibc(t *testing.T) {
	const step, want = 4001, 0x8227aafc0f28dced
	hash := uint64(14695981039346656037)
	for bits := uint32(0); bits < 0x7f800000; bits += step {
		hash = (hash ^ uint64(math.Float32bits(Log(math.Float32frombits(bits))))) * 1099511628211
	}
	if hash != want {
		t.Errorf("hash %#x, want %#x", hash, uint64(want))
	}
	inf := float32(math.Inf(1))
	if Log(inf) != inf || Log(0) != -inf {
		t.Errorf("Log(inf) = %g, Log(0) = %g", Log(inf), Log(0))
	}
	for _, x := range []float32{-1, -inf, float32(math.NaN())} {
		if got := Log(x); got == got {
			t.Errorf("Log(%g) = %g, want NaN", x, got)
		}
	}
}
