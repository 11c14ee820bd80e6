package zarr

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	lz4block "github.com/pierrec/lz4/v4"

	"github.com/bivouac-ml/bivouac/format/internal/zframe"
)

// GZip returns the codec that compresses its input into one gzip member; level
// is 0 … 9.
func GZip(level int) CodecSpec { return deflateSpec("gzip", level) }

// Zlib returns the codec that compresses its input into a zlib stream; level is
// 0 … 9. It is one of format 2 alone.
func Zlib(level int) CodecSpec { return deflateSpec("zlib", level) }

func deflateSpec(name string, level int) CodecSpec {
	return CodecSpec{Name: name, Config: map[string]any{"level": level}}
}

// Levels that stand where metadata names none: TensorStore's.
const (
	defaultGZipLevel = 6 // of format 3
	defaultZlibLevel = 1 // and of gzip in format 2
)

// deflate is DEFLATE in the wrapper that name says.
type deflate struct {
	name  string
	level int
}

func newGZip(config object, _ int) byteCodec {
	fallback := defaultGZipLevel
	if config.d.format == V2 {
		fallback = defaultZlibLevel
	}
	return deflate{"gzip", config.integer("level", -1, 9, fallback)}
}

func newZlib(config object, _ int) byteCodec {
	return deflate{"zlib", config.integer("level", -1, 9, defaultZlibLevel)}
}

func (f deflate) spec() CodecSpec { return deflateSpec(f.name, f.level) }

func (deflate) size(int) (int, bool) { return 0, false }

// bound: stored blocks of 65535 bytes take five bytes of header; the library
// makes them of no less than half of that.
func (deflate) bound(n int) int {
	if n > math.MaxInt/2 {
		return math.MaxInt
	}
	return n + n/1024 + 64
}

func (f deflate) encode(dst, src []byte) []byte {
	b := bytes.NewBuffer(dst)
	var w io.WriteCloser
	if f.name == "gzip" {
		w, _ = gzip.NewWriterLevel(b, f.level) // the level was checked
	} else {
		w, _ = zlib.NewWriterLevel(b, f.level)
	}
	// Writing to memory does not fail.
	_, _ = w.Write(src)
	_ = w.Close()
	return b.Bytes()
}

func (f deflate) decode(dst, src []byte, limit int) ([]byte, error) {
	in := bytes.NewReader(src)
	var r io.Reader
	var err error
	if f.name == "gzip" {
		r, err = gzip.NewReader(in)
	} else {
		r, err = zlib.NewReader(in)
	}
	if err != nil {
		return nil, errors.New("not " + f.name + " data")
	}
	return inflate(dst, r, in, f.name, limit)
}

// inflate reads r, which decompresses in, to its end into the memory of dst, and
// into new memory where that does not suffice, but no more than limit bytes.
// Memory grows with what there is, not with what is declared.
func inflate(dst []byte, r io.Reader, in *bytes.Reader, name string, limit int) ([]byte, error) {
	dst = dst[:0]
	for {
		if len(dst) == cap(dst) && len(dst) < limit {
			grown := make([]byte, len(dst), min(limit, max(2*len(dst), 4096, 4*in.Len())))
			copy(grown, dst)
			dst = grown
		}
		room := dst[len(dst):min(cap(dst), limit)]
		if len(room) == 0 {
			break
		}
		n, err := r.Read(room)
		dst = dst[:len(dst)+n]
		switch {
		case err == io.EOF && in.Len() == 0:
			return dst, nil
		case err == io.EOF:
			return nil, errors.New("bytes follow the " + name + " data")
		case err != nil:
			return nil, errors.New("damaged " + name + " data")
		}
	}
	// Full: what is left must be the checksum alone.
	var more [1]byte
	n, err := r.Read(more[:])
	switch {
	case n > 0:
		return nil, errors.New(name + " data holds more bytes than it may")
	case err != io.EOF:
		return nil, errors.New("damaged " + name + " data")
	case in.Len() != 0:
		return nil, errors.New("bytes follow the " + name + " data")
	}
	return dst, nil
}

// bz2 is the compressor bz2 of format 2. It can be read, not written.
type bz2 struct{ level int }

func newBZ2(config object, _ int) byteCodec {
	return bz2{config.integer("level", 1, 9, 1)}
}

func (z bz2) spec() CodecSpec {
	return CodecSpec{Name: "bz2", Config: map[string]any{"level": z.level}}
}

func (bz2) size(int) (int, bool) { return 0, false }

func (bz2) bound(n int) int {
	if n > math.MaxInt/2 {
		return math.MaxInt
	}
	return n + n/64 + 1024
}

func (bz2) decode(dst, src []byte, limit int) ([]byte, error) {
	in := bytes.NewReader(src)
	return inflate(dst, bzip2.NewReader(in), in, "bz2", limit)
}

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

// Zstd returns the codec that compresses its input into one zstd frame of the
// given level of libzstd, without a checksum.
func Zstd(level int) CodecSpec {
	return CodecSpec{Name: "zstd", Config: map[string]any{"checksum": false, "level": level}}
}

// Levels that stand where metadata names none: TensorStore's.
const (
	defaultZstdLevel   = 3
	defaultZstdLevelV2 = 1
)

type zstd struct {
	v2       bool
	level    int
	checksum bool
	encoder  *zframe.Encoder
}

func newZstd(config object, _ int) byteCodec {
	v2, fallback := config.d.format == V2, defaultZstdLevel
	if v2 {
		fallback = defaultZstdLevelV2
	}
	z := zstd{
		v2:       v2,
		level:    config.integer("level", zframe.MinLevel, zframe.MaxLevel, fallback),
		checksum: config.boolean("checksum", false),
	}
	z.encoder = zframe.NewEncoder(z.level, z.checksum)
	return z
}

func (z zstd) spec() CodecSpec {
	config := map[string]any{"level": z.level}
	if z.checksum || !z.v2 {
		config["checksum"] = z.checksum
	}
	return CodecSpec{Name: "zstd", Config: config}
}

func (z zstd) size(int) (int, bool) { return 0, false }

func (z zstd) bound(n int) int {
	if n > math.MaxInt/2 {
		return math.MaxInt
	}
	return z.encoder.Bound(n)
}

func (z zstd) encode(dst, src []byte) []byte { return z.encoder.Append(dst, src) }

func (z zstd) decode(dst, src []byte, limit int) ([]byte, error) {
	return zframe.Decode(dst, src, limit)
}
