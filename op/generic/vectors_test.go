package generic_test

import (
	"testing"

	_ "github.com/bivouac-ml/bivouac/op/generic"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

func TestVectors(t *testing.T) {
	dalivec.Run(t, "tensor", "transpose", "pad", "cat", "stack", "reshape", "reinterpret", "expand_dims", "squeeze", "cast", "cast_like",
		"copy", "one_hot", "lookup_table", "element_extract", "sequence_rearrange", "permute_batch", "zeros", "full", "ones_like",
		"full_like", "get_property", "ones", "constant")
}
