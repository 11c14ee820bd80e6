package exec

import (
	"slices"

	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// A counted node of a branch numbers the samples that reach it 0, 1, 2 …, over all frames. Its
// random numbers are keyed by these numbers, not by the positions of the samples. So the node
// begins a stage: at that point the executor knows which samples reach it, and how many reached it
// in earlier frames. For this a frame begins only after the frame before it is finished.
//
//	frame k    ── count ── work ──┐ finished
//	frame k+1                     └─ fetch ── count ── work ──

// counting is what a frame knows about one counted node.
type counting struct {
	came      int64   // samples that came in all earlier frames; from its stage on, in this frame too
	positions []int64 // of the frame's samples: their numbers, where they come
	slots     []int32 // of these: their numbers in this frame
}

// restaged returns the graph in which each counted node begins a stage.
func restaged(g *graph.Graph, counted []bool) *graph.Graph {
	if !slices.Contains(counted, true) {
		return g
	}
	return g.Behind(func(n *graph.Node) bool { return counted[n.Index] })
}

// Follows reports whether each frame follows another: the graph has counted nodes, kernels that
// remember something, or late nodes.
func (e *Executor) Follows() bool {
	return len(e.plan.counted) > 0 || len(e.plan.minds) > 0 || e.plan.late
}

// Follow makes f the frame after prev, which was started. If prev is nil, came[i] samples reached
// counted node i before f, and remembered[i] is what kernel i remembers before f. A nil came means
// 0. Follow must be called before Start.
func (f *Frame) Follow(prev *Frame, came []int64, remembered [][]byte) {
	f.e.chain.Lock()
	defer f.e.chain.Unlock()
	f.concluded, f.recall = false, nil
	if prev == nil {
		f.recall = remembered
	}
	if prev != nil && !prev.concluded {
		prev.heir, f.prev = f, prev
		return
	}
	if prev != nil && prev.dropsHeirs() {
		f.cancelled.Store(true)
	}
	for i := range f.counted {
		switch {
		case prev != nil:
			f.counted[i].came = prev.counted[i].came
		case came != nil:
			f.counted[i].came = came[i]
		default:
			f.counted[i].came = 0
		}
	}
}

// Came appends how many samples came to each counted node, this frame included. It is valid after
// Wait.
func (f *Frame) Came(dst []int64) []int64 {
	for i := range f.counted {
		dst = append(dst, f.counted[i].came)
	}
	return dst
}

// waits reports whether the frame begins only after the frame before it is finished.
func (f *Frame) waits() bool {
	if !f.e.Follows() {
		return false
	}
	f.e.chain.Lock()
	defer f.e.chain.Unlock()
	f.parked = f.prev != nil
	return f.parked
}

// handOn begins the frame that follows f, which is finished.
func (e *Executor) handOn(f *Frame) {
	if !e.Follows() {
		return
	}
	e.remember(f)
	e.chain.Lock()
	heir := f.heir
	f.concluded, f.heir = true, nil
	launch := false
	if heir != nil {
		for i := range f.counted {
			heir.counted[i].came = f.counted[i].came
		}
		heir.prev, launch, heir.parked = nil, heir.parked, false
		if f.dropsHeirs() {
			heir.cancelled.Store(true)
		}
	}
	e.chain.Unlock()
	if launch {
		e.launch(heir)
	}
}

// dropsHeirs reports whether the frames that follow f, which is finished, are not delivered because
// f has failed. Late nodes make nothing for them, so that batches come to a late node in order.
func (f *Frame) dropsHeirs() bool {
	return f.e.plan.late && (f.err != nil || f.cancelled.Load())
}

// unchain makes f a frame that nothing waits for. It reports whether f never began.
func (e *Executor) unchain(f *Frame) (parked bool) {
	if !e.Follows() {
		return false
	}
	e.chain.Lock()
	defer e.chain.Unlock()
	if f.prev != nil {
		f.prev.heir, f.prev = nil, nil
	}
	if f.heir != nil { // which is dropped as well
		f.heir.prev, f.heir = nil, nil
	}
	parked, f.parked = f.parked, false
	return parked
}

// count gives the samples of the frame their numbers at the counted nodes that begin its stage.
func (e *Executor) count(f *Frame) {
	for i, n := range e.plan.counted {
		if n.Stage != f.stage {
			continue
		}
		c, needs, rank := &f.counted[i], e.plan.needs(n), int64(0)
		for s := range f.Len() {
			comes := f.lost[s] == faults.Fail && f.errs[s] == nil && !slices.ContainsFunc(needs, func(id int) bool {
				return !f.values[id][s].DType.Valid()
			})
			if comes {
				c.positions[s], c.slots[s] = c.came+rank, int32(rank)
				rank++
			}
		}
		c.came += rank
	}
}
