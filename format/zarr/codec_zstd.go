package zarr

import (
	"math"

	"github.com/bivouac-ml/bivouac/format/internal/zframe"
)

// Zstd returns the codec that compresses its input into one zstd frame of the
// given level of libzstd, without a checksum.
func Zstd(level int) CodecSpec {
	return CodecSpec{Name: "zstd", Config: map[string]any{"checksum": false, "level": level}}
}

// defaultZstdLevel is what TensorStore takes where metadata names no level.
const defaultZstdLevel = 3

type zstd struct {
	level    int
	checksum bool
	encoder  *zframe.Encoder
}

func newZstd(config object, _ int) byteCodec {
	z := zstd{
		level:    config.integer("level", zframe.MinLevel, zframe.MaxLevel, defaultZstdLevel),
		checksum: config.boolean("checksum", false),
	}
	z.encoder = zframe.NewEncoder(z.level, z.checksum)
	return z
}

func (z zstd) json() map[string]any {
	return named("zstd", map[string]any{"checksum": z.checksum, "level": z.level})
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
