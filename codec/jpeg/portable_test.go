package jpeg

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bivouac-ml/bivouac/proof/photos"
)

// BenchmarkPortable decodes photographs of about 500x375 pixels to RGB.
func BenchmarkPortable(b *testing.B) {
	var p portable
	benchmark(b, func(dst, data []byte, h Header) error {
		return p.decode(&job{dst: dst, data: data, header: h, region: Region{W: h.Width, H: h.Height}})
	})
}

// BenchmarkDecoder does so with the decoder of the build.
func BenchmarkDecoder(b *testing.B) {
	var d Decoder
	benchmark(b, func(dst, data []byte, h Header) error { return d.Decode(dst, data, h, Options{}) })
}

// BenchmarkPortableWindows decodes random windows of them.
func BenchmarkPortableWindows(b *testing.B) {
	var p portable
	r := rand.New(rand.NewPCG(1, 1))
	benchmark(b, func(dst, data []byte, h Header) error {
		w := crop(r, h)
		return p.decode(&job{dst: dst[:3*w.W*w.H], data: data, header: h, region: w})
	})
}

// BenchmarkDecoderWindows does so with the decoder of the build.
func BenchmarkDecoderWindows(b *testing.B) {
	var d Decoder
	r := rand.New(rand.NewPCG(1, 1))
	benchmark(b, func(dst, data []byte, h Header) error {
		w := crop(r, h)
		return d.Decode(dst[:3*w.W*w.H], data, h, Options{Region: w})
	})
}

// crop draws a window as random_resized_crop does by default.
func crop(r *rand.Rand, h Header) Region {
	for {
		area := float64(h.Width*h.Height) * (0.08 + 0.92*r.Float64())
		ratio := math.Exp(math.Log(3./4) + (math.Log(4./3)-math.Log(3./4))*r.Float64())
		w := Region{W: int(math.Round(math.Sqrt(area * ratio))), H: int(math.Round(math.Sqrt(area / ratio)))}
		if w.W <= h.Width && w.H <= h.Height {
			w.X, w.Y = r.IntN(h.Width-w.W+1), r.IntN(h.Height-w.H+1)
			return w
		}
	}
}

func benchmark(b *testing.B, decode func(dst, data []byte, h Header) error) {
	var files [16][]byte
	for i := range files {
		var err error
		if files[i], err = photos.JPEG(i); err != nil {
			b.Fatal(err)
		}
	}
	dst := make([]byte, 520*400*3)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		data := files[i%len(files)]
		h, err := ReadHeader(data)
		if err == nil {
			err = decode(dst[:h.Width*h.Height*3], data, h)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
