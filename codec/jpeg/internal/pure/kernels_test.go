package pure

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// Vector code and generic code give the same bits, for coefficients of any size.
func TestInverse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		var blk [64]int16
		var q [64]uint16
		large := 1 << r.IntN(16)
		for i := range q {
			q[i] = uint16(1 + r.IntN(1<<r.IntN(16)))
		}
		for range r.IntN(64) {
			blk[r.IntN(64)] = int16(r.IntN(2*large) - large)
		}
		if r.IntN(4) == 0 {
			clear(blk[8:]) // the means of columns alone
		}
		stride := 8 + r.IntN(9)
		got, want := make([]byte, 8*stride), make([]byte, 8*stride)
		inverse(got, stride, &blk, &q)
		inverseGeneric(want, stride, &blk, &q)
		if !bytes.Equal(got, want) {
			t.Fatalf("%v by %v:\n%v\n%v", blk, q, got, want)
		}
		clear(blk[1:])
		inverseGeneric(want, stride, &blk, &q)
		flat(got, stride, blk[0], q[0])
		if !bytes.Equal(got, want) {
			t.Fatalf("mean %d by %d: %v, not %v", blk[0], q[0], got[:8], want[:8])
		}
	}
}

func TestRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	for n := 3; n < 200; n++ {
		a, b, c := noise(n), noise(n), noise(n)
		got, want := make([]byte, 3*n), make([]byte, 3*n)
		toRGB(got, a, b, c)
		toRGBGeneric(want, a, b, c)
		if !bytes.Equal(got, want) {
			t.Fatalf("%d pixels differ", n)
		}
		sums, wantSums := make([]int16, n), make([]int16, n)
		columnSums(sums, a, b)
		columnSumsGeneric(wantSums, a, b)
		if !slices.Equal(sums, wantSums) {
			t.Fatalf("%d sums differ", n)
		}
		clear(got)
		clear(want)
		widenRow(got[:2*n], sums)
		widenRowGeneric(want[:2*n], sums)
		if !bytes.Equal(got, want) {
			t.Fatalf("%d widened samples differ", n)
		}
	}
	// All colours there are, in steps that reach every chroma.
	for cb := range 256 {
		var y, u, v [256]byte
		for cr := range 256 {
			y[cr], u[cr], v[cr] = byte(cb*7+cr*13), byte(cb), byte(cr)
		}
		got, want := make([]byte, 768), make([]byte, 768)
		toRGB(got, y[:], u[:], v[:])
		toRGBGeneric(want, y[:], u[:], v[:])
		if !bytes.Equal(got, want) {
			t.Fatalf("colours with Cb %d differ", cb)
		}
	}
}

// The transform and the steps, for samples of any contrast and for every quality.
func TestQuantize(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	var d Distorter
	for n := range 20000 {
		d.setQuality(1 + n%100)
		stride := 8 + r.IntN(9)
		pix := make([]byte, 7*stride+8)
		base, contrast := r.IntN(256), 1+r.IntN(256)
		for i := range pix {
			switch r.IntN(3) {
			case 0:
				pix[i] = byte(min(max(base+r.IntN(contrast)-contrast/2, 0), 255))
			case 1:
				pix[i] = byte(-(n & 1))
			default:
				pix[i] = byte(base)
			}
		}
		if n%7 == 0 { // the largest coefficients
			for i := range pix {
				pix[i] = byte(-(i % stride >> (n / 7 % 3) & 1))
			}
		}
		var got, want [64]int16
		q := &d.tables[n&1]
		rest, wantRest := quantize(&got, pix, stride, q), quantizeGeneric(&want, pix, stride, q)
		if got != want || rest != wantRest {
			t.Fatalf("quality %d, %v:\n%v, rest %v\n%v, rest %v", d.quality, pix, got, rest, want, wantRest)
		}
	}
}

func TestEncodedRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	for n := range 200 {
		rgb := make([]byte, 3*n)
		for i := range rgb {
			rgb[i] = byte(r.Uint32())
			if n%3 == 0 {
				rgb[i] = byte(-(r.Uint32() & 1))
			}
		}
		got, want := make([]byte, 3*n), make([]byte, 3*n)
		fromRGB(got[:n], got[n:2*n], got[2*n:], rgb)
		fromRGBGeneric(want[:n], want[n:2*n], want[2*n:], rgb)
		if !bytes.Equal(got, want) {
			t.Fatalf("%d pixels differ", n)
		}
		half, wantHalf := make([]byte, n/2), make([]byte, n/2)
		halve(half, got[:n], got[2*n:])
		halveGeneric(wantHalf, got[:n], got[2*n:])
		if !bytes.Equal(half, wantHalf) {
			t.Fatalf("%d means differ", n/2)
		}
	}
}
