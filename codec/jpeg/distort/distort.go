// Package distort makes what JPEG leaves of images, without coding them.
package distort

import "github.com/bivouac-ml/bivouac/codec/jpeg/internal/pure"

// Distorter makes what JPEG leaves of images: their pixels after libjpeg-turbo encoded and decoded
// them, with the standard tables of a quality and half the colour resolution. A Distorter reuses
// its memory; only one goroutine may use it. The zero value is ready.
type Distorter struct{ pure pure.Distorter }

// Distort writes an RGB image of width times height pixels to dst. dst may be src. The quality is
// limited to 1 to 100. An image without pixels is left as it is.
func (d *Distorter) Distort(dst, src []byte, width, height, quality int) {
	if width > 0 && height > 0 {
		d.pure.Distort(dst, src, width, height, quality)
	}
}
