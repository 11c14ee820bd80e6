package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// PipelineOptions are the flags of commands that make a pipeline of a file.
type PipelineOptions struct {
	BatchSize int
	Threads   int
	Seed      int64
	CPU       bool
	Compat    string

	checkpointing bool // states are read or written
}

// AddFlags declares the flags.
func (o *PipelineOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	atLeast(f, &o.BatchSize, "batch-size", 1, 0, "samples of a batch; by default as the file says")
	atLeast(f, &o.Threads, "threads", 1, 0, "threads that compute; by default as the file says")
	atLeast(f, &o.Seed, "seed", 0, -1, "seed; by default as the file says")
	f.BoolVar(&o.CPU, "cpu", false, "run operators of a GPU on the CPU, and say which")
	f.StringVar(&o.Compat, "compat", "dali", "orders, random numbers and states: dali, as DALI's, or none, as Bivouac's own")
}

// define makes the pipeline of a file.
func (o *PipelineOptions) define(path string) (*pipeline.Definition, error) {
	if o.Compat != "dali" && o.Compat != "none" {
		return nil, usageError{&errs.Error{Kind: errs.Invalid, Op: "run", Subject: "--compat", Want: "dali or none", Got: o.Compat}}
	}
	change := &dali.DeserializeOptions{Options: pipeline.Options{BatchSize: o.BatchSize, NumThreads: o.Threads}}
	if o.CPU {
		change.OnGPU = pipeline.RunOnCPU
	}
	d, err := dali.DeserializeFile(path, change)
	if err != nil {
		return nil, err
	}
	return d.With(func(with *pipeline.Options) {
		if o.Seed >= 0 {
			with.Seed = uint64(o.Seed)
		}
		with.EnableCheckpointing = with.EnableCheckpointing || o.checkpointing
		if o.Compat == "none" {
			with.Compat = nil
		}
	})
}

// isPipeline reports whether the name is that of a serialized pipeline.
func isPipeline(path string) bool {
	return dali.IsYAML(path) || strings.HasSuffix(path, ".bin") || strings.HasSuffix(path, ".pb") || strings.HasSuffix(path, ".dali")
}
