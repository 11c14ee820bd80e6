package zarr

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/bivouac-ml/bivouac/internal/crc"
)

// suffixSize is what crc32c adds.
const suffixSize = 4

// CRC32C returns the codec that appends the checksum of its input.
func CRC32C() CodecSpec { return CodecSpec{Name: "crc32c"} }

type crc32c struct{}

func newCRC32C(object, int) byteCodec { return crc32c{} }

func (crc32c) spec() CodecSpec { return CRC32C() }

func (crc32c) size(n int) (int, bool) { return n + suffixSize, n <= math.MaxInt-suffixSize }

func (crc32c) bound(n int) int { return min(n, math.MaxInt-suffixSize) + suffixSize }

func (crc32c) encode(dst, src []byte) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, src...), crc.Sum(src))
}

func (crc32c) decode(_, src []byte, _ int) ([]byte, error) {
	n := len(src) - suffixSize
	if n < 0 {
		return nil, errors.New("too short for a checksum")
	}
	return src[:n], checkSum(src[:n], src[n:])
}

func checkSum(p, suffix []byte) error { return compareSum(crc.Sum(p), suffix) }

func compareSum(sum uint32, suffix []byte) error {
	if sum != binary.LittleEndian.Uint32(suffix) {
		return errors.New("CRC-32C does not match")
	}
	return nil
}
