package crew

import (
	"cmp"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Replicas says how processes that have the same shards share the work. The zero value lets the
// lowest of them write a shard.
type Replicas struct {
	// Split cuts each shard into slices, one for each process that has it.
	Split bool
	// MinBytes is the size of the smallest slice that a process writes; 0 is minSlice.
	MinBytes int64
	// Most is the largest number of processes that write slices of one shard; 0 is no bound.
	Most int
}

// minSlice is the size of the smallest slice if the options name none. A slice is a chunk of its
// own, with an entry in database and manifest. Smaller slices cost more than they save.
const minSlice = 64 << 10

// held is a shard and the processes that have it, in ascending order.
type held struct {
	zarr.Box
	by []int
}

// owned is a part of a shard and the process that writes it.
type owned struct {
	zarr.Box
	of zarr.Box // the shard
	by int
}

// deal decides which process writes which part of the shards of one leaf. All processes get the
// same result.
//
// Slices lie along the first axis on which all shards have the same extent, if that extent is a
// multiple of the number of slices. The number of slices is the number of processes that each shard
// has at least. If no axis fits, or if slices would be too small, the next smaller number is tried.
func (r Replicas) deal(d tensor.DType, shards []held) []owned {
	axis, n := r.axis(d, shards)
	out := make([]owned, 0, n*len(shards))
	for _, h := range shards {
		if n == 1 {
			out = append(out, owned{h.Box, h.Box, h.by[0]})
			continue
		}
		for k := range n {
			part := zarr.Box{Origin: slices.Clone(h.Origin), Shape: slices.Clone(h.Shape)}
			part.Shape[axis] /= n
			part.Origin[axis] += k * part.Shape[axis]
			out = append(out, owned{part, h.Box, h.by[k]})
		}
	}
	return out
}

// axis returns along which axis the shards are cut into how many slices. One slice is the whole
// shard.
func (r Replicas) axis(d tensor.DType, shards []held) (axis, n int) {
	if !r.Split || len(shards) == 0 {
		return 0, 1
	}
	n, least := len(shards[0].by), shards[0].Len()
	for _, h := range shards {
		n, least = min(n, len(h.by)), min(least, h.Len())
	}
	if r.Most > 0 {
		n = min(n, r.Most)
	}
	for ; n > 1; n-- {
		if int64(least/n*d.Size()) < cmp.Or(r.MinBytes, minSlice) {
			continue
		}
		for k, extent := range shards[0].Shape {
			if extent%n == 0 &&
				!slices.ContainsFunc(shards, func(h held) bool { return h.Shape[k] != extent }) {
				return k, n
			}
		}
	}
	return 0, 1
}

// take returns the part o of the shard p. It copies the elements if they do not follow one another
// in the shard.
func take(p writer.Part, o owned) writer.Part {
	if slices.Equal(o.Shape, p.Data.Shape) {
		return p
	}
	d := p.Data.DType
	cut := slices.IndexFunc(o.Shape, func(n int) bool { return n != 1 })
	for k := range o.Shape { // the first axis that is cut
		if o.Shape[k] != o.of.Shape[k] {
			cut = k
			break
		}
	}
	part := tensor.Tensor{DType: d, Shape: o.Shape}
	n := o.Len() * d.Size()
	outer := 1
	for _, extent := range o.of.Shape[:cut] {
		outer *= extent
	}
	if outer == 1 {
		from := (o.Origin[cut] - o.of.Origin[cut]) / max(1, o.Shape[cut]) * n
		part.Data = p.Data.Data[from:][:n:n]
	} else {
		part.Data = make([]byte, n)
		zarr.CopyBox(o.Box, part.Data, o.of, p.Data.Data, d.Size())
	}
	return writer.Part{Origin: o.Origin, Data: part}
}
