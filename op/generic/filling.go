package generic

import (
	"encoding/binary"
	"math"

	"github.com/bivouac-ml/bivouac/tensor"
)

// truncate writes v, as a float32, as an element of type d the way C converts it:
// towards zero, and the low bits where it does not fit. That is what DALI does with
// values to fill with.
func truncate(d tensor.DType, out []byte, v float64) error {
	var in [4]byte
	binary.LittleEndian.PutUint32(in[:], math.Float32bits(float32(v)))
	return tensor.CastInto(d, out, tensor.Float32, in[:])
}

// repeat fills dst with copies of value.
func repeat(dst, value []byte) {
	n := copy(dst, value)
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}
