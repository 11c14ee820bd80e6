package writer

import (
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Sizes that decide how arrays are cut and placed.
const (
	subChunkBytes = 4 << 20   // default; unit of checksums, verification and partial reads
	alignFrom     = 256 << 10 // arrays from this size on are aligned
	alignment     = 4096      // for direct I/O
	suffix        = 4         // bytes of checksum behind each sub-chunk

	axisParts     = 64       // parts of an axis along which boxes will be read
	axisPartBytes = 96 << 10 // smallest sub-chunk if such axes are cut, so that alignment costs little
)

// cut returns chunks and sub-chunks of an array: one chunk for the whole array or, if it is given
// in parts of one shape, one chunk for each part. Sub-chunks have about ChunkBytes at most. They
// are cut first along the named axes, and then along the leading axes, so that each is one run of
// the source.
//
// If no count near the ideal divides the axis, a chunk for the whole array is padded, by less than
// one row for each sub-chunk.
func cut(d tensor.DType, shape tensor.Shape, part []int, how Storage) zarr.Layout {
	chunk := []int(shape.Clone())
	if part != nil {
		chunk = slices.Clone(part)
	}
	sub := slices.Clone(chunk)
	bytes := tensor.Shape(chunk).Len() * d.Size()
	if bytes == 0 {
		return zarr.Layout{}
	}
	limit, axes := how.chunkBytes(), how.ShardAxes
	if bytes > axisPartBytes {
		bytes = cutAxes(chunk, sub, shape, axes, bytes)
	}
	for axis := 0; axis < len(sub) && bytes > limit; axis++ {
		row := bytes / sub[axis]
		switch {
		case row > limit && axis < len(sub)-1:
			sub[axis], bytes = 1, row
		case chunk[axis] < shape[axis] || slices.Contains(axes, axis):
			sub[axis] = divisor(sub[axis], max(1, limit/row))
			bytes = row * sub[axis]
		default:
			count := split(chunk[axis], max(1, limit/row))
			sub[axis] = (chunk[axis] + count - 1) / count
			chunk[axis] = sub[axis] * count
			bytes = 0
		}
	}
	switch {
	case !slices.Equal(sub, chunk):
		return zarr.Layout{Chunk: chunk, SubChunk: sub}
	case part != nil:
		return zarr.Layout{Chunk: chunk}
	}
	return zarr.Layout{}
}

// cutAxes cuts sub-chunks along the named axes, each into the same number of parts, and returns
// their size.
func cutAxes(chunk, sub []int, shape tensor.Shape, axes []int, bytes int) int {
	var named []int
	for _, axis := range axes {
		if axis < len(sub) && !slices.Contains(named, axis) {
			named = append(named, axis)
		}
	}
	parts := axisParts
	for parts > 1 && math.Pow(float64(parts), float64(len(named)))*axisPartBytes > float64(bytes) {
		parts /= 2
	}
	for _, axis := range named {
		want := (sub[axis] + parts - 1) / parts
		row := bytes / sub[axis]
		if chunk[axis] < shape[axis] {
			sub[axis] = divisor(sub[axis], want)
		} else {
			sub[axis] = want
			chunk[axis] = (chunk[axis] + want - 1) / want * want
		}
		bytes = row * sub[axis]
	}
	return bytes
}

// split returns into how many parts to cut n rows: the fewest of at most rows rows, or up to
// twice as many when their number divides n.
func split(n, rows int) int {
	least := (n + rows - 1) / rows
	for count := least; count <= 2*least && count <= n; count++ {
		if n%count == 0 {
			return count
		}
	}
	return least
}

// divisor returns the greatest divisor of n that is at most want. If that is far less than want, it
// returns the smallest divisor above want.
func divisor(n, want int) int {
	below, above := 1, n
	for k := 1; k*k <= n; k++ {
		if n%k != 0 {
			continue
		}
		for _, v := range [2]int{k, n / k} {
			if v <= want {
				below = max(below, v)
			} else {
				above = min(above, v)
			}
		}
	}
	if below*8 < want {
		return above
	}
	return below
}

// Grid returns the shape of the largest chunks such that each part, inside the shape, consists of
// whole chunks; chunks at the far edges may be smaller. It fails if there would be too many chunks.
func Grid(shape tensor.Shape, parts []Part) (tensor.Shape, error) {
	grid := shape.Clone()
	for k := range grid {
		step := 0
		for _, p := range parts {
			step = gcd(step, p.Origin[k])
			if end := p.Origin[k] + p.Data.Shape[k]; end < shape[k] {
				step = gcd(step, end)
			}
		}
		if step > 0 {
			grid[k] = step
		}
	}
	if checkCount(shape, grid) != nil {
		return nil, &errs.Error{Kind: errs.Unsupported, Subject: "shards",
			Got:    "chunks of " + grid.String() + " in " + shape.String() + ", which are too many",
			Remedy: "cut the array at multiples of a common length"}
	}
	return grid, nil
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// regular returns the shape of the parts if they are the chunks of a regular
// grid: all of one shape, except that parts at the far edges may be smaller. It returns nil
// when they are not, or when there is only one part.
func regular(shape tensor.Shape, parts []Part) []int {
	if len(parts) < 2 {
		return nil
	}
	first := slices.IndexFunc(parts,
		func(p Part) bool { return slices.Max(append([]int{0}, p.Origin...)) == 0 && p.Data.Len() > 0 })
	if first < 0 {
		return nil
	}
	chunk := []int(parts[first].Data.Shape.Clone())
	for _, p := range parts {
		for k, o := range p.Origin {
			if o%chunk[k] != 0 || p.Data.Shape[k] != min(chunk[k], shape[k]-o) {
				return nil
			}
		}
	}
	return chunk
}
