package bivouac_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store/local"
)

// A job records its loss, and another program reads it.
func ExampleJob_Scalar() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	model := newModel()
	job, err := bivouac.Open(ctx, dir, &counter{Seed: 1}, bivouac.Options{State: &model, Steps: 3, BatchSize: 32})
	if err != nil {
		log.Fatal(err)
	}
	for batch, err := range job.Steps(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		model.train(batch)
		job.Scalar("loss", 1/float64(batch))
	}
	if err := job.Close(); err != nil {
		log.Fatal(err)
	}

	st, err := local.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	r, err := journal.Open(ctx, st, "")
	if err != nil {
		log.Fatal(err)
	}
	for row, err := range r.Current(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		loss, _ := row.Value("loss")
		fmt.Printf("step %d: loss %.6f\n", row.Step, loss)
	}
	// Output:
	// step 1: loss 0.001000
	// step 2: loss 0.000999
	// step 3: loss 0.000998
}
