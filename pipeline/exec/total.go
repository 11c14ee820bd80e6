package exec

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// This file keeps what a graph needs at once below Limits.MaxTotalBytes. The total is cut into
// equal parts: one for each frame that may be under way or in use, and one that workers and
// fetchers halve. A frame that needs more than its part fails. So only its data decides, not the
// workers and not the frames beside it. Nothing waits for memory, and no order changes.

// shares are the parts of the total, in bytes. Without a limit total is 0.
type shares struct {
	total    int64
	inFlight int
	frame    int64 // of each frame
	worker   int64 // of each worker, for one sample
	fetch    int64 // of all fetchers
}

func newShares(c *Config) (s shares) {
	total := c.Limits.MaxTotalBytes
	if total <= 0 {
		return s
	}
	s.inFlight = max(1, c.InFlight)
	s = shares{total: total, inFlight: s.inFlight, frame: total / int64(s.inFlight+1)}
	s.worker, s.fetch = s.frame/2/int64(max(1, c.Workers)), s.frame/2
	return s
}

// excess is the reason why a frame needs more than its part.
type excess struct{ err error }

// open claims the memory that the frame needs for any data, and drops kept memory that exceeds the
// part.
func (e *Executor) open(f *Frame) {
	if e.shares.total == 0 {
		return
	}
	f.taken.Store(0)
	kept := int64(0)
	for id, own := range f.own {
		clear(f.claimed[id])
		for _, b := range own {
			kept += int64(cap(b))
		}
	}
	for _, b := range f.Outputs {
		kept += int64(cap(b.Data))
	}
	if kept > e.shares.frame {
		for id := range f.own {
			clear(f.own[id])
		}
		for i, b := range f.Outputs {
			if !e.plan.values[e.plan.outputs[i]].static {
				e.free(b.Data)
				b.Data = nil
			}
		}
	}
	if f.Len() == 0 {
		return
	}
	if n, need := e.fixed(f.Len()); need > e.shares.frame {
		f.exceed(0, n, need)
	}
	for i, n := range e.plan.fed {
		for o := range n.Specs {
			samples := f.values[f.fed[i]+o]
			for s := range min(f.Len(), len(samples)) {
				if f.taken.Add(int64(len(samples[s].Data))) > e.shares.frame {
					f.exceed(s, n, f.taken.Load())
				}
			}
		}
	}
}

// fixed returns the bytes that n samples of values with a known size take, and the node with the
// largest value.
func (e *Executor) fixed(n int) (largest *graph.Node, bytes int64) {
	if !e.config.Take {
		n = e.config.BatchSize // a frame keeps it
	}
	most := -1
	for id, v := range e.plan.values {
		if v.frame && v.static && !v.fed {
			bytes += int64(n) * int64(v.size)
			if v.size > most {
				most, largest = v.size, e.plan.node(id)
			}
		}
	}
	return largest, bytes
}

// node returns the node that makes a value.
func (p *plan) node(id int) *graph.Node {
	for i := len(p.first) - 1; ; i-- {
		if p.first[i] <= id {
			return p.graph.Nodes[i]
		}
	}
}

// claim adds size bytes for sample s of a value to what the frame needs, before they are taken.
func (f *Frame) claim(v *value, id, s, size int) error {
	if f.e.shares.total == 0 {
		return nil
	}
	if over := f.over.Load(); over != nil {
		return over.err
	}
	if v.static && size == v.size {
		return nil // open claimed it
	}
	more := int64(size - f.claimed[id][s])
	if more <= 0 {
		return nil
	}
	f.claimed[id][s] = size
	if v.gathered {
		more *= 2 // the batch is a copy
	}
	if need := f.taken.Add(more); need > f.e.shares.frame {
		return f.exceed(s, f.e.plan.node(id), need)
	}
	return nil
}

// exceed fails the whole frame under every policy. Policies are for samples, and here the order of
// computing would decide which sample fails.
func (f *Frame) exceed(s int, n *graph.Node, need int64) error {
	h := &f.e.shares
	return f.refuse(s, n, &errs.Error{Kind: errs.Exhausted,
		Want: fmt.Sprintf("at most %d bytes a batch (one of %d parts of Options.Limits.MaxTotalBytes, %d)", h.frame,
			h.inFlight+1, h.total),
		Got:    fmt.Sprintf("%s that needs %d bytes or more", f.name(), need),
		Remedy: "raise Options.Limits.MaxTotalBytes, or lower the batch size or the prefetch depth"})
}

// refuse makes err, of node n at sample s, the error of the frame unless there is one.
func (f *Frame) refuse(s int, n *graph.Node, err error) error {
	f.over.CompareAndSwap(nil, &excess{f.e.named(f, s, n, err)})
	f.failed.Store(true)
	return f.over.Load().err
}

// name says which batch the frame is.
func (f *Frame) name() string {
	if f.e.config.Take {
		return fmt.Sprintf("a batch of %d samples", f.Len())
	}
	return fmt.Sprintf("the batch of %d samples from position %d", f.Len(), f.Positions[0])
}

// claim panics with an error when the worker's memory for one sample would be larger than its part.
// For several samples together the error decides nothing: they are tried one by one.
func (r *run) claim(size int) {
	w, h := r.w, &r.w.e.shares
	if h.total == 0 {
		return
	}
	need := int64(w.arena.used + w.arena.spill + w.scratch.used + w.scratch.spill + size)
	if need <= h.worker {
		return
	}
	err := error(&errs.Error{Kind: errs.Exhausted,
		Want:   fmt.Sprintf("at most %d bytes of working memory for each of %d threads (from Options.Limits.MaxTotalBytes, %d)", h.worker, max(1, w.e.config.Workers), h.total),
		Got:    fmt.Sprintf("%d bytes, in %s", need, w.frame.name()),
		Remedy: "raise Options.Limits.MaxTotalBytes, or lower the number of threads"})
	if !r.trying {
		err = w.frame.refuse(w.sample, r.node, err)
	}
	panic(&errs.Error{Kind: errs.Exhausted, Err: err})
}

// readAhead returns how many bytes fetched samples may take. Buffers are up to twice as large.
func (e *Executor) readAhead() int64 {
	if e.shares.total == 0 {
		return e.config.ReadAhead
	}
	return min(e.config.ReadAhead, max(1, e.shares.fetch/2))
}

// checkFetch refuses a frame with a sample that takes more than the fetchers' part.
func (e *Executor) checkFetch(f *Frame, s int, size int64) error {
	h := &e.shares
	if h.total == 0 || size <= h.fetch/2 {
		return nil
	}
	return f.refuse(s, e.plan.readers[0], &errs.Error{Kind: errs.Exhausted,
		Want:   fmt.Sprintf("at most %d bytes read for a sample (from Options.Limits.MaxTotalBytes, %d)", h.fetch/2, h.total),
		Got:    fmt.Sprintf("%d bytes, in %s", size, f.name()),
		Remedy: "raise Options.Limits.MaxTotalBytes, or lower the prefetch depth"})
}
