package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// RunOptions are the flags of `bivouac run`.
type RunOptions struct {
	PipelineOptions
	Iterations    int
	CheckpointIn  string
	CheckpointOut string
}

// AddFlags declares the flags.
func (o *RunOptions) AddFlags(cmd *cobra.Command) {
	o.PipelineOptions.AddFlags(cmd)
	f := cmd.Flags()
	atLeast(f, &o.Iterations, "iterations", 1, 0,
		"batches to make; by default one epoch, or one batch if there are no epochs")
	f.StringVar(&o.CheckpointIn, "checkpoint-in", "",
		"file with the state to continue from, which DALI or --checkpoint-out wrote")
	f.StringVar(&o.CheckpointOut, "checkpoint-out", "",
		"file for the state after the last batch, from which DALI can continue")
}

func newRunCommand(g *global) *cobra.Command {
	var o RunOptions
	return with(&cobra.Command{
		Use:   "run FILE",
		Short: "Run a pipeline that DALI serialized, or one in YAML",
		Long: `Run a pipeline from a file: bytes that DALI's Pipeline.serialize wrote, or YAML
(see bivouac convert). What each batch holds is printed with a digest. Paths
in the pipeline are relative to the current directory.

` + exitCodesHelp,
		Example: `  bivouac run pipeline.yaml`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runPipeline(cmd.Context(), args[0], o, g) },
	}, o.AddFlags, g.addJSON)
}

// ran is what `run --json` prints.
type ran struct {
	Moved   []string   `json:"moved_to_cpu,omitempty"` // operators that were meant for a GPU
	Outputs []ranSpec  `json:"outputs"`
	Batches []ranBatch `json:"batches"`
	SHA256  string     `json:"sha256"` // of all batches
}

type ranSpec struct {
	DType  string `json:"dtype"`
	Layout string `json:"layout,omitempty"`
}

type ranBatch struct {
	Samples int      `json:"samples"`
	Shapes  [][]int  `json:"shapes"` // of the first sample of each output
	SHA256  []string `json:"sha256"` // of each output
}

func runPipeline(ctx context.Context, path string, o RunOptions, g *global) (err error) {
	o.checkpointing = o.CheckpointIn != "" || o.CheckpointOut != ""
	d, err := o.define(path)
	if err != nil {
		return err
	}
	// A file without checkpoints may be run with them, as DALI runs it with the option set.
	p, err := d.New(ctx, &dali.PipelineOptions{EnableCheckpointing: o.CheckpointIn != "" || o.CheckpointOut != ""})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := restore(p.Pipeline, o.CheckpointIn); err != nil {
		return err
	}
	out := ran{Moved: d.Moved()}
	if err := makeBatches(ctx, p.Pipeline, filepath.Base(path), o.Iterations, &out, g); err != nil {
		return err
	}
	if err := keep(p.Pipeline, o.CheckpointOut); err != nil {
		return err
	}
	return g.show(out, func() { out.print(g) })
}

// restore moves the pipeline to the state in a file.
func restore(p *pipeline.Pipeline, path string) error {
	if path == "" {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return unopened("run", path, err)
	}
	return errs.Wrap("run", path, p.SetState(b))
}

// keep writes the state of the pipeline to a file.
func keep(p *pipeline.Pipeline, path string) error {
	if path == "" {
		return nil
	}
	b, err := p.AppendState(nil)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		return &errs.Error{Kind: errs.IO, Op: "run", Subject: path, Err: err}
	}
	return nil
}

// makeBatches makes n batches, or the batches of an epoch, and sums them up in out.
func makeBatches(ctx context.Context, p *pipeline.Pipeline, task string, n int, out *ran, g *global) error {
	if n <= 0 {
		n = int(max(1, p.EpochBatches()))
	}
	w := newWork(g)
	w.screen.Begin(task, int64(n))
	w.begun = true
	defer w.close()
	all := sha256.New()
	for i := range n {
		b, err := p.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		sum := ranBatch{}
		for _, o := range b.Outputs {
			sum.add(o)
		}
		for _, s := range sum.SHA256 {
			io.WriteString(all, s)
		}
		out.Batches = append(out.Batches, sum)
		w.screen.Advance(int64(i+1), "")
	}
	for _, s := range p.Specs() {
		out.Outputs = append(out.Outputs, ranSpec{DType: s.DType.String(), Layout: s.Layout})
	}
	out.SHA256 = hex.EncodeToString(all.Sum(nil))
	return nil
}

// add sums up an output.
func (r *ranBatch) add(b *tensor.Batch) {
	h := sha256.New()
	r.Samples = b.NumSamples()
	shape := []int{}
	for s := range r.Samples {
		x := b.Sample(s)
		if s == 0 {
			shape = append(shape, x.Shape...)
		}
		describeTo(h, x)
	}
	r.Shapes, r.SHA256 = append(r.Shapes, shape), append(r.SHA256, hex.EncodeToString(h.Sum(nil)))
}

// describeTo hashes a tensor: dtype, shape and contents.
func describeTo(h hash.Hash, x tensor.Tensor) {
	io.WriteString(h, x.DType.String())
	head := binary.LittleEndian.AppendUint64(nil, uint64(len(x.Shape)))
	for _, d := range x.Shape {
		head = binary.LittleEndian.AppendUint64(head, uint64(d))
	}
	h.Write(head)
	h.Write(x.Data)
}

func (r *ran) print(g *global) {
	if len(r.Moved) > 0 {
		g.printf("on the CPU instead of a GPU: %s\n", strings.Join(r.Moved, ", "))
	}
	for i, b := range r.Batches {
		g.printf("batch %d: %d samples\n", i, b.Samples)
		for k, s := range b.SHA256 {
			g.printf("  output %d  %s%s  sha256 %s\n", k, r.Outputs[k].DType, fmt.Sprint(b.Shapes[k]), s[:16])
		}
	}
	g.printf("%d batches, sha256 %s\n", len(r.Batches), r.SHA256)
}
