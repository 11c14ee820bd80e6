package seekable

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"slices"
)

const (
	windowSize = 32 << 10 // how far deflate refers back
	longest    = 258      // the longest match
	slack      = 320      // room behind the output for one match
	keep       = 16       // bytes of a chunk that stay when the next one comes
)

// The ways in which deflate can be at fault.
var (
	errDeflate = errors.New("not deflate")     // a block type, a code or a distance that there is not
	errLarge   = errors.New("too many bytes")  // more output than the caller allows
	errEnd     = errors.New("input that ends") // the input is cut
)

// inflater decompresses deflate, one of its blocks at a time, from memory or from a reader.
type inflater struct {
	in   []byte
	pos  int       // of the next byte that is not in bits
	base int64     // where in begins in the file
	r    io.Reader // for more input, or nil
	err  error     // of r

	bits  uint64
	nbits uint

	buf   []byte // what was decompressed, after a window
	first int    // the first byte of buf that a match may refer to

	lit, dist table
	lengths   [320]uint8
}

// at returns the place of the next bit.
func (z *inflater) at() int64 { return 8*(z.base+int64(z.pos)) - int64(z.nbits) }

// more appends the next chunk to the input, and reports whether there is one.
func (z *inflater) more() bool {
	if z.r == nil || z.err != nil {
		return false
	}
	drop := max(0, z.pos-keep)
	left := copy(z.in, z.in[drop:])
	z.base += int64(drop)
	z.pos -= drop
	room := z.in[left:cap(z.in)]
	n, err := io.ReadAtLeast(z.r, room, 1)
	z.in, z.err = z.in[:left+n], err
	return n > 0
}

// refill makes at least 56 bits available, or all that there are.
func (z *inflater) refill() {
	for {
		if z.pos+8 <= len(z.in) {
			z.bits |= binary.LittleEndian.Uint64(z.in[z.pos:]) << z.nbits
			z.pos += int(63-z.nbits) >> 3
			z.nbits |= 56
			return
		}
		if z.nbits >= 48 {
			return
		}
		if !z.more() {
			break
		}
	}
	// Bits above nbits may belong to bytes that are read again.
	z.bits &= 1<<z.nbits - 1
	for z.nbits <= 56 && z.pos < len(z.in) {
		z.bits |= uint64(z.in[z.pos]) << z.nbits
		z.pos++
		z.nbits += 8
	}
}

// take returns the next n bits, at most 32.
func (z *inflater) take(n uint) (uint32, error) {
	if z.nbits < n {
		if z.refill(); z.nbits < n {
			return 0, z.ended()
		}
	}
	v := uint32(z.bits & (1<<n - 1))
	z.bits >>= n
	z.nbits -= n
	return v, nil
}

// ended returns the error for input that ends.
func (z *inflater) ended() error {
	if z.err != nil && !errors.Is(z.err, io.EOF) && !errors.Is(z.err, io.ErrUnexpectedEOF) {
		return z.err
	}
	return errEnd
}

// align goes on to the next whole byte.
func (z *inflater) align() {
	n := z.nbits & 7
	z.bits >>= n
	z.nbits -= n
}

// unread gives the bits back to the input. It must be aligned.
func (z *inflater) unread() {
	z.pos -= int(z.nbits / 8)
	z.bits, z.nbits = 0, 0
}

// block decompresses one block of deflate to the end of buf, which must stay within most bytes.
func (z *inflater) block(most int) (final bool, err error) {
	head, err := z.take(3)
	if err != nil {
		return false, err
	}
	switch final = head&1 != 0; head >> 1 {
	case 0:
		return final, z.stored(most)
	case 1:
		return final, z.codes(fixedLit, fixedDist, most)
	case 2:
		if err := z.tables(); err != nil {
			return false, err
		}
		return final, z.codes(z.lit, z.dist, most)
	}
	return false, errDeflate
}

// stored copies a block that is not compressed.
func (z *inflater) stored(most int) error {
	z.align()
	n, err := z.take(32)
	if err != nil {
		return err
	}
	if n&0xffff != ^n>>16 {
		return errDeflate
	}
	z.unread()
	for left := int(n & 0xffff); left > 0; {
		if z.pos == len(z.in) && !z.more() {
			return z.ended()
		}
		part := z.in[z.pos:min(len(z.in), z.pos+left)]
		if len(z.buf)+len(part) > most {
			return errLarge
		}
		z.buf = append(z.buf, part...)
		z.pos += len(part)
		left -= len(part)
	}
	return nil
}

