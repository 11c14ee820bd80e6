package reduce

import "github.com/bivouac-ml/bivouac/tensor"

func init() {
	registerSumming("rms", "Gives the square root of the mean of the squares of elements.",
		"Type of the output: by default float32; also the type of the input, in which sums of squares wrap around and the root is truncated.",
		summing{
			squares: true, quotient: root, standard: toFloat32,
			allowed: func(in, out tensor.DType) bool { return out == in },
		})
}
