package pure

import (
	"encoding/hex"
	mathbits "math/bits"
	"sync"
)

// Sampling is how much colour an encoded image keeps.
type Sampling int

const (
	HalfColour Sampling = iota // half the colour resolution both ways
	FullColour
	NoColour // one component
)

// Encoder writes baseline JPEG files as libjpeg-turbo does by default, byte for byte: with the
// standard tables and the exact transform. Its memory is reused; the zero value is ready.
type Encoder struct {
	d     Distorter
	out   []byte
	bits  uint64 // to be written, the first highest
	count int
}

// standard holds the codes that the standard proposes, as segments of files have them: of the means
// and of the rest, for luma and for chroma.
var standard = [2][2]string{
	{"0000010501010101010100000000000000000102030405060708090a0b",
		"100002010303020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c11552d1" +
			"f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a636465666768" +
			"696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4" +
			"c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa"},
	{"0100030101010101010101010000000000000102030405060708090a0b",
		"1100020102040403040705040400010277000102031104052131061241510761711322328108144291a1b1c109233352" +
			"f0156272d10a162434e125f11718191a262728292a35363738393a434445464748494a535455565758595a6364656667" +
			"68696a737475767778797a82838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2" +
			"c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9fa"},
}

// codeTable holds the segment of a table and the code of each symbol, with its length.
type codeTable struct {
	segment []byte
	code    [256]uint32
	length  [256]uint8
}

// codeTables returns the tables of luma and chroma: of the means and of the rest.
var codeTables = sync.OnceValue(func() *[2][2]codeTable {
	t := new([2][2]codeTable)
	for i := range t {
		for k := range t[i] {
			t[i][k].fill(standard[i][k])
		}
	}
	return t
})

func (t *codeTable) fill(text string) {
	t.segment, _ = hex.DecodeString(text)
	symbols, code := t.segment[17:], uint32(0)
	for length, n := range t.segment[1:17] {
		for range n {
			t.code[symbols[0]], t.length[symbols[0]] = code, uint8(length+1)
			symbols = symbols[1:]
			code++
		}
		code <<= 1
	}
}

// Append appends the file of an image of w times h pixels, at most 65,535 each and at least 1. src
// has RGB, or with NoColour one byte for each pixel.
func (e *Encoder) Append(dst, src []byte, w, h, quality int, s Sampling) []byte {
	e.d.setQuality(quality)
	e.out, e.bits, e.count = dst, 0, 0
	e.planes(src, w, h, s)
	e.header(w, h, s)
	e.scan(w, h, s)
	out := append(e.out, 0xff, 0xd9)
	e.out = nil
	return out
}

// planes fills the planes of the components.
func (e *Encoder) planes(src []byte, w, h int, s Sampling) {
	d := &e.d
	switch s {
	case HalfColour:
		d.planes[0].size(w, h)
		d.planes[1].size((w+1)/2, (h+1)/2)
		d.planes[2].size((w+1)/2, (h+1)/2)
		d.encode(src, w, h)
		return
	case FullColour:
		for i := range d.planes {
			d.planes[i].size(w, h)
		}
		for y := range h {
			a, b, c := d.planes[0].row(y), d.planes[1].row(y), d.planes[2].row(y)
			fromRGB(a[:w], b[:w], c[:w], src[3*y*w:])
		}
	case NoColour:
		d.planes[0].size(w, h)
		for y := range h {
			copy(d.planes[0].row(y), src[y*w:(y+1)*w])
		}
	}
	for i := range components(s) {
		p := &d.planes[i]
		for y := range h {
			repeatLast(p.row(y), w)
		}
		for y := h; y < len(p.pix)/p.stride; y++ {
			copy(p.row(y), p.row(h-1))
		}
	}
}

func components(s Sampling) int {
	if s == NoColour {
		return 1
	}
	return 3
}

// segment writes the beginning of a segment whose body has n bytes.
func (e *Encoder) segment(marker byte, n int) {
	n += 2
	e.out = append(e.out, 0xff, marker, byte(n>>8), byte(n))
}

