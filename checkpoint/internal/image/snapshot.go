package image

import (
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/internal/crc"
)

// Alignment of the copies: a cache line, and the elements of every dtype.
const copyAlign = 64

// SnapshotSize returns the bytes of memory that Snapshot takes.
func (im *Image) SnapshotSize() int64 {
	n := int64(0)
	for _, a := range im.large() {
		n += (int64(len(a.src.Data)) + copyAlign - 1) &^ (copyAlign - 1)
	}
	return n
}

// large lists the arrays whose bytes are still those of the caller.
func (im *Image) large() []*array {
	var out []*array
	for _, t := range im.trees {
		if t == nil {
			continue
		}
		for _, a := range t.arrays {
			if a.inFile() {
				out = append(out, a)
			}
		}
	}
	return out
}

// Snapshot copies the arrays to memory that Commit reads them from; the caller
// may change his own when it returns. Checksums are taken later, from the copy.
// It must not be called after Commit.
func (im *Image) Snapshot(memory Memory) error {
	start := time.Now()
	arrays := im.large()
	all, err := memory.Alloc(int(im.SnapshotSize()), alignment)
	if err != nil {
		return err
	}
	c := copying{from: make([][]byte, len(arrays)), to: make([][]byte, len(arrays)), ends: make([]int64, len(arrays))}
	at, end := 0, int64(0)
	for i, a := range arrays {
		n := len(a.src.Data)
		c.from[i], c.to[i] = a.src.Data, all[at:at+n:at+n]
		at += (n + copyAlign - 1) &^ (copyAlign - 1)
		end += int64(n)
		c.ends[i] = end
	}
	c.run(copiers(end))
	for i, a := range arrays {
		a.src.Data = c.to[i]
	}
	im.stats.Snapshot, im.stats.Copied = time.Since(start), true
	im.release()
	return nil
}

// fits reports whether a snapshot, and one unit to write from it, fit into a
// budget; 0 is no bound.
func (im *Image) fits(budget int64) bool {
	largest := 0
	for _, t := range im.trees {
		if t == nil {
			continue
		}
		for _, f := range t.files {
			for _, u := range f.units {
				largest = max(largest, u.size)
			}
		}
	}
	return budget == 0 || alignUp(im.SnapshotSize())+alignUp(int64(largest)) <= budget
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
				sum := crc.Sum(arrays[i].src.Data)
				arrays[i].watched = &sum
			}
		})
	}
	wg.Wait()
}

// copying is a copy of many arrays as if they were one, in tiles.
type copying struct {
	from, to [][]byte
	ends     []int64 // of each array in the whole
	next     atomic.Int64
}

func (c *copying) run(workers int) {
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
	if len(c.ends) == 0 {
		return
	}
	total := c.ends[len(c.ends)-1]
	for {
		at := c.next.Add(crc.Tile) - crc.Tile
		if at >= total {
			return
		}
		end := min(at+crc.Tile, total)
		for i := sort.Search(len(c.ends), func(i int) bool { return c.ends[i] > at }); at < end; i++ {
			start := c.ends[i] - int64(len(c.from[i]))
			stop := min(end, c.ends[i])
			copy(c.to[i][at-start:stop-start], c.from[i][at-start:stop-start])
			at = stop
		}
	}
}
