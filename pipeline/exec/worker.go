package exec

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// worker runs stages. Everything in it is for one goroutine.
type worker struct {
	e       *Executor
	local   []tensor.Tensor // values that do not leave their segment
	arena   arena           // their memory, until the sample is through
	scratch arena           // until the operator returns
	runs    []run           // by node
	frame   *Frame
	sample  int // the first of the current task's block
	timed   int // samples that the current one stands for in clocks; 0: it is not timed
	pinned  bool
	doing   atomic.Pointer[doing] // nil between operators, and if no time is watched
}

// run is a worker's use of one node, and the memory of its block.
type run struct {
	w     *worker
	node  *graph.Node
	first int // number of its first value
	block op.Block
	local any
	// imports and exports are the ports whose tensors lie in the frame.
	imports, exports []port
	clock            clock
	needs            []int    // values that samples may lack, and then do not come here
	count            int      // number of a counted node, or -1
	at               int      // the first sample of the block in the frame
	selected         selected // the samples of a batch-level run that some do not come to
	trying           bool     // failed blocks are tried again, one sample at a time
}

type port struct {
	tensors *[]tensor.Tensor
	value   int
}

func newWorker(e *Executor) *worker {
	p := e.plan
	w := &worker{e: e, local: make([]tensor.Tensor, len(p.values)), runs: make([]run, len(p.graph.Nodes))}
	for i, n := range p.graph.Nodes {
		r := &w.runs[i]
		r.w, r.node, r.first, r.needs = w, n, p.first[i], p.needs(n)
		r.count = slices.Index(p.counted, n)
		b := r.block.Binding()
		b.Memory, b.Local, b.Specs, b.Source, b.Limits = r, &r.local, n.Specs, r.source, e.config.Limits
		b.Keyer, b.Key = e.config.Keyers[i], rng.NodeKey(n.Drawer())
		b.In, b.Args = w.bind(n.Inputs, &r.imports), w.bind(n.Args, &r.imports)
		outputs := make([]graph.Edge, len(n.Specs))
		for o := range outputs {
			outputs[o] = graph.Edge{Node: n, Output: o}
		}
		b.Out = w.bind(outputs, &r.exports)
	}
	for i, reader := range p.asks {
		if reader != nil {
			w.runs[i].ask(&w.runs[reader.Index])
		}
	}
	return w
}

// bind points the ports of a block at local values and notes those in the frame.
func (w *worker) bind(edges []graph.Edge, far *[]port) [][]tensor.Tensor {
	ports := make([][]tensor.Tensor, len(edges))
	for i, e := range edges {
		id := w.e.plan.number(e)
		if w.e.plan.values[id].frame {
			*far = append(*far, port{&ports[i], id})
		} else {
			ports[i] = w.local[id : id+1 : id+1]
		}
	}
	return ports
}

// Output implements op.Memory.
func (r *run) Output(i, s, size int) []byte {
	r.w.e.checkSize("an output", size)
	id, s := r.first+i, r.selected.sample(s)
	if r.w.e.usage != nil {
		r.w.e.used(r.w.frame, id, size)
	}
	if v := &r.w.e.plan.values[id]; v.frame {
		if err := r.w.frame.claim(v, id, r.w.sample+s, size); err != nil {
			panic(&errs.Error{Kind: errs.Exhausted, Err: err})
		}
		return r.w.frame.memory(v, id, r.w.sample+s, size)
	}
	r.claim(size)
	return r.w.arena.alloc(size)
}

// source names where sample s of input i was read from.
func (r *run) source(i, s int) string {
	e := r.w.e
	k := e.plan.value(r.node.Inputs[i]).named
	if k < 0 {
		return ""
	}
	if named, ok := e.sources[k].(reader.Named); ok {
		return named.Name(r.w.frame.IDs[k][r.w.sample+r.selected.sample(s)])
	}
	return ""
}

// Scratch implements op.Memory.
func (r *run) Scratch(size int) []byte {
	r.w.e.checkSize("memory to work in", size)
	r.claim(size)
	return r.w.scratch.alloc(size)
}

// block takes the samples lo to hi through the nodes of a segment: each sample through all of
// them, or, where nothing stays in the worker's memory, all samples through each.
func (w *worker) block(f *Frame, stage, lo, hi int) {
	together := w.e.plan.wide[stage] && hi-lo > 1 && w.e.config.Limits.MaxTime == 0 // each sample has its time
	if together && !f.losses.Load() && !f.tolerance.some.Load() && w.allThrough(f, stage, lo, hi) {
		return
	}
	if w.e.config.Timing {
		w.timed = hi - lo
	}
	for s := lo; s < hi; s++ {
		w.sampleThrough(f, stage, s)
		w.timed = 0
	}
}

// now is the time when nodes are timed.
func (e *Executor) now() (t time.Time) {
	if e.config.Timing {
		t = time.Now()
	}
	return t
}

// allThrough takes the samples lo to hi through each node of a segment at once. It returns false if
// a sample failed. The caller then takes them one by one to find which.
func (w *worker) allThrough(f *Frame, stage, lo, hi int) bool {
	w.frame, w.sample = f, lo
	ok := true
	for _, i := range w.e.plan.stages[stage] {
		if f.cancelled.Load() {
			break
		}
		start := w.e.now()
		if ok = w.runs[i].try(lo, hi-lo); !ok {
			break
		}
		if w.e.config.Timing {
			w.runs[i].clock.add(hi-lo, time.Since(start))
		}
	}
	w.frame = nil
	return ok
}

