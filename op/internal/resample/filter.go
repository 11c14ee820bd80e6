package resample

import (
	"math"

	"github.com/bivouac-ml/bivouac/internal/libm"
	"github.com/bivouac-ml/bivouac/op"
)

// maxSupport is the most inputs that take part in an output. DALI narrows wider filters.
const maxSupport = 8192

// filter is a sampled kernel. at takes a position in samples. Between two samples it interpolates
// linearly; outside it is 0.
type filter struct {
	samples []float32
	anchor  float32 // of the centre, in input pixels from the start
	scale   float32 // samples per input pixel
}

// The samples of each kernel, over its support at scale 1: 2, 4, 6 and 2 pixels.
var (
	triangle = []float32{0, 1, 0}
	cubic    = sampled(129, 4, func(x float32) float32 { return float32(catmullRom(math.Abs(float64(x)))) })
	lanczos3 = sampled(193, 6, func(x float32) float32 {
		if x <= -3 || x >= 3 {
			return 0
		}
		return sinc(x) * sinc(float32(float64(x)/3))
	})
	gaussian = sampled(65, 4, func(x float32) float32 { return float32(math.Exp(-float64(x) * float64(x))) })
)

// sampled returns n samples of f over a range of the given width around 0.
func sampled(n int, width float32, f func(float32) float32) []float32 {
	v := make([]float32, n)
	half := n / 2
	for i := range v {
		v[i] = f(width / 2 * (float32(i-half) / float32(half)))
	}
	return v
}

// catmullRom is the cubic kernel with a = -0.5.
func catmullRom(x float64) float64 {
	switch {
	case x < 1:
		return 1.5*x*x*x - 2.5*x*x + 1
	case x < 2:
		return -0.5*x*x*x + 2.5*x*x - 4*x + 2
	}
	return 0
}

func sinc(x float32) float32 {
	x = float32(float64(x) * math.Pi)
	if math.Abs(float64(x)) < 1e-5 {
		return 1 - x*x/6
	}
	return libm.Sin(x) / x
}

// newFilter returns the filter of the given kind, scaled up by from/to, the factor by which the
// axis shrinks. from and to are 1 if the axis does not shrink or antialias is off.
func newFilter(kind op.InterpType, from, to float32) filter {
	shrink := from / to
	switch kind {
	case op.InterpCubic:
		return filter{cubic, 2, 32}.widened(max(4, 2*(2*shrink)))
	case op.InterpLanczos3:
		return filter{lanczos3, 3, 32}.widened(max(6, 2*(float32(3*from)/to)))
	case op.InterpGaussian:
		// Computed by way of sigma, as in DALI: its rounding decides where supports begin.
		sigma := float32(float64(shrink*0.5) / math.Sqrt2)
		return filter{gaussian, 1, 32}.widened(max(1, float32(4*math.Sqrt2)*sigma))
	}
	return filter{triangle, 1, 1}.widened(max(1, 2*shrink))
}

// widened returns f with a support of the given number of input pixels.
func (f filter) widened(support float32) filter {
	scale := float32(len(f.samples)-1) / support
	return filter{f.samples, float32(f.anchor*f.scale) / scale, scale}
}

// support returns the number of input pixels that take part in an output pixel.
func (f filter) support() int {
	return int(math.Ceil(float64(float32(len(f.samples)-1) / f.scale)))
}

func (f filter) at(x float32) float32 {
	if !(x > -1 && x < float32(len(f.samples))) {
		return 0
	}
	i := int(math.Floor(float64(x)))
	var a, b float32
	if i >= 0 {
		a = f.samples[i]
	}
	if i+1 < len(f.samples) {
		b = f.samples[i+1]
	}
	return a + float32((x-float32(i))*(b-a))
}
