package ocdbt

import (
	"encoding/binary"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/internal/zframe"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// The magic numbers of the three kinds of object.
const (
	magicManifest    = 0x0cdb3a2a
	magicNode        = 0x0cdb20de
	magicVersionNode = 0x0cdb1234
)

const (
	headerSize  = 12 // magic and length
	minEnvelope = 16
)

// Compression is how bodies of nodes and manifests are stored. Values are never
// compressed by this format.
type Compression uint8

// The methods of compression.
const (
	CompressionNone Compression = 0
	CompressionZstd Compression = 1
)

// unwrap checks the wrapper of the object in b and returns its body as it is stored.
func unwrap(b []byte, magic uint32, at location) (body []byte, method Compression, err error) {
	if len(b) < minEnvelope {
		return nil, 0, at.corrupt("object of %d bytes, the smallest has %d", len(b), minEnvelope)
	}
	if got := binary.BigEndian.Uint32(b); got != magic {
		return nil, 0, at.corrupt("magic is %08x, want %08x", got, magic)
	}
	if got := binary.LittleEndian.Uint64(b[4:]); got != uint64(len(b)) {
		return nil, 0, at.corrupt("header says %d bytes, the object has %d", got, len(b))
	}
	end := len(b) - 4
	if got, want := crc.Sum(b[:end]), binary.LittleEndian.Uint32(b[end:]); got != want {
		return nil, 0, at.corrupt("CRC-32C is %08x, stored is %08x", got, want)
	}
	c := cursor{at: at, b: b[:end], pos: headerSize}
	version := c.varint(1<<32-1, "format version")
	stored := c.varint(1<<32-1, "compression")
	if c.err != nil {
		return nil, 0, c.err
	}
	if version != 0 {
		return nil, 0, &errs.Error{Kind: errs.Unsupported, Op: "ocdbt", Subject: at.file,
			Want: "format version 0", Got: utoa(version)}
	}
	if stored > uint64(CompressionZstd) {
		return nil, 0, at.corrupt("unknown compression method %d", stored)
	}
	return c.b[c.pos:], Compression(stored), nil
}

// openEnvelope checks the wrapper of the object in b and returns its body,
// which may alias b. The body takes at most limit bytes.
func openEnvelope(b []byte, magic uint32, limit int64, at location) ([]byte, error) {
	body, method, err := unwrap(b, magic, at)
	if err != nil {
		return nil, err
	}
	if method == CompressionNone {
		if int64(len(body)) > limit {
			return nil, tooLarge(at, limit)
		}
		return body, nil
	}
	out, err := zframe.Decode(nil, body, int(min(limit, maxInt)))
	if err == zframe.ErrSize {
		return nil, tooLarge(at, limit)
	}
	if err != nil {
		return nil, at.corrupt("%v", err)
	}
	return out, nil
}

func tooLarge(at location, limit int64) error {
	return &errs.Error{Kind: errs.Exhausted, Op: "ocdbt", Subject: at.file,
		Got:    "a node takes more than " + utoa(uint64(limit)) + " bytes in memory",
		Remedy: "raise Options.MaxNodeBytes"}
}

// sealer wraps bodies.
type sealer struct {
	zstd *zframe.Encoder // nil: no compression
}

func newSealer(c Config) sealer {
	if c.Compression == CompressionZstd {
		return sealer{zframe.NewEncoder(int(c.ZstdLevel), false)}
	}
	return sealer{}
}

// seal returns the object of the given magic and body.
func (s sealer) seal(magic uint32, body []byte) []byte {
	b := s.begin(magic, len(body))
	if s.zstd != nil {
		b = s.zstd.Append(b, body)
	} else {
		b = append(b, body...)
	}
	return finish(b)
}

// stream works like seal for a body that write writes, the same in each call. A large compressed
// body is never in memory as a whole.
func (s sealer) stream(magic uint32, write func(*columns)) ([]byte, error) {
	var count columns
	write(&count)
	if s.zstd != nil && count.size > zframe.StreamFrom {
		b, err := s.zstd.AppendStream(s.begin(magic, 0), count.size, func(w io.Writer) error {
			c := columns{w: w}
			write(&c)
			c.flush()
			return c.err
		})
		if err != nil {
			return nil, &errs.Error{Kind: errs.Invalid, Op: "ocdbt.EncodeEntries", Subject: "entries",
				Want: "the same entries each time", Err: err}
		}
		return finish(b), nil
	}
	body := gathered{make([]byte, 0, count.size)}
	c := columns{w: &body}
	write(&c)
	c.flush()
	return s.seal(magic, body.b), nil
}

// gathered is a Writer into memory.
type gathered struct{ b []byte }

func (g *gathered) Write(b []byte) (int, error) {
	g.b = append(g.b, b...)
	return len(b), nil
}

// begin returns the beginning of an object, with capacity for that many bytes of its body.
func (s sealer) begin(magic uint32, room int) []byte {
	b := make([]byte, headerSize, headerSize+2+room+4)
	binary.BigEndian.PutUint32(b, magic)
	method := CompressionNone
	if s.zstd != nil {
		method = CompressionZstd
	}
	return append(b, 0, byte(method)) // format version 0
}

// finish puts the length into the header of b, and appends the checksum.
func finish(b []byte) []byte {
	binary.LittleEndian.PutUint64(b[4:], uint64(len(b)+4))
	return binary.LittleEndian.AppendUint32(b, crc.Sum(b))
}
