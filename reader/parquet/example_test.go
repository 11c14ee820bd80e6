package parquet_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	_ "github.com/bivouac-ml/bivouac/reader/parquet" // readers.parquet
)

// A pipeline reads two columns of a Parquet file, each as an output.
func Example() {
	ctx := context.Background()
	def, err := pipeline.Define(pipeline.Options{BatchSize: 2}, func(p *pipeline.Builder) []pipeline.Node {
		return fn.ReadersParquet(p, fn.ReadersParquetArgs{
			Paths:   []string{"testdata/animals.parquet"},
			Columns: []string{"tokens", "weight"},
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	pipe, err := def.New(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer pipe.Close()
	for batch, err := range pipe.Batches(ctx) { // one epoch
		if err != nil {
			log.Fatal(err)
		}
		tokens, weights := batch.Outputs[0], batch.Outputs[1]
		for i := range tokens.NumSamples() {
			fmt.Println(tokens.Sample(i), weights.Sample(i))
		}
	}
	// Output:
	// int32[1] [5] float32[] 0.5
	// int32[2] [7 8] float32[] 1
	// int32[0] [] float32[] 2
	// int32[3] [1 2 3] float32[] 4
}
