package image

import (
	"context"
	"iter"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/internal/crc"
)

// SnapshotSize returns the bytes of memory that Snapshot takes.
func (im *Image) SnapshotSize() int64 {
	n := int64(0)
	for f := range im.dataFiles() {
		n += alignUp(f.size)
	}
	for _, a := range im.large() {
		if !a.varies() {
			continue
		}
		for _, b := range a.src.memory() {
			n += alignUp(int64(len(*b)))
		}
	}
	return n
}

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

// Snapshot copies the arrays, each to where it lies in the image of its data
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
		for _, u := range f.units {
			end := u.off + int64(u.size)
			u.placed = all[u.off:end:alignUp(end)]
			if err := c.add(u); err != nil {
				return err
			}
		}
		all = all[alignUp(f.size):]
	}
	large := im.large()
	for _, a := range large {
		if !a.varies() {
			continue
		}
		for _, b := range a.src.memory() {
			dst := all[:len(*b):len(*b)]
			c.copy(dst, *b)
			*b, all = dst, all[alignUp(int64(len(*b))):]
		}
	}
	c.run()
	for _, a := range large {
		if !a.varies() {
			a.src.drop()
		}
	}
	im.stats.Snapshot, im.stats.Copied = time.Since(start), true
	im.release()
	return nil
}

// add plans the copy of a unit. Pieces that are not just the bytes of the
// source are encoded at once, such as the padded ends of large arrays; those
// that are read while they are written stay where they are.
func (c *copying) add(u *unit) (err error) {
	for _, p := range u.pieces {
		dst := u.placed[p.off-u.off:][:p.size]
		if p.known != nil || p.value.array.src.read != nil {
			continue
		}
		src, ok := p.value.run(p)
		if !ok {
			if err = p.encode(context.Background(), dst); err != nil {
				return p.explain(err)
			}
			p.state = encoded
			continue
		}
		c.copy(dst, src)
		p.state = copied
	}
	return nil
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
				arrays[i].watched = arrays[i].src.sum()
			}
		})
	}
	wg.Wait()
}

// copying is a copy of many pieces as if they were one, in tiles.
type copying struct {
	from, to [][]byte
	ends     []int64 // of each in the whole
	total    int64
	next     atomic.Int64
}

func (c *copying) run() {
	workers := copiers(c.total)
	if workers < 2 {
		c.work()
		return
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(c.work)
	}
	c.work()
	wg.Wait()
}

// work copies tiles until none is left.
func (c *copying) work() {
	for {
		at := c.next.Add(crc.Tile) - crc.Tile
		if at >= c.total {
			return
		}
		end := min(at+crc.Tile, c.total)
		for i := sort.Search(len(c.ends), func(i int) bool { return c.ends[i] > at }); at < end; i++ {
			start := c.ends[i] - int64(len(c.from[i]))
			stop := min(end, c.ends[i])
			copy(c.to[i][at-start:stop-start], c.from[i][at-start:stop-start])
			at = stop
		}
	}
}