// order is the order of the lengths of the codes for lengths.
var order = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// tables reads the two codes of a block.
func (z *inflater) tables() error {
	head, err := z.take(14)
	if err != nil {
		return err
	}
	lits, dists, codes := int(head&31)+257, int(head>>5&31)+1, int(head>>10)+4
	if lits > 286 || dists > 30 {
		return errDeflate
	}
	var small [19]uint8
	for _, at := range order[:codes] {
		n, err := z.take(3)
		if err != nil {
			return err
		}
		small[at] = uint8(n)
	}
	if !z.lit.build(small[:], kindPlain) {
		return errDeflate
	}
	lengths := z.lengths[:lits+dists]
	for i := 0; i < len(lengths); {
		if z.nbits < 32 {
			z.refill()
		}
		e := z.lit.find(z.bits)
		n := uint(e & 0xff)
		if n > z.nbits || e&entryValid == 0 {
			return z.noCode()
		}
		z.bits >>= n
		z.nbits -= n
		symbol := e >> 16
		if symbol < 16 {
			lengths[i] = uint8(symbol)
			i++
			continue
		}
		var again uint8
		var extra uint
		var count uint32
		switch symbol {
		case 16:
			if i == 0 {
				return errDeflate
			}
			again, extra, count = lengths[i-1], 2, 3
		case 17:
			extra, count = 3, 3
		default:
			extra, count = 7, 11
		}
		v, err := z.take(extra)
		if err != nil {
			return err
		}
		if count += v; int(count) > len(lengths)-i {
			return errDeflate
		}
		for range count {
			lengths[i] = again
			i++
		}
	}
	if !z.lit.build(lengths[:lits], kindLit) || !z.dist.build(lengths[lits:], kindDist) {
		return errDeflate
	}
	return nil
}

// codes decompresses a block with the given codes.
func (z *inflater) codes(lit, dist table, most int) error {
	for {
		if len(z.buf) > most {
			return errLarge
		}
		if cap(z.buf)-len(z.buf) < 2*slack {
			z.buf = slices.Grow(z.buf, min(max(len(z.buf), 64<<10), most-len(z.buf))+2*slack)
		}
		done, err := z.run(lit, dist)
		if err == nil && len(z.buf) > most {
			err = errLarge
		}
		if done || err != nil {
			return err
		}
	}
}

// run decompresses until the block ends, or until there is little room behind buf.
func (z *inflater) run(lit, dist table) (done bool, err error) {
	b, n := z.buf[:cap(z.buf)], len(z.buf)
	limit := len(b) - slack
	defer func() { z.buf = b[:n] }()
	for n < limit {
		if z.nbits < 48 {
			z.refill()
		}
		e := lit.entries[z.bits&lit.mask]
		if e&entryLink != 0 {
			e = lit.entries[e>>16+uint32(z.bits>>lit.bits)&(1<<(e>>8&0xf)-1)]
		}
		size := uint(e & 0xff)
		if size > z.nbits || e&entryValid == 0 {
			return false, z.noCode()
		}
		z.bits >>= size
		z.nbits -= size
		if e&entryLiteral != 0 {
			b[n] = byte(e >> 16)
			n++
			continue
		}
		if e&entryEnd != 0 {
			return true, nil
		}
		extra := uint(e >> 8 & 0xf)
		length := int(e>>16) + int(z.bits&(1<<extra-1))
		if extra > z.nbits {
			return false, z.ended()
		}
		z.bits >>= extra
		z.nbits -= extra

		e = dist.entries[z.bits&dist.mask]
		if e&entryLink != 0 {
			e = dist.entries[e>>16+uint32(z.bits>>dist.bits)&(1<<(e>>8&0xf)-1)]
		}
		size = uint(e & 0xff)
		if size > z.nbits || e&entryValid == 0 {
			return false, z.noCode()
		}
		z.bits >>= size
		z.nbits -= size
		extra = uint(e >> 8 & 0xf)
		back := int(e>>16) + int(z.bits&(1<<extra-1))
		if extra > z.nbits {
			return false, z.ended()
		}
		z.bits >>= extra
		z.nbits -= extra
		if back > n-z.first {
			return false, errDeflate
		}
		if back >= length {
			copy(b[n:n+length], b[n-back:])
			n += length
			continue
		}
		for end := n + length; n < end; { // each copy doubles what the next one can copy
			n += copy(b[n:end], b[n-back:n])
			back *= 2
		}
	}
	return false, nil
}

// noCode returns the error for bits that are no code. Few bits are there only at the end of the
// input.
func (z *inflater) noCode() error {
	if z.nbits < 15 {
		return z.ended()
	}
	return errDeflate
}

