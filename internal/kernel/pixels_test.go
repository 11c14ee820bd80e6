package kernel

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Pixels of each size that are copied are those next to points.
func TestNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 30).Draw(t, "w"), rapid.IntRange(1, 12).Draw(t, "h")
		size, n := rapid.IntRange(1, 18).Draw(t, "size"), rapid.IntRange(0, 60).Draw(t, "n")
		xs, ys := points(t, n, w, h)
		src := randomBytes(draw(t), w*h*size)
		c := NewCells(w, h, make([]int32, n), make([]float32, n), make([]float32, n))
		c.FindNearest(xs, ys)
		for i := 0; i < n; {
			run, inside := c.Run(i)
			got := append(make([]byte, run*size), 9)
			if inside {
				c.Copy(got[:run*size:run*size], src, i, run, size)
			}
			for k := range run {
				x, y := math.RoundToEven(float64(xs[i+k])), math.RoundToEven(float64(ys[i+k]))
				in := x >= 0 && x < float64(w) && y >= 0 && y < float64(h)
				at := 0
				if in {
					at = int(y)*w + int(x)
				}
				if inside != (in && at < w*h-1) {
					t.Fatalf("point %v, %v of %d x %d pixels: inside is %v", xs[i+k], ys[i+k], w, h, inside)
				}
				if inside && !slices.Equal(got[k*size:(k+1)*size], src[at*size:(at+1)*size]) {
					t.Fatalf("pixel %d of %d", k, run)
				}
			}
			if got[run*size] != 9 {
				t.Fatal("a byte after the last changed")
			}
			i += run
		}
	})
}

func TestRoundWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		src := randomFloats(r, rapid.IntRange(0, 70).Draw(t, "n"))
		for i := range src {
			switch src[i] *= float32(int(1) << r.IntN(20)); r.IntN(9) {
			case 0:
				src[i] = float32(math.NaN())
			case 1:
				src[i] = float32(r.IntN(1<<17)-1<<16) + .5
			case 2:
				src[i] = float32(math.Inf(1 - 2*r.IntN(2)))
			}
		}
		words, shorts := make([]uint16, len(src)), make([]int16, len(src))
		RoundWords(words, src)
		RoundShorts(shorts, src)
		for i, v := range src {
			word, short := 0.0, float64(math.MinInt16)
			if v == v {
				word = min(max(math.RoundToEven(float64(v)), 0), math.MaxUint16)
				short = min(max(math.RoundToEven(float64(v)), math.MinInt16), math.MaxInt16)
			}
			if float64(words[i]) != word || float64(shorts[i]) != short {
				t.Fatalf("%v became %d and %d, want %v and %v", v, words[i], shorts[i], word, short)
			}
		}
	})
}

func TestBlendFloats(t *testing.T) {
	t.Run("words", checkBlendFloats[uint16])
	t.Run("floats", checkBlendFloats[float32])
}

func checkBlendFloats[T uint16 | float32](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 40).Draw(t, "w"), rapid.IntRange(1, 12).Draw(t, "h")
		channels, n := rapid.IntRange(1, 5).Draw(t, "channels"), rapid.IntRange(0, 60).Draw(t, "n")
		xs, ys := points(t, n, w, h)
		r, src := draw(t), make([]T, w*h*channels)
		for i := range src {
			src[i] = T(r.IntN(1 << 16))
		}
		c := NewCells(w, h, make([]int32, n), make([]float32, n), make([]float32, n))
		c.Find(xs, ys)
		for i := 0; i < n; {
			run, inside := c.Run(i)
			got, want := make([]float32, run*channels+BlendSlack), make([]float32, run*channels)
			for k := 0; inside && k < run; k++ {
				at := int(c.index[i+k]) * channels
				blendPixel(want[k*channels:], c.a[i+k], c.b[i+k], src[at:at+2*channels], src[at+w*channels:], channels)
			}
			if inside {
				BlendFloats(&c, got, src, i, run, channels)
			}
			if !slices.EqualFunc(got[:run*channels], want, sameBits) {
				t.Fatalf("%d points: got %v, want %v", run, got, want)
			}
			i += run
		}
	})
}
