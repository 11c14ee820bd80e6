package exec

import (
	"fmt"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// allow starts the time that the limits give the samples of a block. Without a limit it returns the
// zero Time.
func (e *Executor) allow(b *op.Binding) (start time.Time) {
	if e.config.Limits.MaxTime == 0 {
		return start
	}
	start = time.Now()
	b.Deadline = start.Add(e.config.Limits.MaxTime * time.Duration(len(b.Positions)))
	return start
}

// overdue returns an error when n samples that were begun at start took longer than allowed.
func (e *Executor) overdue(start time.Time, n int) error {
	if start.IsZero() {
		return nil
	}
	return e.config.Limits.CheckTime(time.Since(start), n)
}

// checkFed fails the samples that came from outside and exceed the limits.
func (e *Executor) checkFed(f *Frame) {
	for i, n := range e.plan.fed {
		for o := range n.Specs {
			samples := f.values[f.fed[i]+o]
			for s := range min(f.Len(), len(samples)) {
				if size := int64(len(samples[s].Data)); size > e.config.Limits.MaxBytes {
					f.failed.Store(true)
					e.fail(f, s, n, e.config.Limits.CheckBytes("a sample "+samples[s].DType.String()+samples[s].Shape.String(), size))
				}
			}
		}
	}
}

// doing is a worker's present task.
type doing struct {
	node     *graph.Node
	position int64 // of the first of samples
	samples  int
	start    time.Time
	told     bool // by the goroutine that waits
}

// begin notes what w does from start on, if its time is watched.
func (w *worker) begin(r *run, s int, start time.Time) {
	if start.IsZero() || w.e.config.Overdue == nil {
		return
	}
	b := r.block.Binding()
	w.doing.Store(&doing{node: r.node, position: w.frame.Positions[r.selected.sample(s)], samples: len(b.Positions),
		start: start})
}

// watch returns a channel that ticks when operators should be checked for taking too long, and a
// function that stops it.
func (e *Executor) watch() (tick <-chan time.Time, stop func()) {
	if e.config.Limits.MaxTime == 0 || e.config.Overdue == nil {
		return nil, func() {}
	}
	t := time.NewTicker(e.config.Limits.MaxTime)
	return t.C, t.Stop
}

// tellOverdue tells of each operator that takes too long, once.
func (e *Executor) tellOverdue() {
	for _, w := range e.workers {
		d := (*doing)(nil)
		if w != nil {
			d = w.doing.Load()
		}
		if d == nil || d.told {
			continue
		}
		if err := e.overdue(d.start, d.samples); err != nil {
			d.told = true
			e.config.Overdue(errs.Wrap(d.node.Schema.FullName(),
				fmt.Sprintf("node %s, position %d, still under way", d.node.Name, d.position), err))
		}
	}
}
