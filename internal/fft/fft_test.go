package fft

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// noise returns eight random signals of n elements.
func noise(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, Lanes*n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// reference returns the spectrum of one signal by the definition, in double precision.
func reference(x []float32, lane, n int) []complex128 {
	out := make([]complex128, n/2+1)
	for k := range out {
		for t := range n {
			out[k] += complex(float64(x[Lanes*t+lane]), 0) * cmplx.Exp(complex(0, -2*math.Pi*float64(k*t%n)/float64(n)))
		}
	}
	return out
}

func sizes() []int {
	list := []int{}
	for n := 1; n <= 70; n++ {
		list = append(list, n)
	}
	return append(list, 74, 81, 97, 100, 128, 243, 256, 300, 400, 411, 512, 1000, 1021, 1024, 2048)
}

// Every size gives the transform that the definition gives, within single precision.
func TestSpectrumIsTheDefinition(t *testing.T) {
	for _, n := range sizes() {
		p := Of(n)
		x := noise(n, uint64(n))
		signal, work := append([]float32{}, x...), make([]float32, p.Room())
		spectrum, power := make([]float32, pair*p.Bins()), make([]float32, Lanes*p.Bins())
		p.Spectrum(spectrum, signal, work)
		copy(signal, x)
		p.Power(power, signal, work)
		for _, lane := range []int{0, 3, 7} {
			want := reference(x, lane, n)
			for k, w := range want {
				re, im := spectrum[pair*k+lane], spectrum[pair*k+Lanes+lane]
				tolerance := 2e-6 * math.Sqrt(float64(n))
				if d := cmplx.Abs(complex(float64(re), float64(im)) - w); !(d <= tolerance) {
					t.Fatalf("n %d, lane %d, bin %d: %v %v, want %v", n, lane, k, re, im, w)
				}
				if got := float32(re*re) + float32(im*im); got != power[Lanes*k+lane] {
					t.Fatalf("n %d, lane %d, bin %d: power %v, want %v", n, lane, k, power[Lanes*k+lane], got)
				}
			}
		}
	}
}

// The inverse of the spectrum is the signal.
func TestInverseReturns(t *testing.T) {
	for _, n := range sizes() {
		p := Of(n)
		x := noise(n, 7)
		spectrum, back := make([]float32, pair*p.Bins()), make([]float32, Lanes*n)
		p.Spectrum(spectrum, append([]float32{}, x...), make([]float32, p.Room()))
		p.Inverse(back, spectrum, make([]float32, p.InverseRoom()))
		for i := range x {
			if d := math.Abs(float64(x[i] - back[i])); !(d < 1e-5) {
				t.Fatalf("n %d, element %d: %v, want %v", n, i, back[i], x[i])
			}
		}
	}
}

// A signal has the same bits on every lane and beside every other signal, even beside NaN.
func TestSignalsDoNotTouch(t *testing.T) {
	for _, n := range []int{8, 15, 64, 97, 300, 512} {
		p := Of(n)
		x := noise(n, 3)
		work, power := make([]float32, p.Room()), make([]float32, Lanes*p.Bins())
		p.Power(power, append([]float32{}, x...), work)
		alone, other := make([]float32, Lanes*n), make([]float32, Lanes*p.Bins())
		for i := range alone {
			alone[i] = float32(math.NaN())
		}
		for i := range n {
			alone[Lanes*i+5] = x[Lanes*i+2]
		}
		p.Power(other, alone, work)
		for k := range p.Bins() {
			if got, want := other[Lanes*k+5], power[Lanes*k+2]; math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("n %d, bin %d: %v, want %v", n, k, got, want)
			}
		}
	}
}

// Assembly and Go give the same bits.
func TestTwinsAgree(t *testing.T) {
	same := func(name string, got, want []float32) {
		t.Helper()
		for i := range want {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				t.Fatalf("%s: element %d: %v, want %v", name, i, got[i], want[i])
			}
		}
	}
	for _, c := range [][2]int{{2, 1}, {3, 2}, {4, 4}, {16, 1}, {7, 3}} {
		m, s := c[0], c[1]
		n := 2 * 4 * m * s
		from, turn := noise(n, 9), noise(m, 11)
		a, b := make([]float32, Lanes*n), make([]float32, Lanes*n)
		radix4(a, from, turn, m, s)
		radix4Generic(b, from, turn, m, s)
		same(fmt.Sprint("radix4 ", c), a, b)
		radix4Last(a, from, m*s)
		radix4LastGeneric(b, from, m*s)
		same(fmt.Sprint("radix4Last ", c), a, b)
		radix2Last(a, from, m*s)
		radix2LastGeneric(b, from, m*s)
		same(fmt.Sprint("radix2Last ", c), a, b)
	}
	for _, c := range [][3]int{{3, 2, 1}, {3, 5, 4}, {5, 2, 1}, {5, 7, 3}, {5, 40, 1}} {
		p := newTransform(c[0] * c[1] * c[2]).passes[0]
		p.m, p.s, p.radix = c[1], c[2], c[0]
		odd := newTransform(c[0])
		p.roots, p.waves, p.turn = odd.passes[0].roots, odd.passes[0].waves, noise(c[0]*c[1], 8)
		n := c[0] * c[1] * c[2]
		from, a, b := noise(2*n, 10), make([]float32, pair*n), make([]float32, pair*n)
		if c[0] == 3 {
			radix3(a, from, &p)
		} else {
			radix5(a, from, &p)
		}
		p.any(b, from)
		same(fmt.Sprint("radix ", c), a, b)
	}
	for _, half := range []int{2, 3, 4, 5, 8, 150, 256} {
		z, turn := noise(2*half, 5), noise(half, 6)
		a, b := make([]float32, Lanes*(half+1)), make([]float32, Lanes*(half+1))
		powerPairs(a, z, turn, half)
		powerPairsGeneric(b, z, turn, half)
		same(fmt.Sprint("powerPairs ", half), a, b)
	}
}

// Plans of many sizes do not stay in memory.
func TestPlansAreForgotten(t *testing.T) {
	for n := largestMemo / 64; n < largestMemo/64+200; n++ {
		plans.of(n, func(int) *Plan { return nil })
		if plans.size > largestMemo {
			t.Fatalf("plans of %d elements, want at most %d", plans.size, largestMemo)
		}
	}
	if n := len(plans.made); n > 70 {
		t.Errorf("%d plans", n)
	}
	clear(plans.made)
}

func BenchmarkPower(b *testing.B) {
	for _, n := range []int{400, 512, 2048} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := Of(n)
			x, work, power := noise(n, 1), make([]float32, p.Room()), make([]float32, Lanes*p.Bins())
			for b.Loop() {
				p.Power(power, x, work)
				x[0] = 1
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/Lanes, "ns/signal")
		})
	}
}
