package layout

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/format/zarr"
)

// Target is a box of a leaf that has an array, and the memory that it is to be
// read into: as many bytes as it has, in C order.
type Target struct {
	Leaf *Leaf
	Box  zarr.Box
	Dst  []byte
}

const (
	slabBytes = 4 << 20 // about what is read of a large array at once
	taskBytes = 1 << 20 // up to where small arrays are read together
	taskBoxes = 64      // as many of them at most
)

// piece is what a task reads of one target: a region inside of its box.
type piece struct {
	*Target
	region zarr.Box
}

// task is pieces that are read in their order by one worker: those of several
// small leaves, or all that are wanted of one slab of a large one.
type task struct {
	pieces []piece
	shared bool // the pieces are of one slab: what two of them need is read once
}

// Read reads all targets, several at a time and large ones in several places at
// a time, with memory of its own of some 32 MiB at most beyond the largest chunk
// that must be decoded as a whole. Of the bytes that several boxes of a leaf
// need, each is read once. Verification is that of Leaf.ReadBox. The targets of
// one leaf must lie together; the memory of targets must not overlap. The error
// is the first in the order of the targets among those that were met; after one
// the content of the targets is undefined.
func (t *OpenTree) Read(ctx context.Context, targets []Target) error {
	for i := range targets {
		if err := targets[i].Leaf.admit(targets[i].Box, len(targets[i].Dst)); err != nil {
			return targets[i].Leaf.wrap(err)
		}
	}
	tasks := divide(targets)
	pool := newPool()
	err := each(len(tasks), func(i int) error {
		w := worker{pool: pool}
		defer w.release()
		return tasks[i].run(ctx, &w)
	})
	if err != nil {
		return err
	}
	return each(len(targets), func(i int) error {
		g := &targets[i]
		return g.Leaf.wrap(g.Leaf.array.checkBox(g.Box, g.Dst))
	})
}

// divide makes the tasks of a read.
func divide(targets []Target) []task {
	var tasks []task
	var small task
	bytes := 0
	flush := func() {
		if len(small.pieces) > 0 {
			tasks = append(tasks, small)
		}
		small, bytes = task{}, 0
	}
	for len(targets) > 0 {
		n := 1
		for n < len(targets) && targets[n].Leaf == targets[0].Leaf {
			n++
		}
		group := targets[:n]
		targets = targets[n:]
		if size := len(group[0].Dst); n == 1 && size <= taskBytes {
			if len(small.pieces) == taskBoxes || bytes+size > taskBytes {
				flush()
			}
			if small.pieces == nil {
				small.pieces = make([]piece, 0, min(taskBoxes, len(targets)+1))
			}
			small.pieces = append(small.pieces, piece{&group[0], group[0].Box})
			bytes += size
			continue
		}
		tasks = append(tasks, slabs(group)...)
	}
	flush()
	return tasks
}

// slabs cuts the boxes of one leaf along a grid of slabs.
func slabs(group []Target) []task {
	l := group[0].Leaf
	cell := slab(l.Shape, l.array.unit(), l.DType.Size())
	bounds := bounding(group)
	var tasks []task
	for b := range zarr.Cells(bounds, cell) {
		t := task{shared: len(group) > 1}
		for i := range group {
			if region, ok := group[i].Box.Intersect(b); ok {
				t.pieces = append(t.pieces, piece{&group[i], region})
			}
		}
		if len(t.pieces) > 0 {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// slab returns the shape of the regions that an array is cut into: units put
// together, along the last axes first, up to slabBytes.
func slab(shape, unit []int, size int) []int {
	s := slices.Clone(unit)
	bytes := size
	for _, n := range unit {
		bytes *= n
	}
	for i := len(s) - 1; i >= 0 && bytes > 0; i-- {
		units := (shape[i] + unit[i] - 1) / unit[i]
		fit := min(units, max(1, slabBytes/bytes))
		s[i] = unit[i] * fit
		bytes *= fit
		if fit < units {
			break
		}
	}
	return s
}

// bounding returns the smallest box around all boxes.
func bounding(group []Target) zarr.Box {
	low := slices.Clone(group[0].Box.Origin)
	high := make([]int, len(low))
	for _, g := range group {
		for i, o := range g.Box.Origin {
			low[i] = min(low[i], o)
			high[i] = max(high[i], o+g.Box.Shape[i])
		}
	}
	for i := range high {
		high[i] -= low[i]
	}
	return zarr.Box{Origin: low, Shape: high}
}

func (t *task) run(ctx context.Context, w *worker) error {
	if t.shared && len(t.pieces) > 1 {
		return t.pieces[0].Leaf.wrap(t.runShared(ctx, w))
	}
	for _, p := range t.pieces {
		if err := p.Leaf.array.readRegion(ctx, p.region, p.Box, p.Dst, w); err != nil {
			return p.Leaf.wrap(err)
		}
	}
	return nil
}

// runShared reads the region around all pieces once, and copies them out of it.
func (t *task) runShared(ctx context.Context, w *worker) error {
	l := t.pieces[0].Leaf
	regions := make([]Target, len(t.pieces))
	for i, p := range t.pieces {
		regions[i].Box = p.region
	}
	around := bounding(regions)
	size := l.DType.Size()
	b := w.take(&w.shared, around.Len()*size)
	if err := l.array.readRegion(ctx, around, around, b, w); err != nil {
		return err
	}
	for _, p := range t.pieces {
		zarr.CopyBox(p.Box, p.Dst, around, b, size)
	}
	return nil
}

// each calls f for every index below n, on several cores. It returns the error
// of the lowest index among those that it met.
func each(n int, f func(i int) error) error {
	workers := min(workers(), n)
	var next, stop atomic.Int64
	failures := make([]failure, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for stop.Load() == 0 {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(i); err != nil {
					failures[w] = failure{i, err}
					stop.Store(1)
					return
				}
			}
		})
	}
	wg.Wait()
	first := failure{at: n}
	for _, f := range failures {
		if f.err != nil && f.at < first.at {
			first = f
		}
	}
	return first.err
}

type failure struct {
	at  int
	err error
}

// workers is how many goroutines read: more than there are cores, as some of
// them wait for the disk.
func workers() int { return 2 * runtime.GOMAXPROCS(0) }