// The flags of an entry of a table. An entry has the bits of its code, or of the code within the
// table that it links to, in bits 0-7; the number of extra bits, or of the bits that the linked
// table takes, in bits 8-11; and its value or the place of the linked table from bit 16 on.
const (
	entryValid   = 1 << 12
	entryLiteral = 1 << 13
	entryEnd     = 1 << 14
	entryLink    = 1 << 15
)

// primary is how many bits the first look-up of a code takes.
const primary = 10

// table decodes one Huffman code.
type table struct {
	entries []uint32
	bits    uint // of the first look-up
	mask    uint64
}

// find returns the entry for the next bits.
func (t *table) find(b uint64) uint32 {
	e := t.entries[b&t.mask]
	if e&entryLink != 0 {
		e = t.entries[e>>16+uint32(b>>t.bits)&(1<<(e>>8&0xf)-1)]
	}
	return e
}

// The kinds of codes.
const (
	kindPlain = iota
	kindLit
	kindDist
)

// entryOf returns the entry for a symbol, without the length of its code.
func entryOf(symbol, kind int) uint32 {
	switch {
	case kind == kindPlain:
		return uint32(symbol)<<16 | entryValid
	case kind == kindDist:
		if symbol >= len(distances) {
			return 0
		}
		return distances[symbol]
	case symbol < 256:
		return uint32(symbol)<<16 | entryLiteral | entryValid
	case symbol == 256:
		return entryEnd | entryValid
	case symbol-257 >= len(matches):
		return 0
	}
	return matches[symbol-257]
}

// matches and distances are the entries of lengths and distances.
var matches, distances = func() (m [29]uint32, d [30]uint32) {
	base := uint32(3)
	for i := range m {
		extra := uint32(max(0, i/4-1))
		m[i] = base<<16 | extra<<8 | entryValid
		base += 1 << extra
	}
	m[28] = longest<<16 | entryValid
	base = 1
	for i := range d {
		extra := uint32(max(0, i/2-1))
		d[i] = base<<16 | extra<<8 | entryValid
		base += 1 << extra
	}
	return m, d
}()

// build makes the table for codes of the given lengths, 0 for symbols that do not occur. It reports
// whether the lengths make a code: all words have a meaning, except that a code may have one word
// of one bit, or no word.
func (t *table) build(lengths []uint8, kind int) bool {
	var count [16]int
	longestCode := 0
	for _, n := range lengths {
		count[n]++
		longestCode = max(longestCode, int(n))
	}
	t.bits = uint(min(primary, max(1, longestCode)))
	t.mask = 1<<t.bits - 1
	t.entries = slices.Grow(t.entries[:0], 1<<t.bits)[:1<<t.bits]
	clear(t.entries)
	if longestCode == 0 {
		return true
	}
	var next [17]uint32
	code := uint32(0)
	for n := 1; n <= longestCode; n++ {
		code <<= 1
		next[n] = code
		code += uint32(count[n])
	}
	if code != 1<<longestCode && (code != 1 || longestCode != 1) {
		return false
	}
	for symbol, n := range lengths {
		if n == 0 {
			continue
		}
		word := uint64(bits.Reverse32(next[n]) >> (32 - n))
		next[n]++
		e := entryOf(symbol, kind)
		if e != 0 {
			e |= uint32(n)
		}
		if uint(n) <= t.bits {
			for at := word; at < uint64(1)<<t.bits; at += 1 << n {
				t.entries[at] = e
			}
			continue
		}
		// Longer words with the same first bits share a table for the rest of them.
		rest := uint(longestCode) - t.bits
		link := &t.entries[word&t.mask]
		if *link == 0 {
			from := len(t.entries)
			*link = uint32(from)<<16 | uint32(rest)<<8 | entryLink
			t.entries = append(t.entries, make([]uint32, 1<<rest)...)
		}
		from := uint64(t.entries[word&t.mask] >> 16)
		for at := word >> t.bits; at < uint64(1)<<rest; at += 1 << (uint(n) - t.bits) {
			t.entries[from+at] = e
		}
	}
	return true
}

// The codes of blocks that have none of their own.
var fixedLit, fixedDist = func() (l, d table) {
	lengths := make([]uint8, 288)
	for i := range lengths {
		switch {
		case i < 144:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		case i < 280:
			lengths[i] = 7
		default:
			lengths[i] = 8
		}
	}
	l.build(lengths, kindLit)
	lengths = lengths[:32]
	for i := range lengths {
		lengths[i] = 5
	}
	d.build(lengths, kindDist)
	return l, d
}()
