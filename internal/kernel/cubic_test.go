package kernel

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestProjectDoubles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		n := rapid.IntRange(0, 40).Draw(t, "n")
		start, slope := [3]float32(randomFloats(r, 3)), [3]float32(randomFloats(r, 3))
		xs, ys := make([]float32, n), make([]float32, n)
		ProjectDoubles(xs, ys, &start, &slope)
		for x := range n {
			at := func(i int) float64 { return float64(float64(slope[i])*float64(x)) + float64(start[i]) }
			if a, b := float32(at(0)/at(2)), float32(at(1)/at(2)); !sameBits(a, xs[x]) || !sameBits(b, ys[x]) {
				t.Fatalf("point %d: got %v, %v, want %v, %v", x, xs[x], ys[x], a, b)
			}
		}
	})
}

func TestCubic(t *testing.T) {
	t.Run("bytes", checkCubic[uint8])
	t.Run("words", checkCubic[uint16])
	t.Run("shorts", checkCubic[int16])
	t.Run("floats", checkCubic[float32])
}

// checkCubic compares pixels with the definition, in the image and as patches.
func checkCubic[T Element](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 40).Draw(t, "w"), rapid.IntRange(1, 12).Draw(t, "h")
		channels, n := rapid.IntRange(1, 5).Draw(t, "channels"), rapid.IntRange(0, 60).Draw(t, "n")
		second := rapid.Bool().Draw(t, "second")
		xs, ys := points(t, n, w, h)
		src := make([]T, w*h*channels)
		for i, v := range randomFloats(draw(t), len(src)) {
			if src[i] = T(int16(v * 100)); i%2 == 0 {
				src[i] = T(uint16(i * 12345))
			}
		}
		all := make([]float32, 9*n)
		c := NewCubic(w, h, make([]int32, n), all[:n], all[n:5*n], all[5*n:], second)
		c.Find(xs, ys)
		for i := range n {
			floor := func(v float32) float32 { return float32(math.Floor(float64(v))) }
			fx, fy := floor(xs[i]), floor(ys[i])
			at := int32(fy-1)*int32(w) + int32(fx-1)
			if c.index[i] >= 0 && (c.index[i] != at || fx < 1 || int(fx)+3 > w || fy < 1 || int(fy)+3 > h) {
				t.Fatalf("point %v, %v of %d x %d pixels: index %d", xs[i], ys[i], w, h, c.index[i])
			}
			a, b := CubicWeights(xs[i]-fx, second), CubicWeights(ys[i]-fy, second)
			for k := range Taps {
				if !sameBits(a[k], c.across[k*n+i]) || !sameBits(b[k], c.down[k*n+i]) {
					t.Fatalf("weight %d of point %v, %v: got %v and %v, want %v and %v", k, xs[i], ys[i],
						c.across[k*n+i], c.down[k*n+i], a[k], b[k])
				}
			}
		}
		for i := 0; i < n; {
			run, inside := c.Run(i, n)
			if inside {
				checkCubicRun(t, &c, src, i, run, channels)
			}
			i += run
		}
	})
}

func checkCubicRun[T Element](t *rapid.T, c *Cubic, src []T, from, n, channels int) {
	got, want := make([]float32, n*channels+CubicSlack), make([]float32, n*channels)
	CubicSums(c, got, src, from, n, channels)
	for i := range n {
		cubicPixel(c, want[i*channels:], src[int(c.index[from+i])*channels:], from+i, c.w, channels)
	}
	if !slices.EqualFunc(got[:n*channels], want, sameBits) {
		t.Fatalf("%d points from %d on: got %v, want %v", n, from, got, want)
	}
	if n = min(n, MostPatches); channels > Taps {
		return
	}
	var patches CubicPatches[T]
	for i := range n {
		for r := range Taps {
			copy(patches.Row(i, r, channels), src[(int(c.index[from+i])+r*c.w)*channels:])
		}
	}
	patches.Sums(c, got, from, n, channels)
	if !slices.EqualFunc(got[:n*channels], want[:n*channels], sameBits) {
		t.Fatalf("patches of %d points from %d on: got %v, want %v", n, from, got, want)
	}
}

func TestHostileCubic(t *testing.T) {
	floats := func(n int) []float32 { return make([]float32, n) }
	c := NewCubic(20, 20, make([]int32, 9), floats(9), floats(36), floats(36), false)
	for i := range c.index {
		c.index[i] = 21
	}
	for name, f := range map[string]func(){
		"an empty image":  func() { NewCubic(0, 3, nil, nil, nil, nil, false) },
		"few weights":     func() { NewCubic(3, 3, make([]int32, 2), floats(2), floats(7), floats(8), false) },
		"a short image":   func() { CubicSums(&c, floats(30), make([]byte, 1199), 0, 9, 3) },
		"a short output":  func() { CubicSums(&c, floats(29), make([]byte, 1200), 0, 9, 3) },
		"points outside":  func() { c.index[4] = -1; CubicSums(&c, floats(30), make([]byte, 1200), 0, 9, 3) },
		"too many points": func() { c.Find(floats(10), floats(10)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
