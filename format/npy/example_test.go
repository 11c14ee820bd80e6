package npy_test

import (
	"bytes"
	"fmt"

	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/tensor"
)

// An array is written as numpy.save does, and read.
func Example() {
	var file bytes.Buffer
	if err := npy.Write(&file, tensor.FromSlice([]int32{1, 2, 3, 4, 5, 6}, 2, 3), nil); err != nil {
		fmt.Println(err)
		return
	}
	t, err := npy.Read(&file, int64(file.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	values, _ := tensor.Of[int32](t)
	fmt.Println(t, values)
	// Output: int32[2,3] [[1 2 3] [4 5 6]] [1 2 3 4 5 6]
}

// An archive is written as numpy.savez_compressed does, and one array of it read.
func ExampleArchive() {
	var file bytes.Buffer
	w := npy.NewArchiveWriter(&file, true)
	_ = w.Write("images", tensor.New(tensor.Uint8, 10, 28, 28))
	_ = w.Write("labels", tensor.FromSlice([]int64{3, 1, 4}))
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}
	a, err := npy.OpenArchive(bytes.NewReader(file.Bytes()), int64(file.Len()), npy.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	labels, err := a.Read("labels")
	if err != nil {
		fmt.Println(err)
		return
	}
	values, _ := tensor.Of[int64](labels)
	fmt.Println(a.Names(), values)
	// Output: [images labels] [3 1 4]
}
