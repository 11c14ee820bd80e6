package pure

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// Space is what the components of an image mean.
type Space uint8

// The colour spaces.
const (
	Gray Space = iota
	YCbCr
	RGB
	CMYK
	YCCK
)

// Header is what is known about an image before its pixels are decoded.
type Header struct {
	Width, Height int
	Space         Space
	Components    int
	Progressive   bool
	Adobe         bool // the file has a marker of Adobe's programs
}

// component is one plane of the image.
type component struct {
	id            byte
	h, v          int // sampling factors
	tq            byte
	width, height int // in samples
	// blocksW and blocksH count the blocks that hold samples; paddedW and paddedH count the blocks of
	// whole MCUs.
	blocksW, blocksH, paddedW, paddedH int

	td, ta byte // tables of the current scan
	dc     int32
	pairs  *pairTable // of ta
}

// markers
const (
	mSOF0 = 0xC0
	mSOF1 = 0xC1
	mSOF2 = 0xC2
	mDHT  = 0xC4
	mRST0 = 0xD0
	mRST7 = 0xD7
	mSOI  = 0xD8
	mEOI  = 0xD9
	mSOS  = 0xDA
	mDQT  = 0xDB
	mDNL  = 0xDC
	mDRI  = 0xDD
	mAPP0 = 0xE0
	mAPPE = 0xEE
	mTEM  = 0x01
)

func corrupt(at int, format string, args ...any) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "jpeg", Subject: fmt.Sprintf("offset %d", at), Got: fmt.Sprintf(format, args...)}
}

func unsupported(at int, format string, args ...any) error {
	return &errs.Error{Kind: errs.Unsupported, Op: "jpeg", Subject: fmt.Sprintf("offset %d", at), Got: fmt.Sprintf(format, args...)}
}

// ReadHeader reads the segments up to the first scan.
func (d *Decoder) ReadHeader(data []byte) (Header, error) {
	d.reset(data)
	if len(data) < 2 || data[0] != 0xFF || data[1] != mSOI {
		return Header{}, corrupt(0, "no start of a JPEG image")
	}
	d.pos = 2
	m, err := d.segments()
	if err != nil {
		return Header{}, err
	}
	if m != mSOS || d.comps == nil {
		return Header{}, corrupt(d.pos, "no frame and scan")
	}
	return d.header, nil
}

// segments reads tables and other segments up to a scan or the end. It returns the marker of the
// scan or the end.
func (d *Decoder) segments() (marker byte, err error) {
	for {
		m, err := d.nextMarker()
		if err != nil {
			return 0, err
		}
		if m == mEOI {
			return m, nil
		}
		if m == mSOI || m == mTEM || m >= mRST0 && m <= mRST7 {
			continue
		}
		at := d.pos
		if len(d.data)-at < 2 {
			return 0, d.ended()
		}
		n := int(d.data[at])<<8 | int(d.data[at+1])
		if n < 2 || len(d.data)-at < n {
			return 0, corrupt(at, "a segment of %d bytes, %d are left", n, len(d.data)-at)
		}
		body := d.data[at+2 : at+n]
		d.pos = at + n
		switch {
		case m == mSOS:
			return m, d.scanHeader(at, body)
		case m == mDHT:
			err = d.huffmanTables(at, body)
		case m == mDQT:
			err = d.quantTables(at, body)
		case m == mDRI:
			if len(body) != 2 {
				return 0, corrupt(at, "a restart interval of %d bytes", len(body))
			}
			d.interval = int(body[0])<<8 | int(body[1])
		case m == mSOF0 || m == mSOF1 || m == mSOF2:
			err = d.frame(at, m, body)
		case m == mDNL || m >= mSOF0 && m <= 0xCF:
			err = unsupported(at, "marker 0x%02X", m)
		case m == mAPP0:
			d.jfif = d.jfif || len(body) >= 5 && string(body[:5]) == "JFIF\x00"
		case m == mAPPE:
			if len(body) >= 12 && string(body[:5]) == "Adobe" {
				d.adobe, d.transform = true, body[11]
			}
		}
		if err != nil {
			return 0, err
		}
	}
}

