package ocdbt

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// location says where an object lies, for errors.
type location struct {
	file   string
	offset int64
}

// corrupt is the error for damage found in the object at l.
func (l location) corrupt(format string, args ...any) error {
	return &errs.Error{
		Kind:    errs.Corrupt,
		Op:      "ocdbt",
		Subject: l.file + " at offset " + strconv.FormatInt(l.offset, 10),
		Got:     fmt.Sprintf(format, args...),
	}
}

// cursor reads a decoded body. The first fault sticks: afterwards every read
// returns zeros, so that callers check once, before they use what was read.
type cursor struct {
	at  location
	b   []byte
	pos int
	err error

	// For a body that is decoded while it is read: the rest after b, and its size. base is the number
	// of bytes before b.
	more io.Reader
	left int
	base int
	room []byte // memory for b
}

// streamBytes is how many bytes of a body are decoded at once.
const streamBytes = 64 << 10

// want loads the next n bytes into b, or all remaining bytes if there are fewer. Bytes of the body
// that were returned before may change then.
func (c *cursor) want(n int) {
	rest := c.b[c.pos:]
	if c.left == 0 || len(rest) >= n || c.err != nil {
		return
	}
	b := slices.Grow(c.room[:0], max(n, streamBytes))
	c.room, b = b, b[:min(len(rest)+c.left, max(n, streamBytes))]
	if _, err := io.ReadFull(c.more, b[copy(b, rest):]); err != nil {
		c.fail("%v", err)
		return
	}
	c.base, c.left = c.base+c.pos, c.left-(len(b)-len(rest))
	c.b, c.pos = b, 0
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = c.at.corrupt("body byte %d: %s", c.base+c.pos, fmt.Sprintf(format, args...))
	}
}

func (c *cursor) remaining() int { return len(c.b) - c.pos + c.left }

// bytes returns the next n bytes, not copied.
func (c *cursor) bytes(n int, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n > c.remaining() {
		c.fail("%s: %d bytes wanted, %d left", what, n, c.remaining())
		return nil
	}
	if c.want(n); c.err != nil {
		return nil
	}
	p := c.b[c.pos : c.pos+n : c.pos+n]
	c.pos += n
	return p
}

func (c *cursor) u8(what string) byte {
	p := c.bytes(1, what)
	if p == nil {
		return 0
	}
	return p[0]
}

// varint returns the next number, which must not exceed limit.
func (c *cursor) varint(limit uint64, what string) uint64 {
	if c.err != nil {
		return 0
	}
	if c.want(binary.MaxVarintLen64); c.err != nil {
		return 0
	}
	if c.pos < len(c.b) && c.b[c.pos] < 0x80 { // most of them
		v := uint64(c.b[c.pos])
		if v > limit {
			c.fail("%s is %d, at most %d allowed", what, v, limit)
			return 0
		}
		c.pos++
		return v
	}
	v, n := binary.Uvarint(c.b[c.pos:])
	switch {
	case n == 0:
		c.fail("%s: number is cut short", what)
	case n < 0:
		c.fail("%s: number exceeds 64 bits", what)
	case v > limit:
		c.fail("%s is %d, at most %d allowed", what, v, limit)
	default:
		c.pos += n
		return v
	}
	return 0
}

// count returns the next number of entries. Each entry takes at least one more byte of the body, so
// memory for them may be allocated.
func (c *cursor) count(limit uint64, what string) int {
	n := c.varint(limit, what)
	if c.err == nil && n > uint64(c.remaining()) {
		c.fail("%s is %d, with %d bytes left", what, n, c.remaining())
		return 0
	}
	return int(n)
}

// holds reports whether there are entries to read, n of size bytes or more each, and fails where
// they do not fit in what is left.
func (c *cursor) holds(n, size int, what string) bool {
	if c.err == nil && n > c.remaining()/size {
		c.fail("%s: %d entries, with %d bytes left", what, n, c.remaining())
	}
	return c.err == nil && n > 0
}

// varints reads n numbers of at most limit each.
func (c *cursor) varints(n int, limit uint64, what string) []uint64 {
	if !c.holds(n, 1, what) {
		return nil
	}
	v := make([]uint64, n)
	for i := range v {
		v[i] = c.varint(limit, what)
	}
	return v
}

// lengths reads n numbers of 16 bits.
func (c *cursor) lengths(n int, what string) []uint16 {
	if !c.holds(n, 1, what) {
		return nil
	}
	v := make([]uint16, n)
	for i := range v {
		v[i] = uint16(c.varint(0xffff, what))
	}
	return v
}

// u64s reads n numbers of eight bytes.
func (c *cursor) u64s(n int, what string) []uint64 {
	if !c.holds(n, 8, what) {
		return nil
	}
	v := make([]uint64, n)
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(c.bytes(8, what))
	}
	return v
}

// done reports the sticky error, or that bytes are left.
func (c *cursor) done() error {
	if c.err == nil && c.remaining() != 0 {
		c.fail("%d bytes left over", c.remaining())
	}
	if c.err == nil && c.more != nil {
		if n, err := io.ReadFull(c.more, make([]byte, 1)); n > 0 || err != io.EOF {
			c.fail("want the end of the compressed body, got %d more bytes and error %v", n, err)
		}
	}
	return c.err
}
