package reader

import (
	"context"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

// container reads the records of files with many records. Readers of one format each embed it.
type container struct {
	set   *shards.Set
	index *index.Index
	info  Info
}

// openSet describes the files that an argument lists. Each may be listed once.
func openSet(ctx context.Context, c *op.Config, name, arg string) (*shards.Set, error) {
	paths := op.Get[[]string](c, arg)
	seen := make(map[string]bool, len(paths))
	for _, path := range paths {
		if clean := datafs.Clean(path); seen[clean] {
			return nil, c.Invalid(arg, "each file once", path+" twice",
				"a sample that comes twice has two ids: copy the file if that is meant")
		} else {
			seen[clean] = true
		}
	}
	return shards.Open(ctx, name, paths)
}

// newContainer returns the records of a set. sum adds to the fingerprint what else decides about
// the samples.
func newContainer(name string, set *shards.Set, x *index.Index, sum func(h *state.Hasher)) (*container, error) {
	if x.Records() == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: name, Subject: set.Path(0), Want: "at least one record",
			Got: fmt.Sprintf("no record in %d files", set.Len())}
	}
	h := state.NewHasher("bivouac." + name + ".v1")
	h.String(x.Fingerprint())
	if sum != nil {
		sum(h)
	}
	files := make([]int64, len(x.Files()))
	for i := range files {
		from, to := x.In(i)
		files[i] = to - from
	}
	info := Info{Format: name, Samples: x.Records(), Files: files, Fingerprint: h.Sum()}
	return &container{set: set, index: x, info: info}, nil
}

// Info implements Source.
func (c *container) Info() Info { return c.info }

// Size implements Source.
func (c *container) Size(id int64) int64 { return c.index.Length(id) }

// largest implements bounded.
func (c *container) largest() int64 { return largestFile(c.set) }

// largestFile returns the size of the largest file of a set, and so of what is read of one at once.
func largestFile(set *shards.Set) (size int64) {
	for i := range set.Len() {
		size = max(size, set.Size(i))
	}
	return size
}

// Describe implements Source.
func (c *container) Describe(id int64) string {
	s, err := c.index.Span(id)
	if err != nil {
		return fmt.Sprintf("record %d", id)
	}
	from, _ := c.index.In(s.File)
	return fmt.Sprintf("record %d of %s, at byte %d", id-from, c.set.Path(s.File), s.Offset)
}

// Close implements Source.
func (c *container) Close() error {
	err := c.set.Close()
	if e := c.index.Close(); err == nil {
		err = e
	}
	return err
}

const (
	aheadSize = 64 << 10 // read at once where small records come in order
	smallSize = 8 << 10  // larger records are read one by one
)

// follows reports whether n bytes of a file come in order: they are small and follow the bytes that
// were read last. Otherwise the next ones should follow them.
func (w *buffer) follows(file int, offset, n int64) bool {
	if n > smallSize {
		return false
	}
	from := offset - w.offset
	if file == w.file && from >= 0 && from <= int64(len(w.ahead))+aheadSize/4 {
		return true
	}
	w.file, w.offset, w.ahead = file, offset, w.ahead[:0]
	return false
}

// read fills p with bytes of a file of a set. If small pieces come in order, it reads those that
// follow as well, into the memory of the worker.
func (w *buffer) read(ctx context.Context, set *shards.Set, file int, p []byte, offset int64) error {
	if !w.follows(file, offset, int64(len(p))) {
		return set.ReadAt(ctx, file, p, offset)
	}
	return w.readAhead(ctx, set, file, p, offset)
}

// readAhead is read for bytes that come in order.
func (w *buffer) readAhead(ctx context.Context, set *shards.Set, file int, p []byte, offset int64) error {
	from := offset - w.offset
	if from+int64(len(p)) <= int64(len(w.ahead)) {
		copy(p, w.ahead[from:])
		return nil
	}
	w.offset, w.ahead = offset, w.ahead[:0]
	size := set.Size(file)
	if int64(len(p)) > size-offset {
		return set.ReadAt(ctx, file, p, offset) // which says what is wrong
	}
	if cap(w.ahead) == 0 {
		w.ahead = make([]byte, 0, aheadSize)
	}
	ahead := w.ahead[:min(aheadSize, size-offset)]
	if err := set.ReadAt(ctx, file, ahead, offset); err != nil {
		return err
	}
	w.ahead = ahead
	copy(p, ahead)
	return nil
}

// buffer is memory of a worker that records are read into.
type buffer struct {
	data   []byte
	shape  [1]int
	ahead  []byte // bytes of a file from an offset on
	file   int
	offset int64
}

// view makes output i of sample s the bytes v, which lie in memory of the same sample.
func (b *buffer) view(dst *op.Block, i, s int, v []byte) {
	b.shape[0] = len(v)
	dst.Alias(i, s, tensor.Tensor{DType: tensor.Uint8, Shape: b.shape[:], Data: v})
}

func (b *buffer) grow(n int64) []byte {
	if int64(cap(b.data)) < n {
		b.data = make([]byte, n+n/4)
	}
	return b.data[:n]
}

// named returns the index that an argument names, or nil if the argument names none: one file for
// each file of the set, or one file that package index wrote.
func named(ctx context.Context, c *op.Config, name, arg string, set *shards.Set,
	f index.Format) (*index.Index, []string, error) {
	paths := op.Get[[]string](c, arg)
	switch {
	case len(paths) == 0:
		x, err := index.Find(ctx, name, set, f, "")
		return x, nil, err
	case len(paths) == 1 && index.Is(ctx, paths[0]):
		x, err := index.Find(ctx, name, set, f, paths[0])
		return x, nil, err
	}
	return nil, paths, nil
}
