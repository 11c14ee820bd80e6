package video

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
)

// nutReader reads a NUT stream of one stream of raw video, as ffmpeg writes it. The format puts the
// time and the size before each frame, so a frame is never taken for another one.
type nutReader struct {
	in       *bufio.Reader
	num, den int64 // of the time base
	shift    uint  // of the lower bits of a time
	last     int64 // the time of the last frame
	codes    [256]nutCode
	starts   [][]byte // what frames begin with, if their headers say so; the first is empty
	opened   bool     // whether the beginning was read
	main     bool     // whether the main header was read
	stream   bool     // whether the header of the stream was read
}

// nutCode is what the first byte of a frame stands for.
type nutCode struct {
	flags       uint64
	stream      uint64
	mul, size   uint64
	delta       int64
	reserved    uint64
	headerIndex uint64
}

const (
	nutID        = "nut/multimedia container\x00"
	nutMain      = 0x4e4d7a561f5f04ad
	nutStream    = 0x4e5311405bf2f9db
	nutSyncpoint = 0x4e4be4adeeca4569
	nutIndex     = 0x4e58dd672f23e64e
	nutInfo      = 0x4e49ab68b596ba78

	nutCodedTime   = 1 << 3
	nutStreamID    = 1 << 4
	nutSize        = 1 << 5
	nutChecksum    = 1 << 6
	nutReserved    = 1 << 7
	nutSideData    = 1 << 8
	nutHeaderIndex = 1 << 10
	nutMatchTime   = 1 << 11
	nutCoded       = 1 << 12
	nutInvalid     = 1 << 13

	// maxNutPacket bounds the packets that are not frames.
	maxNutPacket = 1 << 20
)

func badNut(format string, args ...any) error {
	return &errs.Error{Kind: errs.Corrupt, Op: opName, Subject: "the output of ffmpeg", Want: "frames in the format NUT",
		Got: fmt.Sprintf(format, args...)}
}

