package recordio

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/internal/window"
)

const (
	magic      = 0xced7230a
	headerSize = 8
	lengthBits = 29
	maxLength  = 1<<lengthBits - 1
)

// The kinds of parts.
const (
	whole  = 0
	first  = 1
	middle = 2
	last   = 3
)

func corrupt(want, got string) error { return &errs.Error{Kind: errs.Corrupt, Want: want, Got: got} }

// part is the header of a part.
type part struct {
	kind   int
	length int64
}

// size returns the bytes of the part in the file.
func (p part) size() int64 { return headerSize + (p.length+3)&^3 }

// parsePart reads the header of the part that begins header, of which rest bytes are left.
func parsePart(header []byte, rest int64, begins bool) (p part, err error) {
	if len(header) < headerSize {
		return p, corrupt(fmt.Sprintf("a header of %d bytes", headerSize),
			fmt.Sprintf("%d bytes: the file was cut", len(header)))
	}
	if got := binary.LittleEndian.Uint32(header); got != magic {
		return p, corrupt(fmt.Sprintf("the magic number %08x", uint32(magic)), fmt.Sprintf("%08x", got))
	}
	word := binary.LittleEndian.Uint32(header[4:])
	p = part{kind: int(word >> lengthBits), length: int64(word & maxLength)}
	switch {
	case begins && p.kind != whole && p.kind != first:
		return p, corrupt("the first part of a record, 0 or 1", fmt.Sprintf("part %d", p.kind))
	case !begins && p.kind != middle && p.kind != last:
		return p, corrupt("a further part of a record, 2 or 3", fmt.Sprintf("part %d", p.kind))
	case p.size() > rest:
		return p, corrupt(fmt.Sprintf("a part of %d bytes", p.size()), fmt.Sprintf("%d bytes: the file was cut", rest))
	}
	return p, nil
}

// Payload returns the bytes of a record, which may have several parts. If it has one, the payload
// lies in record. Otherwise joined is true, and the payload is appended to scratch. Bytes after the
// record are ignored. Fails with errs.Corrupt for a damaged record.
func Payload(record, scratch []byte) (payload []byte, joined bool, err error) {
	at := 0
	for begins := true; ; begins = false {
		p, err := parsePart(record[at:], int64(len(record)-at), begins)
		if err != nil {
			return nil, false, errs.Wrap("", fmt.Sprintf("byte %d of the record", at), err)
		}
		data := record[at+headerSize:][:p.length:p.length]
		if at += int(p.size()); p.kind == whole || p.kind == last {
			if begins {
				return data, false, nil
			}
			return append(scratch, data...), true, nil
		}
		scratch = binary.LittleEndian.AppendUint32(append(scratch, data...), magic)
	}
}

// Append appends a record with the given payload to dst. It panics if a part would have 2^29 bytes
// or more.
func Append(dst, payload []byte) []byte {
	kind, rest := whole, payload
	for {
		at := split(rest)
		data, next := rest, kind
		if at >= 0 {
			if data, next = rest[:at], middle; kind == whole {
				next = first
			}
		} else if kind != whole {
			next = last
		}
		if len(data) > maxLength {
			panic(&errs.Error{Kind: errs.Invalid, Op: "recordio.Append",
				Want: fmt.Sprintf("at most %d bytes", maxLength), Got: fmt.Sprint(len(data))})
		}
		dst = binary.LittleEndian.AppendUint32(dst, magic)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(next)<<lengthBits|uint32(len(data)))
		dst = append(dst, data...)
		dst = append(dst, make([]byte, -len(data)&3)...)
		if at < 0 {
			return dst
		}
		kind, rest = middle, rest[at+4:]
	}
}

// split returns where the magic number lies in a payload at a multiple of 4, or -1.
func split(payload []byte) int {
	for at := 0; at+4 <= len(payload); at += 4 {
		if binary.LittleEndian.Uint32(payload[at:]) == magic {
			return at
		}
	}
	return -1
}

// Detect reports whether a file that begins with head, its first few KiB, is a RecordIO file.
func Detect(head []byte) bool {
	_, err := parsePart(head[:min(len(head), headerSize)], maxLength+headerSize+4, true)
	return err == nil
}

// Scan calls add with the offset and the length of each record of a file, with all its parts, in
// their order. An error of add ends it. A wrong magic number, parts in a wrong order, and a file
// that ends within a record are errors of kind errs.Corrupt that name the record and its offset.
func Scan(r io.ReaderAt, size int64, add func(offset, length int64) error) error {
	w := window.New(r, size)
	offset := int64(0)
	for n := 0; offset < size; n++ {
		length := int64(0)
		for begins := true; ; begins = false {
			at := offset + length
			header, err := w.Read(at, headerSize)
			if err != nil {
				return err
			}
			p, err := parsePart(header, size-at, begins)
			if err != nil {
				return errs.Wrap("", fmt.Sprintf("record %d at byte %d", n, at), err)
			}
			if length += p.size(); p.kind == whole || p.kind == last {
				break
			}
		}
		if err := add(offset, length); err != nil {
			return err
		}
		offset += length
	}
	return nil
}
