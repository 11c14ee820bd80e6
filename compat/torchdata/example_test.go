package torchdata_test

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
)

// A job in torchdata has delivered 4 of 10 samples of an epoch. Its state has the
// generator, here of seed 42, and that number.
func ExampleRandom() {
	saved := torchdata.NewGenerator(42)
	generator, err := saved.MarshalBinary()
	if err != nil {
		fmt.Println(err)
		return
	}

	var g torchdata.Generator
	if err := g.UnmarshalBinary(generator); err != nil {
		fmt.Println(err)
		return
	}
	order, err := torchdata.NewRandom(torchdata.RandomOptions{N: 10, Generator: &g})
	if err != nil {
		fmt.Println(err)
		return
	}
	rest := make([]int64, 6)
	order.Fill(4, rest)
	fmt.Println(rest)

	far := make([]int64, 3)
	order.Fill(1e12, far) // epoch 100 billion
	fmt.Println(far)
	// Output:
	// [4 5 0 9 3 7]
	// [0 2 4]
}
