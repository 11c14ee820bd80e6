package reduce

import "github.com/bivouac-ml/bivouac/tensor"

func init() {
	registerSumming("mean", "Gives the mean of elements.",
		"Type of the output: by default float32; also the type of the input, in which the sum wraps around and the mean is truncated.",
		summing{
			quotient: average, standard: toFloat32,
			allowed: func(in, out tensor.DType) bool { return out == in },
		})
}
