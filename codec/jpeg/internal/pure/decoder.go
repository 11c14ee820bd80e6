package pure

import (
	"github.com/bivouac-ml/bivouac/errs"
)

// Output is the form of the output rows.
type Output uint8

// The outputs. Luma is only the first component, with one byte per pixel. Colour has three bytes
// per pixel, red first; gray images repeat their gray. Ink has four bytes per pixel, like libjpeg's
// CMYK.
const (
	Luma Output = iota
	Colour
	Ink
)

// Channels returns the bytes of a pixel.
func (o Output) Channels() int { return [...]int{1, 3, 4}[o] }

// Limits bound what an image may cost.
type Limits struct {
	Scans int // 0: no limit
	// Check is called before each row of MCUs, unless it is nil. Its error ends the decoding.
	Check func() error
}

// Decoder decodes one image at a time and reuses its memory. The zero Decoder is ready. Only one
// goroutine at a time may use it.
type Decoder struct {
	Limits Limits
	// Fast chooses the fast transform.
	Fast bool

	data   []byte
	pos    int
	unread byte // a marker that was found within entropy-coded data

	header     Header
	comps      []component
	compArray  [4]component
	hmax, vmax int
	mcusW      int
	mcusH      int
	jfif       bool
	adobe      bool
	transform  byte
	interval   int

	quant    [4][64]uint16
	fast     [4][64]int16 // made from quant, if Fast is set
	hasQuant [4]bool
	huff     [2][4]table
	none     pairTable // stays zero: of scans whose symbols are decoded one at a time
	single   bool      // all of them; for tests

	// The current scan.
	scan           []int
	ss, se, ah, al int
	bits           bits
	eobrun         int
	restarts       int
	next           byte // restart marker

	planes [4]plane
	coefs  [4][]int16 // of whole images, if there are several scans
	block  [64]int16
	rows   [4][]byte // of one row of pixels, upsampled
	sums   []int16
}

// plane is the window of a component: blocks from (bx, by) on.
type plane struct {
	bx, by, bw, bh int
	stride         int
	pix            []byte
	wanted         bool
}

// Release drops the references to the image.
func (d *Decoder) Release() { d.data, d.bits.data, d.comps = nil, nil, nil }

func (d *Decoder) reset(data []byte) {
	d.data, d.pos, d.unread = data, 0, 0
	d.comps, d.jfif, d.adobe, d.transform, d.interval = nil, false, false, 0, 0
	d.hasQuant = [4]bool{}
	for class := range d.huff {
		for i := range d.huff[class] {
			d.huff[class][i].defined = false
		}
	}
}

// Decode writes the window of w by h pixels at (x, y) to dst. The window must lie inside the image
// that ReadHeader read. Rows begin stride bytes apart.
func (d *Decoder) Decode(dst []byte, stride, x, y, w, h int, out Output) error {
	hd := d.header
	switch {
	case d.comps == nil:
		return &errs.Error{Kind: errs.Invalid, Op: "jpeg", Got: "no header was read"}
	case x < 0 || y < 0 || w < 1 || h < 1 || x+w > hd.Width || y+h > hd.Height:
		return &errs.Error{Kind: errs.Invalid, Op: "jpeg", Subject: "window", Got: "not inside the image"}
	case (out == Ink) != (hd.Components == 4):
		return unsupported(d.pos, "%d components in this output", hd.Components)
	}
	d.layOut(x, y, w, h, out)
	var err error
	if hd.Progressive || len(d.scan) != len(d.comps) {
		err = d.severalScans(y + h)
	} else {
		err = d.oneScan(y + h)
	}
	if err != nil {
		return err
	}
	d.putOut(dst, stride, x, y, w, h, out)
	return nil
}

// layOut finds the blocks of each component that the window needs: the blocks of its samples and of
// one more sample on each side, which upsampling reads.
func (d *Decoder) layOut(x, y, w, h int, out Output) {
	for i := range d.comps {
		c, p := &d.comps[i], &d.planes[i]
		if p.wanted = out != Luma || i == 0 || d.header.Space == RGB; !p.wanted {
			p.bw, p.bh = 0, 0
			continue
		}
		x0, x1 := max(0, x*c.h/d.hmax-1), min(c.width, ceil((x+w)*c.h, d.hmax)+1)
		y0, y1 := max(0, y*c.v/d.vmax-1), min(c.height, ceil((y+h)*c.v, d.vmax)+1)
		p.bx, p.by = x0/8, y0/8
		p.bw, p.bh = ceil(x1, 8)-p.bx, ceil(y1, 8)-p.by
		p.stride = 8 * p.bw
		p.pix = grown(p.pix, p.stride*8*p.bh)
	}
}

