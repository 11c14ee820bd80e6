package exec

import (
	"context"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Frame is one iteration in flight: its samples, the memory of its batch-wide values and its
// progress. Frames are reused.
type Frame struct {
	// Positions are the stream positions of the samples. The engine sets them, Slots
	// and IDs, between Begin and Executor.Start.
	Positions []int64
	// Slots are the places of the samples in the whole batch, over all ranks.
	Slots []int32
	// IDs are the samples to fetch, for each reader of the graph.
	IDs [][]int64
	// Outputs are the delivered values; valid after Wait, until Begin.
	Outputs []*tensor.Batch

	fed     []int                  // numbers of the first values of the inputs of the graph
	whole   [][]byte               // [value]: memory in which the samples that were fed lie back to back, or nil
	lent    []bool                 // of each output: its batch lies in such memory
	values  [][]tensor.Tensor      // of the values that live in frames: [value][sample]
	slabs   [][]byte               // of the static ones
	sample  []int                  // of each output: bytes of a sample, if its batch is laid out for samples of one size
	own     [][][]byte             // of the others: [value][sample]
	bytes   []atomic.Int64         // of each value in this iteration, when memory is counted
	claimed [][]int                // [value][sample]: bytes claimed in this iteration, where there is a total
	taken   atomic.Int64           // bytes claimed, all together
	over    atomic.Pointer[excess] // why the frame is refused, or nil
	e       *Executor
	loans   [][]loan // the I/O memory that each sample holds
	sizes   []int64  // of the samples, as their sources estimate them
	places  []places // of the outputs, if the executor is direct
	tasks   []task

	ctx       context.Context
	cancel    context.CancelFunc
	stage     int
	pending   atomic.Int64 // samples of the stage that are not done; 1 for a batch-level one
	cancelled atomic.Bool
	failed    atomic.Bool
	errs      []error          // of samples
	blame     []int16          // of samples with an error, the reader that they came from, or -1
	faults    [][]faults.Fault // of samples, those that were excused
	faulty    atomic.Bool      // there are some
	lost      []faults.Action  // of samples: Skip and Zero take no part any more
	losses    atomic.Bool      // there are some
	tolerance tolerance
	err       error        // of the whole
	work      atomic.Int64 // nanoseconds of workers
	inline    bool
	started   bool
	finished  bool
	done      chan struct{}
	counted   []counting // of the counted nodes
	// Of frames that follow each other, under the executor's chain:
	prev, heir *Frame // the frame that this one waits for, and the frame that waits for it
	parked     bool   // it is started, and not begun
	concluded  bool
	recall     [][]byte // what kernels remember before it, if no frame is before it
	remembered [][]byte // and after it
	refused    error    // why a kernel did not take that
}

// loan is memory of a fetched file.
type loan struct {
	buffer []byte
	bytes  int64 // of the budget
}

// task is a range of samples of a frame.
type task struct {
	frame  *Frame
	lo, hi int32
	bytes  int64 // that the samples take, for fetchers
}

// NewFrame returns a frame for up to the executor's batch size.
func (e *Executor) NewFrame() *Frame {
	p, n := e.plan, e.config.BatchSize
	f := &Frame{
		e:         e,
		Positions: make([]int64, 0, n),
		Slots:     make([]int32, 0, n),
		IDs:       make([][]int64, len(p.readers)),
		values:    make([][]tensor.Tensor, len(p.values)),
		whole:     make([][]byte, len(p.values)),
		lent:      make([]bool, len(p.outputs)),
		slabs:     make([][]byte, len(p.values)),
		sample:    make([]int, len(p.outputs)),
		own:       make([][][]byte, len(p.values)),
		loans:     make([][]loan, n),
		sizes:     make([]int64, n),
		places:    make([]places, len(e.learned)),
		tasks:     make([]task, 0, n),
		errs:      make([]error, n),
		blame:     make([]int16, n),
		faults:    make([][]faults.Fault, n),
		lost:      make([]faults.Action, n),
		done:      make(chan struct{}, 1),
	}
	f.tolerance.begin(p.graph, n)
	for range p.counted {
		f.counted = append(f.counted, counting{positions: make([]int64, n), slots: make([]int32, n)})
	}
	for i := range f.IDs {
		f.IDs[i] = make([]int64, 0, n)
	}
	for _, node := range p.fed {
		f.fed = append(f.fed, p.first[node.Index])
	}
	_, fixed := e.fixed(n)
	tooLarge := e.shares.total > 0 && fixed > e.shares.frame // each iteration is refused
	if e.shares.total > 0 {
		f.claimed = make([][]int, len(p.values))
	}
	delivered := make([]bool, len(p.values))
	for _, id := range p.outputs {
		delivered[id] = true
	}
	for i, v := range p.values {
		if !v.frame || v.fed {
			continue
		}
		if f.claimed != nil {
			f.claimed[i] = make([]int, n)
		}
		if e.config.Take && delivered[i] {
			f.own[i] = make([][]byte, n) // the rest is new for each iteration
			continue
		}
		f.values[i] = make([]tensor.Tensor, n)
		size := v.size
		if v.static {
			if !tooLarge && delivered[i] {
				f.slabs[i] = e.allocate(n * v.size)
			} else if !tooLarge {
				f.slabs[i] = aligned(n * v.size)
			}
		} else {
			size = v.hint
			f.own[i] = make([][]byte, n)
			for s := range f.own[i] {
				if f.claimed != nil {
					break // memory is taken when it was claimed
				}
				f.own[i][s] = aligned(v.hint)
			}
		}
		if e.usage != nil {
			for range n {
				e.reserved(i, size, 0)
			}
		}
	}
	if e.usage != nil {
		f.bytes = make([]atomic.Int64, len(p.values))
	}
	for _, id := range p.outputs {
		if e.config.Take {
			break
		}
		f.Outputs = append(f.Outputs, newOutput(p.values[id], f.slabs[id], n))
	}
	return f
}

// newOutput returns the batch of a delivered value. The batch of a static value is laid out once.
func newOutput(v value, slab []byte, n int) *tensor.Batch {
	b := &tensor.Batch{DType: v.spec.DType, NDim: len(v.spec.Shape), Layout: v.spec.Layout, Data: slab}
	if v.static {
		for s := range n + 1 {
			b.Offsets = append(b.Offsets, s*v.size)
		}
		for range n {
			b.Dims = append(b.Dims, v.spec.Shape...)
		}
	}
	return b
}

// Begin empties the frame and makes room for n samples.
func (f *Frame) Begin(n int) {
	f.Positions, f.Slots = f.Positions[:n], f.Slots[:n]
	for i := range f.IDs {
		f.IDs[i] = f.IDs[i][:n]
	}
}

// Feed sets the samples of an output of the i-th input of the graph, one for each sample of the
// frame. The executor only reads them; they must stay unchanged until the frame is abandoned.
func (f *Frame) Feed(i, output int, samples []tensor.Tensor) { f.values[f.fed[i]+output] = samples }

// Lend gives the frame the memory in which fed samples lie back to back. A batch that delivers them
// lies there too.
func (f *Frame) Lend(i, output int, whole []byte) { f.whole[f.fed[i]+output] = whole }

// Inline reports whether Wait computes the frame in the calling goroutine, which takes less time
// than having a worker do it.
func (f *Frame) Inline() bool { return f.inline }

// Len returns the number of samples.
func (f *Frame) Len() int { return len(f.Positions) }

// memory returns size bytes of the frame for sample s of a value.
func (f *Frame) memory(v *value, id, s, size int) []byte {
	if v.static && size == v.size {
		return f.slabs[id][s*size : (s+1)*size : (s+1)*size]
	}
	if v.static { // not the promised size; settle reports it
		return aligned(size)
	}
	if place := f.uniformPlace(v, s, size); place != nil {
		return place
	}
	before := cap(f.own[id][s])
	if f.e.config.Take && before < size {
		f.own[id][s] = f.e.allocate(size)
	}
	f.own[id][s] = grown(f.own[id][s], size)
	if f.e.usage != nil && size > before {
		f.e.reserved(id, size, before)
	}
	return f.own[id][s]
}

// settle moves sample s of a value into the frame if the sample still aliases the memory of a
// worker or reader. It returns an error for a shape that was not promised.
func (f *Frame) settle(v *value, id, s int) error {
	t := &f.values[id][s]
	if v.partial && !t.DType.Valid() {
		return nil
	}
	if t.DType != v.spec.DType || v.static && !t.Shape.Equal(v.spec.Shape) {
		return notPromised(v.spec, *t)
	}
	if err := f.claim(v, id, s, len(t.Data)); err != nil {
		return err
	}
	m := f.memory(v, id, s, len(t.Data))
	if !same(m, t.Data) {
		copy(m, t.Data)
		t.Data = m
	}
	return nil
}

// fail records the error of a sample that came from a reader, or -1. Each sample is
// written by one task at a time.
func (f *Frame) fail(s, reader int, err error) {
	if f.errs[s] == nil {
		f.errs[s], f.blame[s] = err, int16(reader)
	}
}

// collect makes the outputs.
func (f *Frame) collect(p *plan) error {
	n := f.Len()
	for i, id := range p.outputs {
		v, b := &p.values[id], f.Outputs[i]
		switch {
		case v.static && f.losses.Load():
			f.compact(b, f.slabs[id], v.size)
		case v.static:
			b.Data = f.slabs[id][:n*v.size]
			b.Offsets, b.Dims = b.Offsets[:n+1], b.Dims[:n*b.NDim]
		case f.inPlace(i, v, id):
		case f.inUniformPlace(i, v, id), f.passOn(i, id):
		default:
			f.displace(i)
			laid := f.leaveUniform(i)
			err := f.gather(b, v, f.values[id][:n])
			f.e.free(laid)
			if err != nil {
				return err
			}
			f.learn(i, f.values[id][:n])
		}
	}
	return nil
}

// layout is the layout of an output. If its rank is not known before, a sample tells it.
func (v *value) layout(sample tensor.Tensor) string {
	if v.spec.Shape == nil && len(sample.Layout) == len(sample.Shape) {
		return sample.Layout
	}
	return v.spec.Layout
}

// gather makes an output of samples of any shape.
func (f *Frame) gather(b *tensor.Batch, v *value, samples []tensor.Tensor) error {
	has := func(s int) bool { return samples[s].DType.Valid() && f.lost[s] == faults.Fail }
	ndim, layout := len(v.spec.Shape), v.spec.Layout
	for s := range samples {
		if has(s) {
			ndim, layout = len(samples[s].Shape), v.layout(samples[s])
			break
		}
	}
	size := 0
	for s := range samples {
		if has(s) {
			size += len(samples[s].Data)
		}
	}
	b.Reset(v.spec.DType, ndim, layout)
	b.Data = f.e.room(b.Data, size)
	for s, t := range samples {
		switch {
		case f.lost[s] == faults.Zero:
			t = nothing(v.spec, ndim)
		case !has(s):
			continue // skipped, or of a branch that the sample did not take
		}
		if err := b.Append(t); err != nil {
			return err
		}
	}
	return nil
}
