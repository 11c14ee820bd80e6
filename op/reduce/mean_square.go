package reduce

import "github.com/bivouac-ml/bivouac/tensor"

func init() {
	registerSumming("mean_square", "Gives the mean of the squares of elements.",
		"Type of the output: by default float32; also the integer type of 64 bits for integers, to which the mean is truncated.",
		summing{
			squares: true, quotient: average, standard: toFloat32,
			allowed: func(in, out tensor.DType) bool { return out == wide(in) },
		})
}
