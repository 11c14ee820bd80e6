package image

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/tensor"
)

// weights64 is the definition of a resampling in float64: row o holds the weight
// of each input in output o.
func weights64(inputs, n int, origin, extent float64, antialias bool) [][]float64 {
	scale := extent / float64(n)
	radius := 1.0
	if antialias {
		radius = max(1, scale)
	}
	all := make([][]float64, n)
	for o := range all {
		all[o] = make([]float64, inputs)
		src, sum := (float64(o)+0.5)*scale+origin-0.5, 0.0
		for k := int(math.Floor(src - radius)); k <= int(math.Ceil(src+radius)); k++ {
			w := max(0, 1-math.Abs(float64(k)-src)/radius)
			all[o][min(max(k, 0), inputs-1)] += w
			sum += w
		}
		for k := range all[o] {
			all[o][k] /= sum
		}
	}
	return all
}

func resize64(src []float64, h, w, c, outH, outW int, r region, antialias bool) []float64 {
	wy, wx := weights64(h, outH, r.y, r.h, antialias), weights64(w, outW, r.x, r.w, antialias)
	out := make([]float64, outH*outW*c)
	for y := range outH {
		for x := range outW {
			for ch := range c {
				sum := 0.0
				for iy := range h {
					for ix := range w {
						sum += wy[y][iy] * wx[x][ix] * src[(iy*w+ix)*c+ch]
					}
				}
				out[(y*outW+x)*c+ch] = sum
			}
		}
	}
	return out
}

func TestResampleAgainstFloat64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, w := rapid.IntRange(1, 24).Draw(t, "h"), rapid.IntRange(1, 24).Draw(t, "w")
		outH, outW := rapid.IntRange(1, 20).Draw(t, "outH"), rapid.IntRange(1, 20).Draw(t, "outW")
		c := rapid.SampledFrom([]int{1, 2, 3, 4}).Draw(t, "channels")
		antialias := rapid.Bool().Draw(t, "antialias")
		r := region{h: float64(rapid.IntRange(1, h).Draw(t, "rh")), w: float64(rapid.IntRange(1, w).Draw(t, "rw"))}
		r.y, r.x = float64(rapid.IntRange(0, h-int(r.h)).Draw(t, "ry")), float64(rapid.IntRange(0, w-int(r.w)).Draw(t, "rx"))
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		bytes, exact := make([]uint8, h*w*c), make([]float64, h*w*c)
		for i := range bytes {
			bytes[i] = uint8(random.IntN(256))
			exact[i] = float64(bytes[i])
		}
		want := resize64(exact, h, w, c, outH, outW, r, antialias)
		var plan resampler
		for range 2 { // the second time with the memory of the first
			floats, rounded := make([]float32, len(want)), make([]uint8, len(want))
			src := source[uint8]{pixels: bytes, height: h, width: w, channels: c, region: r}
			run(&plan, floats, outH, outW, src, antialias)
			run(&plan, rounded, outH, outW, src, antialias)
			for i := range want {
				if math.Abs(float64(floats[i])-want[i]) > 1e-3 {
					t.Fatalf("element %d: got %g, want %g", i, floats[i], want[i])
				}
				if math.Abs(float64(rounded[i])-want[i]) > 0.501 {
					t.Fatalf("element %d: got %d, want %g", i, rounded[i], want[i])
				}
			}
		}
	})
}

func TestResampleLaws(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const h, w, c = 13, 17, 3
	pixels := make([]uint8, h*w*c)
	for i := range pixels {
		pixels[i] = uint8(random.IntN(256))
	}
	var plan resampler
	whole := region{h: h, w: w}
	same := make([]uint8, len(pixels))
	run(&plan, same, h, w, source[uint8]{pixels, h, w, c, whole}, true)
	if string(same) != string(pixels) {
		t.Error("resizing to the same size changes pixels")
	}
	for i := range pixels {
		pixels[i] = 77
	}
	for _, size := range [][2]int{{1, 1}, {5, 40}, {40, 5}, {64, 64}} {
		out := make([]uint8, size[0]*size[1]*c)
		run(&plan, out, size[0], size[1], source[uint8]{pixels, h, w, c, whole}, true)
		for _, v := range out {
			if v != 77 {
				t.Fatalf("a flat image has %d after resizing to %v", v, size)
			}
		}
	}
}

func BenchmarkResize(b *testing.B) {
	const h, w, c, n = 375, 500, 3, 224
	pixels := make([]uint8, h*w*c)
	for i := range pixels {
		pixels[i] = uint8(i * 7)
	}
	for _, antialias := range []bool{true, false} {
		b.Run(fmt.Sprintf("500x375-to-224/antialias=%t", antialias), func(b *testing.B) {
			var plan resampler
			out := make([]uint8, n*n*c)
			b.ReportAllocs()
			for b.Loop() {
				run(&plan, out, n, n, source[uint8]{pixels, h, w, c, region{h: h, w: w}}, antialias)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}

// img returns an HWC image of random bytes.
func img(seed uint64, h, w, c int) tensor.Tensor {
	random := rand.New(rand.NewPCG(seed, 9))
	t := tensor.New(tensor.Uint8, h, w, c)
	t.Layout = layoutHWC
	for i := range t.Data {
		t.Data[i] = uint8(random.IntN(256))
	}
	return t
}

// asFloats returns an image with the same values in float32.
func asFloats(in tensor.Tensor) tensor.Tensor {
	t := tensor.New(tensor.Float32, in.Shape...)
	t.Layout = in.Layout
	v, _ := tensor.Of[float32](t)
	for i, b := range in.Data {
		v[i] = float32(b)
	}
	return t
}
