package blosc

import (
	"encoding/binary"

	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"

	"github.com/bivouac-ml/bivouac/format/internal/zframe"
)

// formats are the codecs as flags name them, with the most that one byte of a
// stream can stand for.
var formats = [...]struct {
	expansion  int
	decompress func(dst, src []byte) bool // fills dst, or fails
}{
	{256, decodeBloscLZ},
	{256, decodeLZ4},
	{64, decodeSnappy},
	{1100, decodeZlib},
	{64 << 10, decodeZstd},
}

// header is a chunk's header.
type header struct {
	flags                 byte
	typeSize              int
	size, block, encoded  int
	format, blocks, short int // short: bytes of the last block, if it is not full
}

func parseHeader(src []byte) (header, error) {
	var h header
	if len(src) < headerSize {
		return h, ErrHeader
	}
	h.flags, h.typeSize = src[2], int(src[3])
	if src[0] != formatVersion || src[1] != codecVersion || h.flags&flagReserved != 0 {
		return h, ErrVersion
	}
	size, block, encoded := binary.LittleEndian.Uint32(src[4:]), binary.LittleEndian.Uint32(src[8:]), binary.LittleEndian.Uint32(src[12:])
	switch {
	case h.typeSize == 0 || size > MaxSize || size > 0 && (block == 0 || block > size):
		return h, ErrHeader
	case uint64(encoded) != uint64(len(src)):
		return h, ErrLength
	}
	h.size, h.block, h.encoded = int(size), int(block), int(encoded)
	h.format = int(h.flags >> codecShift)
	if h.flags&flagStored != 0 {
		if h.encoded != h.size+headerSize {
			return h, ErrLength
		}
		return h, nil
	}
	if h.format >= len(formats) {
		return h, ErrVersion
	}
	if h.size == 0 {
		return h, nil
	}
	h.blocks = (h.size + h.block - 1) / h.block
	h.short = h.size % h.block
	// Blocks do not overlap, as decode checks; so this bounds the memory.
	if payload := h.encoded - headerSize; h.blocks > payload/4 || h.size > payload*formats[h.format].expansion {
		return h, ErrContent
	}
	return h, nil
}

// Decode decodes the chunk that fills src into dst, whose length is ignored, and
// returns the bytes. When the capacity of dst is too small it allocates, but
// never more than limit bytes, nor more than the chunk could hold.
func Decode(dst, src []byte, limit int) ([]byte, error) {
	h, err := parseHeader(src)
	if err != nil {
		return nil, err
	}
	if h.size > limit {
		return nil, ErrSize
	}
	if cap(dst) < h.size {
		dst = make([]byte, h.size)
	}
	dst = dst[:h.size]
	if h.flags&flagStored != 0 {
		copy(dst, src[headerSize:])
		return dst, nil
	}
	d := decoder{header: h, src: src, free: len(src) - headerSize - 4*h.blocks}
	if d.shuffled() && h.blocks > 0 { // an empty chunk may name any size of block
		d.scratch = make([]byte, h.block)
	}
	for i := range h.blocks {
		at := binary.LittleEndian.Uint32(src[headerSize+4*i:])
		end := min((i+1)*h.block, h.size)
		if err := d.decodeBlock(dst[i*h.block:end], at); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

type decoder struct {
	header
	src     []byte
	free    int    // bytes of streams that no block has claimed
	scratch []byte // a block before unshuffling
}

func (d *decoder) shuffled() bool {
	return d.flags&flagShuffle != 0 && d.typeSize > 1 || d.flags&flagBitShuffle != 0
}

func (d *decoder) decodeBlock(dst []byte, at uint32) error {
	if uint64(at) < uint64(headerSize+4*d.blocks) || uint64(at) > uint64(len(d.src)) {
		return ErrBlock
	}
	in := d.src[at:]
	out := dst
	if d.shuffled() {
		out = d.scratch[:len(dst)]
	}
	streams := 1
	if d.flags&flagNoSplit == 0 && d.typeSize <= maxSplits && d.block/d.typeSize >= minElements && len(dst) == d.block {
		streams = d.typeSize
	}
	n := len(dst) / streams
	if n*streams != len(dst) {
		return ErrBlock
	}
	for i := range streams {
		if len(in) < 4 {
			return ErrBlock
		}
		size := binary.LittleEndian.Uint32(in)
		in = in[4:]
		if uint64(size) > uint64(len(in)) || int(size) > n || int(size)+4 > d.free {
			return ErrBlock
		}
		d.free -= int(size) + 4
		stream, part := in[:size], out[i*n:(i+1)*n]
		in = in[size:]
		if int(size) == n {
			copy(part, stream)
		} else if !formats[d.format].decompress(part, stream) {
			return ErrContent
		}
	}
	switch {
	case !d.shuffled():
	case d.flags&flagShuffle != 0 && d.typeSize > 1:
		unshuffleBytes(dst, out, d.typeSize)
	default:
		unshuffleBits(dst, out, d.typeSize)
	}
	return nil
}

func decodeLZ4(dst, src []byte) bool {
	n, err := lz4.UncompressBlock(src, dst)
	return err == nil && n == len(dst)
}

func decodeSnappy(dst, src []byte) bool {
	if n, err := snappy.DecodedLen(src); err != nil || n != len(dst) {
		return false
	}
	out, err := snappy.DecodeStrict(dst, src)
	return err == nil && len(out) == len(dst)
}

func decodeZstd(dst, src []byte) bool {
	out, err := zframe.Decode(dst[:0:len(dst)], src, len(dst))
	return err == nil && len(out) == len(dst)
}
