package blosc

import (
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"

	"github.com/bivouac-ml/bivouac/format/internal/zframe"
)

// Encoder writes chunks. It is safe for concurrent use.
type Encoder struct {
	p    Params
	zstd *zframe.Encoder
}

// zstdLevels are libzstd's levels for the levels of blosc.
var zstdLevels = [...]int{1, 1, 3, 5, 7, 9, 11, 13, 15, 19}

// NewEncoder returns an encoder. Values out of range are taken for the nearest
// ones inside.
func NewEncoder(p Params) *Encoder {
	p.Level = min(max(p.Level, 0), 9)
	p.TypeSize = min(max(p.TypeSize, 1), MaxTypeSize)
	e := &Encoder{p: p}
	if p.Codec == Zstd {
		e.zstd = zframe.NewEncoder(zstdLevels[p.Level], false)
	}
	return e
}

// Bound returns the size that a chunk of n bytes never exceeds.
func Bound(n int) int { return n + headerSize }

// Append appends the chunk of src, of at most MaxSize bytes, to dst. Blocks are
// not split into streams. A chunk that would not be smaller is stored.
func (e *Encoder) Append(dst, src []byte) []byte {
	start := len(dst)
	flags := byte(flagNoSplit) | e.format()<<codecShift
	switch {
	case e.p.Shuffle == BitShuffle:
		flags |= flagBitShuffle
	case e.p.Shuffle == ByteShuffle && e.p.TypeSize > 1:
		flags |= flagShuffle
	}
	block := e.blockSize(len(src))
	dst = append(dst, formatVersion, codecVersion, flags, byte(e.p.TypeSize))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(block))
	dst = append(dst, 0, 0, 0, 0)
	if e.p.Level > 0 && len(src) > 0 {
		dst = e.appendBlocks(dst, src, start, block)
	}
	if e.p.Level == 0 || len(dst)-start >= len(src)+headerSize || len(src) == 0 {
		dst = append(dst[:start+headerSize], src...)
		dst[start+2] |= flagStored
	}
	binary.LittleEndian.PutUint32(dst[start+12:], uint32(len(dst)-start))
	return dst
}

// format is the number of the codec in flags.
func (e *Encoder) format() byte {
	switch e.p.Codec {
	case BloscLZ:
		return 0
	case LZ4, LZ4HC:
		return 1
	case Snappy:
		return 2
	case Zlib:
		return 3
	}
	return 4
}

// blockSize is a whole number of elements, and of eight of them for bit
// shuffling, where the chunk has as many.
func (e *Encoder) blockSize(n int) int {
	b := e.p.BlockSize
	if b <= 0 {
		b = defaultBlock
	}
	unit := 8 * e.p.TypeSize
	if b = max(b/unit*unit, unit); b < n {
		return b
	}
	return n
}

// appendBlocks appends the block offsets and blocks.
func (e *Encoder) appendBlocks(dst, src []byte, start, block int) []byte {
	table := len(dst)
	dst = append(dst, make([]byte, 4*((len(src)+block-1)/block))...)
	var scratch []byte
	if e.p.Shuffle != NoShuffle {
		scratch = make([]byte, block)
	}
	for i := 0; len(src) > 0; i++ {
		part := src[:min(block, len(src))]
		src = src[len(part):]
		switch {
		case e.p.Shuffle == BitShuffle:
			shuffleBits(scratch[:len(part)], part, e.p.TypeSize)
			part = scratch[:len(part)]
		case e.p.Shuffle == ByteShuffle && e.p.TypeSize > 1:
			shuffleBytes(scratch[:len(part)], part, e.p.TypeSize)
			part = scratch[:len(part)]
		}
		binary.LittleEndian.PutUint32(dst[table+4*i:], uint32(len(dst)-start))
		at := len(dst)
		dst = e.compress(append(dst, 0, 0, 0, 0), part)
		if len(dst)-at-4 >= len(part) {
			dst = append(dst[:at+4], part...)
		}
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst
}

// compress appends one stream. One that is not smaller than src is not used.
func (e *Encoder) compress(dst, src []byte) []byte {
	switch e.p.Codec {
	case BloscLZ:
		return appendBloscLZ(dst, src)
	case LZ4, LZ4HC:
		return e.appendLZ4(dst, src)
	case Snappy:
		return append(dst, snappy.Encode(nil, src)...)
	case Zlib:
		return appendZlib(dst, src, e.p.Level)
	}
	return e.zstd.Append(dst, src)
}

func (e *Encoder) appendLZ4(dst, src []byte) []byte {
	at, bound := len(dst), lz4.CompressBlockBound(len(src))
	dst = slices.Grow(dst, bound)
	room := dst[at : at+bound]
	var n int
	var err error
	if e.p.Codec == LZ4HC {
		n, err = lz4.CompressBlockHC(src, room, lz4.CompressionLevel(1<<(8+e.p.Level)), nil, nil)
	} else {
		n, err = lz4.CompressBlock(src, room, nil)
	}
	if err != nil || n == 0 {
		return append(dst[:at], src...) // incompressible
	}
	return dst[:at+n]
}
