package exec

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// NodeStats counts the work of a node since the executor was made.
type NodeStats struct {
	Name    string
	Reader  bool
	Samples int64         // that were timed
	Time    time.Duration // of all workers; if samples go one by one, the first of each block stands for the whole block
	Outputs []MemoryStats
}

// MemoryStats is the memory of an output, in bytes.
type MemoryStats struct {
	Batch          int64 // the largest batch
	Sample         int64 // the largest sample
	Reserved       int64 // set aside for batches in all frames; for values that never leave a worker, in all workers
	ReservedSample int64 // the most that is set aside for a sample
}

// clock counts the time of a node in one worker; only this worker writes it.
type clock struct {
	samples, nanos atomic.Int64
	_              [112]byte // keeps the clocks of two workers apart
}

func (c *clock) add(samples int, d time.Duration) {
	c.samples.Add(int64(samples))
	c.nanos.Add(int64(d))
}

// usage is the memory of a value.
type usage struct{ batch, sample, reserved, reservedSample atomic.Int64 }

// most raises v to n.
func most(v *atomic.Int64, n int64) {
	for {
		old := v.Load()
		if n <= old || v.CompareAndSwap(old, n) {
			return
		}
	}
}

// used notes a sample of a value in a frame.
func (e *Executor) used(f *Frame, id, size int) {
	u := &e.usage[id]
	most(&u.sample, int64(size))
	f.bytes[id].Add(int64(size))
	if !e.plan.values[id].frame {
		most(&u.reservedSample, int64(size))
	}
}

// reserved notes memory of a frame for a sample of a value. It replaces before bytes.
func (e *Executor) reserved(id, size, before int) {
	e.usage[id].reserved.Add(int64(size - before))
	most(&e.usage[id].reservedSample, int64(size))
}

// tally ends the count of a frame's bytes.
func (e *Executor) tally(f *Frame) {
	for id := range f.bytes {
		most(&e.usage[id].batch, f.bytes[id].Swap(0))
	}
}

// Stats returns what each node has done. It is safe for concurrent use.
func (e *Executor) Stats() []NodeStats {
	list := make([]NodeStats, 0, len(e.plan.graph.Nodes))
	for _, n := range e.plan.graph.Nodes {
		s := NodeStats{Name: n.Name, Reader: n.Reader != nil}
		for _, w := range e.workers {
			if w == nil {
				continue
			}
			s.count(&w.runs[n.Index].clock)
		}
		if r := slices.Index(e.plan.readers, n); r >= 0 {
			for _, f := range e.fetchers {
				s.count(&f.reads[r].clock)
			}
		}
		for o := range n.Specs {
			s.Outputs = append(s.Outputs, e.memoryOf(e.plan.first[n.Index]+o))
		}
		list = append(list, s)
	}
	return list
}

func (s *NodeStats) count(c *clock) {
	s.Samples += c.samples.Load()
	s.Time += time.Duration(c.nanos.Load())
}

func (e *Executor) memoryOf(id int) MemoryStats {
	if e.usage == nil {
		return MemoryStats{}
	}
	u := &e.usage[id]
	m := MemoryStats{Batch: u.batch.Load(), Sample: u.sample.Load(), Reserved: u.reserved.Load(),
		ReservedSample: u.reservedSample.Load()}
	if !e.plan.values[id].frame {
		m.Reserved = m.ReservedSample * int64(len(e.workers))
	}
	return m
}

// hint returns how many bytes a sample of an output is expected to take: the node's own hint, or
// else all.
func hint(n *graph.Node, output, all int) int {
	const param = "bytes_per_sample_hint"
	if hints := op.Get[[]int](n.Config, param); n.Config.Given(param) && len(hints) > 0 {
		all = hints[min(output, len(hints)-1)]
	}
	return max(0, all)
}
