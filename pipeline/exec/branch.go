package exec

import (
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// selected holds the samples of a frame that reach a batch-level node of a branch, packed as if the
// frame had no others. An empty selected stands for all samples.
type selected struct {
	samples   []int // of the frame, ascending
	positions []int64
	slots     []int32
	ports     [][]tensor.Tensor
}

// sample returns which sample of the frame sample s of the block is.
func (l *selected) sample(s int) int {
	if len(l.samples) == 0 {
		return s
	}
	return l.samples[s]
}

// lacks reports whether the node does not see a sample, because an input belongs to a branch that
// the sample did not take.
func (r *run) lacks(s int) bool {
	for _, id := range r.needs {
		if !r.value(id, s).DType.Valid() {
			return true
		}
	}
	return false
}

// leave leaves a sample out of the node's outputs.
func (r *run) leave(s int) {
	for i := range r.node.Specs {
		t := r.value(r.first+i, s)
		t.DType, t.Data = tensor.Invalid, nil
	}
}

// value returns sample s of a value, wherever it is.
func (r *run) value(id, s int) *tensor.Tensor {
	if r.w.e.plan.values[id].frame {
		return &r.w.frame.values[id][s]
	}
	return &r.w.local[id]
}

// doSelected runs a batch-level node for the samples, among n, that reach it.
func (r *run) doSelected(n int) {
	f, l := r.w.frame, &r.selected
	positions, slots := r.places(f)
	l.samples, l.positions, l.slots = l.samples[:0], l.positions[:0], l.slots[:0]
	for s := range n {
		if f.lost[s] != faults.Fail || r.lacks(s) {
			r.leave(s)
			continue
		}
		l.samples = append(l.samples, s)
		l.positions, l.slots = append(l.positions, positions[s]), append(l.slots, slots[s])
	}
	defer func() { l.samples = l.samples[:0] }()
	if len(l.samples) == 0 {
		return
	}
	b := r.block.Binding()
	b.Positions, b.Slots = l.positions, l.slots
	l.gather(f, r.imports, r.exports)
	r.run(f, 0)
	for i, p := range r.exports {
		v, out := &r.w.e.plan.values[p.value], l.ports[len(r.imports)+i]
		for k, s := range l.samples {
			f.values[p.value][s] = out[k]
			if f.errs[s] != nil || f.tolerance.lacks(r.node, s) {
				continue
			}
			if err := f.settle(v, p.value, s); err != nil {
				r.w.e.fail(f, s, r.node, err)
			}
		}
	}
}

// gather packs the samples of all ports; all ports of batch-level nodes lie in frames.
func (l *selected) gather(f *Frame, lists ...[]port) {
	i := 0
	for _, ports := range lists {
		for _, p := range ports {
			if i == len(l.ports) {
				l.ports = append(l.ports, nil)
			}
			packed := l.ports[i][:0]
			for _, s := range l.samples {
				packed = append(packed, f.values[p.value][s])
			}
			l.ports[i], *p.tensors = packed, packed
			i++
		}
	}
}
