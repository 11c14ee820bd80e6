package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func randomFloats(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = (r.Float32() - 0.3) * 400
	}
	return v
}

func randomBytes(r *rand.Rand, n int) []byte {
	v := make([]byte, n)
	for i := range v {
		v[i] = byte(r.IntN(256))
	}
	return v
}

func draw(t *rapid.T) *rand.Rand { return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7)) }

// The tests below compare the code that the machine runs, assembly if there is any, with the
// definitions, bit by bit.

func TestWiden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := randomBytes(draw(t), rapid.IntRange(0, 100).Draw(t, "n"))
		got, want := make([]float32, len(src)), make([]float32, len(src))
		Widen(got, src)
		widenGeneric(want, src)
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestRoundBytes(t *testing.T) {
	special := []float32{0, float32(math.Copysign(0, -1)), 0.5, 1.5, 2.5, 254.5, 255.5, 0.49999997, -0.5, 255, 256, 1e30, -1e30,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.SmallestNonzeroFloat32}
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		src := randomFloats(r, rapid.IntRange(0, 150).Draw(t, "n"))
		for i := range src {
			switch r.IntN(3) {
			case 0:
				src[i] = special[r.IntN(len(special))]
			case 1:
				src[i] = float32(r.IntN(600)-30) / 2
			}
		}
		got, want := make([]byte, len(src)), make([]byte, len(src))
		RoundBytes(got, src)
		roundBytesGeneric(want, src)
		away := make([]byte, len(src))
		RoundBytesAway(away, src)
		plain := make([]byte, len(src))
		roundBytesAwayGeneric(plain, src)
		if !slices.Equal(away, plain) {
			t.Fatalf("half away from zero: got %v, want %v", away, plain)
		}
		for i := range src {
			if got[i] != want[i] {
				t.Fatalf("%g became %d, want %d", src[i], got[i], want[i])
			}
			if v := float64(src[i]); v == v {
				v = min(max(v, 0), 255)
				if exact := math.RoundToEven(v); float64(want[i]) != exact {
					t.Fatalf("%g became %d, want %g", src[i], want[i], exact)
				}
				if exact := math.Round(v); float64(away[i]) != exact {
					t.Fatalf("%g became %d, half away from zero %g", src[i], away[i], exact)
				}
			}
		}
	})
}

func TestWeigh(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		n, rows := rapid.IntRange(0, 120).Draw(t, "n"), rapid.IntRange(1, 9).Draw(t, "rows")
		weights, offsets := randomFloats(r, rows), make([]int, rows)
		for i := range offsets {
			offsets[i] = r.IntN(50)
		}
		floats, raw := randomFloats(r, n+50), randomBytes(r, n+50)
		got, want := make([]float32, n), make([]float32, n)
		for _, c := range []struct {
			name              string
			function, generic func()
		}{
			{"floats", func() { WeighFloats(got, floats, offsets, weights) }, func() { weighFloatsGeneric(want, floats, offsets, weights) }},
			{"bytes", func() { WeighBytes(got, raw, offsets, weights) }, func() { weighBytesGeneric(want, raw, offsets, weights) }},
			{"fused floats", func() { FuseFloats(got, floats, offsets, weights) }, func() { fuseFloatsGeneric(want, floats, offsets, weights) }},
			{"fused bytes", func() { FuseBytes(got, raw, offsets, weights) }, func() { fuseBytesGeneric(want, raw, offsets, weights) }},
		} {
			c.function()
			c.generic()
			if !slices.Equal(got, want) {
				t.Fatalf("%s: got %v, want %v", c.name, got, want)
			}
		}
	})
}

func TestColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		n, taps, channels := rapid.IntRange(0, 40).Draw(t, "n"), rapid.IntRange(1, 12).Draw(t, "taps"), rapid.IntRange(1, 6).Draw(t, "channels")
		width := taps + 20
		first := make([]int32, n)
		for i := range first {
			first[i] = int32(r.IntN(width - taps + 1))
		}
		src, weights := randomFloats(r, width*channels+Slack), randomFloats(r, n*taps)
		got, want := make([]float32, n*channels+Slack), make([]float32, n*channels+Slack)
		columns := NewColumns(first, weights, taps)
		columns.Run(got, src, channels)
		gatherAny(want, src, first, weights, taps, channels)
		if !slices.Equal(got[:n*channels], want[:n*channels]) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if channels == 3 || channels == 4 {
			gatherPixelsGeneric(got, src, first, weights, taps, channels)
			if !slices.Equal(got[:n*channels], want[:n*channels]) {
				t.Fatalf("%d channels: got %v, want %v", channels, got, want)
			}
		}
	})
}

func TestNormalize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		n, reversed := rapid.IntRange(0, 60).Draw(t, "n"), rapid.Bool().Draw(t, "reversed")
		stride := n + rapid.IntRange(0, 9).Draw(t, "gap")
		src := randomBytes(r, 3*n)
		mean, factor := [3]float32(randomFloats(r, 3)), [3]float32(randomFloats(r, 3))
		got, want := make([]float32, 3*stride), make([]float32, 3*stride)
		Normalize(got, stride, src, n, &mean, &factor, reversed)
		normalizeGeneric(want, stride, src, n, &mean, &factor, reversed)
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestTooShortPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"offset": func() { WeighFloats(make([]float32, 8), make([]float32, 8), []int{1}, []float32{1}) },
		"pixel": func() {
			c := NewColumns([]int32{1}, []float32{1}, 1)
			c.Run(make([]float32, 6), make([]float32, 6), 3)
		},
		"below": func() { NewColumns([]int32{-1}, []float32{1}, 1) },
		"plane": func() {
			Normalize(make([]float32, 29), 10, make([]byte, 30), 10, new([3]float32), new([3]float32), false)
		},
		"weights": func() { WeighBytes(make([]float32, 8), make([]byte, 20), []int{1}, []float32{1, 2}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: what is too short was taken", name)
				}
			}()
			f()
		}()
	}
}

func BenchmarkKernels(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const n, taps = 672, 5
	floats, raw := randomFloats(r, 4096), randomBytes(r, 4096)
	dst, out, weights := make([]float32, 4096), make([]byte, 4096), randomFloats(r, 2048)
	offsets, first := []int{0, 700, 1400, 2100, 2800}, make([]int32, n/3)
	for i := range first {
		first[i] = int32(2 * i)
	}
	columns := NewColumns(first, weights[:len(first)*taps], taps)
	mean, factor := [3]float32{1, 2, 3}, [3]float32{4, 5, 6}
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"widen", func() { Widen(dst[:n], raw[:n]) }},
		{"roundBytes", func() { RoundBytes(out[:n], floats[:n]) }},
		{"weighFloats", func() { WeighFloats(dst[:n], floats, offsets, weights[:taps]) }},
		{"weighBytes", func() { WeighBytes(dst[:n], raw, offsets, weights[:taps]) }},
		{"columns", func() { columns.Run(dst, floats, 3) }},
		{"normalize", func() { Normalize(dst, n/3, raw, n/3, &mean, &factor, true) }},
	} {
		b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
			for b.Loop() {
				c.f()
			}
		})
	}
}
