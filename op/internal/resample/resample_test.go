package resample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// kernel64 is a filter's definition: of the distance in units of its pixel.
func kernel64(kind op.InterpType, x float64) float64 {
	x = math.Abs(x)
	switch kind {
	case op.InterpCubic:
		return catmullRom(x)
	case op.InterpLanczos3:
		if x >= 3 {
			return 0
		}
		if x == 0 {
			return 1
		}
		return 3 * math.Sin(math.Pi*x) * math.Sin(math.Pi*x/3) / (math.Pi * math.Pi * x * x)
	}
	return max(0, 1-x)
}

var reach = map[op.InterpType]float64{op.InterpLinear: 1, op.InterpTriangular: 1, op.InterpCubic: 2, op.InterpLanczos3: 3}

// weights64 is the definition of a resampling in float64: row o holds the weight of
// each input in output o.
func weights64(a Axis, f Filter) [][]float64 {
	scale := float64(a.Hi-a.Lo) / float64(a.Out)
	wide := 1.0
	if f.Antialias {
		wide = max(1, math.Abs(scale))
	}
	all := make([][]float64, a.Out)
	for o := range all {
		all[o] = make([]float64, a.In)
		src, sum := (float64(o)+0.5)*scale+float64(a.Lo)-0.5, 0.0
		r := wide * reach[f.Kind]
		for k := int(math.Floor(src - r)); k <= int(math.Ceil(src+r)); k++ {
			w := kernel64(f.Kind, (float64(k)-src)/wide)
			all[o][min(max(k, 0), a.In-1)] += w
			sum += w
		}
		for k := range all[o] {
			all[o][k] /= sum
		}
	}
	return all
}

// exact resamples in float64, from definitions.
func exact(j Job, f Filter, src []float64) []float64 {
	for i := range j.Axes {
		weights := weights64(j.Axes[i], f)
		outer, inner := 1, j.Channels
		for k, a := range j.Axes {
			if k < i {
				outer *= a.Out
			} else if k > i {
				inner *= a.In
			}
		}
		n := j.Axes[i].In
		out := make([]float64, 0, outer*len(weights)*inner)
		for o := range outer {
			for _, w := range weights {
				for e := range inner {
					sum := 0.0
					for k := range w {
						sum += w[k] * src[(o*n+k)*inner+e]
					}
					out = append(out, sum)
				}
			}
		}
		src = out
	}
	return src
}

func TestAgainstFloat64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Filter{rapid.SampledFrom([]op.InterpType{op.InterpLinear, op.InterpCubic, op.InterpLanczos3, op.InterpTriangular}).Draw(t, "kind"), rapid.Bool().Draw(t, "antialias")}
		axis := func(name string, most int) Axis {
			a := Axis{In: rapid.IntRange(1, most).Draw(t, name), Out: rapid.IntRange(1, most).Draw(t, name+" out"), Min: f, Mag: f}
			a.Lo = float32(rapid.IntRange(-2, a.In).Draw(t, name+" lo")) / 2
			a.Hi = a.Lo + float32(rapid.IntRange(1, 2*a.In).Draw(t, name+" extent"))/2
			if rapid.Bool().Draw(t, name+" mirrored") {
				a.Lo, a.Hi = a.Hi, a.Lo
			}
			return a
		}
		j := Job{SrcType: tensor.Uint8, Frames: 1, Channels: rapid.IntRange(1, 5).Draw(t, "channels")}
		j.Axes = [3]Axis{{In: 1, Out: 1, Hi: 1, Min: f, Mag: f}, axis("h", 20), axis("w", 20)}
		if rapid.Bool().Draw(t, "volume") {
			j.Axes[0] = axis("d", 6)
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		in, out := j.Channels, j.Channels
		for _, a := range j.Axes {
			in, out = in*a.In, out*a.Out
		}
		j.Src = make([]byte, in)
		src := make([]float64, in)
		for i := range src {
			j.Src[i] = byte(random.IntN(256))
			src[i] = float64(j.Src[i])
		}
		want := exact(j, f, src)
		var r Resampler
		for range 2 { // the second time with the memory of the first
			floats, rounded := make([]float32, out), make([]byte, out)
			j.DstType, j.Dst = tensor.Float32, element.Bytes(floats)
			if err := r.Run(j); err != nil {
				t.Fatal(err)
			}
			j.DstType, j.Dst = tensor.Uint8, rounded
			if err := r.Run(j); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				// Tables of kernels are good for three digits, and widths are rounded.
				if math.Abs(float64(floats[i])-want[i]) > 0.5 {
					t.Fatalf("element %d: got %g, want %g", i, floats[i], want[i])
				}
				if math.Abs(float64(rounded[i])-min(max(float64(floats[i]), 0), 255)) > 0.5 {
					t.Fatalf("element %d: %g became %d", i, floats[i], rounded[i])
				}
			}
		}
	})
}

// image returns the job of an image.
func image(kind op.InterpType, antialias bool, h, w, c, outH, outW int) Job {
	f := Filter{kind, antialias}
	return Job{SrcType: tensor.Uint8, DstType: tensor.Uint8, Frames: 1, Channels: c, Src: make([]byte, h*w*c), Dst: make([]byte, outH*outW*c),
		Axes: [3]Axis{{In: 1, Out: 1, Hi: 1}, {In: h, Out: outH, Hi: float32(h), Min: f, Mag: f}, {In: w, Out: outW, Hi: float32(w), Min: f, Mag: f}}}
}

func TestLaws(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var r Resampler
	for _, kind := range []op.InterpType{op.InterpNN, op.InterpLinear, op.InterpCubic, op.InterpLanczos3, op.InterpTriangular} {
		j := image(kind, true, 13, 17, 3, 13, 17)
		for i := range j.Src {
			j.Src[i] = byte(random.IntN(256))
		}
		if err := r.Run(j); err != nil || string(j.Dst) != string(j.Src) {
			t.Errorf("%v: the same size changes pixels (%v)", kind, err)
		}
		for _, size := range [][2]int{{1, 1}, {5, 40}, {40, 5}, {64, 64}} {
			j := image(kind, true, 13, 17, 3, size[0], size[1])
			for i := range j.Src {
				j.Src[i] = 77
			}
			if err := r.Run(j); err != nil {
				t.Fatal(err)
			}
			for _, v := range j.Dst {
				if v != 77 {
					t.Fatalf("%v: a flat image has %d after resizing to %v", kind, v, size)
				}
			}
		}
	}
	j := image(op.InterpLinear, true, 0, 4, 3, 2, 2)
	if r.Run(j) == nil {
		t.Error("pixels were made of an image without any")
	}
}

func BenchmarkResize(b *testing.B) {
	for _, c := range []struct {
		name      string
		kind      op.InterpType
		antialias bool
	}{{"antialias", op.InterpLinear, true}, {"linear", op.InterpLinear, false}, {"cubic", op.InterpCubic, true}, {"nearest", op.InterpNN, false}} {
		b.Run(fmt.Sprintf("500x375-to-224/%s", c.name), func(b *testing.B) {
			j := image(c.kind, c.antialias, 375, 500, 3, 224, 224)
			for i := range j.Src {
				j.Src[i] = byte(i * 7)
			}
			var r Resampler
			b.ReportAllocs()
			for b.Loop() {
				if err := r.Run(j); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}
