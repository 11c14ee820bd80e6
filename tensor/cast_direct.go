package tensor

import (
	"encoding/binary"
	"math"
)

// convertDirectly casts the pairs that weights and moments of most models are
// cast between; it reports whether it did.
func convertDirectly(dst DType, out []byte, src DType, in []byte) bool {
	switch [2]DType{src, dst} {
	case [2]DType{Float32, BFloat16}:
		for len(in) >= 4 && len(out) >= 2 {
			binary.LittleEndian.PutUint16(out, toBFloat16(binary.LittleEndian.Uint32(in)))
			in, out = in[4:], out[2:]
		}
	case [2]DType{BFloat16, Float32}:
		for len(in) >= 2 && len(out) >= 4 {
			binary.LittleEndian.PutUint32(out, uint32(binary.LittleEndian.Uint16(in))<<16)
			in, out = in[2:], out[4:]
		}
	case [2]DType{Float32, Float16}:
		for len(in) >= 4 && len(out) >= 2 {
			binary.LittleEndian.PutUint16(out, toHalf(binary.LittleEndian.Uint32(in)))
			in, out = in[4:], out[2:]
		}
	case [2]DType{Float16, Float32}:
		for len(in) >= 2 && len(out) >= 4 {
			binary.LittleEndian.PutUint32(out, math.Float32bits(halfToFloat32(binary.LittleEndian.Uint16(in))))
			in, out = in[2:], out[4:]
		}
	case [2]DType{Float64, Float32}:
		for len(in) >= 8 && len(out) >= 4 {
			binary.LittleEndian.PutUint32(out, math.Float32bits(float32(math.Float64frombits(binary.LittleEndian.Uint64(in)))))
			in, out = in[8:], out[4:]
		}
	case [2]DType{Float32, Float64}:
		for len(in) >= 4 && len(out) >= 8 {
			binary.LittleEndian.PutUint64(out, math.Float64bits(float64(math.Float32frombits(binary.LittleEndian.Uint32(in)))))
			in, out = in[4:], out[8:]
		}
	default:
		return false
	}
	return true
}
