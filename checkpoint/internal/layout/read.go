package layout

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/cast"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Target is a box of a leaf with an array, and the memory into which it is read in C order. Dst has
// the size of the box.
type Target struct {
	Leaf *Leaf
	Box  zarr.Box // the part of it beyond the array is left unchanged in Dst
	Dst  []byte
	// DType is the type to which the elements are cast; Invalid is the type of the leaf.
	DType tensor.DType
	// Lossy allows the cast to change values that DType cannot hold. Otherwise they are errs.Mismatch.
	Lossy bool
	// Final, if not nil, is called with parts of Dst that Read has finished, verified and will not
	// touch again. The parts do not overlap, and need not be all of Dst. Calls may run at the same
	// time. An error ends Read.
	Final func(mem []byte) error
	// Done, if not nil, is told of the same parts: n bytes of Dst from the offset from on.
	Done func(from, n int)
}

const (
	slabBytes = 4 << 20 // about how much of a large array is read at once
	taskBytes = 1 << 20 // the size up to which small arrays are read together
	taskBoxes = 64      // how many of them at most
)

// piece is the part of one target that a task reads: a region inside its box.
type piece struct {
	*Target
	region zarr.Box
}

// task is a list of pieces that one worker reads in order: the pieces of several small leaves, or
// all wanted pieces of one slab of a large leaf.
type task struct {
	pieces []piece
	shared bool // the pieces are of one slab: bytes that two pieces need are read once
}

// Read reads all targets, several at a time, and large targets in several places at a time. Beyond
// the targets it uses at most some 32 MiB of memory, or Options.Reads, plus the largest chunk that
// must be decoded as a whole. Bytes that several boxes of a leaf need are read once. Read verifies
// like Leaf.ReadBox. The targets of one leaf must be adjacent in the list; the memory of targets
// must not overlap. Read returns the error of the first failed target in list order. After an error
// the content of the targets is undefined.
//
// Elements are cast slab by slab, after their stored bytes were verified. If an array has only one
// checksum for the whole, that takes memory for the whole array.
func (t *OpenTree) Read(ctx context.Context, targets []Target) error {
	for i := range targets {
		if err := targets[i].admit(); err != nil {
			return targets[i].Leaf.wrap(err)
		}
	}
	tasks := divide(targets)
	pool := newPool(t.limit.memory(budget))
	err := t.files.each(len(tasks), func(i int) error {
		if ctx.Err() != nil {
			return &errs.Error{Kind: errs.Canceled, Err: context.Cause(ctx)}
		}
		w := worker{pool: pool}
		defer w.release()
		if err := tasks[i].run(ctx, &w); err != nil {
			return err
		}
		return tasks[i].final()
	})
	if err != nil {
		return err
	}
	return t.files.each(len(targets), func(i int) error {
		g := &targets[i]
		if g.staged() {
			return nil
		}
		err := g.Leaf.array.checkBox(g.Box, g.Dst)
		if err == nil && g.late() {
			err = g.tell(0, len(g.Dst))
		}
		return g.Leaf.wrap(err)
	})
}

// late reports whether the memory of a target is verified only when all of it was read.
func (g *Target) late() bool { return g.Leaf.array.entire() && !g.staged() }

// final tells targets which of their memory the task has finished, if its bytes are adjacent.
func (t *task) final() error {
	for _, p := range t.pieces {
		if p.Final == nil && p.Done == nil || p.late() {
			continue
		}
		if from, n, ok := p.run(); ok {
			if err := p.tell(from, n); err != nil {
				return p.Leaf.wrap(err)
			}
		}
	}
	return nil
}

// tell says that a part of Dst is finished.
func (g *Target) tell(from, n int) error {
	if g.Done != nil {
		g.Done(from, n)
	}
	if g.Final == nil {
		return nil
	}
	return g.Final(g.Dst[from:][:n:n])
}

