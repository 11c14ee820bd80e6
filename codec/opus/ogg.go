package opus

import (
	"encoding/binary"
	"fmt"
)

// Pages of Ogg:
//
//	"OggS", 0, flags, position int64, serial uint32, number uint32, CRC uint32, n, n sizes, packets
//
// A size of 255 says that the packet goes on in the next piece.
const (
	pageHead  = 27
	flagRest  = 1 // the first packet began on the page before
	flagFirst = 2
	flagLast  = 4
)

// page is a page of a stream.
type page struct {
	flags    byte
	position int64 // frames of 48 kHz up to the end of the page, or -1 if no packet ends on it
	serial   uint32
	number   uint32
	sizes    []byte
	body     []byte
}

// nextPage returns the first page of b and what follows it.
func nextPage(b []byte) (p page, rest []byte, err error) {
	if len(b) < pageHead || string(b[:4]) != "OggS" || b[4] != 0 {
		return p, nil, damaged("a page of Ogg, or the end of the stream", fmt.Sprintf("%d bytes that begin with %q",
			len(b), b[:min(len(b), 4)]))
	}
	size := pageHead + int(b[26])
	if size <= len(b) {
		p.sizes = b[pageHead:size]
		for _, n := range p.sizes {
			size += int(n)
		}
	}
	if size > len(b) {
		return p, nil, damaged(fmt.Sprintf("a page of %d bytes or more", size), fmt.Sprintf("%d bytes", len(b)))
	}
	le := binary.LittleEndian
	p.flags, p.position, p.serial, p.number = b[5], int64(le.Uint64(b[6:])), le.Uint32(b[14:]), le.Uint32(b[18:])
	p.body = b[pageHead+len(p.sizes) : size]
	if want, got := le.Uint32(b[22:]), checksum(b[:size]); want != got {
		return p, nil, damaged(fmt.Sprintf("checksum %08x of page %d", want, p.number), fmt.Sprintf("%08x", got))
	}
	return p, b[size:], nil
}

// checksums is the table of the CRC of Ogg: polynomial 04c11db7, the highest bit first.
var checksums = func() (t [256]uint32) {
	for i := range t {
		c := uint32(i) << 24
		for range 8 {
			c = c<<1 ^ 0x04c11db7&-(c>>31)
		}
		t[i] = c
	}
	return t
}()

// checksum returns the CRC of a page, whose own CRC counts as 0.
func checksum(b []byte) (c uint32) {
	for i, v := range b {
		if i >= 22 && i < 26 {
			v = 0
		}
		c = c<<8 ^ checksums[byte(c>>24)^v]
	}
	return c
}

// ended is where on a page a packet ends.
type ended struct {
	packet   []byte
	position int64 // of the page, if the packet is the last that ends on it, and else -1
	last     bool  // of the stream
	more     bool  // whether another stream follows the last packet
}

// packets returns the packets of the first stream of a file, at least one. Pages of streams beside
// it are left out, and so is what follows the stream.
func packets(b []byte) (list []ended, err error) {
	var first page
	var open []byte // the packet that goes on
	begun, own := false, false
	for number := uint32(0); ; number++ {
		p, rest, err := nextPage(b)
		if err != nil {
			return nil, err
		}
		b = rest
		switch {
		case number == 0:
			if first = p; p.flags&flagFirst == 0 {
				return nil, damaged("the first page of a stream", "a later one")
			}
		case p.serial != first.serial:
			number--
			continue
		}
		if p.number != first.number+number {
			return nil, damaged(fmt.Sprintf("page %d", first.number+number), fmt.Sprintf("page %d", p.number))
		}
		if rest := p.flags&flagRest != 0; rest != begun {
			return nil, damaged(fmt.Sprintf("page %d to begin with the rest of a packet: %v", p.number, begun), fmt.Sprint(rest))
		}
		from := len(list)
		for _, n := range p.sizes {
			part := p.body[:n]
			p.body = p.body[n:]
			switch {
			case !begun:
				open, own = part[:n:n], false // a piece of the file
			case own:
				open = append(open, part...)
			default:
				open, own = append(append(make([]byte, 0, 2*255), open...), part...), true
			}
			if begun = n == 255; !begun {
				list = append(list, ended{packet: open, position: -1})
			}
		}
		if n := len(list); n > from {
			list[n-1].position = p.position
		}
		if p.flags&flagLast != 0 {
			if begun {
				return nil, damaged("a whole packet at the end", "a part of it")
			}
			if len(list) == 0 {
				return nil, damaged("a stream with packets", "none")
			}
			_, _, err := nextPage(b)
			end := &list[len(list)-1]
			end.last, end.more = true, err == nil
			return list, nil
		}
	}
}
