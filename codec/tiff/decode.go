package tiff

import (
	"math"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

// Decoder decodes one image after the other. The zero Decoder is ready. It is not
// safe for concurrent use.
type Decoder struct {
	unpacker unpacker
	samples  []uint16 // of a strip or tile
}

// Decode decodes the image in data to img.
func (d *Decoder) Decode(data []byte, img *raster.Image) error {
	f, err := parse(data)
	if err != nil {
		return err
	}
	img.Reset(f.Header)
	planes := 1
	if f.planar {
		planes = f.samples
	}
	for plane := range planes {
		for i := range f.across * f.down {
			packed, err := f.stored(plane*f.across*f.down + i)
			if err != nil {
				return err
			}
			left, top := i%f.across*f.tileW, i/f.across*f.tileH
			if err := d.tile(f, img, packed, left, top, plane); err != nil {
				return err
			}
		}
	}
	return nil
}

// tile decodes the strip or tile at left, top, of all samples or those of one plane.
func (d *Decoder) tile(f *file, img *raster.Image, packed []byte, left, top, plane int) error {
	n := f.samples
	if f.planar {
		n = 1
	}
	w, h := f.tileW, f.tileH
	if f.tileW == f.Width { // the last strip is shorter
		h = min(h, f.Height-top)
	}
	pitch := (w*n*f.bits + 7) / 8
	rows, err := d.unpacker.unpack(f, packed, w, h, n, pitch)
	if err != nil {
		return err
	}
	if f.float {
		for y := range min(h, f.Height-top) {
			f.putFloats(img, rows[y*pitch:(y+1)*pitch], left, top+y, n, plane)
		}
		return nil
	}
	d.samples = raster.Grow(d.samples, w*n)
	for y := range min(h, f.Height-top) {
		d.row(f, rows[y*pitch:(y+1)*pitch], n)
		f.put(img, d.samples, left, top+y, n, plane)
	}
	return nil
}

// row takes the samples of a row apart and undoes the differences between them.
func (d *Decoder) row(f *file, b []byte, n int) {
	const horizontal = 2
	s := d.samples
	switch f.bits {
	case 8:
		for i := range s {
			s[i] = uint16(b[i])
		}
	case 16:
		for i := range s {
			s[i] = f.order.Uint16(b[2*i:])
		}
	default:
		for i := range s {
			at := i * f.bits
			s[i] = uint16(b[at/8]) >> (8 - f.bits - at%8) & (1<<f.bits - 1)
		}
	}
	if f.predictor == horizontal && f.bits >= 8 {
		mask := uint16(1<<f.bits - 1)
		for i := n; i < len(s); i++ {
			s[i] = (s[i] + s[i-n]) & mask
		}
	}
}

// put writes a row of samples, n a pixel, to img from column left on.
func (f *file) put(img *raster.Image, s []uint16, left, y, n, plane int) {
	w := min(f.tileW, f.Width-left)
	at := (y*f.Width + left) * f.Channels
	most := uint16(1<<f.bits - 1)
	full := uint16(255)
	if f.Depth == 16 {
		full = 65535
	}
	set := func(i int, v uint16) {
		if f.Depth == 16 {
			img.Wide[i] = v
		} else {
			img.Pix[i] = uint8(v)
		}
	}
	for x := range w {
		p := s[x*n : x*n+n]
		switch {
		case f.photometric == paletted && plane == 0:
			for c := range 3 {
				set(at+x*3+c, uint16(f.palette[int(p[0])+c<<f.bits]))
			}
		case f.photometric == separated && !f.planar:
			for c := range 3 {
				set(at+x*4+c, uint16(uint32(most-p[c])*uint32(most-p[3])/uint32(most)))
			}
			set(at+x*4+3, full)
		default:
			for c, v := range p {
				if c += plane; c >= f.Channels || f.photometric == paletted {
					break
				}
				if v = v * (full / most); f.photometric == whiteIsZero && c == 0 {
					v = full - v
				}
				set(at+x*f.Channels+c, v)
			}
		}
	}
}

// putFloats writes a row of float32 samples, n a pixel, to img from column left on.
func (f *file) putFloats(img *raster.Image, row []byte, left, y, n, plane int) {
	at := (y*f.Width + left) * f.Channels
	for x := range min(f.tileW, f.Width-left) {
		for c := range n {
			v := math.Float32frombits(f.order.Uint32(row[4*(x*n+c):]))
			if i := c + plane; i < f.Channels {
				if f.photometric == whiteIsZero && i == 0 {
					v = 1 - v
				}
				img.Floats[at+x*f.Channels+i] = v
			}
		}
	}
}
