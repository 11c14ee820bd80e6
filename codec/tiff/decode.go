package tiff

import (
	"math"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

// Decoder decodes one image after the other. The zero Decoder is ready. It is not
// safe for concurrent use.
type Decoder struct {
	unpacker unpacker
	samples  []uint16     // a row of a strip or tile
	planes   raster.Image // an image in planes, until all planes are decoded
}

// Decode decodes the image in data to img.
func (d *Decoder) Decode(data []byte, img *raster.Image) error {
	f, err := parse(data)
	if err != nil {
		return err
	}
	if err := img.Reset(f.Header); err != nil {
		return err
	}
	d.unpacker.limits = img.Limits
	planes, to := 1, img
	if f.planar {
		planes, to = f.samples, &d.planes
		to.Limits = img.Limits
		if err := to.Reset(f.Header); err != nil {
			return err
		}
	}
	for plane := range planes {
		for i := range f.across * f.down {
			packed, err := f.stored(plane*f.across*f.down + i)
			if err != nil {
				return err
			}
			left, top := i%f.across*f.tileW, i/f.across*f.tileH
			if err := d.tile(f, to, packed, left, top, plane); err != nil {
				return err
			}
			if err := img.Limits.Interrupted(); err != nil {
				return err
			}
		}
	}
	if !f.planar {
		return nil
	}
	n := f.Width * f.Channels
	for y := range f.Height {
		var err error
		switch f.Depth {
		case 16:
			err = img.Put16(y, 0, 1, to.Wide[y*n:(y+1)*n])
		case raster.Float:
			err = img.PutFloats(y, 0, 1, to.Floats[y*n:(y+1)*n])
		default:
			err = img.Put(y, 0, 1, to.Pix[y*n:(y+1)*n])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tile decodes the strip or tile at left, top. It has all samples or the samples of one plane.
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
	if err := d.unpacker.limits.CheckBytes("tiff", "a strip or tile", int64(pitch)*int64(h)); err != nil {
		return err
	}
	rows, err := d.unpacker.unpack(f, packed, w, h, n, pitch)
	if err != nil {
		return err
	}
	if f.float {
		for y := range min(h, f.Height-top) {
			if err := f.putFloats(img, rows[y*pitch:(y+1)*pitch], left, top+y, n, plane); err != nil {
				return err
			}
		}
		return nil
	}
	d.samples = raster.Grow(d.samples, w*n)
	for y := range min(h, f.Height-top) {
		d.row(f, rows[y*pitch:(y+1)*pitch], n)
		var err error
		if f.Depth == 16 {
			row, at := room(f, img.Wide, img.Row16, left, top+y)
			if f.put(func(i int, v uint16) { row[at+i] = v }, d.samples, left, n, plane); !f.planar {
				err = img.Put16(top+y, left, 1, row)
			}
		} else {
			row, at := room(f, img.Pix, img.Row, left, top+y)
			if f.put(func(i int, v uint16) { row[at+i] = uint8(v) }, d.samples, left, n, plane); !f.planar {
				err = img.Put(top+y, left, 1, row)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// row unpacks the samples of a row and undoes the differences between them.
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

// room returns the memory for a row of a strip or tile, and the element of its first pixel. It is
// the row's place in a kept image if the image is in planes, which are decoded one after the other.
// Otherwise it is separate memory.
func room[T any](f *file, all []T, own func(n int) []T, left, y int) (row []T, at int) {
	if f.planar {
		return all, (y*f.Width + left) * f.Channels
	}
	return own(min(f.tileW, f.Width-left)), 0
}

// put sets the elements of a row with n samples per pixel, whose first column is left.
func (f *file) put(set func(i int, v uint16), s []uint16, left, n, plane int) {
	w := min(f.tileW, f.Width-left)
	most := uint16(1<<f.bits - 1)
	full := uint16(255)
	if f.Depth == 16 {
		full = 65535
	}
	for x := range w {
		p := s[x*n : x*n+n]
		switch {
		case f.photometric == paletted && plane == 0:
			for c := range 3 {
				set(x*3+c, uint16(f.palette[int(p[0])+c<<f.bits]))
			}
		case f.photometric == separated && !f.planar:
			for c := range 3 {
				set(x*4+c, uint16(uint32(most-p[c])*uint32(most-p[3])/uint32(most)))
			}
			set(x*4+3, full)
		default:
			for c, v := range p {
				if c += plane; c >= f.Channels || f.photometric == paletted {
					break
				}
				if v = v * (full / most); f.photometric == whiteIsZero && c == 0 {
					v = full - v
				}
				set(x*f.Channels+c, v)
			}
		}
	}
}

// putFloats writes a row of float32 samples, n per pixel, to img from column left on.
func (f *file) putFloats(img *raster.Image, row []byte, left, y, n, plane int) error {
	out, at := room(f, img.Floats, img.RowFloats, left, y)
	for x := range min(f.tileW, f.Width-left) {
		for c := range n {
			v := math.Float32frombits(f.order.Uint32(row[4*(x*n+c):]))
			if i := c + plane; i < f.Channels {
				if f.photometric == whiteIsZero && i == 0 {
					v = 1 - v
				}
				out[at+x*f.Channels+i] = v
			}
		}
	}
	if f.planar {
		return nil
	}
	return img.PutFloats(y, left, 1, out)
}
