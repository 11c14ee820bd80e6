package photos_test

import (
	"bytes"
	"image/jpeg"
	"testing"

	"github.com/bivouac-ml/bivouac/proof/photos"
)

// The same number gives the same file, of the promised size.
func TestJPEG(t *testing.T) {
	var total int
	for i := range 8 {
		a, err := photos.JPEG(i)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := photos.JPEG(i)
		if !bytes.Equal(a, b) {
			t.Errorf("image %d differs from itself", i)
		}
		if c, err := jpeg.DecodeConfig(bytes.NewReader(a)); err != nil || c.Width < 480 || c.Width > 520 || c.Height < 355 ||
			c.Height > 395 {
			t.Errorf("image %d: %v, %v", i, c, err)
		}
		total += len(a)
	}
	if mean := total / 8; mean < 80_000 || mean > 110_000 {
		t.Errorf("files of %d bytes", mean)
	}
}
