package pure

import (
	"encoding/binary"
)

// look is the number of bits that the first table of a code decodes at once.
const look = 10

// table is a Huffman code.
//
// An entry of fast describes the next look bits if they begin with a whole code:
//
//	bits 23..16 how far the coefficient's number goes on   15..12 extra bits   5..0 bits of code and extra bits
//
// Zero means that the code is longer. An end of block advances the number by 64.
type table struct {
	fast    [1 << look]uint32
	code    [1 << look]uint16 // symbol<<8 | length of the code; 0 if the code is longer
	maxcode [18]int32         // largest code of each length, -1 if there is no such code
	offset  [18]int32         // of the symbols of each length, less the first code
	symbols [256]byte
	counts  [16]byte // number of codes by length, from which the rest is made
	runs    []uint32 // made by the first call of skipping
	pairs   []uint32 // made by the first call of pairing
	defined bool
	large   bool // has a symbol that is invalid for a difference of means
}

const endOfBlock = 64

func (d *Decoder) huffmanTables(at int, b []byte) error {
	for len(b) > 0 {
		if len(b) < 17 || b[0]>>4 > 1 || b[0]&15 > 3 {
			return corrupt(at, "a table of Huffman codes")
		}
		class, id, total := b[0]>>4, b[0]&15, 0
		for _, n := range b[1:17] {
			total += int(n)
		}
		if total > 256 || len(b) < 17+total {
			return corrupt(at, "a table of %d Huffman codes in %d bytes", total, len(b))
		}
		if !d.huff[class][id].build([16]byte(b[1:17]), b[17:17+total]) {
			return corrupt(at, "Huffman codes that do not fit their lengths")
		}
		b = b[17+total:]
	}
	return nil
}

// build makes the tables. It keeps the tables of the previous image if they are the same, as for
// most images. It returns false if there are too many codes of a length.
func (t *table) build(counts [16]byte, symbols []byte) bool {
	if t.maxcode[17] != 0 && t.counts == counts && string(t.symbols[:len(symbols)]) == string(symbols) {
		t.defined = true
		return true
	}
	*t = table{defined: true, counts: counts, runs: t.runs[:0], pairs: t.pairs[:0]}
	copy(t.symbols[:], symbols)
	for _, s := range symbols {
		t.large = t.large || s > 15
	}
	code, at := int32(0), int32(0)
	for length := 1; length <= 16; length++ {
		n := int32(counts[length-1])
		t.offset[length], t.maxcode[length] = at-code, -1
		for range n {
			if code >= 1<<length {
				return false
			}
			if length <= look {
				first := code << (look - length)
				for i := range int32(1) << (look - length) {
					t.code[first+i] = uint16(symbols[at])<<8 | uint16(length)
				}
			}
			t.maxcode[length] = code
			code++
			at++
		}
		code <<= 1
	}
	t.maxcode[17] = 1 << 30
	for bits, c := range t.code {
		if c != 0 {
			t.fast[bits] = entry(byte(c>>8), uint32(c&255))
		}
	}
	return true
}

// lookSkip is the number of bits that the table of skipping decodes at once.
const lookSkip = 11

// skipping returns the table that is used to skip blocks. An entry describes all whole symbols,
// with their extra bits, among the next lookSkip bits, up to the end of a block,
//
//	bits 23..16 how far all but the last go on   15..8 how far all go on   5..0 bits of them
//
// and is zero if no whole symbol fits.
func (t *table) skipping() []uint32 {
	if len(t.runs) > 0 {
		return t.runs
	}
	if t.runs = t.runs[:0]; cap(t.runs) == 0 {
		t.runs = make([]uint32, 0, 1<<lookSkip)
	}
	for bits := range uint32(1 << lookSkip) {
		var used, on, before uint32
		for {
			e := t.fast[bits<<used&(1<<lookSkip-1)>>(lookSkip-look)]
			if e == 0 || used+e&63 > lookSkip {
				break
			}
			used, before, on = used+e&63, on, on+e>>16
			if e>>16 == endOfBlock {
				break
			}
		}
		t.runs = append(t.runs, before<<16|on<<8|used)
	}
	return t.runs
}

// lookPair is the number of bits that the table of pairs decodes at once.
const lookPair = 11

// pairTable describes one or two whole symbols of AC coefficients, with their extra bits, among the
// next lookPair bits:
//
//	bits 31..24 the second coefficient   23..16 the first
//	15..10 how far the second goes on   9..4 how far the first goes on   3..0 bits of them
//
// If there is one symbol, the second coefficient is the first, at the same place. An end of block
// that comes first is the coefficient 0 and an end of block. An entry is zero if no whole symbol
// fits, or if a coefficient does not.
type pairTable [1 << lookPair]uint32

// pairing returns the table of pairs.
func (t *table) pairing() *pairTable {
	if len(t.pairs) > 0 {
		return (*pairTable)(t.pairs)
	}
	if t.pairs = t.pairs[:0]; cap(t.pairs) == 0 {
		t.pairs = make([]uint32, 0, len(pairTable{}))
	}
	for bits := range uint32(len(pairTable{})) {
		t.pairs = append(t.pairs, t.pair(bits))
	}
	return (*pairTable)(t.pairs)
}

