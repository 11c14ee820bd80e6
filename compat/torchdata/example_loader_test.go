package torchdata_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A loader goes on from a state of StatefulDataLoader.
func ExampleLoader() {
	ctx := context.Background()
	ids := loader.Func(10, func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil })
	open := func() *torchdata.Loader[int64, tensor.Tensor] {
		global := torchdata.NewGenerator(0) // torch.manual_seed(0)
		l, err := torchdata.New(ids, torchdata.Options[int64, tensor.Tensor]{
			BatchSize: 3, NumWorkers: 2, Global: &global,
		})
		if err != nil {
			log.Fatal(err)
		}
		return l
	}
	l := open()
	if _, err := l.Next(ctx); err != nil {
		log.Fatal(err)
	}
	saved, err := l.StateDict() // {"_snapshot": …, "_steps_since_snapshot": 0, …}
	if err != nil {
		log.Fatal(err)
	}
	l.Close()

	later := open()
	defer later.Close()
	if err := later.LoadStateDict(saved); err != nil {
		log.Fatal(err)
	}
	for batch, err := range later.Epoch(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		values, err := tensor.Of[int64](batch)
		fmt.Println(values, err)
	}
	// Output:
	// [3 4 5] <nil>
	// [6 7 8] <nil>
	// [9] <nil>
}