// header writes everything before the coded data.
func (e *Encoder) header(w, h int, s Sampling) {
	n := components(s)
	e.out = append(e.out, 0xff, 0xd8)
	e.segment(0xe0, 14)
	e.out = append(e.out, "JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"...)
	tables := min(n, 2)
	for t := range tables {
		e.segment(0xdb, 65)
		e.out = append(e.out, byte(t))
		for _, place := range natural[:64] {
			e.out = append(e.out, byte(e.d.tables[t].step[place]))
		}
	}
	e.segment(0xc0, 6+3*n)
	e.out = append(e.out, 8, byte(h>>8), byte(h), byte(w>>8), byte(w), byte(n))
	for i := range n {
		size := byte(0x11)
		if i == 0 && s == HalfColour {
			size = 0x22
		}
		e.out = append(e.out, byte(i+1), size, byte(min(i, 1)))
	}
	for t := range tables {
		for k := range codeTables()[t] {
			segment := codeTables()[t][k].segment
			e.segment(0xc4, len(segment))
			e.out = append(e.out, segment...)
		}
	}
	e.segment(0xda, 4+2*n)
	e.out = append(e.out, byte(n))
	for i := range n {
		e.out = append(e.out, byte(i+1), byte(min(i, 1)*0x11))
	}
	e.out = append(e.out, 0, 63, 0)
}

// scan writes the coded data: for each unit the blocks of all components. Blocks beyond the image
// have the mean of the block before.
func (e *Encoder) scan(w, h int, s Sampling) {
	side := 1
	if s == HalfColour {
		side = 2
	}
	var means [3]int
	for y := range (h + 8*side - 1) / (8 * side) {
		for x := range (w + 8*side - 1) / (8 * side) {
			for c := range components(s) {
				k := side
				if c > 0 {
					k = 1
				}
				for i := range k * k {
					means[c] = e.block(c, k*x+i%k, k*y+i/k, means[c])
				}
			}
		}
	}
	if e.count > 0 { // filled up with ones
		e.put(0x7f, 7)
	}
}

// block writes a block of a component and returns its mean. before is the mean of the block before.
func (e *Encoder) block(component, x, y, before int) int {
	p, t := &e.d.planes[component], min(component, 1)
	codes := &codeTables()[t]
	means, rest := &codes[0], &codes[1]
	if x >= p.bw || 8*y >= len(p.pix)/p.stride {
		e.put(means.code[0], int(means.length[0]))
		e.put(rest.code[0], int(rest.length[0]))
		return before
	}
	levels := &e.d.levels
	more := quantize(levels, p.pix[8*y*p.stride+8*x:], p.stride, &e.d.tables[t])
	mean := int(levels[0])
	e.number(means, 0, mean-before)
	if !more {
		e.put(rest.code[0], int(rest.length[0]))
		return mean
	}
	zeros := 0
	for _, place := range natural[1:64] {
		v := int(levels[place])
		if v == 0 {
			zeros++
			continue
		}
		for ; zeros > 15; zeros -= 16 {
			e.put(rest.code[0xf0], int(rest.length[0xf0]))
		}
		e.number(rest, zeros, v)
		zeros = 0
	}
	if zeros > 0 {
		e.put(rest.code[0], int(rest.length[0]))
	}
	return mean
}

// number writes a number behind zeros: the symbol for both, and the digits of the number.
func (e *Encoder) number(t *codeTable, zeros, v int) {
	size := mathbits.Len(uint(max(v, -v)))
	symbol := zeros<<4 | size
	if v < 0 {
		v--
	}
	digits := uint32(v) & (1<<size - 1)
	e.put(t.code[symbol]<<size|digits, int(t.length[symbol])+size)
}

// put writes n bits, at most 32.
func (e *Encoder) put(v uint32, n int) {
	e.bits = e.bits<<n | uint64(v)
	for e.count += n; e.count >= 8; {
		e.count -= 8
		b := byte(e.bits >> e.count)
		if e.out = append(e.out, b); b == 0xff {
			e.out = append(e.out, 0)
		}
	}
}
