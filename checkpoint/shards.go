package checkpoint

import (
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Shards is a leaf that is given in parts: one array whose parts are several tensors, as on the
// devices of a mesh. The parts must tile the shape. If several processes save
// (Options.Multiprocessing), the parts of all processes together must tile it. It is loaded as one
// array. If the parts form a regular grid, each part is stored as a chunk of its own.
type Shards struct {
	DType tensor.DType
	Shape tensor.Shape
	Parts []Shard
	// Sharding, when not empty, makes Orbax load the leaf as an array of JAX. It says on which devices
	// of which mesh the array lies: the JSON object that Orbax writes into its file _sharding. Without
	// an abstract tree Orbax loads the array to these devices, and fails where they do not exist.
	Sharding string
}

// Shard is a part of an array: the tensor Data, whose first element is at Origin
// of the whole.
type Shard struct {
	Origin []int
	Data   tensor.Tensor
}

// TreeLeaf makes Shards a leaf of a tree: it returns what is saved for it.
func (s Shards) TreeLeaf() any {
	p := writer.Parts{DType: s.DType, Shape: s.Shape, Parts: make([]writer.Part, len(s.Parts)),
		Sharding: s.Sharding}
	for i, part := range s.Parts {
		p.Parts[i] = writer.Part{Origin: part.Origin, Data: part.Data}
	}
	return p
}
