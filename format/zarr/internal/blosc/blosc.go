// Package blosc reads and writes the chunks of c-blosc 1: buffers cut into blocks, whose bytes are
// shuffled so that bytes of equal weight lie together, and then compressed.
//
//	+---------+-----------+-------+----------+--------+-----------+--------+
//	| version | codec ver.| flags | typesize | nbytes | blocksize | cbytes |
//	| u8 = 2  | u8 = 1    | u8    | u8       | u32le  | u32le     | u32le  |
//	+---------+-----------+-------+----------+--------+-----------+--------+
//	| block offsets, u32le each, from the start of the chunk               |
//	+-----------------------------------------------------------------------+
//	| blocks: one stream, or typesize streams; each is u32le size + bytes  |
//	+-----------------------------------------------------------------------+
//
//	flags  01 byte shuffle | 02 stored | 04 bit shuffle | 10 blocks are not split
//	       e0 codec: 0 blosclz, 1 lz4, 2 snappy, 3 zlib, 4 zstd
//
// A stored chunk has the bytes as they are behind the header, not shuffled. Only
// the last block may be shorter than blocksize. Unless flag 10 is set, full
// blocks of types of up to 16 bytes, of at least 128 elements, are split into
// one stream for each byte of the type. A stream as long as what it stands for
// is not compressed.
//
// In a byte-shuffled block the first bytes of all elements come first, then the
// second ones, and so on; in a bit-shuffled one the lowest bits of the first
// bytes, and so on. What does not fill an element stays as it is; bit shuffling
// leaves blocks alone whose number of elements is no multiple of eight.
package blosc

import (
	"errors"
	"slices"

	"github.com/bivouac-ml/bivouac/internal/enum"
)

const (
	headerSize    = 16
	formatVersion = 2
	codecVersion  = 1

	flagShuffle    = 0x01
	flagStored     = 0x02
	flagBitShuffle = 0x04
	flagReserved   = 0x08
	flagNoSplit    = 0x10
	codecShift     = 5

	maxSplits    = 16  // streams of a block
	minElements  = 128 // of a block that is split
	defaultBlock = 256 << 10
)

// MaxSize is the greatest number of bytes that a chunk can hold.
const MaxSize = 1<<31 - 1 - headerSize

// MaxTypeSize is the greatest size of an element.
const MaxTypeSize = 255

// Codec is how the streams of a chunk are compressed.
type Codec uint8

// The codecs. LZ4HC is LZ4 for readers.
const (
	BloscLZ Codec = iota
	LZ4
	LZ4HC
	Snappy
	Zlib
	Zstd
)

var codecNames = []string{"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}

// String returns the name that c-blosc has for the codec.
func (c Codec) String() string { return enum.Name(c, codecNames, "unknown") }

// ParseCodec returns the codec of that name.
func ParseCodec(name string) (Codec, bool) {
	i := slices.Index(codecNames, name)
	return Codec(max(i, 0)), i >= 0
}

// Shuffle is how the bytes of a block are reordered before compression.
type Shuffle uint8

// The shuffles.
const (
	NoShuffle Shuffle = iota
	ByteShuffle
	BitShuffle
)

// Params say how chunks are written.
type Params struct {
	Codec     Codec
	Level     int // 0 … 9; 0 stores
	Shuffle   Shuffle
	TypeSize  int // of an element in bytes, 1 … MaxTypeSize
	BlockSize int // in bytes; 0: chosen
}

// The ways in which a chunk can be at fault.
var (
	ErrHeader  = errors.New("not a blosc chunk")                          // header that no chunk has
	ErrVersion = errors.New("blosc chunk of an unknown version or codec") // of a later format
	ErrLength  = errors.New("blosc chunk is not as long as it says")
	ErrSize    = errors.New("blosc chunk holds more bytes than it may") // the limit given to Decode
	ErrBlock   = errors.New("blosc block out of bounds")                // offset or stream size
	ErrContent = errors.New("blosc stream does not decompress as declared")
)
