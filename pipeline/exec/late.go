package exec

import (
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A late node makes its outputs without the memory of the frame, because nothing tells their dtype
// and their number of dimensions before. If they are as the graph describes them, they are copied
// into the frame. Otherwise the frame fails with an op.Redescribed, and the engine makes it again
// with another graph. What the node has made is kept for that, and for a batch that fails
// elsewhere: a late node makes each batch once.

// Made keeps what late nodes have made. A nil Made keeps nothing.
type Made struct {
	mu   sync.Mutex
	kept map[madeKey]madeBatch
}

// madeKey says what was made: the node, and the position of the first sample that came to it.
type madeKey struct {
	node string
	at   int64
}

// madeBatch is what a node has made of a batch: the outputs, or the error of a node that may fail.
type madeBatch struct {
	outputs [][]tensor.Tensor
	err     error
}

// NewMade returns an empty Made.
func NewMade() *Made { return &Made{kept: map[madeKey]madeBatch{}} }

// Forget drops what was made for samples at positions before end.
func (m *Made) Forget(end int64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.kept {
		if k.at < end {
			delete(m.kept, k)
		}
	}
}

// of returns what was made, or has it made. An error is kept if keeps reports so: the frame is
// delivered, but may be made again before.
func (m *Made) of(
	k madeKey, make func() ([][]tensor.Tensor, error), keeps func(error) bool,
) ([][]tensor.Tensor, error) {
	m.mu.Lock()
	made, ok := m.kept[k]
	m.mu.Unlock()
	if ok {
		return made.outputs, made.err
	}
	made.outputs, made.err = make()
	if made.err == nil || keeps(made.err) {
		m.mu.Lock()
		m.kept[k] = made
		m.mu.Unlock()
	}
	return made.outputs, made.err
}

// late runs a late node.
func (r *run) late(k op.Late) error {
	b := &r.block
	if b.Len() == 0 {
		return nil
	}
	make := func() ([][]tensor.Tensor, error) { return k.Make(b) }
	keeps := func(err error) bool { return r.w.frame.tolerance.tolerates(r.node, err) }
	made, err := r.w.e.config.Made.of(madeKey{r.node.Name, b.Position(0)}, make, keeps)
	if err != nil {
		return err
	}
	if specs := r.describe(made); !slices.EqualFunc(specs, r.node.Specs, sameKind) {
		return &op.Redescribed{Node: r.node.Name, Specs: specs}
	}
	for i, samples := range made {
		for s, t := range samples {
			copy(b.Out(i, s, t.Shape...).Data, t.Data)
		}
	}
	return nil
}

// describe returns the specs of outputs that were made. The layouts are as the graph has them.
func (r *run) describe(made [][]tensor.Tensor) []tensor.Spec {
	specs := make([]tensor.Spec, len(made))
	for i, samples := range made {
		first := samples[0]
		specs[i] = tensor.Spec{DType: first.DType, Shape: slices.Repeat(tensor.Shape{-1}, len(first.Shape)),
			Layout: r.node.Specs[i].Layout}
	}
	return specs
}

// sameKind reports whether specs have the same dtype and number of dimensions.
func sameKind(a, b tensor.Spec) bool { return a.DType == b.DType && len(a.Shape) == len(b.Shape) }
