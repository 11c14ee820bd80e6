package zarr

import (
	"bytes"
	"compress/bzip2"
	"math"
)

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
