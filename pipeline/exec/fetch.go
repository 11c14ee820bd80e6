package exec

import (
	"context"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// fetcher is an I/O goroutine's view of the readers.
type fetcher struct {
	e     *Executor
	reads []fetch
}

// fetch is a fetcher's use of one reader, and the memory of its block.
type fetch struct {
	e      *Executor
	block  op.Block
	local  any
	first  int // number of its first value
	frame  *Frame
	sample int
	clock  clock
}

func newFetcher(e *Executor) *fetcher {
	f := &fetcher{e: e, reads: make([]fetch, len(e.plan.readers))}
	for i, n := range e.plan.readers {
		r := &f.reads[i]
		r.e, r.first = e, e.plan.first[n.Index]
		b := r.block.Binding()
		b.Memory, b.Local, b.Specs, b.Out, b.Limits = r, &r.local, n.Specs, make([][]tensor.Tensor,
			len(n.Specs)), e.config.Limits
	}
	return f
}

// fetch reads a sample from all readers and passes it on to the workers.
func (f *fetcher) fetch(t task) {
	frame, s := t.frame, int(t.lo)
	// All at once: a goroutine that holds bytes of one reader while it waits for bytes of another
	// could wait forever.
	size := f.e.size(frame, s)
	if err := f.e.checkFetch(frame, s, size); err != nil {
		f.e.fail(frame, s, f.e.plan.readers[0], err)
	} else if f.e.budget.Acquire(size, frame.cancelled.Load) {
		frame.loans[s] = append(frame.loans[s], loan{bytes: size})
		f.read(frame, s)
	}
	f.e.cpu.Submit(t)
}

// size returns the bytes that a sample takes.
func (e *Executor) size(f *Frame, s int) (total int64) {
	for r, source := range e.sources {
		total += source.Size(f.IDs[r][s])
	}
	return total
}

func (f *fetcher) read(frame *Frame, s int) {
	for i, n := range f.e.plan.readers {
		if frame.errs[s] != nil {
			return
		}
		r := &f.reads[i]
		r.frame, r.sample = frame, s
		b := r.block.Binding()
		b.Positions, b.Slots = frame.Positions[s:s+1], frame.Slots[s:s+1]
		for o := range b.Out {
			b.Out[o] = frame.values[r.first+o][s : s+1]
		}
		start := f.e.now()
		if err := r.fetch(f.e.sources[i], frame.IDs[i][s:s+1]); err != nil {
			f.e.fail(frame, s, n, err)
		}
		if f.e.config.Timing {
			r.clock.add(1, time.Since(start))
		}
		for _, err := range b.Errors {
			f.e.fail(frame, s, n, err)
		}
		clear(b.Errors)
		for o := range b.Out {
			if v := &f.e.plan.values[r.first+o]; v.static && frame.errs[s] == nil {
				if err := frame.settle(v, r.first+o, s); err != nil {
					f.e.fail(frame, s, n, err)
				}
			}
		}
	}
}

// fetch has the source read a sample within the limits.
func (r *fetch) fetch(source reader.Source, ids []int64) (err error) {
	if err := r.e.config.Limits.CheckBytes("a file", source.Size(ids[0])); err != nil {
		return err
	}
	ctx := r.frame.ctx
	start := r.e.allow(r.block.Binding())
	if !start.IsZero() {
		limited, cancel := context.WithDeadline(ctx, r.block.Binding().Deadline)
		defer cancel()
		ctx = limited
	}
	defer func() {
		if over := r.e.overdue(start, 1); over != nil && r.frame.ctx.Err() == nil {
			clear(r.block.Binding().Errors) // which say that the context ended
			err = over
		}
	}()
	defer recovered(&err)
	return source.Fetch(ctx, ids, &r.block)
}

// Output implements op.Memory: fetched bytes lie in recycled buffers.
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
	b := r.e.memory.get(size)
	r.frame.loans[r.sample] = append(r.frame.loans[r.sample], loan{buffer: b})
	return b
}

// Scratch implements op.Memory.
func (r *fetch) Scratch(size int) []byte { return aligned(size) }

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
