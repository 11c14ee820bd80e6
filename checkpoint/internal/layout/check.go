package layout

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
)

// Checker is told how a check gets on, by one goroutine at a time.
type Checker struct {
	// Progress is told how many more bytes of elements were looked at.
	Progress func(bytes int64)
	// Verdict is told of each array, when it has been looked at, the first thing
	// that is wrong with it, or nil. An error that it returns ends the check.
	Verdict func(l *Leaf, err error) error
	// Covered, when not nil, is told before Verdict how many bytes the array takes as
	// it is stored, and how many of them a checksum of the format covers.
	Covered func(l *Leaf, stored, covered int64)

	mu sync.Mutex
}

// Check reads every array and holds it against what covers it: several at a time
// and large ones piece by piece, with the memory that Read takes of its own. Other
// arrays are looked at after one that is damaged.
func (t *OpenTree) Check(ctx context.Context, c *Checker) error {
	tasks := c.divide(t)
	pool := newPool(budget)
	return each(len(tasks), func(i int) error {
		w := worker{pool: pool}
		defer w.release()
		for _, p := range tasks[i] {
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

// divide makes the tasks of a check: pieces that one worker looks at.
func (c *Checker) divide(t *OpenTree) (tasks [][]region) {
	var small []region
	bytes := 0
	flush := func() {
		if len(small) > 0 {
			tasks = append(tasks, small)
		}
		small, bytes = nil, 0
	}
	for i := range t.Leaves {
		l := &t.Leaves[i]
		if !l.HasArray() {
			continue
		}
		of := &checked{Leaf: l}
		size := l.Bytes()
		if size <= taskBytes || l.proven() {
			if len(small) == taskBoxes || bytes+size > taskBytes {
				flush()
			}
			of.left.Store(1)
			small = append(small, region{of: of, box: zarr.WholeBox(l.Shape)})
			bytes += size
			continue
		}
		flush()
		n := 0
		for box := range l.Tiles(slabBytes) {
			tasks = append(tasks, []region{{of, n, box}})
			n++
		}
		of.left.Store(int64(n))
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
		c.Covered(p.of.Leaf, p.of.stored.Load(), p.of.covered.Load())
	}
	return c.Verdict(p.of.Leaf, err)
}

// read reads a piece and holds it against what covers it.
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