// sampleThrough takes one sample through the nodes of a segment.
func (w *worker) sampleThrough(f *Frame, stage, s int) {
	w.frame, w.sample = f, s
	for _, i := range w.e.plan.stages[stage] {
		if f.cancelled.Load() || f.errs[s] != nil || f.lost[s] != faults.Fail {
			break
		}
		r := &w.runs[i]
		if f.tolerance.some.Load() && f.tolerance.passes(r.node, s) {
			continue
		}
		if len(r.needs) > 0 && r.lacks(s) {
			r.leave(s)
			continue
		}
		if w.timed == 0 {
			r.do(s, 1)
			continue
		}
		start := time.Now()
		r.do(s, 1)
		r.clock.add(w.timed, time.Since(start)*time.Duration(w.timed))
	}
	w.arena.reset()
	w.frame = nil
}

// batchThrough takes all samples through the batch-level nodes of a stage.
func (w *worker) batchThrough(f *Frame, stage int) {
	w.frame, w.sample = f, 0
	for _, i := range w.e.plan.stages[stage] {
		if f.cancelled.Load() || f.failed.Load() {
			break
		}
		start := w.e.now()
		r := &w.runs[i]
		if f.tolerance.some.Load() && f.tolerance.passesAll(r.node, f.Len()) {
			continue
		}
		if len(r.needs) > 0 || f.losses.Load() {
			r.doSelected(f.Len())
		} else {
			r.do(0, f.Len())
		}
		if w.e.config.Timing {
			r.clock.add(f.Len(), time.Since(start))
		}
		for _, err := range f.errs[:f.Len()] {
			if err != nil { // no single sample is at fault
				f.failed.Store(true)
			}
		}
	}
	w.frame = nil
}

// places returns the positions and slots of the samples of f, as the node numbers them.
func (r *run) places(f *Frame) (positions []int64, slots []int32) {
	if r.count >= 0 {
		return f.counted[r.count].positions, f.counted[r.count].slots
	}
	return f.Positions, f.Slots
}

// bind points the block at n samples of the frame from s on.
func (r *run) bind(s, n int) {
	f := r.w.frame
	b := r.block.Binding()
	r.at = s
	positions, slots := r.places(f)
	b.Positions, b.Slots = positions[s:s+n], slots[s:s+n]
	for _, p := range r.imports {
		*p.tensors = f.values[p.value][s : s+n]
	}
	for _, p := range r.exports {
		*p.tensors = f.values[p.value][s : s+n]
	}
}

// try runs the node for n samples of the frame from s on, and returns whether all succeeded.
func (r *run) try(s, n int) bool {
	f := r.w.frame
	r.bind(s, n)
	b := r.block.Binding()
	r.trying = true
	ok := r.kernel() == nil && len(b.Errors) == 0
	r.trying = false
	clear(b.Errors)
	r.w.scratch.reset()
	for _, p := range r.exports {
		v := &r.w.e.plan.values[p.value]
		for i := s; i < s+n && ok; i++ {
			ok = f.settle(v, p.value, i) == nil
		}
	}
	return ok
}

// do runs the node for n samples of the frame from s on.
func (r *run) do(s, n int) {
	f := r.w.frame
	r.bind(s, n)
	r.run(f, s)
	for _, p := range r.exports {
		v := &r.w.e.plan.values[p.value]
		for i := s; i < s+n && f.errs[i] == nil && !f.tolerance.lacks(r.node, i); i++ {
			if err := f.settle(v, p.value, i); err != nil {
				r.w.e.fail(f, i, r.node, err)
			}
		}
	}
}

// run runs the kernel for a block that begins with sample s of the frame, and notes what failed.
func (r *run) run(f *Frame, s int) {
	b := r.block.Binding()
	start := r.w.e.allow(b)
	r.w.begin(r, s, start)
	if err := r.kernel(); err != nil {
		r.w.e.fail(f, r.selected.sample(s), r.node, err)
	}
	for i, err := range b.Errors {
		r.w.e.fail(f, r.selected.sample(s+i), r.node, err)
	}
	r.w.doing.Store(nil)
	if err := r.w.e.overdue(start, len(b.Positions)); err != nil {
		r.w.e.fail(f, r.selected.sample(s), r.node, err)
	}
	clear(b.Errors)
	r.w.scratch.reset()
}

// kernel runs the kernel. A panic becomes the error of the samples, so that one broken operator
// does not end a training job.
func (r *run) kernel() (err error) {
	defer recovered(&err)
	if r.node.Refused != nil {
		return r.node.Refused
	}
	if k, ok := r.node.Kernel.(op.Late); ok {
		return r.late(k)
	}
	return r.node.Kernel.Run(&r.block)
}

// recovered makes a panic of an operator an error. It is deferred.
func recovered(err *error) {
	switch p := recover().(type) {
	case nil:
	case *errs.Error: // of a limit
		*err = p
	default:
		*err = &errs.Error{Got: fmt.Sprintf("the operator panicked: %v\n%s", p, debug.Stack())}
	}
}

func notPromised(want tensor.Spec, got tensor.Tensor) error {
	return &errs.Error{Kind: errs.Mismatch, Want: "the promised " + want.DType.String() + want.Shape.String(),
		Got: got.String()}
}
