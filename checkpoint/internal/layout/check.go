package layout

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// Checker receives the progress of a check, from one goroutine at a time.
type Checker struct {
	// Progress receives how many more bytes of elements were checked.
	Progress func(bytes int64)
	// Verdict is called for the array of the i-th leaf after its check, with its first damage or nil.
	// An error that it returns ends the check.
	Verdict func(i int, err error) error
	// Covered, when not nil, is called before Verdict with the size of the array as stored, and how
	// many of these bytes a checksum of the format covers.
	Covered func(i int, stored, covered int64)

	mu sync.Mutex
}

// Check reads every array and compares it with its checksums. It checks several arrays at a time,
// and large arrays piece by piece, with as much memory as Read takes for itself. After a damaged
// array the check goes on.
func (t *OpenTree) Check(ctx context.Context, c *Checker) error {
	tasks := c.divide(t)
	pool := newPool(budget)
	pool.reuse()
	defer pool.spare()
	return t.files.each(len(tasks), func(i int) error {
		w := worker{pool: pool, sumsOnly: true}
		defer w.release()
		ctx := w.handed.with(ctx)
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

// checked is an array that is being checked.
type checked struct {
	*Leaf
	i     int          // index of the leaf
	left  atomic.Int64 // pieces that are still to be checked
	first atomic.Pointer[failure]

	stored, covered atomic.Int64
}

// region is the at-th piece of an array.
type region struct {
	of  *checked
	at  int
	box zarr.Box
}

// look is the task of one worker: a piece of a large array, or the small arrays of the leaves from
// first to last.
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

// check checks a piece. The last piece of an array reports the result for the whole array.
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

// read reads a piece and compares it with its checksums.
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

// cover counts bytes of an array as they are stored, and the stored bytes that a checksum of the
// format covers.
type cover struct{ stored, covered int64 }

// add counts bytes; a nil cover counts nothing.
func (c *cover) add(n int, covered bool) {
	if c == nil {
		return
	}
	c.stored += int64(n)
	if covered {
		c.covered += int64(n)
	}
}

// part counts a part of an array in chunks. It is covered by its own checksum, or by the checksum
// of the node that holds its value.
func (c *cover) part(ctx context.Context, l *zarrArray, p *zarr.Part, encoded []byte) {
	if c == nil {
		return
	}
	covered := p.Covered(encoded)
	if kv, ok := l.values.(zarr.InlineKV); ok && l.nodes && !covered {
		_, value, err := kv.Look(ctx, p.Key)
		covered = err == nil && value != nil
	}
	c.add(int(p.Length), covered)
}

// whole counts an array without chunks as covered entirely or not at all. Counts of single pieces
// stay.
func (c *cover) whole(l *Leaf, box zarr.Box) {
	switch a := l.array.(type) {
	case *zarrArray:
	case checkedMemory:
		c.add(box.Len()*l.DType.Size(), true)
	case *tiled:
		if !a.sums {
			c.add(box.Len()*l.DType.Size(), false)
		}
	case numpyArray:
		c.add(box.Len()*l.DType.Size(), !a.alone)
	default:
		c.add(box.Len()*l.DType.Size(), false)
	}
}

// proven reports whether the whole array is compared with its checksum without its elements being
// in memory.
func (l *Leaf) proven() bool {
	a, ok := l.array.(numpyArray)
	return l.array.entire() || ok && !a.alone
}

// Prove verifies an array whose parts cannot be verified when they are read, because the whole
// array has one checksum. It reads the whole array, piece by piece.
func (l *Leaf) Prove(ctx context.Context) error {
	if !l.array.entire() {
		return nil
	}
	w := worker{pool: newPool(budget)}
	defer w.release()
	return l.wrap(l.prove(ctx, &w))
}

func (l *Leaf) prove(ctx context.Context, w *worker) error {
	switch a := l.array.(type) {
	case numpyArray:
		return a.prove(ctx)
	case *zarrArray:
		return a.prove(ctx, w)
	case *tiled:
		return a.prove(ctx, w)
	}
	return nil
}

// prove compares the member of an archive with its checksum.
func (a numpyArray) prove(ctx context.Context) error {
	archive, err := a.file.archive(ctx)
	if err == nil {
		err = archive.Check(a.name)
	}
	return err
}

// prove checksums the array in C order.
func (l *zarrArray) prove(ctx context.Context, w *worker) error {
	size := l.sums.size
	sum := uint32(0)
	for box := range Pieces(zarr.WholeBox(l.sums.shape), size, slabBytes) {
		b := w.take(&w.shared, box.Len()*size)
		if err := l.readRegion(ctx, box, box, b, w); err != nil {
			return err
		}
		sum = crc.Update(sum, b)
	}
	return l.sums.same(sum)
}

// Tiles yields boxes that tile the array. Each box has as many of the smallest parts worth reading
// by themselves as fit in most bytes, and at least one.
func (l *Leaf) Tiles(most int) iter.Seq[zarr.Box] {
	return zarr.Cells(zarr.WholeBox(l.Shape), slab(l.Shape, l.array.unit(), l.DType.Size(), most))
}

// Pieces yields boxes that tile a box in C order: each is a run of the box's memory. Each has at
// most most bytes, or one element if an element is larger. Elements have size bytes.
func Pieces(box zarr.Box, size int, most int64) iter.Seq[zarr.Box] {
	return func(yield func(zarr.Box) bool) { pieces(box, size, 0, most, yield) }
}

func pieces(box zarr.Box, size, axis int, most int64, yield func(zarr.Box) bool) bool {
	bytes := int64(box.Len() * size)
	if bytes <= most || axis == len(box.Shape) {
		return bytes == 0 || yield(box)
	}
	step := max(1, int(most/(bytes/int64(box.Shape[axis]))))
	for at := 0; at < box.Shape[axis]; at += step {
		part := zarr.Box{Origin: slices.Clone(box.Origin), Shape: slices.Clone(box.Shape)}
		part.Origin[axis], part.Shape[axis] = box.Origin[axis]+at, min(step, box.Shape[axis]-at)
		if !pieces(part, size, axis+1, most, yield) {
			return false
		}
	}
	return true
}
