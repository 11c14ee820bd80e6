package tensor_test

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/tensor"
)

func Example() {
	weights := []float32{1, 2, 3, 4, 5, 6}
	t := tensor.FromSlice(weights, 2, 3) // a view: nothing is copied
	weights[0] = 10

	row, err := tensor.Of[float32](t.Index(0))
	fmt.Println(t, row, err)
	// Output: float32[2,3] [[10 2 3] [4 5 6]] [10 2 3] <nil>
}

func ExampleDType() {
	for _, d := range []tensor.DType{tensor.BFloat16, tensor.Float32, tensor.Float4E2M1FN} {
		zarr, _ := d.ZarrV2()
		safetensors, _ := d.Safetensors()
		fmt.Println(d, d.Size(), "B", d.Bits(), "bits", zarr, safetensors)
	}
	// Output:
	// bfloat16 2 B 16 bits bfloat16 BF16
	// float32 4 B 32 bits <f4 F32
	// float4_e2m1fn 1 B 4 bits float4_e2m1fn F4
}

func ExampleBatch() {
	var b tensor.Batch
	b.Reset(tensor.Uint8, 2, "HW")
	for _, shape := range [][]int{{2, 2}, {1, 3}} {
		pixels, err := b.Grow(shape...)
		if err != nil {
			fmt.Println(err)
			return
		}
		for i := range pixels {
			pixels[i] = byte(i)
		}
	}
	fmt.Println(b.NumSamples(), b.Sample(1), b.Sample(1).Data, b.Uniform())
	// Output: 2 uint8[1,3] [[0 1 2]] [0 1 2] false
}
