package sound

import (
	"math"
	"slices"
	"testing"
)

// A tone below half of both rates keeps its samples' values at the new times.
func TestResampleKeepsTones(t *testing.T) {
	f, err := NewFilter(100)
	if err != nil {
		t.Fatal(err)
	}
	for _, rate := range []float64{0.37, 0.5, 1, 1.2, 2.9} {
		from := make([]float32, 3000)
		for i := range from {
			from[i] = float32(math.Sin(0.1 * float64(i)))
		}
		to := make([]float32, Length(len(from), 1/rate))
		f.Resample(to, from, 1, rate)
		two := make([]float32, 2*len(to))
		pairs := make([]float32, 2*len(from))
		for i, v := range from {
			pairs[2*i], pairs[2*i+1] = v, -v
		}
		f.Resample(two, pairs, 2, rate)
		for i := 200; i < len(to)-200; i++ {
			want := math.Sin(0.1 * rate * float64(i))
			if d := math.Abs(float64(to[i]) - want); d > 2e-3 {
				t.Fatalf("rate %v, element %d: %v, want %v", rate, i, to[i], want)
			}
			if d := math.Abs(float64(to[i] - two[2*i])); d > 1e-5 || two[2*i] != -two[2*i+1] {
				t.Fatalf("rate %v, frame %d: %v and %v, want %v", rate, i, two[2*i], two[2*i+1], to[i])
			}
		}
	}
}

// Qualities from 0 to 100 have filters, and other qualities do not.
func TestQualities(t *testing.T) {
	for quality, lobes := range map[float64]int{0: 3, 50: 16, 100: 64} {
		if f, err := NewFilter(quality); err != nil || f.lobes != lobes {
			t.Errorf("quality %v: %v, %v", quality, f, err)
		}
	}
	for _, quality := range []float64{-1, 101, math.NaN()} {
		if _, err := NewFilter(quality); err == nil {
			t.Errorf("quality %v is taken", quality)
		}
	}
}

// Integers become floats and integers again. Numbers beyond the range are limited.
func TestConversions(t *testing.T) {
	for v := range 256 {
		u, s := []uint8{uint8(v)}, []int8{int8(v)}
		x := make([]float32, 1)
		Widen(x, u, true)
		if Narrow(u, x); u[0] != uint8(v) {
			t.Errorf("%d became %d", v, u[0])
		}
		want := max(int8(v), -127)
		Widen(x, s, false)
		if Narrow(s, x); max(s[0], -127) != want {
			t.Errorf("%d became %d", int8(v), s[0])
		}
	}
	shorts := make([]int16, 7)
	Narrow(shorts, []float32{-2, -1, -0.5, 0, 0.5, 1, float32(math.Inf(1))})
	if want := []int16{-32768, -32767, -16384, 0, 16384, 32767, 32767}; !slices.Equal(shorts, want) {
		t.Errorf("%v, want %v", shorts, want)
	}
	odd := make([]int32, 1)
	if Narrow(odd, []float32{float32(math.NaN())}); odd[0] != math.MinInt32 {
		t.Errorf("NaN became %d", odd[0])
	}
}

// Assembly and Go give the same bits.
func TestTwinsAgree(t *testing.T) {
	for _, quality := range []float64{0, 50, 100} {
		f, err := NewFilter(quality)
		if err != nil {
			t.Fatal(err)
		}
		for _, start := range []float32{-float32(f.lobes), -float32(f.lobes) + 0.37, -1.25, 0, 0.001} {
			in := make([]float32, int(float32(f.lobes)-start)/4*4)
			for i := range in {
				in[i] = float32(math.Sin(float64(i) * 1.7))
			}
			if a, b := weigh(in, f, start), weighGeneric(in, f, start); a != b {
				t.Errorf("quality %v, start %v: %v, want %v", quality, start, a, b)
			}
		}
	}
}

// Positions far from the start, and steps of millions, stay within the table.
func TestExtremeRates(t *testing.T) {
	f, err := NewFilter(50)
	if err != nil {
		t.Fatal(err)
	}
	from := make([]float32, 1<<22)
	for i := range from {
		from[i] = 1
	}
	for _, rate := range []float64{1e-3, 16383.7, 16385.3, 70000.1, 1e6 + 0.3, 1e300} {
		to := make([]float32, min(1000, Length(len(from), 1/rate)))
		f.Resample(to, from, 1, rate)
		for i := int(20 / min(rate, 1)); i < len(to)-20; i++ {
			if d := math.Abs(float64(to[i]) - 1); d > 0.01 {
				t.Fatalf("rate %v, element %d: %v", rate, i, to[i])
			}
		}
	}
}
