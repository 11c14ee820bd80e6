package exec

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// fetcher is an I/O goroutine's view of the readers.
type fetcher struct {
	e     *Executor
	reads []fetch
	tasks []task // memory for tasks of workers
}

// fetch is a fetcher's use of one reader, and the memory of its block.
type fetch struct {
	e       *Executor
	block   op.Block
	local   any
	first   int // number of its first value
	frame   *Frame
	sample  int   // the first of the block
	scratch arena // until the samples are read, and so is large
	large   [][]byte
	clock   clock
}

func newFetcher(e *Executor) *fetcher {
	f := &fetcher{e: e, reads: make([]fetch, len(e.plan.readers))}
	for i, n := range e.plan.readers {
		r := &f.reads[i]
		r.e, r.first = e, e.plan.first[n.Index]
		r.scratch.most = int(max(2*fetchBytes, e.share()))
		b := r.block.Binding()
		b.Memory, b.Local, b.Specs, b.Out, b.Limits = r, &r.local, n.Specs, make([][]tensor.Tensor,
			len(n.Specs)), e.config.Limits
	}
	return f
}

// fetchBytes is how many bytes of small samples are fetched by one task.
const fetchBytes = 64 << 10

// share returns what a fetcher has of the bytes that are read ahead.
func (e *Executor) share() int64 { return e.readAhead() / int64(e.config.Fetchers) }

// divide makes the tasks of a frame for the fetchers, the largest first. Small samples that follow
// each other are one task, but each fetcher gets its part of them. With limits on a sample's time
// or on all memory, and with several readers, each sample is a task.
func (e *Executor) divide(f *Frame) {
	n, most, limit := len(f.sizes), 1, min(fetchBytes, e.share())
	if len(e.sources) == 1 && e.config.Limits.MaxTime == 0 && e.shares.total == 0 {
		most = max(1, n/len(e.fetchers))
	}
	f.tasks = f.tasks[:0]
	for lo := 0; lo < n; {
		hi, bytes := lo+1, f.sizes[lo]
		for ; hi < n && hi-lo < most && f.sizes[hi] <= limit-bytes; hi++ {
			bytes += f.sizes[hi]
		}
		f.tasks = append(f.tasks, task{f, int32(lo), int32(hi), bytes})
		lo = hi
	}
	slices.SortFunc(f.tasks, func(a, b task) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.lo, b.lo))
	})
}

// fetch reads samples from all readers and passes them on.
func (f *fetcher) fetch(t task) {
	e, frame, lo, hi := f.e, t.frame, int(t.lo), int(t.hi)
	// All at once: a goroutine that holds bytes of one reader while it waits for bytes of another
	// could wait forever.
	if err := e.checkFetch(frame, lo, t.bytes); err != nil { // then lo is the only sample
		e.fail(frame, lo, e.plan.readers[0], err)
	} else if e.budget.Acquire(t.bytes, frame.cancelled.Load) {
		if e.direct {
			f.read(frame, lo, hi)
			e.budget.Release(t.bytes)
		} else {
			for s := lo; s < hi; s++ {
				frame.loans[s] = append(frame.loans[s], loan{bytes: frame.sizes[s]})
			}
			f.read(frame, lo, hi)
		}
	}
	if e.direct {
		e.fetched(frame, lo, hi)
		return
	}
	f.tasks = f.tasks[:0]
	for s := t.lo; s < t.hi; s++ {
		f.tasks = append(f.tasks, task{frame: frame, lo: s, hi: s + 1})
	}
	e.cpu.Submit(f.tasks...)
}

// size returns the bytes that a sample takes.
func (e *Executor) size(f *Frame, s int) (total int64) {
	for r, source := range e.sources {
		total += source.Size(f.IDs[r][s])
	}
	return total
}

// read reads the samples lo to hi. With several readers it is one sample.
func (f *fetcher) read(frame *Frame, lo, hi int) {
	for i, n := range f.e.plan.readers {
		if frame.errs[lo] != nil {
			return
		}
		r := &f.reads[i]
		r.frame, r.sample = frame, lo
		b := r.block.Binding()
		b.Positions, b.Slots = frame.Positions[lo:hi], frame.Slots[lo:hi]
		for o := range b.Out {
			b.Out[o] = frame.values[r.first+o][lo:hi]
		}
		start := f.e.now()
		err := r.fetch(f.e.sources[i], frame.IDs[i][lo:hi])
		if f.e.config.Timing {
			r.clock.add(hi-lo, time.Since(start))
		}
		if err != nil && hi-lo > 1 { // one by one, to find the sample at fault
			clear(b.Errors)
			for s := lo; s < hi; s++ {
				f.read(frame, s, s+1)
			}
			return
		}
		if err != nil {
			f.e.fail(frame, lo, n, err)
		}
		for s, err := range b.Errors {
			f.e.fail(frame, lo+s, n, err)
		}
		clear(b.Errors)
		for o := range b.Out {
			r.settle(n, r.first+o, lo, hi)
		}
		r.reset()
	}
}

