package pure

import "encoding/binary"

// scanHeader reads the header of a scan: its components, their tables, and which coefficients and
// bits it holds.
func (d *Decoder) scanHeader(at int, b []byte) error {
	if d.comps == nil {
		return corrupt(at, "a scan before the frame")
	}
	if len(b) < 1 || len(b) != 4+2*int(b[0]) || b[0] < 1 || int(b[0]) > len(d.comps) {
		return corrupt(at, "a scan header of %d bytes", len(b))
	}
	n := int(b[0])
	d.scan = d.scan[:0]
	blocks := 0
	for i := range n {
		id, tables := b[1+2*i], b[2+2*i]
		found := -1
		for k := range d.comps {
			if d.comps[k].id == id && !inScan(d.scan, k) {
				found = k
				break
			}
		}
		if found < 0 || tables>>4 > 3 || tables&15 > 3 {
			return corrupt(at, "component %d of the scan", i)
		}
		c := &d.comps[found]
		c.td, c.ta = tables>>4, tables&15
		blocks += c.h * c.v
		d.scan = append(d.scan, found)
	}
	if n > 1 && blocks > 10 {
		return corrupt(at, "%d blocks in an MCU", blocks)
	}
	d.ss, d.se, d.ah, d.al = int(b[1+2*n]), int(b[2+2*n]), int(b[3+2*n]>>4), int(b[3+2*n]&15)
	if !d.header.Progressive {
		d.ss, d.se, d.ah, d.al = 0, 63, 0, 0 // like libjpeg, ignore the values in the file
		return nil
	}
	dc := d.ss == 0
	if dc && d.se != 0 || !dc && (d.se < d.ss || d.se > 63 || n != 1) || d.al > 13 || d.ah != 0 && d.ah != d.al+1 {
		return corrupt(at, "a scan of coefficients %d to %d, bits %d to %d", d.ss, d.se, d.ah, d.al)
	}
	return nil
}

func inScan(scan []int, k int) bool {
	for _, s := range scan {
		if s == k {
			return true
		}
	}
	return false
}

// tablesReady returns an error if a table of the scan is missing.
func (d *Decoder) tablesReady() error {
	for _, k := range d.scan {
		c := &d.comps[k]
		dc, ac := &d.huff[0][c.td], &d.huff[1][c.ta]
		needDC := d.ss == 0 && d.ah == 0
		if needDC && (!dc.defined || dc.large) || d.se > 0 && !ac.defined {
			return corrupt(d.pos, "a scan without its Huffman tables")
		}
	}
	return nil
}

// pairsFrom is the number of MCUs from which on symbols are decoded in pairs. In a smaller image it
// takes longer to make the table than the table saves.
const pairsFrom = 256

// decodeScan decodes the entropy-coded data of a scan. rows is the number of wanted rows of MCUs;
// rows below may be skipped.
//
// each is called for every block in turn.
func (d *Decoder) decodeScan(rows int, each func(c *component, bx, by int)) error {
	if err := d.tablesReady(); err != nil {
		return err
	}
	d.bits = bits{data: d.data, pos: d.pos}
	d.eobrun, d.restarts, d.next = 0, d.interval, mRST0
	for i := range d.comps {
		d.comps[i].dc, d.comps[i].pairs = 0, &d.none
	}
	if !d.header.Progressive && d.mcusW*d.mcusH >= pairsFrom && !d.single {
		for _, k := range d.scan {
			d.comps[k].pairs = d.huff[1][d.comps[k].ta].pairing()
		}
	}
	single := len(d.scan) == 1
	w, h := d.mcusW, min(d.mcusH, rows)
	if single {
		c := &d.comps[d.scan[0]]
		w, h = c.blocksW, min(c.blocksH, rows*c.v)
	}
	for my := range h {
		if d.Limits.Check != nil {
			if err := d.Limits.Check(); err != nil {
				return err
			}
		}
		for mx := range w {
			if d.interval > 0 {
				if d.restarts == 0 {
					d.restart()
				}
				d.restarts--
			}
			if single {
				each(&d.comps[d.scan[0]], mx, my)
			} else {
				for _, k := range d.scan {
					c := &d.comps[k]
					for v := range c.v {
						for u := range c.h {
							each(c, mx*c.h+u, my*c.v+v)
						}
					}
				}
			}
			if d.bits.checkDry(); d.bits.cut && d.bits.dry {
				return d.ended()
			}
		}
	}
	d.pos, d.unread = d.bits.pos, d.bits.marker
	return nil
}

