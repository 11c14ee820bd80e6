package safetensors_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Two tensors are written; one is read, and one column of it alone.
func Example() {
	var file bytes.Buffer
	err := safetensors.Write(&file, map[string]tensor.Tensor{
		"weight": tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3),
		"mask":   tensor.FromSlice([]bool{true, false}),
	}, map[string]string{"format": "np"})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	m, err := safetensors.Open(ctx, safetensors.FromReader(bytes.NewReader(file.Bytes()), int64(file.Len())), "model.safetensors", safetensors.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range m.Entries() {
		fmt.Println(e.Name, e.DType, e.Shape, "at", e.Offset)
	}
	column := tensor.New(tensor.Float32, 2, 1)
	if err := m.ReadBox(ctx, "weight", []int{0, 1}, column.Shape, column.Data); err != nil {
		fmt.Println(err)
		return
	}
	values, _ := tensor.Of[float32](column)
	fmt.Println(values)
	// Output:
	// weight float32 [2 3] at 160
	// mask bool [2] at 184
	// [2 5]
}
