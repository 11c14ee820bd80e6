package torchdata_test

import (
	"context"
	"fmt"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/loader"
)

// A loader like StatefulDataLoader(range(10), batch_size=3, shuffle=True,
// generator=torch.Generator().manual_seed(42)) goes on from a state after one batch;
// the state may as well be one that torchdata has saved.
func ExampleNew() {
	build := func() (*torchdata.Loader[int, []int], error) {
		g := torchdata.NewGenerator(42)
		return torchdata.New(loader.Slice[int]{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, torchdata.Options[int, []int]{
			BatchSize: 3, Shuffle: true, Generator: &g,
			CollateFn: func(samples []int) ([]int, error) { return append([]int{}, samples...), nil },
		})
	}
	first, err := build()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer first.Close()
	batch, _ := first.Next(context.Background())
	fmt.Println(batch)
	state, _ := first.StateDict()

	second, err := build()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer second.Close()
	if err := second.LoadStateDict(state); err != nil {
		fmt.Println(err)
		return
	}
	for batch, err := range second.Epoch(context.Background()) {
		fmt.Println(batch, err)
	}
	// Output:
	// [2 6 1]
	// [8 4 5] <nil>
	// [0 9 3] <nil>
	// [7] <nil>
}
