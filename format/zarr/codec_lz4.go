package zarr

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	lz4block "github.com/pierrec/lz4/v4"
)

// LZ4 returns the compressor lz4 of format 2, as numcodecs has it: the size of
// the input, u32le, and one LZ4 block.
func LZ4() CodecSpec {
	return CodecSpec{Name: "lz4", Config: map[string]any{"acceleration": 1}}
}

const lz4Header = 4

type lz4 struct{ acceleration int }

func newLZ4(config object, _ int) byteCodec {
	return lz4{config.integer("acceleration", 0, math.MaxInt32, 1)}
}

func (z lz4) spec() CodecSpec {
	return CodecSpec{Name: "lz4", Config: map[string]any{"acceleration": z.acceleration}}
}

func (lz4) size(int) (int, bool) { return 0, false }

func (lz4) bound(n int) int {
	if n > math.MaxInt/2 {
		return math.MaxInt
	}
	return lz4Header + lz4block.CompressBlockBound(n)
}

func (lz4) limit() int { return math.MaxInt32 }

func (lz4) encode(dst, src []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	at, bound := len(dst), lz4block.CompressBlockBound(len(src))
	dst = slices.Grow(dst, bound)
	n, err := lz4block.CompressBlock(src, dst[at:at+bound], nil)
	if err != nil || n == 0 {
		return appendLiterals(dst[:at], src) // incompressible
	}
	return dst[:at+n]
}

// appendLiterals appends the LZ4 block that holds src as it is.
func appendLiterals(dst, src []byte) []byte {
	n := len(src)
	dst = append(dst, byte(min(n, 15)<<4))
	if n >= 15 {
		for n -= 15; n >= 255; n -= 255 {
			dst = append(dst, 255)
		}
		dst = append(dst, byte(n))
	}
	return append(dst, src...)
}

func (lz4) decode(dst, src []byte, limit int) ([]byte, error) {
	if len(src) < lz4Header {
		return nil, errors.New("too short for lz4 data")
	}
	size := int64(binary.LittleEndian.Uint32(src))
	src = src[lz4Header:]
	if size > int64(limit) {
		return nil, errors.New("lz4 data holds more bytes than it may")
	}
	if size > 256*int64(len(src)) { // no block expands as much
		return nil, errors.New("damaged lz4 data")
	}
	if int64(cap(dst)) < size {
		dst = make([]byte, size)
	}
	n, err := lz4block.UncompressBlock(src, dst[:size])
	if err != nil || int64(n) != size {
		return nil, errors.New("damaged lz4 data")
	}
	return dst[:size], nil
}
