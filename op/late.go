package op

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/tensor"
)

// Late is implemented by kernels whose outputs are known only when they are made: nothing before
// tells their dtype and their number of dimensions. Infer of such a kernel returns the layouts that
// are known before, in specs without a dtype. The executor calls Make in place of Run, once for
// each batch, and one batch after the other.
type Late interface {
	Batched
	// Make returns the outputs of all samples of a block, [output][sample]. Samples of an output have
	// one dtype and one number of dimensions. The memory of the tensors is not written to afterwards.
	Make(b *Block) ([][]tensor.Tensor, error)
}

// Redescribed is the error of a batch for which the graph describes a late node wrongly, or not
// yet. A graph with these Specs of the node makes the batch.
type Redescribed struct {
	Node  string // its name; empty if no sample of the batch came to the late nodes
	Specs []tensor.Spec
}

// Error implements error.
func (r *Redescribed) Error() string {
	if r.Node == "" {
		return "no sample came to the functions whose outputs are not described yet"
	}
	return fmt.Sprintf("node %s has outputs of another kind: %v", r.Node, r.Specs)
}
