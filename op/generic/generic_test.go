package generic

import (
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// count returns the numbers from 0 on.
func count(layout string, shape ...int) tensor.Tensor {
	values := make([]float32, tensor.Shape(shape).Len())
	for i := range values {
		values[i] = float32(i)
	}
	return optest.Of(layout, shape, values...)
}

func inputs(t ...tensor.Tensor) []tensor.Tensor { return t }

// row is a call of an operator with the result of DALI 2.4.0, or with an error.
type row = optest.Row

func checkAll(t *testing.T, rows []row) {
	t.Helper()
	optest.CheckRows(t, rows, tensor.Tensor.Equal)
}

func ints(v ...int32) tensor.Tensor { return tensor.FromSlice(v) }

func samples(t tensor.Tensor) optest.Samples { return optest.Samples{t} }

func TestVectors(t *testing.T) {
	dalivec.Run(t, "tensor", "transpose", "pad", "cat", "stack", "reshape", "reinterpret", "expand_dims", "squeeze", "cast", "cast_like",
		"copy", "one_hot", "lookup_table", "element_extract", "sequence_rearrange", "permute_batch", "zeros", "full", "ones_like",
		"full_like", "get_property", "ones", "constant")
}

// TestAllocates runs operators repeatedly: a steady state allocates nothing.
func TestAllocates(t *testing.T) {
	image := tensor.New(tensor.Uint8, 20, 30, 3)
	image.Layout = "HWC"
	labels := tensor.FromSlice([]int32{1})
	optest.CheckAllocations(t, []optest.Case{
		{Op: "cast", Args: op.Args{"dtype": tensor.Float32}, Inputs: optest.Inputs(image)},
		{Op: "cast_like", Inputs: optest.Inputs(image, labels)},
		{Op: "copy", Inputs: optest.Inputs(image)},
		{Op: "transpose", Args: op.Args{"perm": []int{2, 0, 1}}, Inputs: optest.Inputs(image)},
		{Op: "reshape", Args: op.Args{"shape": []int{-1, 3}}, Inputs: optest.Inputs(image)},
		{Op: "reinterpret", Args: op.Args{"dtype": tensor.Int8}, Inputs: optest.Inputs(image)},
		{Op: "pad", Args: op.Args{"shape": []int{32, 32, 3}}, Inputs: optest.Inputs(image)},
		{Op: "cat", Inputs: optest.Inputs(image, image)},
		{Op: "stack", Inputs: optest.Inputs(image, image)},
		{Op: "constant", Args: op.Args{"idata": []int{1, 2, 3}}},
		{Op: "zeros", Args: op.Args{"shape": []int{10}}},
		{Op: "ones_like", Inputs: optest.Inputs(image)},
		{Op: "full", Args: op.Args{"shape": []int{3, 3}}, Inputs: optest.Inputs(labels)},
		{Op: "full_like", Inputs: optest.Inputs(image, labels)},
		{Op: "one_hot", Args: op.Args{"num_classes": 10}, Inputs: optest.Inputs(labels)},
		{Op: "lookup_table", Args: op.Args{"keys": []int{1}, "values": []float64{2}}, Inputs: optest.Inputs(image)},
		{Op: "element_extract", Args: op.Args{"element_map": []int{0}}, Inputs: optest.Inputs(tensor.New(tensor.Uint8, 4, 5))},
		{Op: "sequence_rearrange", Args: op.Args{"new_order": []int{0, 3}}, Inputs: optest.Inputs(tensor.New(tensor.Uint8, 4, 5))},
		{Op: "permute_batch", Args: op.Args{"indices": []int{0}}, Inputs: optest.Inputs(image)},
		{Op: "get_property", Args: op.Args{"key": "layout"}, Inputs: optest.Inputs(image)},
		{Op: "_shape", Inputs: optest.Inputs(image)},
		{Op: "expand_dims", Args: op.Args{"axes": []int{0}}, Inputs: optest.Inputs(image)},
		{Op: "squeeze", Args: op.Args{"axes": []int{0}}, Inputs: optest.Inputs(tensor.New(tensor.Uint8, 1, 3))},
	})
}

// TestNoSamples runs operators that see whole batches on an empty batch, such as the batch of a
// branch that no sample takes.
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
