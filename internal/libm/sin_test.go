package libm

import (
	"math"
	"testing"
)

// The hashes are of sinf and cosf of glibc 2.36 on x86-64 with FMA, whose sincosf gives the same.
func TestEqualsGlibc(t *testing.T) {
	const step, want = 40009, 0x8e57c99422ec1037
	hash := uint64(14695981039346656037)
	for i := uint64(0); i < 1<<32; i += step {
		x := math.Float32frombits(uint32(i))
		if x-x != 0 {
			continue
		}
		sin, cos := Sincos(x)
		for _, v := range []float32{sin, cos} {
			hash = (hash ^ uint64(math.Float32bits(v))) * 1099511628211
		}
	}
	if hash != want {
		t.Errorf("hash %#x, want %#x", hash, uint64(want))
	}
}
