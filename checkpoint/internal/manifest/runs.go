package manifest

import (
	"slices"

	"github.com/bivouac-ml/bivouac/tensor"
)

// runBytes is up to how many bytes one checksum covers of an array in a format
// that has no chunks.
const runBytes = 4 << 20

// RunShape returns the sub-chunks by which an array is summed that lies in one
// piece in its file, in C order: as many rows of the first axis as have 4 MiB, or
// where one row has more, the same of that row. Each is one run of the bytes.
// Elements of less than a byte, which are packed, are summed as a whole.
func RunShape(shape []int, d tensor.DType) []int {
	sub := slices.Clone(shape)
	if d.Bits()%8 != 0 {
		return sub
	}
	bytes := tensor.Shape(shape).Len() * d.Size()
	for axis, n := range shape {
		if bytes <= runBytes {
			break
		}
		bytes /= n
		sub[axis] = min(n, max(1, runBytes/bytes))
	}
	return sub
}

// Place returns the index in Leaf.Chunks, the grid of sub-chunks in C order, of the
// sub-chunk of shape sub that holds the element at origin.
func Place(grid, sub, origin []int) int {
	n := 0
	for axis, g := range grid {
		n = n*g + origin[axis]/sub[axis]
	}
	return n
}
