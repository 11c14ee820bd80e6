// Package encode writes WebP files without loss. github.com/HugoSmits86/nativewebp makes them: it
// takes memory for each image, about 150 bytes for a pixel, and has no way to reuse it.
package encode

import (
	"fmt"
	"image"
	"io"

	"github.com/HugoSmits86/nativewebp"

	"github.com/bivouac-ml/bivouac/errs"
)

// mostPixels is the most pixels along an axis that the format can say.
const mostPixels = 1 << 14

// Encode writes the file of an image, with an alpha unless it is full. It fails with errs.Invalid
// for images without pixels or with more than 16,384 along an axis.
func Encode(to io.Writer, img image.Image) error {
	if s := img.Bounds().Size(); s.X < 1 || s.Y < 1 || s.X > mostPixels || s.Y > mostPixels {
		return &errs.Error{Kind: errs.Invalid, Op: "webp.encode", Subject: "image",
			Want: fmt.Sprintf("1 to %d rows and columns", mostPixels), Got: fmt.Sprintf("%d and %d", s.Y, s.X)}
	}
	return nativewebp.Encode(to, img, nil)
}