// run returns where the region lies in Dst, if it is one run of bytes there.
func (p *piece) run() (from, n int, ok bool) {
	if p.region.Len() == 0 {
		return 0, 0, false
	}
	n = p.dtype().Size()
	stride, whole := n, true
	for i := len(p.region.Shape) - 1; i >= 0; i-- {
		if !whole && p.region.Shape[i] != 1 {
			return 0, 0, false
		}
		whole = whole && p.region.Shape[i] == p.Box.Shape[i]
		from += (p.region.Origin[i] - p.Box.Origin[i]) * stride
		n *= p.region.Shape[i]
		stride *= p.Box.Shape[i]
	}
	return from, n, true
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
		if size := max(len(group[0].Dst), group[0].encoded()); n == 1 && size <= taskBytes {
			region, ok := group[0].within()
			if !ok {
				continue
			}
			if len(small.pieces) == taskBoxes || bytes+size > taskBytes {
				flush()
			}
			if small.pieces == nil {
				small.pieces = make([]piece, 0, min(taskBoxes, len(targets)+1))
			}
			small.pieces = append(small.pieces, piece{&group[0], region})
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
	var regions []zarr.Box
	size, whole := 0, false
	for i := range group {
		g := &group[i]
		size = max(size, l.DType.Size(), g.dtype().Size())
		if region, ok := g.within(); ok {
			regions = append(regions, region)
			whole = whole || g.staged() && l.array.entire() && region.Len() > 0 && region.Equal(zarr.WholeBox(l.Shape))
		}
	}
	if len(regions) == 0 {
		return nil
	}
	bounds, cell := bounding(regions), []int(l.Shape)
	if !whole {
		most := slabBytes
		if len(group) == 1 && !group[0].staged() {
			most = max(most, l.slab)
		}
		cell = slab(l.Shape, l.array.unit(), size, most)
	}
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

// slab returns the shape of the regions into which an array is cut: units joined along the last
// axes first, up to most bytes.
func slab(shape, unit []int, size, most int) []int {
	s := slices.Clone(unit)
	bytes := size
	for _, n := range unit {
		bytes *= n
	}
	for i := len(s) - 1; i >= 0 && bytes > 0; i-- {
		units := (shape[i] + unit[i] - 1) / unit[i]
		fit := min(units, max(1, most/bytes))
		s[i] = unit[i] * fit
		bytes *= fit
		if fit < units {
			break
		}
	}
	return s
}

// bounding returns the smallest box around all boxes.
func bounding(boxes []zarr.Box) zarr.Box {
	low := slices.Clone(boxes[0].Origin)
	high := make([]int, len(low))
	for _, b := range boxes {
		for i, o := range b.Origin {
			low[i] = min(low[i], o)
			high[i] = max(high[i], o+b.Shape[i])
		}
	}
	for i := range high {
		high[i] -= low[i]
	}
	return zarr.Box{Origin: low, Shape: high}
}

func (t *task) run(ctx context.Context, w *worker) error {
	if t.shared && len(t.pieces) > 1 {
		return t.pieces[0].Leaf.wrap(runStaged(ctx, t.pieces, w))
	}
	for i, p := range t.pieces {
		var err error
		if p.staged() {
			err = runStaged(ctx, t.pieces[i:i+1], w)
		} else {
			err = p.Leaf.array.readRegion(ctx, p.region, p.Box, p.Dst, w)
		}
		if err != nil {
			return p.Leaf.wrap(err)
		}
	}
	return nil
}

// each calls f for every index below n, in several goroutines. It returns the error of the lowest
// failed index that it has seen. Calls that run at the same time have distant indices, because
// neighbours often write to the same pages, which the system would have to clear for each of them.
func (s *files) each(n int, f func(i int) error) error {
	workers := min(s.workers(), n)
	if n == 1 { // of a small checkpoint, a goroutine would cost more than its work
		return f(0)
	}
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
				at := apart(i, n, workers)
				if err := f(at); err != nil {
					failures[w] = failure{at, err}
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

// apart permutes the indices below n. It cuts the range into as many parts as there are streams,
// and takes the next index of each part in turn.
func apart(i, n, streams int) int {
	part, k := i%streams, i/streams
	return part*(n/streams) + min(part, n%streams) + k
}

type failure struct {
	at  int
	err error
}

// workers returns the number of goroutines that read: twice the number of cores, because some wait
// for the disk, or more for a store that answers late.
func (s *files) workers() int {
	n := 2 * runtime.GOMAXPROCS(0)
	if s == nil { // the tree is in memory
		return n
	}
	return max(n, s.c.st.Properties().Parallel)
}

// Far reports whether the bytes of arrays come over a network.
func (t *OpenTree) Far() bool { return t.files != nil && t.files.c.st.Properties().Parallel > 0 }

// A target is staged if its elements cannot be read directly into its memory: they are cast, or the
// box extends beyond the array. Regions that several targets share are staged too.

// dtype returns the type of the elements of Dst.
func (g *Target) dtype() tensor.DType {
	if g.DType == tensor.Invalid {
		return g.Leaf.DType
	}
	return g.DType
}

func (g *Target) staged() bool {
	return g.dtype() != g.Leaf.DType || !g.Box.Inside(g.Leaf.Shape)
}

// within returns the part of the box that lies in the array; ok is false if no part does.
func (g *Target) within() (region zarr.Box, ok bool) {
	if g.Box.Inside(g.Leaf.Shape) {
		return g.Box, true
	}
	return g.Box.Intersect(zarr.WholeBox(g.Leaf.Shape))
}

// encoded returns how many bytes of the array are read.
func (g *Target) encoded() int {
	region, ok := g.within()
	if !ok {
		return 0
	}
	return region.Len() * g.Leaf.DType.Size()
}

// admit checks the box and the size of its memory.
func (g *Target) admit() error {
	l := g.Leaf
	if !g.staged() {
		return l.admit(g.Box, len(g.Dst))
	}
	if !g.dtype().Valid() {
		return &errs.Error{Kind: errs.Invalid, Want: "a type of elements", Got: g.dtype().String()}
	}
	far := make([]int, len(l.Shape))
	for i, n := range l.Shape {
		far[i] = n
		if i < len(g.Box.Origin) && i < len(g.Box.Shape) && g.Box.Origin[i] >= 0 {
			far[i] = max(n, g.Box.Origin[i]+g.Box.Shape[i])
		}
	}
	if !g.Box.Inside(far) {
		return &errs.Error{Kind: errs.Invalid, Want: "a box of " + strconv.Itoa(len(far)) + " axes", Got: g.Box.String()}
	}
	if n := g.Box.Len() * g.dtype().Size(); n != len(g.Dst) {
		return &errs.Error{Kind: errs.Invalid, Want: strconv.Itoa(n) + " bytes of memory", Got: strconv.Itoa(len(g.Dst))}
	}
	return nil
}

// runStaged reads the region around pieces of one leaf once, verifies it, and copies their parts
// into place.
func runStaged(ctx context.Context, pieces []piece, w *worker) error {
	l := pieces[0].Leaf
	regions, staged := make([]zarr.Box, len(pieces)), false
	for i, p := range pieces {
		regions[i] = p.region
		staged = staged || p.staged()
	}
	around := bounding(regions)
	b := w.take(&w.shared, around.Len()*l.DType.Size())
	if err := l.array.readRegion(ctx, around, around, b, w); err != nil {
		return err
	}
	if staged {
		if err := l.array.checkBox(around, b); err != nil {
			return err
		}
	}
	for _, p := range pieces {
		if err := p.place(around, b); err != nil {
			return err
		}
	}
	return nil
}

// place copies the part of a region that lies in the box into its memory.
func (g *Target) place(region zarr.Box, b []byte) error {
	size := g.Leaf.DType.Size()
	if g.dtype() == g.Leaf.DType {
		zarr.CopyBox(g.Box, g.Dst, region, b, size)
		return nil
	}
	common, ok := g.Box.Intersect(region)
	if !ok {
		return nil
	}
	wide := g.dtype().Size()
	var failed error
	zarr.Runs(g.moved(common), g.moved(region), g.Box.Shape, 1, func(src, dst, n int) {
		if failed == nil {
			failed = g.cast(g.Dst[dst*wide:(dst+n)*wide], b[src*size:(src+n)*size])
		}
	})
	return failed
}

// moved returns the box relative to the origin of the box of the target.
func (g *Target) moved(b zarr.Box) zarr.Box {
	origin := make([]int, len(b.Origin))
	for i, o := range b.Origin {
		origin[i] = o - g.Box.Origin[i]
	}
	return zarr.Box{Origin: origin, Shape: b.Shape}
}

// cast casts a run of elements. It fails for a value that the type cannot hold.
func (g *Target) cast(out, in []byte) error {
	src := g.Leaf.DType
	err := cast.Into(g.dtype(), out, src, in, g.Lossy)
	var e *errs.Error
	if errors.As(err, &e) && e.Kind == errs.Mismatch {
		e.Remedy = "load it as " + src.String() + ", or set LossyCast to accept the loss"
	}
	return err
}