// nextMarker finds the next marker and skips all other bytes.
func (d *Decoder) nextMarker() (byte, error) {
	if m := d.unread; m != 0 {
		d.unread = 0
		return m, nil
	}
	for i := d.pos; i+1 < len(d.data); i++ {
		if d.data[i] == 0xFF && d.data[i+1] != 0 && d.data[i+1] != 0xFF {
			d.pos = i + 2
			return d.data[i+1], nil
		}
	}
	return 0, d.ended()
}

func (d *Decoder) ended() error {
	return &errs.Error{Kind: errs.Corrupt, Op: "jpeg", Want: "an end marker", Got: fmt.Sprintf("the end of %d bytes", len(d.data))}
}

func (d *Decoder) quantTables(at int, b []byte) error {
	for len(b) > 0 {
		precision, id := b[0]>>4, b[0]&15
		size := 64 << min(precision, 1)
		if precision > 1 || id > 3 || len(b) < 1+size {
			return corrupt(at, "a quantization table")
		}
		for k := range 64 {
			q := uint16(b[1+k])
			if precision == 1 {
				q = uint16(b[1+2*k])<<8 | uint16(b[2+2*k])
			}
			d.quant[id][natural[k]] = q
		}
		d.hasQuant[id] = true
		b = b[1+size:]
	}
	return nil
}

// frame reads the frame header: size and components.
func (d *Decoder) frame(at int, marker byte, b []byte) error {
	if d.comps != nil {
		return corrupt(at, "a second frame")
	}
	if len(b) < 6 {
		return corrupt(at, "a frame header of %d bytes", len(b))
	}
	n := int(b[5])
	h, w := int(b[1])<<8|int(b[2]), int(b[3])<<8|int(b[4])
	switch {
	case b[0] != 8:
		return unsupported(at, "samples of %d bits", b[0])
	case h == 0 || w == 0:
		return corrupt(at, "an image of %dx%d", w, h)
	case len(b) != 6+3*n:
		return corrupt(at, "a frame header of %d bytes for %d components", len(b), n)
	case n != 1 && n != 3 && n != 4:
		return unsupported(at, "%d components", n)
	}
	d.hmax, d.vmax = 1, 1
	comps := d.compArray[:n]
	for i := range comps {
		c := b[6+3*i:]
		comps[i] = component{id: c[0], h: int(c[1] >> 4), v: int(c[1] & 15), tq: c[2]}
		if comps[i].h < 1 || comps[i].h > 4 || comps[i].v < 1 || comps[i].v > 4 || comps[i].tq > 3 {
			return corrupt(at, "component %d with sampling 0x%02X, table %d", i, c[1], c[2])
		}
		d.hmax, d.vmax = max(d.hmax, comps[i].h), max(d.vmax, comps[i].v)
	}
	d.mcusW, d.mcusH = ceil(w, 8*d.hmax), ceil(h, 8*d.vmax)
	for i := range comps {
		c := &comps[i]
		if d.hmax%c.h != 0 || d.vmax%c.v != 0 {
			return unsupported(at, "component %d sampled %dx%d of %dx%d", i, c.h, c.v, d.hmax, d.vmax)
		}
		c.width, c.height = ceil(w*c.h, d.hmax), ceil(h*c.v, d.vmax)
		c.blocksW, c.blocksH = ceil(c.width, 8), ceil(c.height, 8)
		c.paddedW, c.paddedH = d.mcusW*c.h, d.mcusH*c.v
	}
	d.comps = comps
	d.header = Header{Width: w, Height: h, Components: n, Progressive: marker == mSOF2, Space: d.space(comps), Adobe: d.adobe}
	return nil
}

// space derives the colour space from the file's markers and the ids of its components.
func (d *Decoder) space(c []component) Space {
	switch len(c) {
	case 1:
		return Gray
	case 4:
		if d.adobe && d.transform != 0 {
			return YCCK
		}
		return CMYK
	}
	ids := [3]byte{c[0].id, c[1].id, c[2].id}
	switch {
	case d.jfif:
		return YCbCr
	case d.adobe && d.transform == 0, !d.adobe && ids == [3]byte{'R', 'G', 'B'}:
		return RGB
	}
	return YCbCr
}

func ceil(a, b int) int { return (a + b - 1) / b }

// natural maps the coefficients in the order of the file to their places in a block. The entries
// after the 64th are for ends of blocks and damaged files.
var natural = [128]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
	63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
	63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
	63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
	63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
}
