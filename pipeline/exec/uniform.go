package exec

import (
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/tensor"
)

// The samples of an output whose size is not known before often have one size all the same: images
// that were resized, for example. If they had it in the last batches, the next batch is laid out
// for this size, and operators write the samples to their places. A batch with a sample of another
// size is gathered from all samples, as if nothing had been foretold.

// uniform is what earlier batches tell about the size of the samples of an output.
type uniform struct {
	mu    sync.Mutex
	size  int // bytes of each sample of the last batch
	times int // batches in a row that had it
}

// enough is how many batches in a row foretell the size of the next one.
const enough = 2

// foretold returns the bytes that each sample of the next batch takes, or 0 if that is not known.
func (u *uniform) foretold() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.times < enough {
		return 0
	}
	return u.size
}

// learn notes the samples of a batch that was gathered.
func (u *uniform) learn(samples []tensor.Tensor) {
	if len(samples) == 0 {
		return
	}
	size := len(samples[0].Data)
	same := !slices.ContainsFunc(samples, func(t tensor.Tensor) bool { return len(t.Data) != size })
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case !same:
		u.times = 0
	case u.times > 0 && u.size == size:
		u.times++
	default:
		u.size, u.times = size, 1
	}
}

// foretells decides which outputs are laid out for samples of one size.
func (e *Executor) foretells() {
	p := e.plan
	for i := range p.values {
		p.values[i].uniform = -1
	}
	if e.config.Take || e.shares.total > 0 || e.usage != nil {
		return
	}
	e.uniform = make([]uniform, len(p.outputs))
	times := make([]int, len(p.values)) // that a value is delivered
	for _, id := range p.outputs {
		times[id]++
	}
	for i, id := range p.outputs {
		if v := &p.values[id]; v.gathered && !v.read && !v.fed && !v.partial && times[id] == 1 {
			v.uniform = i
		}
	}
}

// layUniform lays out the batches of a frame whose samples probably have one size.
func (f *Frame) layUniform() {
	for i, id := range f.e.plan.outputs {
		if f.e.plan.values[id].uniform != i {
			continue
		}
		size := f.e.uniform[i].foretold()
		f.sample[i] = size
		if size == 0 {
			continue
		}
		b, n := f.Outputs[i], f.Len()*size
		if cap(b.Data) < n {
			f.e.free(b.Data)
			b.Data = f.e.allocate(n)
		}
		b.Data = b.Data[:n]
		clear(f.own[id])
	}
}

// uniformPlace returns the place of sample s of a value in its batch, if the sample has the size
// that was foretold.
func (f *Frame) uniformPlace(v *value, s, size int) []byte {
	if v.uniform < 0 || size == 0 || f.sample[v.uniform] != size {
		return nil
	}
	return f.Outputs[v.uniform].Data[s*size : (s+1)*size : (s+1)*size]
}

// inUniformPlace completes the batch of output i, unless a sample is not in its place.
func (f *Frame) inUniformPlace(i int, v *value, id int) bool {
	samples := f.values[id][:f.Len()]
	if v.uniform != i || f.sample[i] == 0 || len(samples) == 0 || f.losses.Load() {
		return false
	}
	ndim := len(samples[0].Shape)
	for s := range samples {
		t := &samples[s]
		p := f.uniformPlace(v, s, len(t.Data))
		if p == nil || !same(p, t.Data) || t.DType != v.spec.DType || len(t.Shape) != ndim || t.Check() != nil {
			return false
		}
	}
	b := f.Outputs[i]
	data := b.Data
	b.Reset(v.spec.DType, ndim, v.layout(samples[0]))
	b.Data = data
	for s := range samples {
		b.Offsets, b.Dims = append(b.Offsets, (s+1)*f.sample[i]), append(b.Dims, samples[s].Shape...)
	}
	return true
}

// leaveUniform takes the memory that was laid out away from output i, which is gathered. The caller
// gives it back when no sample lies there any more.
func (f *Frame) leaveUniform(i int) (data []byte) {
	if f.sample[i] == 0 {
		return nil
	}
	data, f.Outputs[i].Data, f.sample[i] = f.Outputs[i].Data, nil, 0
	return data
}
