package exec

import (
	"sync/atomic"
	"unsafe"

	"github.com/bivouac-ml/bivouac/tensor"
)

// If no operator works on single samples, fetched samples go straight into the frame, and the
// fetchers do without the workers. The executor is direct then.
//
// The batch of an output whose samples differ in size is laid out before they are read, where their
// sizes can be foretold: a sample is its source's Size without the same few bytes of framing each
// time. A source that asks for as much memory as the sample is long gets the place in the batch.
// Otherwise it reads into the memory of its fetcher, which stays in the cache, and the sample is
// copied to its place. A batch with a sample of another size is gathered from all samples, as if
// nothing had been foretold.

// learned is what earlier frames tell about the samples of an output.
type learned struct {
	known  atomic.Bool  // Size foretells how long a sample is
	excess atomic.Int64 // bytes by which the Size of each exceeds the sample
	bytes  atomic.Int64 // of the last batch
}

// places are where the samples of an output go in its batch.
type places struct {
	ends  []int  // the end of each sample; empty: they are not laid out
	spare []byte // memory for a batch that is gathered although it was laid out
}

// mostLaid is the size of a batch that is laid out even if the one before was much smaller. Sizes
// are estimates: no memory is taken for wild ones.
const mostLaid = 1 << 20

// directs decides whether the executor is direct.
func (e *Executor) directs() {
	p := e.plan
	e.direct = len(e.sources) > 0 && len(p.stages[0]) == 0 && !e.config.Take && e.shares.total == 0 && e.usage == nil
	for i := range p.values {
		p.values[i].output = -1
	}
	if !e.direct {
		return
	}
	e.learned = make([]learned, len(p.outputs))
	if len(e.sources) > 1 {
		return // Size is of all readers together
	}
	for i, id := range p.outputs {
		v := &p.values[id]
		if v.delivered++; v.read && v.gathered && !v.partial && v.delivered == 1 {
			v.output = i
		} else {
			v.output = -1
		}
	}
}

// lay lays out the batches of a frame whose sizes are known.
func (e *Executor) lay(f *Frame) {
	for _, id := range e.plan.outputs {
		i := e.plan.values[id].output
		if i < 0 || len(f.places) == 0 {
			continue
		}
		l, p := &e.learned[i], &f.places[i]
		p.ends = p.ends[:0]
		if !l.known.Load() {
			continue
		}
		end, excess, most := int64(0), l.excess.Load(), max(mostLaid, 4*l.bytes.Load())
		for _, size := range f.sizes {
			if size < excess || size-excess > most-end {
				p.ends = p.ends[:0]
				break
			}
			end += size - excess
			p.ends = append(p.ends, int(end))
		}
		if len(p.ends) == 0 {
			continue
		}
		b := f.Outputs[i]
		if int64(cap(b.Data)) < end {
			b.Data = aligned(int(end + end/8))
		}
		b.Data = b.Data[:end]
	}
}

// place returns the place of sample s of a value in its batch, or nil.
func (f *Frame) place(id, s int) []byte {
	i := f.e.plan.values[id].output
	if i < 0 || len(f.places[i].ends) == 0 {
		return nil
	}
	from, to := 0, f.places[i].ends[s]
	if s > 0 {
		from = f.places[i].ends[s-1]
	}
	return f.Outputs[i].Data[from:to:to]
}

// fits reports whether a source can write elements of the value to p.
func (v *value) fits(p []byte) bool {
	return v.spec.DType.Size() == 1 || uintptr(unsafe.Pointer(unsafe.SliceData(p)))%8 == 0
}

// land moves sample s of a value to its place in the batch. It reports whether the sample is there.
func (f *Frame) land(v *value, id, s int) bool {
	t := &f.values[id][s]
	p := f.place(id, s)
	if p == nil || len(p) != len(t.Data) || t.DType != v.spec.DType {
		return false
	}
	if !same(p, t.Data) {
		copy(p, t.Data)
		t.Data = p
	}
	return true
}

// inPlace completes the batch of output i, unless a sample is not in its place.
func (f *Frame) inPlace(i int, v *value, id int) bool {
	if v.output < 0 || len(f.places) == 0 || len(f.places[i].ends) == 0 || f.losses.Load() {
		return false
	}
	samples, ndim, layout := f.values[id][:f.Len()], len(v.spec.Shape), v.spec.Layout
	if len(samples) > 0 {
		ndim, layout = len(samples[0].Shape), v.layout(samples[0])
	}
	for s := range samples {
		t := &samples[s]
		p := f.place(id, s)
		if t.DType != v.spec.DType || len(t.Shape) != ndim || len(t.Data) != len(p) || !same(p, t.Data) || t.Check() != nil {
			return false
		}
	}
	b := f.Outputs[i]
	data := b.Data
	b.Reset(v.spec.DType, ndim, layout)
	b.Data = data
	b.Offsets = append(b.Offsets, f.places[i].ends...)
	for s := range samples {
		b.Dims = append(b.Dims, samples[s].Shape...)
	}
	f.e.learned[i].bytes.Store(int64(len(data)))
	return true
}

// displace takes other memory for the batch of output i if samples may lie in the memory that was
// laid out.
func (f *Frame) displace(i int) {
	if len(f.places) == 0 || len(f.places[i].ends) == 0 {
		return
	}
	b, p := f.Outputs[i], &f.places[i]
	b.Data, p.spare = p.spare[:0], b.Data
	p.ends = p.ends[:0]
}

// learn notes how the sizes of the samples of output i, which was gathered, follow from the sizes
// that their source estimates.
func (f *Frame) learn(i int, samples []tensor.Tensor) {
	if f.e.plan.values[f.e.plan.outputs[i]].uniform == i && !f.losses.Load() {
		f.e.uniform[i].learn(samples)
	}
	if len(f.places) == 0 || f.e.plan.values[f.e.plan.outputs[i]].output != i || len(samples) == 0 || f.losses.Load() {
		return
	}
	l := &f.e.learned[i]
	excess, known := f.sizes[0]-int64(len(samples[0].Data)), true
	for s := range samples {
		known = known && f.sizes[s]-int64(len(samples[s].Data)) == excess
	}
	l.known.Store(known && excess >= 0)
	l.excess.Store(excess)
	l.bytes.Store(int64(len(f.Outputs[i].Data)))
}

// fetched ends the first stage of the samples lo to hi, which are in the frame.
func (e *Executor) fetched(f *Frame, lo, hi int) {
	done := int64(hi - lo)
	for s := lo; s < hi; s++ {
		if f.errs[s] != nil && e.excuse(f, s) {
			done--
		}
	}
	if done == 0 || f.pending.Add(-done) != 0 {
		return
	}
	if e.gathers(f) {
		e.cpu.Submit(task{frame: f})
		return
	}
	e.advance(f)
}

// gathers reports whether putting the frame together takes so long that a fetcher should go on
// meanwhile.
func (e *Executor) gathers(f *Frame) bool {
	const short = 256 << 10
	total := int64(0)
	for _, size := range f.sizes {
		total += size
	}
	if total < short {
		return false
	}
	for i, id := range e.plan.outputs {
		if v := &e.plan.values[id]; v.gathered && (v.output != i || len(f.places[i].ends) == 0) {
			return true
		}
	}
	return false
}
