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
