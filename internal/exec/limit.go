package exec

import (
	"time"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// allow gives the samples of a block the time that the limits allow, from now on. Without a limit
// it returns the zero Time.
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

// checkFed fails the samples that came from outside and are beyond the limits.
func (e *Executor) checkFed(f *Frame) {
	for i, n := range e.plan.fed {
		for o := range n.Specs {
			samples := f.values[f.fed[i]+o]
			for s := range min(f.Len(), len(samples)) {
				if size := int64(len(samples[s].Data)); size > e.config.Limits.MaxBytes {
					f.failed.Store(true)
					e.fail(f, s, n, e.config.Limits.CheckBytes("a sample "+samples[s].DType.String()+tensor.Shape(samples[s].Shape).String(), size))
				}
			}
		}
	}
}