func (p *plane) has(bx, by int) bool {
	return uint(bx-p.bx) < uint(p.bw) && uint(by-p.by) < uint(p.bh)
}

// at returns the samples of a block.
func (p *plane) at(bx, by int) []byte { return p.pix[(by-p.by)*8*p.stride+(bx-p.bx)*8:] }

// end returns the number of rows of MCUs that hold the rows of pixels above bottom, and the row
// below them that upsampling reads.
func (d *Decoder) end(bottom int) int {
	rows := 0
	for i := range d.comps {
		if p := &d.planes[i]; p.wanted {
			rows = max(rows, ceil(p.by+p.bh, d.comps[i].v))
		}
	}
	return min(rows, d.mcusH)
}

// oneScan decodes an image whose only scan has all components: blocks go straight
// from the entropy decoder to the transform.
func (d *Decoder) oneScan(bottom int) error {
	if err := d.quantReady(); err != nil {
		return err
	}
	rows := d.end(bottom)
	clear(d.block[:])
	err := d.decodeScan(rows, func(c *component, bx, by int) {
		p := &d.planes[d.indexOf(c)]
		if !p.has(bx, by) {
			d.skip(c)
			return
		}
		ac, q := d.sequential(c, &d.block), &d.quant[c.tq]
		if ac || d.Fast {
			d.transformed(p.at(bx, by), p.stride, &d.block, c.tq)
			d.block = [64]int16{}
			return
		}
		flat(p.at(bx, by), p.stride, d.block[0], q[0])
		d.block[0] = 0
	})
	if err != nil || rows < d.mcusH {
		return err
	}
	return d.finish()
}

// finish returns an error if the file ends with the data of its only scan, because then it is cut
// off. Like libjpeg, it does not read the data that follows: this data has no meaning for the
// image, so incomplete segments and unknown markers are no errors.
func (d *Decoder) finish() error {
	const ahead = 8 // bytes that libjpeg reads beyond what it decodes
	if d.unread != 0 || len(d.data)-d.pos >= ahead || d.bits.findMarker() {
		return nil
	}
	return d.ended()
}

func (d *Decoder) indexOf(c *component) int {
	for i := range d.comps {
		if c == &d.comps[i] {
			return i
		}
	}
	return 0
}

func (d *Decoder) quantReady() error {
	for i := range d.comps {
		tq := d.comps[i].tq
		if !d.hasQuant[tq] {
			return corrupt(d.pos, "component %d without its quantization table", i)
		}
		if d.Fast {
			d.fast[tq] = fastTable(&d.quant[tq])
		}
	}
	return nil
}

// transformed writes the samples of a block, with quantization table tq.
func (d *Decoder) transformed(dst []byte, stride int, blk *[64]int16, tq byte) {
	if d.Fast {
		fastInverse(dst, stride, blk, &d.fast[tq])
		return
	}
	inverse(dst, stride, blk, &d.quant[tq])
}

// severalScans collects all coefficients, then transforms the coefficients of the window.
func (d *Decoder) severalScans(bottom int) error {
	for i := range d.comps {
		c := &d.comps[i]
		n := c.paddedW * c.paddedH * 64
		if cap(d.coefs[i]) < n {
			d.coefs[i] = make([]int16, n)
		}
		d.coefs[i] = d.coefs[i][:n]
		clear(d.coefs[i])
	}
	for scans := 1; ; scans++ {
		if d.Limits.Scans > 0 && scans > d.Limits.Scans {
			return corrupt(d.pos, "more than %d scans", d.Limits.Scans)
		}
		err := d.decodeScan(d.mcusH, func(c *component, bx, by int) {
			at := (by*c.paddedW + bx) * 64
			blk := (*[64]int16)(d.coefs[d.indexOf(c)][at : at+64])
			if d.header.Progressive {
				d.progressive(c, blk)
			} else {
				d.sequential(c, blk)
			}
		})
		if err != nil {
			return err
		}
		m, err := d.segments()
		if err != nil {
			return err
		}
		if m == mEOI {
			break
		}
	}
	if err := d.quantReady(); err != nil {
		return err
	}
	for i := range d.comps {
		c, p := &d.comps[i], &d.planes[i]
		for by := p.by; by < p.by+p.bh; by++ {
			for bx := p.bx; bx < p.bx+p.bw; bx++ {
				at := (by*c.paddedW + bx) * 64
				d.transformed(p.at(bx, by), p.stride, (*[64]int16)(d.coefs[i][at:at+64]), c.tq)
			}
		}
	}
	return nil
}

func grown(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
