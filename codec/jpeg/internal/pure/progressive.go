package pure

// progressive decodes the data that a scan of a progressive image has for a block.
func (d *Decoder) progressive(c *component, blk *[64]int16) {
	switch {
	case d.ss == 0 && d.ah == 0:
		d.firstDC(c, blk)
	case d.ss == 0:
		if d.bits.take(1) != 0 {
			blk[0] |= 1 << d.al
		}
	case d.ah == 0:
		d.firstAC(c, blk)
	default:
		d.refineAC(c, blk)
	}
}

func (d *Decoder) firstDC(c *component, blk *[64]int16) {
	b := &d.bits
	if b.dry {
		return
	}
	if s := int(b.symbol(&d.huff[0][c.td])); s > 0 {
		c.dc += extend(b.take(s), uint32(s))
	}
	blk[0] = int16(c.dc << d.al)
}

func (d *Decoder) firstAC(c *component, blk *[64]int16) {
	b := &d.bits
	if b.dry {
		return
	}
	if d.eobrun > 0 {
		d.eobrun--
		return
	}
	t := &d.huff[1][c.ta]
	for k := d.ss; k <= d.se; k++ {
		s := b.symbol(t)
		run, size := int(s>>4), int(s&15)
		switch {
		case size > 0:
			k += run
			blk[natural[k]] = int16(extend(b.take(size), uint32(size)) << d.al)
		case run == 15:
			k += 15
		default:
			d.eobrun = 1<<run + int(b.take(run)) - 1
			return
		}
	}
}

// refineAC decodes one more bit of the nonzero coefficients, and new coefficients with this bit.
func (d *Decoder) refineAC(c *component, blk *[64]int16) {
	b := &d.bits
	if b.dry {
		return
	}
	plus, minus := int16(1)<<d.al, int16(-1)<<d.al
	t := &d.huff[1][c.ta]
	k := d.ss
	if d.eobrun == 0 {
		for ; k <= d.se; k++ {
			s := b.symbol(t)
			run, size := int(s>>4), int(s&15)
			var v int16
			if size > 0 { // always 1, even if a damaged file says otherwise
				if v = minus; b.take(1) != 0 {
					v = plus
				}
			} else if run != 15 {
				d.eobrun = 1<<run + int(b.take(run))
				break
			}
			k = d.refine(blk, k, run, plus, minus)
			if v != 0 {
				blk[natural[min(k, 63)]] = v
			}
		}
	}
	if d.eobrun > 0 {
		d.refine(blk, k, 64, plus, minus)
		d.eobrun--
	}
}

// refine decodes the next bits of nonzero coefficients from k on. It skips run zero coefficients
// and stops at the next zero coefficient.
func (d *Decoder) refine(blk *[64]int16, k, run int, plus, minus int16) int {
	for ; k <= d.se; k++ {
		p := &blk[natural[k]]
		if *p == 0 {
			if run--; run < 0 {
				break
			}
			continue
		}
		if d.bits.take(1) != 0 && *p&plus == 0 {
			if *p >= 0 {
				*p += plus
			} else {
				*p += minus
			}
		}
	}
	return k
}
