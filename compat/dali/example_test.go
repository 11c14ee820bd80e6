package dali_test

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/compat/dali"
)

// What readers.file delivers with random_shuffle=True, initial_fill=4, seed=1 over
// ten files, in batches of three, and the state that DALI saves after two.
func Example() {
	r, err := dali.NewReaderOrder(dali.ReaderOptions{Samples: 10, BatchSize: 3, RandomShuffle: true, InitialFill: 4, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	batch := make([]int64, 3)
	for pos := int64(0); pos < 6; pos += 3 {
		r.Fill(pos, batch)
		fmt.Println(batch)
	}
	saved, err := r.State(6)
	fmt.Println(saved.RNG, saved.Epoch, saved.Age, err)

	pos, err := r.Position(saved)
	r.Fill(pos, batch)
	fmt.Println(pos, batch, err)
	// Output:
	// [1 7 5]
	// [6 2 0]
	// 1649374289 0 6 <nil>
	// 6 [4 3 8] <nil>
}
