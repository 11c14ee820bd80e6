package vorbis

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// The library takes memory for what the headers claim before it reads them, and loops without an
// end where a header ends too early. So the claims are checked first.

const (
	mostEntries = 1 << 18 // of all codebooks together; files of libvorbis have up to 12,000
	mostValues  = 1 << 22 // and of all values; files of libvorbis have up to 62,000
)

// packets returns the first n packets of an Ogg file, or fewer if the file is cut.
func packets(b []byte, n int) (list [][]byte) {
	var packet []byte
	for len(list) < n && len(b) >= 27 && string(b[:4]) == "OggS" {
		table := b[27:min(27+int(b[26]), len(b))]
		b = b[27+len(table):]
		for _, size := range table {
			part := b[:min(int(size), len(b))]
			packet, b = append(packet, part...), b[len(part):]
			if size < 255 {
				list, packet = append(list, packet), nil
			}
		}
	}
	return list[:min(n, len(list))]
}

// checkHeaders checks the sizes that the first three packets claim.
func checkHeaders(b []byte) error {
	if b[5]&1 != 0 { // the library leaves out such a packet
		return damaged("a packet that begins with the file", "the rest of a packet")
	}
	for _, p := range packets(b, 3) {
		if len(p) < 7 || string(p[1:7]) != identification[1:] {
			return damaged("three headers of Vorbis", "another packet")
		}
		var err error
		switch p[0] {
		case 3:
			err = checkComments(p[7:])
		case 5:
			err = checkCodebooks(&setup{b: p[7:]})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func checkComments(b []byte) error {
	const field = 4 // the size of a length
	if len(b) < field || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-2*field) {
		return damaged("a whole header of comments", fmt.Sprintf("%d bytes", len(b)))
	}
	b = b[field+binary.LittleEndian.Uint32(b):]
	if n := binary.LittleEndian.Uint32(b); int64(n) > int64(len(b)/field-1) {
		return damaged(fmt.Sprintf("comments in %d bytes", len(b)), fmt.Sprintf("%d comments", n))
	}
	return nil
}

// setup reads the bits of the header of the codebooks, the lowest first.
type setup struct {
	b    []byte
	pos  int // in bits
	over bool
}

// read returns the next n bits, n <= 32.
func (s *setup) read(n int) (v int) {
	for i := range n {
		if s.pos>>3 >= len(s.b) {
			s.over = true
			return 0
		}
		v |= int(s.b[s.pos>>3]>>(s.pos&7)&1) << i
		s.pos++
	}
	return v
}

// skip leaves out n bits.
func (s *setup) skip(n int) {
	if n > 8*len(s.b)-s.pos {
		s.over = true
		return
	}
	s.pos += n
}

// checkCodebooks checks how many entries and values all codebooks have, and that each has a code:
// the library would search without an end for a code that does not exist.
func checkCodebooks(s *setup) error {
	entries, values := 0, 0
	for i := range s.read(8) + 1 {
		where := fmt.Sprintf("codebook %d", i)
		if s.read(24) != 0x564342 {
			return damaged("the start of "+where, "other bytes")
		}
		dimensions, n := s.read(16), s.read(24)
		if entries += n; dimensions < 1 || n < 1 || entries > mostEntries {
			return damaged(fmt.Sprintf("%s of 1 dimension or more, and 1 to %d entries in all", where, mostEntries),
				fmt.Sprintf("%d dimensions, %d entries in all", dimensions, entries))
		}
		codes := s.codes(n)
		kind := s.read(4)
		if s.over || codes < 1 || codes > n || kind > 2 {
			return damaged(where+" with codes", fmt.Sprintf("%d codes, or the end of the header", codes))
		}
		if kind == 0 {
			continue
		}
		if values += n * dimensions; values > mostValues {
			return damaged(fmt.Sprintf("at most %d values of all codebooks", mostValues), fmt.Sprint(values))
		}
		s.skip(64) // the least value and the step
		width := s.read(4) + 1
		s.skip(1)
		if kind == 1 { // the values of all dimensions are the same
			s.skip(width * int(math.Floor(math.Pow(float64(n), 1/float64(dimensions)))))
		} else {
			s.skip(width * n * dimensions)
		}
		if s.over {
			return damaged("the values of "+where, "the end of the header")
		}
	}
	return nil
}

// codes reads the lengths of the codes of n entries and returns how many entries have one.
func (s *setup) codes(n int) (codes int) {
	if s.read(1) == 0 {
		sparse := s.read(1) == 1
		for i := 0; i < n && !s.over; i++ {
			if !sparse || s.read(1) == 1 {
				s.skip(5)
				codes++
			}
		}
		return codes
	}
	for s.skip(5); codes < n && !s.over; {
		codes += s.read(bits.Len(uint(n - codes)))
	}
	return codes
}
