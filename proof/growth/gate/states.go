package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/compat/dali"
	dynamics "github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/crewtest"
	"github.com/bivouac-ml/bivouac/proof/growth"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// severalOps are saves of several processes, loads into memory of the caller, and loads
// of what is left of damaged checkpoints.
func severalOps() []growth.Op {
	return []growth.Op{
		{Name: "checkpoint: save of two processes", N: 60, Prepare: func(tb growth.TB, n int) func() error {
			dir, state := tb.TempDir(), arrays(n)
			return func() error {
				both := crewtest.NewBarrier(2, nil)
				return errors.Join(crewtest.Run(2, func(p int) error {
					o := checkpoint.SaveOptions{Overwrite: true}
					o.Multiprocessing = options.Multiprocessing{ProcessIndex: new(options.Host(p)), ProcessCount: 2, Barrier: both.Of(p)}
					return checkpoint.Save(tb.Context(), filepath.Join(dir, "c"), state, &o)
				})...)
			}
		}},
		{Name: "checkpoint: load into", N: 150, Prepare: func(tb growth.TB, n int) func() error {
			path, into := filepath.Join(tb.TempDir(), "c"), map[string]any{}
			for i := range n {
				into[name(i)] = vector(4)
			}
			if err := checkpoint.Save(tb.Context(), path, into, nil); err != nil {
				tb.Fatal(err)
			}
			return func() error { return checkpoint.LoadInto(tb.Context(), path, into, nil) }
		}},
		{Name: "checkpoint: load what is whole", N: 30, Prepare: func(tb growth.TB, n int) func() error {
			path := holed(tb, n)
			return func() error {
				_, err := checkpoint.Load(tb.Context(), path, &checkpoint.LoadOptions{Salvage: true, Report: &checkpoint.LoadReport{}})
				return err
			}
		}},
		{Name: "checkpoint: load what is missing as the fill value", N: 30, Prepare: func(tb growth.TB, n int) func() error {
			path := holed(tb, n)
			if err := os.Remove(filepath.Join(path, "bivouac.manifest")); err != nil {
				tb.Fatal(err)
			}
			o := checkpoint.LoadOptions{AllowNoManifest: true, Report: &checkpoint.LoadReport{}}
			o.Array.Loading.RaiseArrayDataMissingError = options.Off
			return func() error {
				o.Report.Leaves = nil
				_, err := checkpoint.Load(tb.Context(), path, &o)
				if err == nil && len(o.Report.Leaves) != n/2 {
					return fmt.Errorf("%d leaves were filled, want %d", len(o.Report.Leaves), n/2)
				}
				return err
			}
		}},
		{Name: "checkpoint: load boxes of one array", N: 60, Prepare: func(tb growth.TB, n int) func() error {
			path := filepath.Join(tb.TempDir(), "c")
			o := checkpoint.SaveOptions{}
			o.Array.Saving.Storage.ChunkByteSize = 64
			if err := checkpoint.Save(tb.Context(), path, chunked(n), &o); err != nil {
				tb.Fatal(err)
			}
			boxes := make([]checkpoint.Box, n)
			for i := range boxes {
				boxes[i] = checkpoint.Box{Origin: []int{i, 0}, Shape: []int{1, 16}}
			}
			return func() error {
				_, err := checkpoint.Load(tb.Context(), path, &checkpoint.LoadOptions{Want: func(checkpoint.LeafInfo) checkpoint.Want { return checkpoint.Want{Boxes: boxes} }})
				return err
			}
		}},
	}
}

// holed is a checkpoint of n arrays in files, of which every second one is gone.
func holed(tb growth.TB, n int) string {
	path := filepath.Join(tb.TempDir(), "c")
	o := checkpoint.SaveOptions{}
	o.Array.Saving.UseOCDBT = options.Off
	d := tree.NewDict()
	for i := range n {
		d.Set(name(i), tree.NewLeaf(vector(4)))
	}
	if err := checkpoint.Save(tb.Context(), path, d, &o); err != nil {
		tb.Fatal(err)
	}
	for i := range n / 2 {
		if err := os.RemoveAll(filepath.Join(path, "state", name(2*i), "c")); err != nil {
			tb.Fatal(err)
		}
	}
	return path
}

// stateOps are definitions of pipelines, and states of what has many parts.
func stateOps() []growth.Op {
	chain := func(n int) (*dali.Definition, error) {
		return dali.Define(dali.PipelineOptions{Options: pipeline.Options{BatchSize: 1, Seed: 1}, Native: true},
			func(b *pipeline.Builder) []pipeline.Node {
				x := b.Op("random.uniform", nil)[0]
				for i := range n {
					d := tensor.Float32
					if i%2 == 0 {
						d = tensor.Int32
					}
					x = b.Op("cast", op.Args{"dtype": d}, x)[0]
				}
				return []pipeline.Node{x}
			})
	}
	drawing := func(n int) (*pipeline.Definition, error) {
		return pipeline.Define(pipeline.Options{BatchSize: 1, Seed: 1}, func(b *pipeline.Builder) []pipeline.Node {
			out := make([]pipeline.Node, n)
			for i := range out {
				out[i] = b.Op("random.uniform", nil)[0]
			}
			return out
		})
	}
	return []growth.Op{
		{Name: "pipeline: define a chain", N: 100, Prepare: func(_ growth.TB, n int) func() error {
			return func() error { _, err := chain(n); return err }
		}},
		{Name: "pipeline: define many outputs", N: 100, Prepare: func(_ growth.TB, n int) func() error {
			return func() error { _, err := drawing(n); return err }
		}},
		{Name: "pipeline: serialize and deserialize", N: 50, Prepare: func(tb growth.TB, n int) func() error {
			d, err := chain(n)
			if err != nil {
				tb.Fatal(err)
			}
			return func() error {
				b, err := dali.Serialize(d)
				if err == nil {
					_, err = dali.Deserialize(b, nil)
				}
				return err
			}
		}},
		{Name: "pipeline: state of many operators", N: 20, Prepare: func(tb growth.TB, n int) func() error {
			d, err := drawing(n)
			if err != nil {
				tb.Fatal(err)
			}
			return func() error {
				p, err := d.New(context.Background(), nil)
				if err != nil {
					return err
				}
				defer p.Close()
				if _, err := p.Next(context.Background()); err != nil {
					return err
				}
				b, err := p.AppendState(nil)
				if err != nil {
					return err
				}
				again, err := d.New(context.Background(), nil)
				if err != nil {
					return err
				}
				defer again.Close()
				return again.SetState(b)
			}
		}},
		{Name: "dynamic: checkpoint of many generators", N: 100, Prepare: func(_ growth.TB, n int) func() error {
			return func() error {
				c := dynamics.New()
				for i := range n {
					if _, err := c.Register(random.New(uint64(i)), name(i)); err != nil {
						return err
					}
				}
				if err := c.Collect(); err != nil {
					return err
				}
				text, err := c.Serialize()
				if err != nil {
					return err
				}
				return dynamics.New().Deserialize(text)
			}
		}},
	}
}
