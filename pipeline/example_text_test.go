package pipeline_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// printBatches prints one epoch of a pipeline.
func printBatches(def *pipeline.Definition) {
	ctx := context.Background()
	pipe, err := def.New(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer pipe.Close()
	for batch, err := range pipe.Batches(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		for i := range batch.Outputs[0].NumSamples() {
			for o, out := range batch.Outputs {
				if o > 0 {
					fmt.Print(", ")
				}
				fmt.Print(out.Sample(i))
			}
			fmt.Println()
		}
	}
}

// The fields of JSON Lines are outputs. A field that a line lacks gets a default.
func Example_jsonLines() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "train.jsonl")
	text := `{"text": "grün", "meta": {"score": 0.5}}` + "\n" + `{"text": "red", "meta": {}}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
	def, err := pipeline.Define(pipeline.Options{BatchSize: 2}, func(p *pipeline.Builder) []pipeline.Node {
		return fn.ReadersJsonl(p, fn.ReadersJsonlArgs{
			Path:     []string{path},
			Fields:   []string{"text", "meta.score"},
			Dtypes:   []tensor.DType{tensor.Uint8, tensor.Float32},
			Missing:  op.Const("default"),
			Defaults: []string{`""`, "-1"},
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	printBatches(def)
	// Output:
	// uint8[5] [103 114 195 188 110], float32[1] [0.5]
	// uint8[3] [114 101 100], float32[1] [-1]
}

// Windows of tokens: each overlaps the next one by a token, so that inputs and targets have no gap.
func Example_tokens() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tokens.bin")
	if err := os.WriteFile(path, tensor.FromSlice([]uint16{5, 6, 7, 8, 9, 10, 11}, 7).Data, 0o644); err != nil {
		log.Fatal(err)
	}
	def, err := pipeline.Define(pipeline.Options{BatchSize: 2}, func(p *pipeline.Builder) []pipeline.Node {
		return fn.ReadersTokens(p, fn.ReadersTokensArgs{
			Path:        []string{path},
			Window:      4,
			Stride:      3,
			DType:       tensor.Uint16, // of the file, which is a plain array
			OutputDtype: tensor.Int64,
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	printBatches(def)
	// Output:
	// int64[4] [5 6 7 8]
	// int64[4] [8 9 10 11]
}
