package exec

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Where outputs are taken, a frame does not keep them: each iteration writes the samples
// into memory of their own, which is the caller's for good. Nothing is gathered.

// Give has the samples of output i written to samples, one for each of the frame, whose
// shapes lie in what memory they have. It is called between Begin and Start; where it is not, the
// frame makes samples.
func (f *Frame) Give(i int, samples []tensor.Tensor) { f.values[f.e.plan.outputs[i]] = samples }

// provide sets aside what the delivered values of the frame need.
func (f *Frame) provide() {
	n := f.Len()
	for _, id := range f.e.plan.outputs {
		v := &f.e.plan.values[id]
		if v.fed {
			continue
		}
		if f.values[id] == nil {
			f.values[id] = newSamples(n, len(v.spec.Shape))
		}
		if v.static && len(f.slabs[id]) != n*v.size && f.over.Load() == nil {
			f.slabs[id] = f.e.allocate(n * v.size)
		}
	}
}

// newSamples returns n samples with room for shapes of ndim axes.
func newSamples(n, ndim int) []tensor.Tensor {
	samples := make([]tensor.Tensor, n)
	if ndim > 0 {
		shapes := make([]int, n*ndim)
		for s := range samples {
			samples[s].Shape = shapes[s*ndim : s*ndim : (s+1)*ndim]
		}
	}
	return samples
}

// allocate returns memory for outputs.
func (e *Executor) allocate(n int) []byte {
	if e.config.Allocate != nil && n > 0 {
		return e.config.Allocate(n)
	}
	return aligned(n)
}

// Take returns the samples of output i of a frame that succeeded, with their memory,
// and whether they lie one behind the other in one piece of it. Both are the caller's.
func (f *Frame) Take(i int) (samples []tensor.Tensor, slab []byte) {
	id := f.e.plan.outputs[i]
	samples, slab = f.values[id][:f.Len()], f.slabs[id]
	f.values[id], f.slabs[id] = nil, nil
	clear(f.own[id])
	return samples, slab
}

// release drops what the frame and, when no other is under way, the workers still know of
// samples that are not theirs.
func (e *Executor) release(f *Frame) {
	if e.underWay == 0 {
		for _, w := range e.workers {
			w.release()
		}
	}
	for _, id := range f.fed {
		f.values[id] = nil
	}
	for _, id := range e.plan.outputs {
		f.values[id] = nil
	}
}

// release drops the samples of the last block.
func (w *worker) release() {
	if w == nil {
		return
	}
	for i := range w.runs {
		r := &w.runs[i]
		for _, p := range r.imports {
			*p.tensors = nil
		}
		for _, p := range r.exports {
			*p.tensors = nil
		}
	}
}

var _ op.Memory = (*run)(nil)
