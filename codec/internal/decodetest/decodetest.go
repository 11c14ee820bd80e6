// Package decodetest tests image decoders with arbitrary input.
package decodetest

import (
	"testing"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

// mostPixels is the size of the largest image that Fuzz decodes.
const mostPixels = 1 << 18

// Fuzz decodes arbitrary bytes and checks that an image agrees with its header. also is called for
// each image whose header was read, before the image is decoded; it may be nil.
func Fuzz(f *testing.F, readHeader func([]byte) (raster.Header, error), decode func([]byte, *raster.Image) error,
	also func(*testing.T, raster.Header, []byte)) {
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := readHeader(data)
		if err != nil || h.Width*h.Height > mostPixels {
			return
		}
		if h.Width < 1 || h.Height < 1 || h.Channels < 1 || h.Channels > 4 ||
			h.Depth != 8 && h.Depth != 16 || h.Orientation < 1 || h.Orientation > 8 {
			t.Fatalf("header %+v", h)
		}
		if also != nil {
			also(t, h, data)
		}
		var img raster.Image
		if err := decode(data, &img); err != nil {
			return
		}
		samples := len(img.Pix)
		if h.Depth == 16 {
			samples = len(img.Wide)
		}
		if img.Header != h || samples != h.Width*h.Height*h.Channels {
			t.Fatalf("header %+v, image %+v of %d samples", h, img.Header, samples)
		}
	})
}
