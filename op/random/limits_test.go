package random

import (
	"testing"

	"github.com/bivouac-ml/bivouac/tensor"
)

// DALI 2.4.0 drew from these ranges.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		d       tensor.DType
		v, want float64
	}{
		{tensor.Float32, 0.7, 0.7},
		{tensor.Float64, -3.5, -3.5},
		{tensor.Int32, 200.9, 200}, {tensor.Int64, 200.5, 200}, {tensor.Int32, -3.7, -3},
		{tensor.Uint8, -1, 255}, {tensor.Uint8, 900.9, 132}, {tensor.Int8, 900.9, -124},
		{tensor.Uint16, -3.7, 65533}, {tensor.Int16, 40000, -25536},
		{tensor.Uint32, -3.7, 4294967293}, {tensor.Uint64, -3.7, 18446744073709551613},
		{tensor.Uint64, 1.5e19, 1.5e19}, {tensor.Uint64, 3e19, 9223372036854775808},
		{tensor.Uint8, 3e10, 0}, {tensor.Int32, 3e10, -2147483648}, {tensor.Uint32, 3e10, 4230196224}, {tensor.Int64, 3e10, 3e10},
		{tensor.Int64, 1e20, -9223372036854775808},
	} {
		if got := limit(c.d, c.v); got != c.want {
			t.Errorf("%v of %v: got %v, want %v", c.v, c.d, got, c.want)
		}
	}
}
