package exec

import (
	"slices"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// If outputs are taken, a frame does not keep them. Each iteration writes the samples into new
// memory, which then belongs to the caller. Nothing is gathered.
//
// Otherwise the caller may detach the memory of an output. The next iteration takes other memory.

// Give makes the frame write output i to samples, one tensor for each sample of the frame. Their
// shapes are written into the memory that the shapes already have. Call Give between Begin and
// Start; otherwise the frame makes the samples itself.
func (f *Frame) Give(i int, samples []tensor.Tensor) { f.values[f.e.plan.outputs[i]] = samples }

// provide sets aside the memory that the delivered values of the frame need and do not have.
func (f *Frame) provide() {
	n := f.Len()
	if !f.e.config.Take && n > 0 {
		n = f.e.config.BatchSize
	}
	for _, id := range f.e.plan.outputs {
		v := &f.e.plan.values[id]
		if v.fed {
			continue
		}
		if f.e.config.Take && f.values[id] == nil {
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

// Detach returns the data of output i, in memory that belongs to the caller from then on. The batch
// has no data any more. Call it after Wait, before Begin.
func (f *Frame) Detach(i int) []byte {
	b, id := f.Outputs[i], f.e.plan.outputs[i]
	data := b.Data
	b.Data, f.slabs[id], f.lent[i] = nil, nil, false
	return data
}

// passOn makes the memory that was lent with samples the batch of output i, if the output delivers
// these samples. A second output of them has memory of its own.
func (f *Frame) passOn(i, id int) bool {
	whole := f.whole[id]
	if whole == nil || f.losses.Load() || slices.Contains(f.e.plan.outputs[:i], id) {
		f.handBack(i)
		return false
	}
	v, b := &f.e.plan.values[id], f.Outputs[i]
	samples := f.values[id][:f.Len()]
	ndim, layout := len(v.spec.Shape), v.spec.Layout
	if len(samples) > 0 {
		ndim, layout = len(samples[0].Shape), v.layout(samples[0])
	}
	if !f.lent[i] {
		f.e.free(b.Data)
	}
	b.Reset(v.spec.DType, ndim, layout)
	b.Data, f.lent[i] = whole, true
	end := 0
	for s := range samples {
		end += len(samples[s].Data)
		b.Offsets, b.Dims = append(b.Offsets, end), append(b.Dims, samples[s].Shape...)
	}
	return true
}

// Lent reports whether the batch of output i lies in memory that was lent, and by which input.
func (f *Frame) Lent(i int) (input int, lent bool) {
	if !f.lent[i] {
		return 0, false
	}
	id := f.e.plan.outputs[i]
	for input, node := range f.e.plan.fed {
		if first := f.fed[input]; id >= first && id < first+len(node.Specs) {
			return input, true
		}
	}
	return 0, false
}

// handBack lets go of memory that was lent, in which the batch of output i lies.
func (f *Frame) handBack(i int) {
	if f.lent[i] {
		f.Outputs[i].Data, f.lent[i] = nil, false
	}
}

// Drop gives the memory of the outputs back. The frame must have been abandoned, and is not used
// again.
func (f *Frame) Drop() {
	for i, id := range f.e.plan.outputs {
		b := f.Outputs[i]
		f.handBack(i)
		if f.e.plan.values[id].static {
			f.e.free(f.slabs[id])
		} else {
			f.e.free(b.Data)
		}
		b.Data, f.slabs[id] = nil, nil
	}
}

// room returns memory without data for n bytes: b if it is large enough.
func (e *Executor) room(b []byte, n int) []byte {
	if e.config.Allocate == nil || cap(b) >= n {
		return b[:0]
	}
	e.free(b)
	return e.allocate(n + n/8)[:0] // later samples may be larger
}

// free gives memory of outputs back.
func (e *Executor) free(b []byte) {
	if cap(b) > 0 && e.config.Free != nil {
		e.config.Free(b[:cap(b)])
	}
}

// Take returns the samples of output i of a frame that succeeded. If they lie one after the other
// in one block of memory, slab is this block. Both belong to the caller. A sample in memory of
// Config.Allocate has the capacity of this memory, so that it can be used again.
func (f *Frame) Take(i int) (samples []tensor.Tensor, slab []byte) {
	id := f.e.plan.outputs[i]
	samples, slab = f.values[id][:f.Len()], f.slabs[id]
	for s, own := range f.own[id] {
		if s < len(samples) && len(own) > 0 && same(own, samples[s].Data) {
			samples[s].Data = own[:len(samples[s].Data)] // a kernel may have cut the capacity
		}
	}
	f.values[id], f.slabs[id] = nil, nil
	clear(f.own[id])
	return samples, slab
}

// release drops the references of the frame to samples that belong to others. If no other frame is
// under way, it also drops the workers' references.
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
