package reduce

import "github.com/bivouac-ml/bivouac/tensor"

func init() {
	registerSumming("sum", "Adds up elements.",
		"Type of the output: by default an integer type of 64 bits for integers, float32 for float32; also the type of the input, "+
			"in which sums wrap around, and float32 for integers of up to 32 bits.",
		summing{
			standard: wide,
			allowed: func(in, out tensor.DType) bool {
				return out == in || out == tensor.Float32 && in.Bits() <= 32
			},
		})
}
