package encode_test

import (
	"bytes"
	"errors"
	"image"
	"testing"

	"golang.org/x/image/webp"

	"github.com/bivouac-ml/bivouac/codec/webp/encode"
	"github.com/bivouac-ml/bivouac/errs"
)

// The largest image of an axis is written and read; a larger one is refused.
func TestExtents(t *testing.T) {
	for size, ok := range map[image.Point]bool{
		{X: 16384, Y: 1}: true, {X: 1, Y: 16384}: true, {X: 16385, Y: 1}: false, {X: 0, Y: 5}: false,
	} {
		img := image.NewNRGBA(image.Rectangle{Max: size})
		for i := range img.Pix {
			img.Pix[i] = byte(i * i >> 3)
		}
		var b bytes.Buffer
		err := encode.Encode(&b, img)
		if !ok {
			if !errors.Is(err, errs.Invalid) {
				t.Errorf("%v: %v", size, err)
			}
			continue
		}
		got, err := webp.Decode(&b)
		if err != nil || !bytes.Equal(got.(*image.NRGBA).Pix, img.Pix) {
			t.Errorf("%v: %v, or other pixels", size, err)
		}
	}
}
