package zarr

import (
	"bytes"
	"errors"
	"io"
	"math"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
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
