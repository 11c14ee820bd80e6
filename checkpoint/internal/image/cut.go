package image

import (
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Sizes that decide how arrays are cut and placed.
const (
	subChunkBytes = 4 << 20   // unit of checksum, verification and partial reads
	alignFrom     = 256 << 10 // arrays from this size on begin on alignment
	alignment     = 4096      // what direct I/O wants
	suffix        = 4         // bytes of checksum behind each sub-chunk
)

// cut returns the layout of an array: one shard over the whole of it, in
// sub-chunks of at most about subChunkBytes along the leading axes, so that each
// is one run of the source. The shard is padded by less than one row a
// sub-chunk where no count near the ideal divides the axis.
func cut(d tensor.DType, shape tensor.Shape) zarr.Layout {
	l := zarr.Layout{Codecs: []zarr.CodecSpec{zarr.CRC32C()}}
	bytes := shape.Len() * d.Size()
	if bytes <= subChunkBytes {
		return l
	}
	chunk, sub := []int(shape.Clone()), []int(shape.Clone())
	for axis, n := range shape {
		row := bytes / n
		if row > subChunkBytes && axis < len(shape)-1 {
			sub[axis], bytes = 1, row
			continue
		}
		count := split(n, row)
		sub[axis] = (n + count - 1) / count
		chunk[axis] = sub[axis] * count
		break
	}
	l.Chunk, l.SubChunk = chunk, sub
	return l
}

// split returns into how many parts to cut n rows: the fewest that keep a part
// within subChunkBytes, or up to twice as many when that divides n.
func split(n, row int) int {
	rows := max(1, subChunkBytes/row)
	least := (n + rows - 1) / rows
	for count := least; count <= 2*least && count <= n; count++ {
		if n%count == 0 {
			return count
		}
	}
	return least
}
