package layout

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
)

// Checker receives how a check gets on, by one goroutine at a time.
type Checker struct {
	// Progress receives how many more bytes of elements were looked at.
	Progress func(bytes int64)
	// Verdict is told of the array of the i-th leaf, when it has been looked at, the
	// first thing that is wrong with it, or nil. An error that it returns ends the check.
	Verdict func(i int, err error) error
	// Covered, when not nil, is told before Verdict how many bytes the array takes as
	// it is stored, and how many of them a checksum of the format covers.
	Covered func(i int, stored, covered int64)

	mu sync.Mutex
}

// Check reads every array and compares it with what covers it: several at a time and large ones
// piece by piece, with the memory that Read takes of its own. Other arrays are looked at after one
// that is damaged.
func (t *OpenTree) Check(ctx context.Context, c *Checker) error {
	tasks := c.divide(t)
	pool := newPool(budget)
	return each(len(tasks), func(i int) error {
		w := worker{pool: pool}
		defer w.release()
		for p := range tasks[i].regions(t) {
			if ctx.Err() != nil {
				return &errs.Error{Kind: errs.Canceled, Err: context.Cause(ctx)}
			}
			if err := c.check(ctx, p, &w); err != nil {
				return err
			}
		}
		return nil
	})
}

// checked is an array that is being looked at.
type checked struct {
	*Leaf
	i     int          // of the leaf
	left  atomic.Int64 // pieces of it
	first atomic.Pointer[failure]

	stored, covered atomic.Int64
}

// region is a piece of an array, the at-th one.
type region struct {
	of  *checked
	at  int
	box zarr.Box
}

// look is what one worker looks at: a piece of a large array, or the small arrays of
// the leaves from first to last.
type look struct {
	piece       *region
	first, last int
}

// regions yields the pieces; it yields pieces of small arrays as they are asked for.
func (k look) regions(t *OpenTree) iter.Seq[region] {
	return func(yield func(region) bool) {
		if k.piece != nil {
			yield(*k.piece)
			return
		}
		for i := k.first; i <= k.last; i++ {
			l := &t.Leaves[i]
			if !l.HasArray() {
				continue
			}
			of := &checked{Leaf: l, i: i}
			of.left.Store(1)
			if !yield(region{of: of, box: zarr.WholeBox(l.Shape)}) {
				return
			}
		}
	}
}

// divide makes the tasks of a check.
func (c *Checker) divide(t *OpenTree) (tasks []look) {
	var small look
	n, bytes := 0, 0
	flush := func() {
		if n > 0 {
			tasks = append(tasks, small)
		}
		n, bytes = 0, 0
	}
	for i := range t.Leaves {
		l := &t.Leaves[i]
		if !l.HasArray() {
			continue
		}
		size := l.Bytes()
		if size <= taskBytes || l.proven() {
			if n == taskBoxes || bytes+size > taskBytes {
				flush()
			}
			if n == 0 {
				small.first = i
			}
			small.last = i
			n++
			bytes += size
			continue
		}
		flush()
		of := &checked{Leaf: l, i: i}
		tiles := 0
		for box := range l.Tiles(slabBytes) {
			tasks = append(tasks, look{piece: &region{of, tiles, box}})
			tiles++
		}
		of.left.Store(int64(tiles))
	}
	flush()
	return tasks
}

// check looks at a piece; the one that comes last tells of the whole array.
func (c *Checker) check(ctx context.Context, p region, w *worker) error {
	if c.Covered != nil {
		w.cover = &cover{}
	}
	err := p.read(ctx, w)
	if w.cover != nil {
		w.cover.whole(p.of.Leaf, p.box)
		p.of.stored.Add(w.cover.stored)
		p.of.covered.Add(w.cover.covered)
	}
	if err != nil {
		f := &failure{p.at, p.of.wrap(err)}
		for {
			old := p.of.first.Load()
			if old != nil && old.at <= p.at || p.of.first.CompareAndSwap(old, f) {
				break
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Progress != nil {
		c.Progress(int64(p.box.Len() * p.of.DType.Size()))
	}
	if p.of.left.Add(-1) > 0 {
		return nil
	}
	err = nil
	if f := p.of.first.Load(); f != nil {
		err = f.err
	}
	if c.Covered != nil {
		c.Covered(p.of.i, p.of.stored.Load(), p.of.covered.Load())
	}
	return c.Verdict(p.of.i, err)
}

// read reads a piece and compares it with what covers it.
func (p region) read(ctx context.Context, w *worker) error {
	l := p.of.Leaf
	size := p.box.Len() * l.DType.Size()
	if size > taskBytes && l.proven() {
		return l.prove(ctx, w)
	}
	b := w.take(&w.shared, size)
	err := l.array.readRegion(ctx, p.box, p.box, b, w)
	if err == nil {
		err = l.array.checkBox(p.box, b)
	}
	return err
}
