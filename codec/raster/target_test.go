package raster

import (
	"bytes"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/internal/exif"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestPixelsComeToTheirPlaces puts an image in rows, in parts of rows and in every third column,
// and looks for each pixel in every window, however the image is turned.
func TestPixelsComeToTheirPlaces(t *testing.T) {
	const w, h, channels = 5, 4, 2
	stored := make([]uint8, w*h*channels)
	for i := range stored {
		stored[i] = uint8(i)
	}
	for orientation := 1; orientation <= 8; orientation++ {
		width, height := exif.Size(w, h, orientation)
		start, dx, dy := exif.Steps(w, h, orientation)
		for _, o := range []Output{{W: width, H: height}, {X: 1, Y: 2, W: width - 2, H: height - 3}, {X: width - 1, W: 1, H: 1}, {}} {
			o.Color, o.DType, o.Orientation = Any, tensor.Uint8, orientation
			for way := range 3 {
				got := make([]byte, o.W*o.H*channels)
				var img Image
				img.To(got, o)
				if err := img.Reset(Header{Width: w, Height: h, Channels: channels, Depth: 8}); err != nil {
					t.Fatal(err)
				}
				for y := range h {
					row := stored[y*w*channels : (y+1)*w*channels]
					switch way {
					case 0:
						must(t, img.Put(y, 0, 1, row))
					case 1:
						must(t, img.Put(y, 3, 1, row[3*channels:]))
						must(t, img.Put(y, 0, 1, row[:3*channels]))
					case 2:
						for first := range 3 {
							var part []uint8
							for x := first; x < w; x += 3 {
								part = append(part, row[x*channels:(x+1)*channels]...)
							}
							must(t, img.Put(y, first, 3, part))
						}
					}
				}
				var want []byte
				for y := range o.H {
					for x := range o.W {
						at := (start + (o.X+x)*dx + (o.Y+y)*dy) * channels
						want = append(want, stored[at:at+channels]...)
					}
				}
				if !bytes.Equal(got, want) {
					t.Errorf("orientation %d, window %+v, way %d: %v, want %v", orientation, o, way, got, want)
				}
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
