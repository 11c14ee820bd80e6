package dali_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
)

// ExampleDeserializeFile runs a serialized pipeline with the options of a document beside it.
func ExampleDeserializeFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	o := dali.PipelineOptions{Options: pipeline.Options{BatchSize: 2}}
	graph, err := dali.Define(o, func(p *pipeline.Builder) []pipeline.Node {
		return []pipeline.Node{fn.RandomUniform(p, fn.RandomUniformArgs{})}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	serialized, err := dali.Serialize(graph)
	if err != nil {
		fmt.Println(err)
		return
	}
	document := "num_threads: 8\nlimits: {max_pixels: 100000000, max_time: 2s}\n"
	for name, text := range map[string]string{"pipe.bin": string(serialized), "run.yaml": document} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			fmt.Println(err)
			return
		}
	}

	options, err := pipeline.ReadOptions(filepath.Join(dir, "run.yaml"))
	if err != nil {
		fmt.Println(err)
		return
	}
	def, err := dali.DeserializeFile(filepath.Join(dir, "pipe.bin"),
		&dali.DeserializeOptions{PipelineOptions: dali.PipelineOptions{Options: options}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(def.Options().BatchSize, def.Options().Workers, def.Options().Limits.MaxTime)
	// Output: 2 8 2s
}