// early makes io.EOF an error of a stream that ends within something.
func early(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// nutFrame is the header of a frame.
type nutFrame struct {
	time  int64 // in units of the time base
	size  int   // of the pixels, with start
	start []byte
}

// next reads up to the pixels of the next frame behind its start. It returns io.EOF at
// the end of the stream.
func (n *nutReader) next() (h nutFrame, err error) {
	if !n.opened {
		var id [len(nutID)]byte
		if _, err := io.ReadFull(n.in, id[:]); err != nil {
			return h, err
		}
		if string(id[:]) != nutID {
			return h, badNut("%q", id[:])
		}
		n.opened = true
	}
	for {
		code, err := n.in.ReadByte()
		if err != nil {
			return h, err
		}
		if code == 'N' {
			if err := n.packet(); err != nil {
				return h, early(err)
			}
			continue
		}
		if !n.main || !n.stream {
			return h, badNut("a frame before the headers")
		}
		h, err = n.frame(code)
		return h, early(err)
	}
}

// packet reads a packet that is not a frame, behind its first byte.
func (n *nutReader) packet() error {
	var rest [8]byte
	rest[0] = 'N'
	if _, err := io.ReadFull(n.in, rest[1:]); err != nil {
		return err
	}
	start := binary.BigEndian.Uint64(rest[:])
	size, err := n.number()
	if err != nil {
		return err
	}
	const large = 4096
	if size > large {
		if _, err := n.in.Discard(4); err != nil { // a checksum of the size
			return err
		}
	}
	if size < 4 || size > maxNutPacket {
		return badNut("a packet of %d bytes", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(n.in, body); err != nil {
		return err
	}
	f := nutFields{b: body[:size-4]} // without its checksum
	switch start {
	case nutMain:
		if n.main {
			return nil // headers are repeated
		}
		n.readMain(&f)
		n.main = true
	case nutStream:
		if n.stream {
			return nil
		}
		f.number() // number of the stream
		f.number() // class
		f.skip(f.number())
		if base := f.number(); base != 0 {
			return badNut("time base %d", base)
		}
		n.shift = uint(f.number())
		if n.shift > 32 {
			return badNut("times of %d lower bits", n.shift)
		}
		n.stream = true
	case nutSyncpoint:
		n.last = int64(f.number()) // there is one time base
	case nutInfo, nutIndex:
	default:
		return badNut("a packet %016x", start)
	}
	if f.bad {
		return badNut("a header that is cut")
	}
	return nil
}

// readMain reads the time base and the table of codes.
func (n *nutReader) readMain(f *nutFields) {
	if f.number() > 3 { // version
		f.number()
	}
	if streams := f.number(); streams != 1 {
		f.bad = true
		return
	}
	f.number() // distance of syncpoints
	bases := f.number()
	n.num, n.den = int64(f.number()), int64(f.number())
	if bases != 1 || n.num <= 0 || n.den <= 0 || n.num > 1<<31 || n.den > 1<<31 {
		f.bad = true
		return
	}
	c := nutCode{mul: 1}
	for i := 0; i < 256; {
		c.flags = f.number()
		fields := f.number()
		c.size, c.reserved = 0, 0
		given := func(k uint64) bool { return fields > k }
		if given(0) {
			c.delta = f.signed()
		}
		if given(1) {
			c.mul = f.number()
		}
		if given(2) {
			c.stream = f.number()
		}
		if given(3) {
			c.size = f.number()
		}
		if given(4) {
			c.reserved = f.number()
		}
		count := c.mul - c.size
		if given(5) {
			count = f.number()
		}
		if given(6) {
			f.signed() // the time of a frame to compare with
		}
		if given(7) {
			c.headerIndex = f.number()
		}
		for k := uint64(8); k < fields && !f.bad; k++ {
			f.number()
		}
		if f.bad || count == 0 || count > 256 {
			f.bad = true
			return
		}
		for j := uint64(0); j < count && i < 256; i++ {
			if i == 'N' {
				n.codes[i].flags = nutInvalid
				continue
			}
			n.codes[i] = c
			n.codes[i].size += j
			j++
		}
	}
	n.starts = [][]byte{nil}
	const most = 127
	count := f.number()
	for i := uint64(0); i < count && i < most && !f.bad; i++ {
		size := f.number()
		begin := f.b
		f.skip(size)
		if !f.bad {
			n.starts = append(n.starts, begin[:size])
		}
	}
}

// frame reads the header of a frame.
func (n *nutReader) frame(code byte) (h nutFrame, err error) {
	c := n.codes[code]
	number := func() (v uint64) {
		if err == nil {
			v, err = n.number()
		}
		return v
	}
	if c.flags&nutInvalid != 0 {
		return h, badNut("a frame of code %d", code)
	}
	if c.flags&nutCoded != 0 {
		c.flags ^= number()
	}
	if c.flags&nutStreamID != 0 {
		c.stream = number()
	}
	h.time = n.last + c.delta
	if c.flags&nutCodedTime != 0 {
		h.time = n.time(number())
	}
	if c.flags&nutSize != 0 {
		c.size += c.mul * number()
	}
	if c.flags&nutMatchTime != 0 {
		number()
	}
	if c.flags&nutHeaderIndex != 0 {
		c.headerIndex = number()
	}
	if c.flags&nutReserved != 0 {
		c.reserved = number()
	}
	const mostReserved = 16
	for range min(c.reserved, mostReserved) {
		number()
	}
	if c.flags&nutChecksum != 0 && err == nil {
		_, err = n.in.Discard(4)
	}
	const large = 4096 // larger frames have no start
	if c.size > large {
		c.headerIndex = 0
	}
	switch {
	case err != nil:
		return h, err
	case c.stream != 0 || c.flags&nutSideData != 0 || c.reserved > mostReserved || c.headerIndex >= uint64(len(n.starts)):
		return h, badNut("a frame of stream %d with start %d and flags %x", c.stream, c.headerIndex, c.flags)
	case h.time < 0 || c.size > 1<<40 || c.size < uint64(len(n.starts[c.headerIndex])):
		return h, badNut("a frame of %d bytes at time %d", c.size, h.time)
	}
	h.size, h.start = int(c.size), n.starts[c.headerIndex]
	n.last = h.time
	return h, nil
}

// time returns the time that a number in the header of a frame stands for.
func (n *nutReader) time(v uint64) int64 {
	limit := uint64(1) << n.shift
	if v >= limit {
		return int64(v - limit)
	}
	mask := int64(limit - 1)
	from := n.last - mask/2
	return (int64(v)-from)&mask + from
}

// number reads a number of variable length.
func (n *nutReader) number() (v uint64, err error) {
	for range 10 {
		b, err := n.in.ReadByte()
		if err != nil {
			return 0, err
		}
		v = v<<7 | uint64(b&0x7f)
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, badNut("a number of more than 10 bytes")
}

// nutFields reads the fields of a header. bad says that they end early.
type nutFields struct {
	b   []byte
	bad bool
}

func (f *nutFields) number() (v uint64) {
	for len(f.b) > 0 {
		b := f.b[0]
		f.b = f.b[1:]
		v = v<<7 | uint64(b&0x7f)
		if b < 0x80 {
			return v
		}
	}
	f.bad = true
	return 0
}

func (f *nutFields) signed() int64 {
	v := f.number() + 1
	if v&1 != 0 {
		return -int64(v >> 1)
	}
	return int64(v >> 1)
}

func (f *nutFields) skip(n uint64) {
	if n > uint64(len(f.b)) {
		f.bad = true
		return
	}
	f.b = f.b[n:]
}
