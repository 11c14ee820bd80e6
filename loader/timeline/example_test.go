package timeline_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// What a state tells of a run.
func ExampleOpen() {
	ctx := context.Background()
	ids := loader.Func(1000, func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil })
	l, err := loader.New(ids, loader.Options[int64, tensor.Tensor]{BatchSize: 8, Shuffle: true, Seed: 7, World: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	for range 3 {
		if _, err := l.Next(ctx); err != nil {
			log.Fatal(err)
		}
	}
	saved, err := l.AppendState(nil)
	if err != nil {
		log.Fatal(err)
	}

	line, err := timeline.Open(saved, timeline.Options{})
	if err != nil {
		log.Fatal(err)
	}
	batch, err := line.Batch(1234) // in 39 epochs, perhaps
	fmt.Println("step 1234 on rank 3:", batch.Rank(3, 4), err)
	seen, _, err := line.In(0, 77)
	rank, row := seen.Rank(4)
	fmt.Println("sample 77 in this epoch: step", seen.Step, "rank", rank, "row", row, err)
	proof, err := line.Verify(ctx, nil)
	fmt.Println(proof.Samples, "samples, as the order says", err)
	// Output:
	// step 1234 on rank 3: [484 987 149 200 643 661 944 646] <nil>
	// sample 77 in this epoch: step 17 rank 1 row 4 <nil>
	// 96 samples, as the order says <nil>
}
