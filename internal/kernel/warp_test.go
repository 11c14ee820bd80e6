package kernel

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// points returns points in and around an image.
func points(t *rapid.T, n, w, h int) (xs, ys []float32) {
	r := draw(t)
	xs, ys = make([]float32, n), make([]float32, n)
	for i := range xs {
		xs[i], ys[i] = r.Float32()*float32(w+1)-1, r.Float32()*float32(h+1)-1
		switch r.IntN(12) {
		case 0:
			xs[i], ys[i] = float32(r.IntN(w+2)-1), float32(r.IntN(h+2)-1)
		case 1:
			xs[i] = float32(math.Inf(1))
		case 2:
			xs[i] = float32(math.NaN())
		case 3:
			xs[i] = 3e9
		}
	}
	return xs, ys
}

func TestProject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		n := rapid.IntRange(0, 60).Draw(t, "n")
		start, slope := [3]float32(randomFloats(r, 3)), [3]float32(randomFloats(r, 3))
		if r.IntN(3) == 0 {
			start[2], slope[2] = 0, float32(r.IntN(2))
		}
		xs, ys := make([]float32, n), make([]float32, n)
		Project(xs, ys, &start, &slope)
		for x := range n {
			at := func(i int) float32 { return Fuse(slope[i], float32(x), start[i]) }
			a, b := at(0)/at(2), at(1)/at(2)
			if a != xs[x] && a == a || b != ys[x] && b == b {
				t.Fatalf("point %d: got %v, %v, want %v, %v", x, xs[x], ys[x], a, b)
			}
		}
	})
}

// Cells that the assembly makes equal the definition. Pixels that are copied first give the same.
func TestCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 40).Draw(t, "w"), rapid.IntRange(1, 12).Draw(t, "h")
		channels, n := rapid.IntRange(1, 5).Draw(t, "channels"), rapid.IntRange(0, 60).Draw(t, "n")
		xs, ys := points(t, n, w, h)
		src := randomBytes(draw(t), w*h*channels)
		got := NewCells(w, h, make([]int32, n), make([]float32, n), make([]float32, n))
		want := NewCells(w, h, make([]int32, n), make([]float32, n), make([]float32, n))
		got.Find(xs, ys)
		for i := range xs { // one at a time: the definition
			one := NewCells(w, h, want.index[i:i+1], want.a[i:i+1], want.b[i:i+1])
			one.Find(xs[i:i+1], ys[i:i+1])
		}
		if !slices.Equal(got.index, want.index) {
			t.Fatalf("got %v, want %v", got.index, want.index)
		}
		for i := 0; i < n; {
			run, inside := got.Run(i)
			if inside {
				checkBlend(t, &got, src, i, run, channels)
			}
			i += run
		}
	})
}

// checkBlend compares the pixels of points with sums in float64, which are exact before they are
// rounded to float32.
func checkBlend(t *rapid.T, c *Cells, src []byte, from, n, channels int) {
	got, want := make([]byte, n*channels), make([]byte, n*channels)
	c.Blend(got, src, from, n, channels)
	for k := range n {
		a, b, at := float64(c.a[from+k]), float64(c.b[from+k]), int(c.index[from+k])
		for i := range channels {
			p := func(d int) float64 { return float64(src[(at+d)*channels+i]) }
			above, below := float32(a*(p(1)-p(0))+p(0)), float32(a*(p(c.w+1)-p(c.w))+p(c.w))
			v := math.FMA(b, float64(below-above), float64(above))
			want[k*channels+i] = byte(math.RoundToEven(float64(float32(v))))
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%d points from %d on: got %v, want %v", n, from, got, want)
	}
	if n = min(n, MostPatches); channels > 4 {
		return
	}
	var patches Patches[byte]
	for k := range n {
		upper, lower := patches.Around(k, channels)
		at := int(c.index[from+k]) * channels
		copy(upper, src[at:])
		copy(lower, src[at+c.w*channels:])
	}
	c.BlendPatches(got[:n*channels], &patches, from, n, channels)
	if !slices.Equal(got, want) {
		t.Fatalf("patches of %d points from %d on: got %v, want %v", n, from, got, want)
	}
}

func TestHostileCells(t *testing.T) {
	list := func() []float32 { return make([]float32, 9) }
	c := NewCells(20, 20, make([]int32, 9), list(), list())
	c.Find(list(), list())
	for name, f := range map[string]func(){
		"an empty image":  func() { NewCells(0, 3, nil, nil, nil) },
		"short lists":     func() { NewCells(3, 3, make([]int32, 2), list(), list()) },
		"a short image":   func() { c.Blend(make([]byte, 27), make([]byte, 1199), 0, 9, 3) },
		"a short output":  func() { c.Blend(make([]byte, 26), make([]byte, 1200), 0, 9, 3) },
		"points outside":  func() { c.index[4] = -1; c.Blend(make([]byte, 27), make([]byte, 1200), 0, 9, 3) },
		"too many points": func() { c.Find(make([]float32, 10), make([]float32, 10)) },
		"heavy weights":   func() { Gray(make([]byte, 1), make([]byte, 3), &[3]uint16{1 << 14, 1 << 14, 1}) },
		"short pixels":    func() { Gray(make([]byte, 33), make([]byte, 98), &[3]uint16{1, 1, 1}) },
		"a short row":     func() { Bayer{}.Row(make([]byte, 60), make([]byte, 20), make([]byte, 20), make([]byte, 19)) },
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
