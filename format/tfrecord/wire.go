package tfrecord

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// The wire types of Protocol Buffers.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wireGroup  = 3
	wireEnd    = 4
	wire32     = 5
)

// maxDepth bounds groups in groups, as Protocol Buffers does.
const maxDepth = 100

// cursor reads the fields of a message, or of a message within it: b[at:end].
type cursor struct {
	b       []byte
	at, end int
}

// field is a field of a message. Its value is a number, or the bytes from..to of the message.
type field struct {
	number   uint64
	wire     int
	value    uint64
	from, to int
}

func (c *cursor) more() bool { return c.at < c.end }

// sub returns a cursor over the value of a field.
func (c *cursor) sub(f field) cursor { return cursor{c.b, f.from, f.to} }

func badMessage(at int, want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Subject: fmt.Sprintf("byte %d of the message", at), Want: want, Got: got}
}

// varint reads a number of at most 10 bytes.
func (c *cursor) varint() (v uint64, err error) {
	if c.at < c.end && c.b[c.at] < 0x80 {
		c.at++
		return uint64(c.b[c.at-1]), nil
	}
	start := c.at
	for shift := 0; c.at < c.end; shift += 7 {
		x := c.b[c.at]
		c.at++
		if shift == 63 && x > 1 {
			return 0, badMessage(start, "a number of 64 bits", "a larger one")
		}
		v |= uint64(x&0x7f) << shift
		if x < 0x80 {
			return v, nil
		}
	}
	return 0, badMessage(start, "a number", "the end of the message")
}

// next reads a field. A group is skipped and has no value.
func (c *cursor) next() (f field, err error) {
	if at := c.at; at+1 < c.end { // mostly: a field of bytes with a small number
		if tag := c.b[at]; tag < 0x80 && tag >= 8 && tag&7 == wireBytes {
			n := uint(c.b[at+1])
			at += 2
			for shift := 7; n>>shift != 0 && shift <= 28 && at < c.end; shift += 7 { // a length of several bytes
				n = n&(1<<shift-1) | uint(c.b[at])<<shift
				at++
			}
			if n < 1<<28 && n <= uint(c.end-at) && c.b[at-1] < 0x80 {
				c.at = at + int(n)
				return field{number: uint64(tag >> 3), wire: wireBytes, from: at, to: c.at}, nil
			}
		}
	}
	if f, err = c.tag(); err != nil {
		return f, err
	}
	if f.wire == wireEnd {
		return f, badMessage(c.at, "a field", fmt.Sprintf("the end of group %d, which has no beginning", f.number))
	}
	err = c.value(&f, 0)
	return f, err
}

// tag reads the number and the wire type of a field.
func (c *cursor) tag() (f field, err error) {
	start := c.at
	tag, err := c.varint()
	if err != nil {
		return f, err
	}
	f.number, f.wire = tag>>3, int(tag&7)
	if tag > 1<<32-1 || f.number == 0 || f.wire > wire32 {
		return f, badMessage(start, "a field with a number from 1 to 2^29-1 and a wire type from 0 to 5",
			fmt.Sprintf("tag %d", tag))
	}
	return f, nil
}

// value reads the value of a field.
func (c *cursor) value(f *field, depth int) (err error) {
	start, n := c.at, uint64(0)
	switch f.wire {
	case wireVarint:
		f.value, err = c.varint()
		return err
	case wire64:
		n = 8
	case wire32:
		n = 4
	case wireGroup:
		return c.group(f.number, depth)
	default:
		if n, err = c.varint(); err != nil {
			return err
		}
	}
	if n > uint64(c.end-c.at) {
		return badMessage(start, fmt.Sprintf("%d bytes of field %d", n, f.number), fmt.Sprintf("%d bytes", c.end-c.at))
	}
	f.from, f.to = c.at, c.at+int(n)
	c.at = f.to
	return nil
}

// group skips the fields up to the end of a group.
func (c *cursor) group(number uint64, depth int) error {
	if depth == maxDepth {
		return badMessage(c.at, fmt.Sprintf("at most %d groups in groups", maxDepth), "more")
	}
	for {
		f, err := c.tag()
		if err != nil {
			return err
		}
		if f.wire == wireEnd {
			if f.number != number {
				return badMessage(c.at, fmt.Sprintf("the end of group %d", number), fmt.Sprintf("the end of group %d", f.number))
			}
			return nil
		}
		if err := c.value(&f, depth+1); err != nil {
			return err
		}
	}
}
