package zarr

import (
	"context"
	"iter"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// wholeBelow is the size up to which a chunk is fetched at once, when its index
// is needed: one small read instead of two.
const wholeBelow = 64 << 10

// Part is one range of encoded bytes and the region of the array that it fills.
// Parts are independent of each other: they can be read in any order, merged
// with neighbours in the same value, and decoded concurrently.
type Part struct {
	Key     string
	Offset  int64  // of the bytes in the value of Key; where Data is set, perhaps in what it decodes to
	Length  int64  // of the bytes
	Data    []byte // the bytes, where planning had to read them; otherwise nil
	Missing bool   // there are no bytes: the region holds the fill value
	Region  Box    // inside of the box that was planned

	chain *chain
	chunk Box   // the sub-chunk, which may reach over the edge of the array
	axes  []int // of the array, in the order of the axes of the chain
	skip  int   // stored bytes of the sub-chunk that precede Offset
}

// Plan yields the parts of a box, in C order of chunks and of sub-chunks. It
// reads the sizes of chunks and the indices of shards as it goes, and after an
// error ends. The box must lie inside of the array.
func (a *Array) Plan(ctx context.Context, box Box, o *ReadOptions) iter.Seq2[*Part, error] {
	return func(yield func(*Part, error) bool) {
		if !box.Inside(a.meta.Shape) {
			yield(nil, &errs.Error{Kind: errs.Invalid, Op: "zarr.Plan", Subject: a.metadataKey(),
				Want: "a box inside of " + a.meta.Shape.String(), Got: box.String()})
			return
		}
		p := planner{array: a, box: box, yield: yield, options: o.withDefaults()}
		high := make([]int, len(box.Origin))
		for i, o := range box.Origin {
			high[i] = o + box.Shape[i]
		}
		for cell := range cells(box.Origin, high, a.meta.ChunkShape) {
			if !p.chunk(ctx, cell) {
				return
			}
		}
	}
}

// Unit returns the shape of the smallest region, at the corner of a sub-chunk, whose bytes are read
// without any others: a sub-chunk, or one of its rows if its bytes are its elements in C order.
func (a *Array) Unit() []int {
	c, axes := a.chain, identity(len(a.meta.Shape))
	for c.shard != nil {
		axes = c.storageAxes(axes)
		c = c.shard.inner
	}
	unit := make([]int, len(axes))
	for k, n := range c.shape {
		unit[axes[k]] = n
	}
	if stored := c.storageAxes(axes); len(c.filters) > 0 || !slices.Equal(stored, identity(len(stored))) {
		return unit
	}
	if i := slices.IndexFunc(unit, func(n int) bool { return n > 1 }); i >= 0 {
		unit[i] = 1
	}
	return unit
}

type planner struct {
	array   *Array
	box     Box
	options ReadOptions
	yield   func(*Part, error) bool
}

func (p *planner) fail(err error) bool {
	p.yield(nil, err)
	return false
}

// chunk plans one chunk of the grid and reports whether to go on.
func (p *planner) chunk(ctx context.Context, cell []int) bool {
	a := p.array
	part := Part{
		Key:   a.prefix + a.meta.Keys.Key(cell),
		chain: a.chain,
		chunk: Box{make([]int, len(cell)), slices.Clone(a.meta.ChunkShape)},
		axes:  identity(len(cell)),
	}
	for i, c := range cell {
		part.chunk.Origin[i] = c * a.meta.ChunkShape[i]
	}
	if ctx.Err() != nil {
		return p.fail(&errs.Error{Kind: errs.Canceled, Op: "zarr.Plan", Subject: part.Key, Err: context.Cause(ctx)})
	}
	size, data, err := a.look(ctx, part.Key)
	switch {
	case isNotFound(err):
		part.Missing = true
	case err != nil:
		return p.fail(errs.Wrap("zarr.Plan", part.Key, err))
	}
	part.Length = size
	if a.chain.shard != nil && len(data) <= wholeBelow {
		part.Data = data
	}
	return p.expand(ctx, part)
}

// look returns the size of a value, and the value where it is at hand.
func (a *Array) look(ctx context.Context, key string) (size int64, at []byte, err error) {
	if kv, ok := a.kv.(InlineKV); ok {
		return kv.Look(ctx, key)
	}
	size, err = a.kv.Size(ctx, key)
	return size, nil, err
}

// expand yields part, or the parts of the shard that it is.
func (p *planner) expand(ctx context.Context, part Part) bool {
	region, ok := part.chunk.Intersect(p.box)
	if !ok {
		return true
	}
	part.Region = region
	c := part.chain
	if part.Missing {
		return p.yield(&part, nil)
	}
	if c.shard == nil {
		if c.size >= 0 && part.Length != int64(c.size) {
			return p.fail(corrupt(part.Key, "chunk of %d bytes, want %d", part.Length, c.size))
		}
		part.narrow()
		return p.yield(&part, nil)
	}
	if part.Data == nil && (part.Length <= wholeBelow || len(c.filters) > 0) {
		if err := p.fetch(ctx, &part); err != nil {
			return p.fail(err)
		}
	}
	if len(c.filters) > 0 {
		data, err := c.unfilter(nil, part.Data, -1)
		if err != nil {
			return p.fail(corrupt(part.Key, "%v", err))
		}
		part.Data, part.Length = data, int64(len(data))
	}
	index, err := p.index(ctx, &part)
	if err != nil {
		return p.fail(err)
	}
	return p.shard(ctx, &part, index)
}

// fetch reads the bytes of the part.
func (p *planner) fetch(ctx context.Context, part *Part) error {
	if part.Length > p.options.MaxChunkBytes {
		return tooLarge(part.Key, part.Length)
	}
	b := make([]byte, part.Length)
	if err := p.array.kv.ReadAt(ctx, part.Key, b, part.Offset); err != nil {
		return errs.Wrap("zarr.Plan", part.Key, err)
	}
	part.Data = b
	return nil
}

func tooLarge(key string, n int64) error {
	return &errs.Error{Kind: errs.Exhausted, Op: "zarr.ReadBox", Subject: key,
		Got: "a chunk of " + itoa(int(n)) + " bytes", Remedy: "raise ReadOptions.MaxChunkBytes"}
}

// index reads the index of the shard.
func (p *planner) index(ctx context.Context, part *Part) ([]byte, error) {
	s := part.chain.shard
	n := int64(s.index.size)
	if part.Length < n {
		return nil, corrupt(part.Key, "shard of %d bytes, its index takes %d", part.Length, n)
	}
	at := part.Length - n
	if s.atStart {
		at = 0
	}
	decode := func(b []byte) ([]byte, error) {
		index, err := s.decodeIndex(b)
		if err != nil {
			return nil, corrupt(part.Key, "shard index: %v", err)
		}
		return index, nil
	}
	if part.Data != nil {
		return decode(part.Data[at : at+n])
	}
	return p.array.indices.get(ctx, part.Key, part.Offset, n, func() ([]byte, error) {
		b := make([]byte, n)
		if err := p.array.kv.ReadAt(ctx, part.Key, b, part.Offset+at); err != nil {
			return nil, errs.Wrap("zarr.Plan", part.Key, err)
		}
		return decode(b)
	})
}

// shard plans the sub-chunks that the box touches.
func (p *planner) shard(ctx context.Context, part *Part, index []byte) bool {
	c, s := part.chain, part.chain.shard
	axes := c.storageAxes(part.axes)
	low, high := make([]int, len(axes)), make([]int, len(axes))
	for k, axis := range axes {
		low[k] = part.Region.Origin[axis] - part.chunk.Origin[axis]
		high[k] = low[k] + part.Region.Shape[axis]
	}
	for cell := range cells(low, high, s.inner.shape) {
		sub := Part{Key: part.Key, chain: s.inner, axes: axes, chunk: s.subBox(part.chunk, axes, cell)}
		i := 0
		for k, n := range cell {
			i = i*s.grid[k] + n
		}
		offset, length, ok, err := s.entry(index, i, part.Length)
		if err != nil {
			return p.fail(corrupt(part.Key, "shard index: %v", err))
		}
		sub.Missing = !ok
		sub.Offset, sub.Length = part.Offset+offset, length
		if part.Data != nil && ok {
			sub.Data = part.Data[offset : offset+length : offset+length]
		}
		if !p.expand(ctx, sub) {
			return false
		}
	}
	return true
}

// stored returns the strides, in bytes along the axes of the array, of the
// decoded sub-chunk.
func (p *Part) stored() []int { return p.chain.strides(p.axes) }

// narrow cuts the range of bytes down to what the region needs, where bytes can
// be told apart without decoding.
func (p *Part) narrow() {
	if len(p.chain.filters) > 0 || p.Data != nil {
		return
	}
	steps := p.stored()
	first := offset(p.Region.Origin, p.chunk.Origin, steps)
	last := first
	for i, n := range p.Region.Shape {
		last += (n - 1) * steps[i]
	}
	p.skip = first
	p.Offset += int64(first)
	p.Length = int64(last - first + p.chain.dtype.Size())
}
