package png

import (
	"testing"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

// FuzzDecode decodes anything: an image has what its header says, and it is that of the standard library.
func FuzzDecode(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHeader(data)
		if err != nil || h.Width*h.Height > 1<<18 {
			return
		}
		if h.Width < 1 || h.Height < 1 || h.Channels < 1 || h.Channels > 4 || h.Depth != 8 && h.Depth != 16 || h.Orientation < 1 || h.Orientation > 8 {
			t.Fatalf("header %+v", h)
		}
		compare(t, h, data)
		var img raster.Image
		err = Decode(data, &img)
		if err != nil {
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
