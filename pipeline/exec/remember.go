package exec

import (
	"bytes"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// Kernels that implement op.Remembering keep something from batch to batch. For this frames follow
// each other, as for counted nodes, and each frame notes what the kernels remember after it. A
// frame without a frame before it gives the kernels back what they remembered at its place of the
// stream: frames that ran ahead may have been dropped.

// mind is a kernel that remembers something.
type mind struct {
	node   *graph.Node
	kernel op.Remembering
}

func (m *mind) named(err error) error {
	return errs.Wrap(m.node.Schema.FullName(), "state of node "+m.node.Name, err)
}

// Minds returns the nodes of a graph whose kernels remember something.
func Minds(g *graph.Graph) (list []*graph.Node) {
	for _, n := range g.Nodes {
		if _, ok := n.Kernel.(op.Remembering); ok {
			list = append(list, n)
		}
	}
	return list
}

// remembering calls f, which is a method of the user's code. A panic becomes an error.
func remembering(f func() error) (err error) {
	defer recovered(&err)
	return f()
}

// recallAll sets what the kernels remember before a frame that no frame is before.
func (e *Executor) recallAll(f *Frame) {
	for i, m := range e.plan.minds {
		if i >= len(f.recall) || i < len(e.current) && bytes.Equal(f.recall[i], e.current[i]) {
			continue
		}
		if err := remembering(func() error { return m.kernel.SetState(f.recall[i]) }); err != nil {
			f.refused = m.named(err)
			f.failed.Store(true)
			break
		}
	}
	f.recall, e.current = nil, e.current[:0] // which the frame changes
}

// remember notes what the kernels remember after a frame that was made.
func (e *Executor) remember(f *Frame) {
	f.remembered = f.remembered[:0]
	if f.err != nil || f.cancelled.Load() {
		return
	}
	f.remembered = slices.Grow(f.remembered, len(e.plan.minds))[:len(e.plan.minds)]
	for i, m := range e.plan.minds {
		err := remembering(func() (err error) {
			f.remembered[i], err = m.kernel.AppendState(f.remembered[i][:0])
			return err
		})
		if err != nil {
			f.err = m.named(err)
			return
		}
	}
	e.current = e.current[:len(f.remembered)]
	for i, b := range f.remembered {
		e.current[i] = append(e.current[i][:0], b...)
	}
}

// Remembered returns what each kernel remembers after the frame. It is valid after Wait, until
// Begin.
func (f *Frame) Remembered() [][]byte { return f.remembered }
