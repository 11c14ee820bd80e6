package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// PipelineOptions are the flags of commands that make a pipeline from a file.
type PipelineOptions struct {
	BatchSize int
	Threads   int
	Seed      int64
	CPU       bool
	Compat    string
	Limits    pipeline.Limits
	Options   string

	checkpointing bool // states are read or written
}

// AddFlags declares the flags.
func (o *PipelineOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	atLeast(f, &o.BatchSize, "batch-size", 1, 0, "samples per batch; by default the number in the file")
	atLeast(f, &o.Threads, "threads", 1, 0, "threads that compute; by default the number in the file")
	atLeast(f, &o.Seed, "seed", 0, -1, "seed; by default the seed in the file")
	f.Int64Var(&o.Limits.MaxPixels, "max-pixels", 0,
		"largest number of pixels of a decoded image; 0: 2^28, negative: no bound")
	f.Int64Var(&o.Limits.MaxBytes, "max-bytes", 0,
		"largest size of a sample anywhere, in bytes; 0: 4 GiB, negative: no bound")
	f.Int64Var(&o.Limits.MaxTotalBytes, "max-total-bytes", 0,
		"largest size of all batches in flight, in bytes; 0: no bound")
	f.DurationVar(&o.Limits.MaxTime, "max-time", 0, "longest time of an operator for a sample; 0: no bound")
	f.StringVar(&o.Options, "options", "", "file with options in YAML or JSON, such as limits; flags take precedence")
	f.BoolVar(&o.CPU, "cpu", false, "run GPU operators on the CPU, and list them")
	f.StringVar(&o.Compat, "compat", "dali", "whose orders, random numbers and states to use: dali, or none for Bivouac")
}

// define makes the pipeline from a file.
func (o *PipelineOptions) define(path string) (*dali.Definition, error) {
	if o.Compat != "dali" && o.Compat != "none" {
		return nil, usageError{&errs.Error{Kind: errs.Invalid, Op: "run", Subject: "--compat", Want: "dali or none", Got: o.Compat}}
	}
	options := pipeline.Options{BatchSize: o.BatchSize, Workers: o.Threads, Limits: o.Limits}
	if o.Options != "" {
		file, err := pipeline.ReadOptions(o.Options)
		if err != nil {
			return nil, err
		}
		options = file.Override(&options)
	}
	change := &dali.DeserializeOptions{PipelineOptions: dali.PipelineOptions{Options: options}}
	if o.CPU {
		change.Device = pipeline.RunOnCPU
	}
	d, err := dali.DeserializeFile(path, change)
	if err != nil {
		return nil, err
	}
	return d.With(func(with *dali.PipelineOptions) {
		if o.Seed >= 0 {
			with.Seed = uint64(o.Seed)
		}
		with.EnableCheckpointing = with.EnableCheckpointing || o.checkpointing
		if o.Compat == "none" {
			with.Native = true
		}
	})
}

// isPipeline reports whether the name belongs to a serialized pipeline.
func isPipeline(path string) bool {
	return dali.IsYAML(path) || strings.HasSuffix(path, ".bin") || strings.HasSuffix(path, ".pb") || strings.HasSuffix(path, ".dali")
}

// convertPipeline writes a serialized pipeline in the form that the name of the destination says:
// the bytes of DALI, or YAML.
func convertPipeline(src, dst string, o ConvertOptions, g *global) error {
	if !isPipeline(dst) {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "convert", Subject: dst,
			Want: "a name that ends in .yaml, or .bin", Got: "another name",
			Remedy: src + " is a serialized pipeline"}}
	}
	p, err := dali.ReadFile(src)
	if err != nil {
		return err
	}
	b, layout := pipeproto.Append(nil, p), "PipelineDef"
	if dali.IsYAML(dst) {
		layout = "YAML"
		if b, err = pipeproto.MarshalYAML(p); err != nil {
			return err
		}
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if o.Overwrite {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(dst, flags, 0o666)
	if os.IsExist(err) {
		return &errs.Error{Kind: errs.Exists, Op: "convert", Subject: dst, Remedy: "choose another path, or give --overwrite"}
	}
	if err == nil {
		_, err = f.Write(b)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		return &errs.Error{Kind: errs.IO, Op: "convert", Subject: dst, Err: err}
	}
	return reportConversion(g, converted{Source: src, Destination: dst, Layout: layout})
}

// isPipelineFile reports whether path is a file with the name of a serialized pipeline.
func isPipelineFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && isPipeline(path)
}
