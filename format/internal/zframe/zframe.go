// Package zframe is one zstd frame in memory, with the bounds that bytes from
// outside need.
//
// OCDBT envelopes and zarr chunks hold exactly one frame each:
//
//	28 b5 2f fd | descriptor, window, content size | block … last block | [xxhash32]
//	block: u24le (last:1, type:2, size:21) | payload (size bytes; 1 byte for a run)
//
// Decode walks this outline before it decompresses, so that a second frame, a
// skippable frame, trailing bytes and a frame that cannot have the expected
// size are found before memory is allocated.
package zframe

import (
	"bytes"
	"errors"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The ways in which a frame can be at fault.
var (
	ErrFrame    = errors.New("not a zstd frame")                           // bad magic, header or block, or cut short
	ErrTrailing = errors.New("bytes follow the zstd frame")                // a second frame counts as such bytes
	ErrSize     = errors.New("zstd frame holds more bytes than it may")    // the limit given to Decode
	ErrContent  = errors.New("zstd frame does not decompress as declared") // content size, checksum, entropy tables
)

// maxBlock is the most that one block decompresses to.
const maxBlock = 128 << 10

// MinLevel and MaxLevel bound the compression levels of libzstd.
const (
	MinLevel = -131072
	MaxLevel = 22
)

// bound checks the outline of the single frame that fills src. It returns an
// upper bound of the decompressed size, and whether it is the declared size.
func bound(src []byte) (size uint64, declared bool, err error) {
	size, declared, rest, err := outline(src)
	if err == nil && len(rest) != 0 {
		err = ErrTrailing
	}
	if err != nil {
		return 0, false, err
	}
	return size, declared, nil
}

// outline works like bound for the frame that begins src, and returns what follows it.
func outline(src []byte) (size uint64, declared bool, rest []byte, err error) {
	var h zstd.Header
	if err := h.Decode(src); err != nil || h.Skippable {
		return 0, false, nil, ErrFrame
	}
	if h.DictionaryID != 0 {
		return 0, false, nil, ErrFrame
	}
	p := src[h.HeaderSize:]
	var blocks uint64
	for last := false; !last; {
		if len(p) < 3 {
			return 0, false, nil, ErrFrame
		}
		b := uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16
		last = b&1 != 0
		n := int(b >> 3)
		p = p[3:]
		switch b >> 1 & 3 {
		case 0:
			blocks += uint64(n)
		case 1:
			blocks += uint64(n)
			n = 1
		case 2:
			blocks += maxBlock
		default:
			return 0, false, nil, ErrFrame
		}
		if n > len(p) {
			return 0, false, nil, ErrFrame
		}
		p = p[n:]
	}
	if h.HasCheckSum {
		if len(p) < 4 {
			return 0, false, nil, ErrFrame
		}
		p = p[4:]
	}
	if h.HasFCS {
		if h.FrameContentSize > blocks {
			return 0, false, nil, ErrContent
		}
		return h.FrameContentSize, true, p, nil
	}
	return blocks, false, p, nil
}

// decoder is stateless in DecodeAll and safe for concurrent use. It starts no
// goroutines. The window is not a buffer there: output goes to dst alone, whose
// capacity is the limit.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(0),
		zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(math.MaxInt64),
		zstd.WithDecoderMaxWindow(1<<41))
	if err != nil {
		panic(err) // the options above are constants
	}
	return d
})

// Decode decompresses the single frame that fills src into dst, whose length is
// ignored, and returns the bytes. When the capacity of dst is too small it
// allocates, but never more than limit bytes, nor more than the frame could
// hold. A frame that declares more than limit bytes is ErrSize; one that turns
// out to hold more is ErrSize or ErrContent.
func Decode(dst, src []byte, limit int) ([]byte, error) {
	size, declared, err := bound(src)
	if err != nil {
		return nil, err
	}
	if size > uint64(limit) {
		if declared {
			return nil, ErrSize
		}
		size = uint64(limit)
	}
	if uint64(cap(dst)) < size {
		dst = make([]byte, size)
	}
	out, err := decoder().DecodeAll(src, dst[:0:size])
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return nil, ErrSize
	case err != nil:
		return nil, ErrContent
	}
	return out, nil
}

// DecodeFrames works like Decode for one or more frames that follow each other and fill src.
func DecodeFrames(dst, src []byte, limit int) ([]byte, error) {
	var all uint64
	for rest := src; ; {
		size, _, next, err := outline(rest)
		if err != nil {
			return nil, err
		}
		if all += size; len(next) == 0 {
			break
		}
		rest = next
	}
	all = min(all, uint64(limit))
	if uint64(cap(dst)) < all {
		dst = make([]byte, all)
	}
	out, err := decoder().DecodeAll(src, dst[:0:all])
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return nil, ErrSize
	case err != nil:
		return nil, ErrContent
	}
	return out, nil
}

