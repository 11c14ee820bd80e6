package writer

import (
	"context"
	"iter"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/tree"
)

// snapshotSize returns how many bytes of memory copyArrays needs.
func (w *Writer) snapshotSize() int64 {
	n := int64(0)
	for f := range w.files() {
		if w.copies(f) {
			n += alignUp(f.size)
		}
	}
	for _, a := range w.large() {
		if !a.varies() || !w.copiesPacked(a) {
			continue
		}
		for _, b := range a.src.memory() {
			n += alignUp(int64(len(*b)))
		}
	}
	return n
}

// copies reports whether a snapshot includes the data file.
func (w *Writer) copies(f *file) bool { return w.opts.Copied == nil || f.first() }

// copiesPacked reports whether a snapshot includes an array that must still be packed.
func (w *Writer) copiesPacked(a *array) bool { return w.opts.Copied == nil || a.first }

// copied reports whether a snapshot includes the array.
func (w *Writer) copied(a *array) bool {
	switch {
	case w.opts.Copied == nil || a.first:
		return true
	case a.varies():
		return false
	}
	return !slices.ContainsFunc(a.chunks, func(c chunk) bool { return c.inFile() && !c.file.first() })
}

// copies reports whether a leaf is copied before others.
func (o *Options) copies(p tree.Path) bool { return o.Copied != nil && o.Copied(p) }

// plans yields the trees of the items, with the indices of the items.
func (w *Writer) plans() iter.Seq2[int, *treePlan] {
	return func(yield func(int, *treePlan) bool) {
		for i, t := range w.trees {
			if t != nil && !yield(i, t) {
				return
			}
		}
	}
}

// files yields the data files of all items.
func (w *Writer) files() iter.Seq[*file] {
	return func(yield func(*file) bool) {
		for _, t := range w.plans() {
			for _, f := range t.files {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// large lists the arrays whose elements are still in the memory of the caller.
func (w *Writer) large() []*array {
	var out []*array
	for _, t := range w.plans() {
		for _, a := range t.arrays {
			if slices.ContainsFunc(a.chunks, func(c chunk) bool { return c.inFile() }) {
				out = append(out, a)
			}
		}
	}
	return out
}

// copyArrays copies the arrays, or the ones that Options.Copied names. Each array is copied to its
// place in the bytes of its data file; an array that will be compressed is copied unchanged. When
// copyArrays returns, the caller may change the originals. Write computes and adds the checksums,
// and writes the files from the copies.
func (w *Writer) copyArrays(memory Memory) error {
	start := time.Now()
	all, err := memory.Alloc(int(w.snapshotSize()), alignment)
	if err != nil {
		return err
	}
	var c copying
	for f := range w.files() {
		if !w.copies(f) {
			continue
		}
		for _, u := range f.units {
			end := u.off + int64(u.size)
			u.placed = all[u.off:end:alignUp(end)]
			c.add(u)
		}
		all = all[alignUp(f.size):]
	}
	large := w.large()
	for _, a := range large {
		if !a.varies() || !w.copiesPacked(a) {
			continue
		}
		for _, b := range a.src.memory() {
			dst := all[:len(*b):len(*b)]
			c.copy(dst, *b)
			*b, all = dst, all[alignUp(int64(len(*b))):]
		}
	}
	if err := c.run(); err != nil {
		return err
	}
	for _, a := range large {
		if !a.varies() && w.copied(a) {
			a.src.drop()
		}
	}
	w.stats.Copy, w.stats.Copied = time.Since(start), true
	if w.opts.Copied == nil {
		w.release()
	}
	return nil
}

// add plans the copy of a unit. Pieces that differ from the bytes of the source are encoded, such
// as the padded ends of large arrays and cast elements. Pieces of a Lazy are not copied.
func (c *copying) add(u *unit) {
	for _, p := range u.pieces {
		dst := u.placed[p.off-u.off:][:p.size]
		if p.known != nil || p.chunk.array.src.read != nil {
			continue
		}
		src, ok := p.chunk.run(p)
		if !ok {
			c.encode = append(c.encode, encoding{p, dst})
			continue
		}
		c.copy(dst, src)
		p.state = copied
	}
}

// copy plans the copy of src to the beginning of dst.
func (c *copying) copy(dst, src []byte) {
	c.from, c.to = append(c.from, src), append(c.to, dst[:len(src)])
	c.total += int64(len(src))
	c.ends = append(c.ends, c.total)
}

// fits reports whether a snapshot fits into a budget; 0 is no bound.
func (w *Writer) fits(budget int64) bool {
	return budget == 0 || w.snapshotSize() <= budget
}

// watch computes the checksums of the arrays, so that Write fails with errs.Mismatch if they change
// before it has read them.
func (w *Writer) watch() {
	arrays := w.large()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range max(1, copiers(w.size)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(arrays)); i = next.Add(1) - 1 {
				if w.opts.Copied == nil || !w.copied(arrays[i]) {
					arrays[i].watched = arrays[i].src.sum()
				}
			}
		})
	}
	wg.Wait()
}

// encoding is a piece that is encoded into memory.
type encoding struct {
	piece *piece
	dst   []byte
}

// copyTile is how many bytes are copied at once. From 1 MiB on, the copy of Go bypasses the cache,
// which is two to three times as fast. A much larger tile would delay the garbage collector,
// because nothing interrupts a copy.
const copyTile = 2 << 20

// copying copies many pieces as if they were one, in tiles, after it has encoded the pieces that
// need encoding.
type copying struct {
	encode   []encoding
	encoded  atomic.Int64
	failed   sync.Once
	err      error // first error of encoding
	from, to [][]byte
	ends     []int64 // end of each piece in the whole
	total    int64
	next     atomic.Int64
}

func (c *copying) run() error {
	n := c.total
	for _, e := range c.encode {
		n += int64(e.piece.size)
	}
	workers := copiers(n)
	if workers < 2 {
		c.work()
		return c.err
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(c.work)
	}
	c.work()
	wg.Wait()
	return c.err
}

// work encodes pieces and copies tiles until there are no more.
func (c *copying) work() {
	for i := c.encoded.Add(1) - 1; i < int64(len(c.encode)); i = c.encoded.Add(1) - 1 {
		p := c.encode[i].piece
		if err := p.encode(context.Background(), c.encode[i].dst); err != nil {
			c.failed.Do(func() { c.err = p.explain(err) })
			return
		}
		p.state = encoded
	}
	for {
		at := c.next.Add(copyTile) - copyTile
		if at >= c.total {
			return
		}
		end := min(at+copyTile, c.total)
		for i := sort.Search(len(c.ends), func(i int) bool { return c.ends[i] > at }); at < end; i++ {
			start := c.ends[i] - int64(len(c.from[i]))
			stop := min(end, c.ends[i])
			copy(c.to[i][at-start:stop-start], c.from[i][at-start:stop-start])
			at = stop
		}
	}
}
