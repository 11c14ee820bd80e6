package video

import (
	"bytes"
	"math/rand"
	"slices"
	"testing"
)

// TestKernels compares the functions that this build calls with the generic ones.
func TestKernels(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	samples := func(n int) []byte {
		b := make([]byte, n)
		random.Read(b)
		for i := range b { // the ends of the range are not rare
			if b[i]&7 == 0 {
				b[i] = byte(random.Intn(2) * 255)
			}
		}
		return b
	}
	for n := 1; n < 100; n++ {
		near, far := samples(n), samples(n)
		got, want := make([]int16, n+2), make([]int16, n+2)
		columnSums(got[1:n+1], near, far)
		columnSumsGeneric(want[1:n+1], near, far)
		if !slices.Equal(got, want) {
			t.Fatalf("%d sums differ", n)
		}
		got[0], got[n+1] = got[1], got[n]
		us, vs := make([]int16, 2*n), make([]int16, 2*n)
		widenRow(us, got)
		widenRowGeneric(vs, got)
		if !slices.Equal(us, vs) {
			t.Fatalf("%d rows differ", n)
		}
		for i := range vs {
			vs[i] = int16(random.Intn(255*16+1)) - middle
		}
		luma := samples(2 * n)
		for _, c := range []matrix{whole, studio} {
			a, b := make([]byte, 6*n), make([]byte, 6*n)
			c.convert(a, luma, us, vs)
			c.convertGeneric(b, luma, us, vs)
			if !bytes.Equal(a, b) {
				t.Fatalf("%d pixels differ", 2*n)
			}
		}
	}
}