// pair returns an entry of the table of pairs.
func (t *table) pair(bits uint32) uint32 {
	const toTheEnd = 63 // as endOfBlock, from the second coefficient of a block on
	fits := func(e, used uint32) bool { return e != 0 && used <= lookPair && e>>12&15 <= 7 }
	first := t.fast[bits>>(lookPair-look)]
	used := first & 63
	if !fits(first, used) {
		return 0
	}
	acc := uint64(bits) << (64 - lookPair)
	on, v := first>>16, value(acc, first)
	if on == endOfBlock {
		return toTheEnd<<10 | 1<<4 | used
	}
	onTwo, two := uint32(0), v
	if second := t.fast[bits<<used&(1<<lookPair-1)>>(lookPair-look)]; fits(second, used+second&63) {
		onTwo, two = min(second>>16, toTheEnd), value(acc<<used, second)
		used += second & 63
	}
	return uint32(uint8(two))<<24 | uint32(uint8(v))<<16 | onTwo<<10 | on<<4 | used
}

// entry makes the entry of fast for a symbol whose code takes length bits.
func entry(symbol byte, length uint32) uint32 {
	run, size := uint32(symbol>>4), uint32(symbol&15)
	next := run + 1
	if size == 0 && run != 15 {
		next = endOfBlock
	}
	return next<<16 | size<<12 | (length + size)
}

// value returns the coefficient in the extra bits of entry e. e is the entry for the first bits of
// acc. It returns 0 if e has no extra bits.
func value(acc uint64, e uint32) int32 {
	mask := uint32(1)<<(e>>12&15) - 1
	v := uint32(acc>>((64-e)&63)) & mask
	return int32(v - mask&uint32(int32(v-(mask+1)>>1)>>31))
}

// extend turns the extra bits of a coefficient into its value.
func extend(v int32, size uint32) int32 {
	if v < 1<<size>>1 {
		return v - 1<<size + 1
	}
	return v
}

// bits reads the entropy-coded data of a scan. The next bit is the highest bit of acc.
type bits struct {
	data   []byte
	pos    int
	acc    uint64
	n      int  // number of valid bits of acc; the other bits are later data or zero
	marker byte // the marker that ended the data, or 0
	pad    int  // number of the n bits that are zeros after the end
	// dry: zeros were read past the end of the segment; the rest of it is not decoded.
	dry bool
	cut bool // the bytes ended without a marker
}

// refill reads bytes until n is at least 48.
func (b *bits) refill() {
	if b.pos+8 <= len(b.data) && b.marker == 0 {
		v := binary.BigEndian.Uint64(b.data[b.pos:])
		if noMarker(v) {
			b.acc |= v >> b.n
			k := (63 - b.n) >> 3
			b.pos += k
			b.n += k << 3
			return
		}
	}
	b.refillSlowly()
}

// more fills acc, whose first n bits are set, up to 32 bits and more, like need. The caller
// has the fields in registers.
func (b *bits) more(acc uint64, n uint) (uint64, uint) {
	if b.pos+8 <= len(b.data) && b.marker == 0 {
		if v := binary.BigEndian.Uint64(b.data[b.pos:]); noMarker(v) {
			k := (63 - n) >> 3
			b.pos += int(k)
			return acc | v>>(n&63), n + k<<3
		}
	}
	return b.moreSlowly(acc, n)
}

func (b *bits) moreSlowly(acc uint64, n uint) (uint64, uint) {
	b.acc, b.n = acc, int(n)
	b.need(32)
	return b.acc, uint(b.n)
}

// noMarker reports whether no byte of v is 0xFF.
func noMarker(v uint64) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	return (^v-ones)&v&highs == 0
}

func (b *bits) refillSlowly() {
	b.acc &= ^uint64(0) << (64 - b.n) // the next byte may be a stuffed byte
	for b.n <= 56 {
		var v byte
		switch {
		case b.marker != 0 || b.cut:
			return
		case b.pos >= len(b.data):
			b.cut = true
			return
		}
		if v = b.data[b.pos]; v == 0xFF {
			next := b.pos + 1
			for next < len(b.data) && b.data[next] == 0xFF {
				next++
			}
			if next >= len(b.data) {
				b.cut = true
				return
			}
			if m := b.data[next]; m != 0 {
				b.marker, b.pos = m, next+1
				return
			}
			b.pos = next
		}
		b.pos++
		b.acc |= uint64(v) << (56 - b.n)
		b.n += 8
	}
}

// need makes sure that k bits (at most 32) can be taken; past the end they are zero.
func (b *bits) need(k int) {
	if b.n >= k {
		return
	}
	b.refill()
	if b.n < k {
		b.pad += 64 - b.n
		b.n = 64
	}
}

// checkDry records that zeros after the end were taken.
func (b *bits) checkDry() { b.dry = b.dry || b.n < b.pad }

func (b *bits) drop(k int) {
	b.acc <<= k
	b.n -= k
}

// take returns the next k bits, at most 16.
func (b *bits) take(k int) int32 {
	if k == 0 {
		return 0
	}
	b.need(k)
	v := int32(b.acc >> (64 - k))
	b.drop(k)
	return v
}

// symbol decodes a code of any length. It returns 0 for a code that does not exist.
func (b *bits) symbol(t *table) byte {
	b.need(17)
	if c := t.code[b.acc>>(64-look)]; c != 0 {
		b.drop(int(c & 255))
		return byte(c >> 8)
	}
	return b.longSymbol(t)
}

func (b *bits) longSymbol(t *table) byte {
	for length := 1; length <= 16; length++ {
		code := int32(b.acc >> (64 - length))
		if code <= t.maxcode[length] {
			b.drop(length)
			return t.symbols[(t.offset[length]+code)&255]
		}
	}
	b.drop(17)
	return 0
}
