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

// SnapshotSize returns the bytes of memory that Snapshot takes.
func (im *Image) SnapshotSize() int64 {
	n := int64(0)
	for f := range im.dataFiles() {
		if im.copies(f) {
			n += alignUp(f.size)
		}
	}
	for _, a := range im.large() {
		if !a.varies() || !im.copiesPacked(a) {
			continue
		}
		for _, b := range a.src.memory() {
			n += alignUp(int64(len(*b)))
		}
	}
	return n
}

// copies reports whether a snapshot has the data file.
func (im *Image) copies(f *dataFile) bool { return im.opts.Copied == nil || f.first() }

// copiesPacked reports whether a snapshot has an array that is still to be packed.
func (im *Image) copiesPacked(a *array) bool { return im.opts.Copied == nil || a.first }

// copied reports whether a snapshot has the array.
func (im *Image) copied(a *array) bool {
	switch {
	case im.opts.Copied == nil || a.first:
		return true
	case a.varies():
		return false
	}
	return !slices.ContainsFunc(a.values, func(v value) bool { return v.inFile() && !v.file.first() })
}

// copies reports whether a leaf is copied before others.
func (o *Options) copies(p tree.Path) bool { return o.Copied != nil && o.Copied(p) }

// dataFiles yields the data files of all items.
func (im *Image) dataFiles() iter.Seq[*dataFile] {
	return func(yield func(*dataFile) bool) {
		for _, t := range im.trees {
			if t == nil {
				continue
			}
			for _, f := range t.files {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// large lists the arrays whose bytes are still those of the caller.
func (im *Image) large() []*array {
	var out []*array
	for _, t := range im.trees {
		if t == nil {
			continue
		}
		for _, a := range t.arrays {
			if slices.ContainsFunc(a.values, func(v value) bool { return v.inFile() }) {
				out = append(out, a)
			}
		}
	}
	return out
}

// Snapshot copies the arrays, or those that Options.Copied names, each to where it lies in the image of its data
// file, those to compress as they are; the caller may change his own when it returns. Commit takes the
// checksums, adds them, and writes the images from there. It must not be
// called after Commit.
func (im *Image) Snapshot(memory Memory) error {
	start := time.Now()
	all, err := memory.Alloc(int(im.SnapshotSize()), alignment)
	if err != nil {
		return err
	}
	var c copying
	for f := range im.dataFiles() {
		if !im.copies(f) {
			continue
		}
		for _, u := range f.units {
			end := u.off + int64(u.size)
			u.placed = all[u.off:end:alignUp(end)]
			c.add(u)
		}
		all = all[alignUp(f.size):]
	}
	large := im.large()
	for _, a := range large {
		if !a.varies() || !im.copiesPacked(a) {
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
		if !a.varies() && im.copied(a) {
			a.src.drop()
		}
	}
	im.stats.Snapshot, im.stats.Copied = time.Since(start), true
	if im.opts.Copied == nil {
		im.release()
	}
	return nil
}

// add plans the copy of a unit. Pieces that are not just the bytes of the
// source are encoded, such as the padded ends of large arrays and what is cast;
// those that are read while they are written stay where they are.
func (c *copying) add(u *unit) {
	for _, p := range u.pieces {
		dst := u.placed[p.off-u.off:][:p.size]
		if p.known != nil || p.value.array.src.read != nil {
			continue
		}
		src, ok := p.value.run(p)
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
func (im *Image) fits(budget int64) bool {
	return budget == 0 || im.SnapshotSize() <= budget
}

// watch takes the checksums of the arrays, so that Commit fails with
// errs.Mismatch when they change before it has read them.
func (im *Image) watch() {
	arrays := im.large()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range max(1, copiers(im.size)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(arrays)); i = next.Add(1) - 1 {
				if im.opts.Copied == nil || !im.copied(arrays[i]) {
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

// copyTile is how much is copied at once. From 1 MiB on Go's copy stores past the
// cache, which is two to three times as fast; much more than this would hold up
// the collector, because nothing interrupts a copy.
const copyTile = 2 << 20

// copying is a copy of many pieces as if they were one, in tiles, after those that
// are encoded.
type copying struct {
	encode   []encoding
	encoded  atomic.Int64
	failed   sync.Once
	err      error // of encoding
	from, to [][]byte
	ends     []int64 // of each in the whole
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

// work encodes pieces and copies tiles until none is left.
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