// readerWindow is the largest window of a frame that NewReader reads.
const readerWindow = 16 << 20

// NewReader returns a Reader of what the single frame that fills src decompresses to, and how many
// bytes those are. It takes the window of the frame of memory, and little more. The Reader is nil,
// without an error, for a frame of at most from bytes and for a frame whose window is too large to
// be worth it: call Decode for these. A frame of more than limit bytes is ErrSize.
func NewReader(src []byte, from, limit int) (io.Reader, int, error) {
	size, declared, err := bound(src)
	if err != nil {
		return nil, 0, err
	}
	if declared && size > uint64(limit) {
		return nil, 0, ErrSize
	}
	var h zstd.Header
	if err := h.Decode(src); err != nil || size <= uint64(from) || h.WindowSize > readerWindow {
		return nil, 0, nil
	}
	open := func() (io.Reader, error) {
		return zstd.NewReader(bytes.NewReader(src), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(readerWindow))
	}
	r, err := open()
	if err != nil {
		return nil, 0, ErrContent
	}
	if declared {
		return r, int(size), nil
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r, int64(min(limit, math.MaxInt-1))+1))
	switch {
	case err != nil:
		return nil, 0, ErrContent
	case n > int64(limit):
		return nil, 0, ErrSize
	}
	if r, err = open(); err != nil {
		return nil, 0, ErrContent
	}
	return r, int(n), nil
}

// singleLimit is the size up to which a frame is a single segment, which states
// its content size however small it is; larger ones keep a bounded window, so
// that streaming decoders can read them in little memory.
const singleLimit = 1 << 20

// Encoder compresses frames that carry their content size. It is safe for
// concurrent use.
type Encoder struct {
	single, windowed func() *zstd.Encoder
	level            zstd.EncoderLevel
	checksum         bool
}

// encoders has one encoder for each way to compress, made when it is first
// needed: by level of the library, checksum, and single segment. They keep no
// state between frames, and are megabytes large.
var encoders = func() (all [zstd.SpeedBestCompression + 1][2][2]func() *zstd.Encoder) {
	for level := range all {
		for checksum := range 2 {
			for single := range 2 {
				all[level][checksum][single] = sync.OnceValue(func() *zstd.Encoder {
					enc, err := zstd.NewWriter(nil, append(options(zstd.EncoderLevel(level), checksum == 1), zstd.WithSingleSegment(single == 1))...)
					if err != nil {
						panic(err) // every option is valid for every level
					}
					return enc
				})
			}
		}
	}
	return all
}()

// options of every encoder of a level. Literals without matches are what floating-point
// data consists of; the library leaves them uncompressed at its lower levels unless told
// otherwise.
func options(level zstd.EncoderLevel, checksum bool) []zstd.EOption {
	return []zstd.EOption{
		zstd.WithEncoderLevel(level), zstd.WithEncoderCRC(checksum), zstd.WithAllLitEntropyCompression(true), zstd.WithZeroFrames(true),
	}
}

// NewEncoder returns an encoder of the given level of libzstd (0 is its
// default); checksum appends the content checksum to each frame. A level
// outside MinLevel … MaxLevel is treated as the nearest one inside.
func NewEncoder(level int, checksum bool) *Encoder {
	if level == 0 {
		level = 3
	}
	sum := 0
	if checksum {
		sum = 1
	}
	l := zstd.EncoderLevelFromZstd(level)
	way := &encoders[l][sum]
	return &Encoder{single: way[1], windowed: way[0], level: l, checksum: checksum}
}

// StreamFrom is from how many bytes on a frame is worth a stream.
const StreamFrom = singleLimit

// streamWindow is how far a streamed frame refers back, and about what its writer and
// its reader take of memory.
const streamWindow = 1 << 20

// AppendStream compresses what write writes, which is size bytes, into one frame
// appended to dst. What was written is not kept: that takes a few MiB, whatever the
// size. It fails if write fails, or writes more or less than size bytes.
func (e *Encoder) AppendStream(dst []byte, size int, write func(io.Writer) error) ([]byte, error) {
	out := appender{dst}
	w, err := zstd.NewWriter(nil, append(options(e.level, e.checksum), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(streamWindow))...)
	if err == nil {
		w.ResetContentSize(&out, int64(size))
		err = errors.Join(write(w), w.Close())
	}
	return out.b, err
}

// appender is a Writer into memory.
type appender struct{ b []byte }

func (a *appender) Write(b []byte) (int, error) {
	a.b = append(a.b, b...)
	return len(b), nil
}

// Append compresses src into one frame appended to dst.
func (e *Encoder) Append(dst, src []byte) []byte {
	if len(src) <= singleLimit {
		return e.single().EncodeAll(src, dst)
	}
	return e.windowed().EncodeAll(src, dst)
}

// Bound returns the size that a frame of n bytes never exceeds.
func (e *Encoder) Bound(n int) int { return e.single().MaxEncodedSize(n) }
