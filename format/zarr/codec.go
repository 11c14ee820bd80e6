package zarr

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/tensor"
)

// CodecSpec is a codec as metadata names it. The configuration holds JSON values
// as encoding/json makes them, numbers as json.Number or int. It must not be
// changed once it is part of a Metadata.
type CodecSpec struct {
	Name   string
	Config map[string]any
}

// maxNesting bounds shards inside of shards.
const maxNesting = 4

// byteCodec is a codec from bytes to bytes. It is immutable and safe for
// concurrent use.
type byteCodec interface {
	// spec returns the codec as metadata writes it, defaults resolved.
	spec() CodecSpec
	// size returns the encoded size of n bytes if that is the same for all data.
	size(n int) (int, bool)
	// bound returns the greatest encoded size of n bytes that encode makes.
	bound(n int) int
	// decode returns the decoded src, of at most limit bytes; it may use the
	// memory of dst or src. What is wrong with src is the error.
	decode(dst, src []byte, limit int) ([]byte, error)
}

// byteEncoder is a byteCodec that can be written.
type byteEncoder interface {
	// encode appends the encoded src to dst.
	encode(dst, src []byte) []byte
}

// limited is a byteEncoder that takes no more than limit bytes.
type limited interface{ limit() int }

// byteCodecs makes the codecs from bytes to bytes of each format from their configurations.
// elementSize is the element size of the array whose bytes come first in the chain.
var byteCodecs = [...]map[string]func(config object, elementSize int) byteCodec{
	V3: {"blosc": newBlosc, "crc32c": newCRC32C, "gzip": newGZip, "zstd": newZstd},
	V2: {"blosc": newBlosc, "bz2": newBZ2, "gzip": newGZip, "lz4": newLZ4, "zlib": newZlib, "zstd": newZstd},
}

// chain is a list of codecs bound to what it encodes: a region of the given
// shape. It is immutable.
type chain struct {
	dtype     tensor.DType
	shape     []int // of the region, in its own axes
	order     []int // the stored array's axis k is axis order[k] of the region
	bigEndian bool
	shard     *shard // nil: the codec bytes
	filters   []byteCodec
	raw       int // bytes of the decoded region
	size      int // bytes of the encoded region, or -1 if that depends on the data
}

// buildChain binds specs; faults are left in d.
func buildChain(d *document, specs []CodecSpec, t tensor.DType, shape []int, depth int) *chain {
	c := &chain{dtype: t, shape: shape, order: identity(len(shape)), size: -1}
	raw, err := tensor.Shape(shape).Bytes(t)
	if err != nil || slices.Contains(shape, 0) {
		d.corrupt("chunk shape %v of %v", shape, t)
		return nil
	}
	c.raw = raw
	if depth > maxNesting {
		d.unsupported("shards nested deeper than %d", maxNesting)
		return nil
	}
	serialised := false
	for _, spec := range specs {
		config := object{d, "codec " + spec.Name, maps.Clone(spec.Config)}
		switch spec.Name {
		case "transpose":
			if serialised {
				d.corrupt("transpose after the array became bytes")
				return nil
			}
			c.readTranspose(config)
		case "bytes", "sharding_indexed":
			if serialised {
				d.corrupt("a second codec %s that makes bytes of an array", spec.Name)
				return nil
			}
			serialised = true
			if spec.Name == "bytes" {
				c.readBytes(config)
			} else {
				c.readSharding(config, depth)
			}
		default:
			build, ok := byteCodecs[d.format][spec.Name]
			if !ok {
				d.unsupported("codec %q", spec.Name)
				return nil
			}
			if !serialised {
				d.corrupt("codec %s before the array became bytes", spec.Name)
				return nil
			}
			if f := build(config, t.Size()); f != nil {
				c.filters = append(c.filters, f)
			}
		}
		config.done()
		if d.err != nil {
			return nil
		}
	}
	if !serialised {
		d.corrupt("no codec makes bytes of the array")
		return nil
	}
	if c.shard == nil {
		c.size = filteredSize(c.filters, c.raw)
	}
	return c
}