// restart continues after the next restart marker. It compensates for a marker that is missing or
// misplaced.
func (d *Decoder) restart() {
	b := &d.bits
	d.restarts, d.eobrun = d.interval, 0
	for i := range d.comps {
		d.comps[i].dc = 0
	}
	b.acc, b.n, b.pad = 0, 0, 0
	want := d.next
	d.next = mRST0 + (want-mRST0+1)&7
	for {
		if b.marker == 0 && !b.findMarker() {
			return
		}
		m := b.marker
		switch {
		case m == want: // the usual case
		case m < mSOF0: // an unknown marker: look for the next marker
			b.marker = 0
			continue
		case m < mRST0 || m > mRST7, m == mRST0+(want-mRST0+1)&7, m == mRST0+(want-mRST0+2)&7:
			return // data is missing: this marker belongs to later data
		case m == mRST0+(want-mRST0+7)&7, m == mRST0+(want-mRST0+6)&7:
			b.marker = 0 // an earlier marker: data is repeated
			continue
		}
		b.marker, b.dry = 0, false
		return
	}
}

// findMarker goes to the next marker.
func (b *bits) findMarker() bool {
	for i := b.pos; i+1 < len(b.data); i++ {
		if b.data[i] == 0xFF && b.data[i+1] != 0 && b.data[i+1] != 0xFF {
			b.marker, b.pos = b.data[i+1], i+2
			return true
		}
	}
	b.cut, b.dry = true, true
	return false
}

// sequential decodes a block of a sequential image into blk, which must be zero. It reports whether
// the block has more than a mean.
func (d *Decoder) sequential(c *component, blk *[64]int16) (ac bool) {
	b := &d.bits
	if b.dry {
		return false
	}
	t := &d.huff[1][c.ta]
	v, acc, n := b.difference(&d.huff[0][c.td])
	c.dc += v
	blk[0] = int16(c.dc)
	pairs := c.pairs
	var seen int16
	for k := uint32(1); k < 64; {
		if n < 32 {
			if b.pos+8 <= len(b.data) {
				if v := binary.BigEndian.Uint64(b.data[b.pos:]); noMarker(v) && b.marker == 0 {
					acc |= v >> (n & 63)
					more := (63 - n) &^ 7
					b.pos += int(more >> 3)
					n += more
					goto filled
				}
			}
			b.acc, b.n = acc, int(n)
			b.need(32)
			acc, n = b.acc, uint(b.n)
		}
	filled:
		if e := pairs[acc>>(64-lookPair)]; e != 0 && k+e>>4&63 < 64 {
			one, two := int16(int8(e>>16)), int16(int8(e>>24))
			acc <<= e & 15
			n -= uint(e & 15)
			k += e >> 4 & 63
			blk[natural[(k-1)&127]&63] = one
			k += e >> 10 & 63
			blk[natural[(k-1)&127]&63] = two
			seen |= one | two
			continue
		}
		e := t.fast[acc>>(64-look)]
		if e == 0 {
			b.acc, b.n = acc, int(n)
			e = entry(b.longSymbol(t), 0)
			acc, n = b.acc, uint(b.n)
		}
		// The steps are the same for all symbols, so that there is no branch to predict. A symbol without
		// extra bits writes the value 0 where blk is still 0.
		v := int16(value(acc, e))
		acc <<= e & 63
		n -= uint(e & 63)
		k += e >> 16
		blk[natural[(k-1)&127]&63] = v
		seen |= v
	}
	b.acc, b.n = acc, int(n)
	return seen != 0
}

// skip skips a block of a sequential image.
func (d *Decoder) skip(c *component) {
	b := &d.bits
	if b.dry {
		return
	}
	t := &d.huff[1][c.ta]
	runs := (*[1 << lookSkip]uint32)(t.skipping())
	v, acc, n := b.difference(&d.huff[0][c.td])
	c.dc += v
	for k := uint32(1); k < 64; {
		if n < 32 {
			acc, n = b.more(acc, n)
		}
		e := runs[acc>>(64-lookSkip)]
		if e != 0 && k+e>>16 < 64 {
			acc <<= e & 63
			n -= uint(e & 63)
			k += e >> 8 & 255
			continue
		}
		e = t.fast[acc>>(64-look)]
		if e == 0 {
			b.acc, b.n = acc, int(n)
			e = entry(b.longSymbol(t), 0)
			acc, n = b.acc, uint(b.n)
		}
		acc <<= e & 63
		n -= uint(e & 63)
		k += e >> 16
	}
	b.acc, b.n = acc, int(n)
}

// difference decodes the difference between a block's mean and the previous mean. It leaves the
// bits that are ahead to the caller, in registers.
func (b *bits) difference(dc *table) (v int32, acc uint64, n uint) {
	acc, n = b.acc, uint(b.n)
	if n < 32 {
		acc, n = b.more(acc, n)
	}
	e := dc.fast[acc>>(64-look)]
	if e == 0 {
		b.acc, b.n = acc, int(n)
		e = entry(b.longSymbol(dc), 0)
		acc, n = b.acc, uint(b.n)
	}
	return value(acc, e), acc << (e & 63), n - uint(e&63)
}
