// Package aiff reads AIFF and AIFF-C files: PCM samples of 8, 16, 24 and 32 bits, floats of 32 and
// 64 bits, A-law and µ-law.
package aiff

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/codec/audio"
	"github.com/bivouac-ml/bivouac/codec/internal/pcm"
	"github.com/bivouac-ml/bivouac/errs"
)

const maxChannels = 1024

var be = binary.BigEndian

func init() {
	audio.Register(audio.Format{Name: "AIFF", Detect: detect, New: func() audio.Opener { return opener{} }})
}

func detect(head []byte) bool {
	return len(head) >= 12 && string(head[:4]) == "FORM" && (string(head[8:12]) == "AIFF" || string(head[8:12]) == "AIFC")
}

type opener struct{}

// Open implements audio.Opener.
func (opener) Open(b []byte, limit int64) (audio.Sound, error) {
	s, err := Parse(b)
	if err != nil {
		return nil, err
	}
	return s, audio.CheckSize("aiff", int64(s.Frames())*int64(s.Channels()), 4, limit)
}

func damaged(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "aiff", Want: want, Got: got, Remedy: "the file is cut or damaged"}
}

// common is a chunk COMM.
type common struct {
	channels, bits, rate int
	frames               int64
	encoding             string
}

// Parse reads the headers of a file. It fails with errs.Corrupt for a file that is cut or
// contradicts itself, and with errs.Unsupported for other encodings.
func Parse(b []byte) (audio.Sound, error) {
	if !detect(b) {
		return nil, damaged("a file that begins with FORM and AIFF or AIFC", fmt.Sprintf("%q", b[:min(12, len(b))]))
	}
	var c *common
	var data []byte
	found := false
	for rest := b[12:]; len(rest) >= 8; {
		id, size := string(rest[:4]), int64(be.Uint32(rest[4:]))
		rest = rest[8:]
		if size > int64(len(rest)) {
			return nil, damaged(fmt.Sprintf("%d bytes of chunk %q", size, id), fmt.Sprint(len(rest)))
		}
		chunk := rest[:size]
		switch id {
		case "COMM":
			var err error
			if c, err = newCommon(chunk, string(b[8:12]) == "AIFC"); err != nil {
				return nil, err
			}
		case "SSND":
			if size < 8 || int64(be.Uint32(chunk)) > size-8 {
				return nil, damaged("a chunk SSND with an offset inside it", fmt.Sprintf("%d bytes", size))
			}
			data, found = chunk[8+be.Uint32(chunk):], true
		}
		rest = rest[min(int64(len(rest)), size+size%2):]
	}
	switch {
	case c == nil:
		return nil, damaged("a chunk COMM", "none")
	case !found && c.frames > 0:
		return nil, damaged("a chunk SSND", "none")
	}
	return c.decode(data)
}

func newCommon(b []byte, compressed bool) (*common, error) {
	if len(b) < 18 || compressed && len(b) < 22 {
		return nil, damaged("a chunk COMM of at least 18 bytes, or 22 with an encoding", fmt.Sprint(len(b)))
	}
	rate := extended(b[8:18])
	c := &common{channels: int(be.Uint16(b)), frames: int64(be.Uint32(b[2:])), bits: int(be.Uint16(b[6:])),
		encoding: "NONE"}
	if compressed {
		c.encoding = string(b[18:22])
	}
	if c.channels < 1 || c.channels > maxChannels || !(rate >= 1 && rate < 1<<31) {
		return nil, damaged(fmt.Sprintf("1 to %d channels and a rate", maxChannels),
			fmt.Sprintf("%d channels, %v frames per second", c.channels, rate))
	}
	c.rate = int(rate)
	return c, nil
}

// extended returns a float of 80 bits.
func extended(b []byte) float64 {
	exponent := int(be.Uint16(b)&0x7fff) - 16383 - 63
	v := math.Ldexp(float64(be.Uint64(b[2:])), exponent)
	if b[0]&0x80 != 0 {
		return -v
	}
	return v
}

// decode returns the samples.
func (c *common) decode(data []byte) (audio.Sound, error) {
	kind, order, width := pcm.Signed, binary.ByteOrder(be), (c.bits+7)/8*8
	law := false
	known := c.bits >= 1 && c.bits <= 32
	switch c.encoding {
	case "NONE", "twos":
	case "sowt":
		order = binary.LittleEndian
	case "raw ":
		kind, known = pcm.Unsigned, c.bits == 8
	case "fl32", "FL32":
		kind, width, known = pcm.Float, 32, true
	case "fl64", "FL64":
		kind, width, known = pcm.Float, 64, true
	case "alaw", "ALAW", "ulaw", "ULAW":
		law, width, known = true, 8, true
	default:
		known = false
	}
	if !known {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "aiff", Want: "PCM of up to 32 bits, floats, A-law or µ-law",
			Got: fmt.Sprintf("encoding %q with %d bits", c.encoding, c.bits), Remedy: "convert the file"}
	}
	size := c.frames * int64(c.channels) * int64(width/8)
	if size > int64(len(data)) {
		return nil, damaged(fmt.Sprintf("%d bytes of samples", size), fmt.Sprint(len(data)))
	}
	data = data[:size]
	if law {
		return pcm.New(c.channels, c.rate, 16, pcm.Signed, binary.LittleEndian, pcm.Companded(data,
			c.encoding[0]|32 == 'a')), nil
	}
	return pcm.New(c.channels, c.rate, width, kind, order, data), nil
}