// filteredSize returns the size that n bytes have after the filters, or -1.
func filteredSize(filters []byteCodec, n int) int {
	for _, f := range filters {
		m, ok := f.size(n)
		if !ok {
			return -1
		}
		n = m
	}
	return n
}

func identity(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// storageAxes maps the axes of the region to axes of the array, and returns the
// same for the axes in which the region is stored.
func (c *chain) storageAxes(axes []int) []int {
	return pick(axes, c.order)
}

// strides returns the strides, in bytes along the axes of the array, of the stored region. axes are
// the axes of the array, in the order of the axes of c.
func (c *chain) strides(axes []int) []int {
	out := make([]int, len(axes))
	stored := c.storageAxes(axes)
	for k, s := range strides(pick(c.shape, c.order), c.dtype.Size()) {
		out[stored[k]] = s
	}
	return out
}

// pick returns the elements of s at the given places.
func pick(s, at []int) []int {
	out := make([]int, len(at))
	for k, i := range at {
		out[k] = s[i]
	}
	return out
}

// json returns the codecs as metadata writes them.
func (c *chain) json() []any {
	var out []any
	if !slices.Equal(c.order, identity(len(c.order))) {
		out = append(out, named("transpose", map[string]any{"order": c.order}))
	}
	switch {
	case c.shard != nil:
		out = append(out, c.shard.json())
	case c.dtype.Size() == 1:
		out = append(out, named("bytes", nil))
	case c.bigEndian:
		out = append(out, named("bytes", map[string]any{"endian": "big"}))
	default:
		out = append(out, named("bytes", map[string]any{"endian": "little"}))
	}
	for _, f := range c.filters {
		s := f.spec()
		out = append(out, named(s.Name, s.Config))
	}
	return out
}

// unfilter undoes the filters: n is the size that must come out, or -1 where it
// is not known. It may use the memory of dst or src.
func (c *chain) unfilter(dst, src []byte, n int) ([]byte, error) {
	limits := make([]int, len(c.filters)+1)
	limits[0] = n
	if n < 0 {
		limits[0] = math.MaxInt
	}
	for i, f := range c.filters {
		limits[i+1] = math.MaxInt
		// What other encoders make may exceed what ours would; this bounds it.
		if b := f.bound(limits[i]); limits[i] < math.MaxInt/2 && b < math.MaxInt/2 {
			limits[i+1] = b + b/8 + 1<<16
		}
	}
	for i, f := range slices.Backward(c.filters) {
		var scratch []byte
		if i == 0 {
			scratch = dst
		}
		var err error
		if src, err = f.decode(scratch, src, limits[i]); err != nil {
			return nil, err
		}
	}
	if n >= 0 && len(src) != n {
		return nil, errors.New("decodes to " + itoa(len(src)) + " bytes, its shape needs " + itoa(n))
	}
	return src, nil
}

// filter appends the filtered src to dst. It must be writable.
func (c *chain) filter(dst, src []byte) []byte {
	for i, f := range c.filters {
		e := f.(byteEncoder)
		if i == len(c.filters)-1 {
			return e.encode(dst, src)
		}
		src = e.encode(nil, src)
	}
	return append(dst, src...)
}

// writable returns what keeps chunks of the chain from being written, or "".
func (c *chain) writable() string {
	n := c.raw
	if c.shard != nil {
		if why := c.shard.inner.writable(); why != "" {
			return why
		}
		n = c.shard.bound()
	}
	for _, f := range c.filters {
		name := f.spec().Name
		if _, ok := f.(byteEncoder); !ok {
			return "codec " + name + ", which can be read alone"
		}
		if l, ok := f.(limited); ok && n > l.limit() {
			return "a chunk of " + itoa(n) + " bytes, codec " + name + " takes " + itoa(l.limit())
		}
		n = f.bound(n)
	}
	return ""
}

// encodedBound returns the greatest size of the encoded region.
func (c *chain) encodedBound() int {
	switch {
	case c.size >= 0:
		return c.size
	case c.shard != nil:
		return c.bound(c.shard.bound())
	}
	return c.bound(c.raw)
}

// bound returns the greatest size that n bytes have after the filters.
func (c *chain) bound(n int) int {
	for _, f := range c.filters {
		n = f.bound(n)
	}
	return n
}