// reset takes back the memory of samples that are read.
func (r *fetch) reset() {
	r.scratch.reset()
	for i, b := range r.large {
		r.e.memory.put(b)
		r.large[i] = nil
	}
	r.large = r.large[:0]
}

// temporary returns memory until the samples are read. A fetcher keeps its share of the bytes that
// are read ahead. What is larger belongs to all fetchers, so that not each keeps the largest
// sample.
func (r *fetch) temporary(size int) []byte {
	if size <= r.scratch.most {
		return r.scratch.alloc(size)
	}
	b := r.e.memory.get(size)
	r.large = append(r.large, b)
	return b
}

// settle moves the samples of a value to where the frame keeps them. If the executor is not direct,
// samples of unknown size stay in the memory of the fetcher until the first stage ends.
func (r *fetch) settle(n *graph.Node, id, lo, hi int) {
	v, f := &r.e.plan.values[id], r.frame
	if !v.static && !r.e.direct {
		return
	}
	for s := lo; s < hi; s++ {
		switch {
		case f.errs[s] != nil && v.static:
			continue
		case f.errs[s] != nil || !v.static && !v.keep:
			f.values[id][s].Data = nil
			continue
		case f.land(v, id, s):
			continue
		}
		if err := f.settle(v, id, s); err != nil {
			r.e.fail(f, s, n, err)
		}
	}
}

// fetch has the source read samples within the limits.
func (r *fetch) fetch(source reader.Source, ids []int64) (err error) {
	for s, id := range ids {
		size := r.frame.sizes[r.sample+s]
		if len(r.e.sources) > 1 {
			size = source.Size(id)
		}
		if err := r.e.config.Limits.CheckBytes("a file", size); err != nil {
			return err
		}
	}
	ctx := r.frame.ctx
	start := r.e.allow(r.block.Binding())
	if !start.IsZero() {
		limited, cancel := context.WithDeadline(ctx, r.block.Binding().Deadline)
		defer cancel()
		ctx = limited
	}
	defer func() {
		if over := r.e.overdue(start, len(ids)); over != nil && r.frame.ctx.Err() == nil {
			clear(r.block.Binding().Errors) // which say that the context ended
			err = over
		}
	}()
	defer recovered(&err)
	return source.Fetch(ctx, ids, &r.block)
}

// Output implements op.Memory: fetched bytes lie in recycled buffers, or where the frame keeps
// them.
func (r *fetch) Output(i, s, size int) []byte {
	r.e.checkSize("an output", size)
	id := r.first + i
	if r.e.usage != nil {
		r.e.used(r.frame, id, size)
	}
	if v := &r.e.plan.values[id]; v.static {
		if err := r.frame.claim(v, id, r.sample+s, size); err != nil {
			panic(&errs.Error{Kind: errs.Exhausted, Err: err})
		}
		return r.frame.memory(v, id, r.sample+s, size)
	}
	if r.e.direct {
		if p := r.frame.place(id, r.sample+s); len(p) == size && r.e.plan.values[id].fits(p) {
			return p
		}
		return r.temporary(size)
	}
	b := r.e.memory.get(size)
	r.frame.loans[r.sample+s] = append(r.frame.loans[r.sample+s], loan{buffer: b})
	return b
}

// Scratch implements op.Memory. If the executor is direct, outputs that have no place in a frame
// yet lie there too.
func (r *fetch) Scratch(size int) []byte { return r.temporary(size) }

// settleFetched ends the first stage of a sample. It moves values that are needed later into the
// frame and recycles the memory that they were fetched into.
func (e *Executor) settleFetched(f *Frame, s int) {
	if f.stage > 0 || len(f.loans[s]) == 0 {
		return
	}
	for _, n := range e.plan.readers {
		for o := range n.Specs {
			id := e.plan.first[n.Index] + o
			v := &e.plan.values[id]
			if v.static {
				continue
			}
			if v.keep && f.errs[s] == nil && !f.cancelled.Load() {
				if err := f.settle(v, id, s); err != nil {
					e.fail(f, s, n, err)
				}
			} else {
				f.values[id][s].Data = nil
			}
		}
	}
	var bytes int64
	for i, l := range f.loans[s] {
		bytes += l.bytes
		e.memory.put(l.buffer)
		f.loans[s][i] = loan{}
	}
	f.loans[s] = f.loans[s][:0]
	e.budget.Release(bytes)
}
