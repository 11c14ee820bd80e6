package generic

import (
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestNoSamples runs operators that see whole batches on a batch that nothing came
// to, as that of a branch that no sample takes.
func TestNoSamples(t *testing.T) {
	for name, args := range map[string]map[string]op.Argument{
		"pad": nil, "permute_batch": {"indices": {Const: []int{}}}, "one_hot": nil,
	} {
		s, err := op.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := op.Resolve(s, "node", 1, args)
		if err != nil {
			t.Fatal(err)
		}
		k, err := s.New(c)
		if err != nil {
			t.Fatal(err)
		}
		var b op.Block
		b.Binding().In, b.Binding().Out = [][]tensor.Tensor{{}}, [][]tensor.Tensor{{}}
		if err := k.Run(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
