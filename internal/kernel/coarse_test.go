package kernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestProjectUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		n := rapid.IntRange(0, 40).Draw(t, "n")
		var start, slope [3]float64
		for i := range 3 {
			start[i], slope[i] = r.NormFloat64()*10, r.NormFloat64()
		}
		if r.IntN(3) == 0 {
			start[2], slope[2] = -4, float64(r.IntN(3))
		}
		xi, yi, xs, ys := make([]int32, n), make([]int32, n), make([]float32, n), make([]float32, n)
		ProjectUnits(xi, yi, xs, ys, &start, &slope)
		for x := range n {
			at := func(i int) float64 { return float64(slope[i]*float64(x)) + start[i] }
			w := at(2)
			if w != 0 {
				w = Units / w
			}
			if a, b := toInt32(at(0)*w), toInt32(at(1)*w); a != xi[x] || b != yi[x] ||
				xs[x] != float32(a)/Units || ys[x] != float32(b)/Units {
				t.Fatalf("point %d: got %d, %d, %v, %v, want %d, %d", x, xi[x], yi[x], xs[x], ys[x], a, b)
			}
		}
	})
}

func TestBlendCoarse(t *testing.T) {
	t.Run("bytes", checkCoarse[uint8])
	t.Run("words", checkCoarse[uint16])
	t.Run("shorts", checkCoarse[int16])
	t.Run("floats", checkCoarse[float32])
}

func checkCoarse[T Element](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 40).Draw(t, "w"), rapid.IntRange(1, 12).Draw(t, "h")
		channels, n := rapid.IntRange(1, 5).Draw(t, "channels"), rapid.IntRange(0, 60).Draw(t, "n")
		xs, ys := points(t, n, w, h)
		r, src := draw(t), make([]T, w*h*channels)
		for i := range src {
			src[i] = T(int16(r.Uint32()))
		}
		c := NewCells(w, h, make([]int32, n), make([]float32, n), make([]float32, n))
		c.Find(xs, ys)
		for i := 0; i < n; {
			run, inside := c.Run(i)
			got, want := make([]float32, run*channels+BlendSlack), make([]float32, run*channels)
			for k := 0; inside && k < run; k++ {
				at := int(c.index[i+k]) * channels
				coarsePixel(want[k*channels:], c.a[i+k], c.b[i+k], src[at:at+2*channels], src[at+w*channels:], channels)
			}
			if inside {
				BlendCoarse(&c, got, src, i, run, channels)
			}
			if !slices.EqualFunc(got[:run*channels], want, sameBits) {
				t.Fatalf("%d points: got %v, want %v", run, got, want)
			}
			i += run
		}
	})
}
