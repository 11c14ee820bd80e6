package jpeg

import (
	"testing"

	"github.com/bivouac-ml/bivouac/internal/photos"
)

// BenchmarkPortable decodes photographs of about 500x375 pixels to RGB.
func BenchmarkPortable(b *testing.B) {
	var p portable
	benchmark(b, func(dst, data []byte, h Header) error {
		return p.decode(dst, data, h, Region{W: h.Width, H: h.Height}, RGB, false)
	})
}

// BenchmarkDecoder does so with the decoder of the build.
func BenchmarkDecoder(b *testing.B) {
	var d Decoder
	benchmark(b, func(dst, data []byte, h Header) error { return d.Decode(dst, data, h, Options{}) })
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
