package exec

import (
	"slices"

	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// replacements is how many samples are tried in place of one.
const replacements = 16

// excuse decides about a sample that failed in the current stage, by the policy of its reader.
// again is true if another sample takes its place and is already being fetched.
func (e *Executor) excuse(f *Frame, s int) (again bool) {
	r := f.blame[s]
	action := faults.Fail
	if r >= 0 && int(r) < len(e.config.OnError) {
		action = e.config.OnError[r]
	}
	again = action == faults.Replace && f.stage == 0 && len(f.faults[s]) < replacements
	if action == faults.Fail || action == faults.Replace && !again || f.cancelled.Load() || f.over.Load() != nil {
		f.failed.Store(true)
		return false
	}
	f.faults[s] = append(f.faults[s], faults.Fault{
		Position: f.Positions[s], Reader: e.plan.readers[r].Name, ID: f.IDs[r][s], Action: action, Reason: f.errs[s].Error(), Err: f.errs[s],
	})
	f.faulty.Store(true)
	f.errs[s] = nil
	if !again {
		f.lost[s] = action
		f.losses.Store(true)
		return false
	}
	f.IDs[r][s] = (f.IDs[r][s] + 1) % e.sources[r].Info().Samples
	f.sizes[s] = e.size(f, s)
	e.io.Submit(task{frame: f, lo: int32(s), hi: int32(s) + 1, bytes: f.sizes[s]})
	return true
}

// Faults returns the samples of the frame that were excused, in order. It is valid after Wait,
// until Abandon.
func (f *Frame) Faults() []faults.Fault {
	if !f.faulty.Load() {
		return nil
	}
	return slices.Concat(f.faults[:f.Len()]...)
}

// Skipped reports whether a sample is not in the outputs.
func (f *Frame) Skipped(s int) bool { return f.lost[s] == faults.Skip }

// forget clears all failures.
func (f *Frame) forget() {
	f.tolerance.reset()
	if f.failed.Load() {
		clear(f.errs)
	}
	if f.faulty.Load() {
		clear(f.faults)
		clear(f.lost)
	}
	f.over.Store(nil)
	f.refused = nil
	f.failed.Store(false)
	f.faulty.Store(false)
	f.losses.Store(false)
}

// compact removes the lost samples from output i, whose samples are static.
func (f *Frame) compact(b *tensor.Batch, slab []byte, size int) {
	kept := 0
	for s := range f.Len() {
		at := slab[s*size : (s+1)*size]
		switch f.lost[s] {
		case faults.Skip:
			continue
		case faults.Zero:
			clear(at)
		}
		if kept != s {
			copy(slab[kept*size:], at)
		}
		kept++
	}
	b.Data = slab[:kept*size]
	b.Offsets, b.Dims = b.Offsets[:kept+1], b.Dims[:kept*b.NDim]
}

// nothing returns a sample of zeros. If the size is not known, the sample has no elements.
func nothing(spec tensor.Spec, ndim int) tensor.Tensor {
	shape := make([]int, ndim)
	for d := range shape {
		if d < len(spec.Shape) {
			shape[d] = max(0, spec.Shape[d])
		}
	}
	t := tensor.New(spec.DType, shape...)
	t.Layout = spec.Layout
	return t
}
