package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/diff"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/checkpoint/surgery"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/proof/growth"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// kind is a way in which a checkpoint can be large: by its leaves, by the chunks of one
// of them, or by what a layout makes files of.
type kind struct {
	name  string
	n     int
	state func(n int) *tree.Node
	save  func(*checkpoint.SaveOptions)
}

// arrays is a tree of n small arrays, which lie in lists and dictionaries.
func arrays(n int) *tree.Node {
	list := tree.NewList()
	d := tree.NewDict()
	for i := range n / 2 {
		list.Items = append(list.Items, tree.NewLeaf(vector(4)))
		d.Set(name(i), tree.NewLeaf(vector(3)))
	}
	return tree.NewDict().Set("params", d).Set("moments", list)
}

func vector(n int) tensor.Tensor {
	return tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{n}, Data: make([]byte, 4*n)}
}

// typed is a tree of n numbers in structs and tuples.
func typed(n int) *tree.Node {
	s := &tree.Node{Kind: tree.Named, Type: "State"}
	for i := range n / 2 {
		s.Set(name(i), &tree.Node{Kind: tree.Tuple, Items: []*tree.Node{tree.NewLeaf(int64(i)), tree.NewLeaf("text")}})
	}
	return s
}

func chunked(n int) *tree.Node {
	return tree.NewDict().Set("a", tree.NewLeaf(tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{n, 16},
		Data: make([]byte, 64*n)}))
}

func kinds() []kind {
	small := func(o *checkpoint.SaveOptions) { o.Array.Saving.Storage.ChunkByteSize = 64 }
	return []kind{
		{"leaves", 150, arrays, func(*checkpoint.SaveOptions) {}},
		{"typed leaves", 150, typed, func(o *checkpoint.SaveOptions) { o.PyTree.Saving.Metadata.SupportRichTypes = options.On }},
		{"numbers", 150, layered, func(*checkpoint.SaveOptions) {}},
		{"leaves in files", 40, arrays, func(o *checkpoint.SaveOptions) { o.Array.Saving.UseOCDBT = options.Off }},
		{"safetensors", 150, arrays, func(o *checkpoint.SaveOptions) { o.CheckpointLayout = options.SafetensorsFile }},
		{"chunks", 300, chunked, small},
		{"chunks in files", 40, chunked, func(o *checkpoint.SaveOptions) {
			small(o)
			o.Array.Saving.UseOCDBT = options.Off
		}},
		{"compressed chunks", 200, chunked, func(o *checkpoint.SaveOptions) {
			small(o)
			o.Compression = options.Zstd
		}},
		{"metadata of the user", 300, func(int) *tree.Node { return wide(1) }, nil},
	}
}

// saved saves a state of n and returns its path and options.
func (k kind) saved(tb growth.TB, n int) (path string, state *tree.Node, o checkpoint.SaveOptions) {
	path, state, o = filepath.Join(tb.TempDir(), "c"), k.state(n), k.options(n)
	if err := checkpoint.Save(tb.Context(), path, state, &o); err != nil {
		tb.Fatal(err)
	}
	return path, state, o
}

func (k kind) options(n int) checkpoint.SaveOptions {
	var o checkpoint.SaveOptions
	if k.save != nil {
		k.save(&o)
		return o
	}
	custom := map[string]any{}
	for i := range n {
		custom[name(i)] = []string{"a", "b"}
	}
	o.Custom = custom
	return o
}

func checkpointOps() []growth.Op {
	var ops []growth.Op
	for _, k := range kinds() {
		row := func(what string, do func(ctx context.Context, path string, state *tree.Node, o checkpoint.SaveOptions) error) {
			ops = append(ops, growth.Op{Name: "checkpoint: " + what + ": " + k.name, N: k.n,
				Prepare: func(tb growth.TB, n int) func() error {
					path, state, o := k.saved(tb, n)
					return func() error { return do(tb.Context(), path, state, o) }
				}})
		}
		row("save", func(ctx context.Context, path string, state *tree.Node, o checkpoint.SaveOptions) error {
			o.Overwrite = true
			return checkpoint.Save(ctx, path, state, &o)
		})
		row("save signed", func(ctx context.Context, path string, state *tree.Node, o checkpoint.SaveOptions) error {
			o.Overwrite, o.Signing = true, signingKey
			return checkpoint.Save(ctx, path, state, &o)
		})
		row("load", func(ctx context.Context, path string, _ *tree.Node, _ checkpoint.SaveOptions) error {
			_, err := checkpoint.Load(ctx, path, nil)
			return err
		})
		row("load what is asked for", func(ctx context.Context, path string, state *tree.Node, _ checkpoint.SaveOptions) error {
			_, err := checkpoint.Load(ctx, path, &checkpoint.LoadOptions{Abstract: state})
			return err
		})
		row("list", func(ctx context.Context, path string, _ *tree.Node, _ checkpoint.SaveOptions) error {
			_, err := checkpoint.CheckpointablesMetadata(ctx, path, nil)
			return err
		})
		row("verify", func(ctx context.Context, path string, _ *tree.Node, _ checkpoint.SaveOptions) error {
			r, err := integrity.Verify(ctx, path, nil)
			if err == nil && !r.OK() {
				err = r.Problems[0]
			}
			return err
		})
		row("diff", func(ctx context.Context, path string, _ *tree.Node, _ checkpoint.SaveOptions) error {
			for _, err := range diff.Leaves(ctx, path, path, nil) {
				if err != nil {
					return err
				}
			}
			return nil
		})
		row("convert", func(ctx context.Context, path string, _ *tree.Node, _ checkpoint.SaveOptions) error {
			return checkpoint.Convert(ctx, path, path+"-2", &checkpoint.ConvertOptions{Overwrite: true})
		})
		row("repair and delete", func(ctx context.Context, path string, state *tree.Node, o checkpoint.SaveOptions) error {
			path += "-3"
			if err := checkpoint.Save(ctx, path, state, &o); err != nil {
				return err
			}
			if _, err := integrity.Repair(ctx, path, nil); err != nil {
				return err
			}
			_, err := checkpoint.Delete(ctx, path, nil)
			return err
		})
	}
	return append(append(ops, partialOps()...), append(surgeryOps(), trainingOps()...)...)
}

func partialOps() []growth.Op {
	return []growth.Op{
		{Name: "checkpoint: save in parts", N: 40, Prepare: func(tb growth.TB, n int) func() error {
			dir, run := tb.TempDir(), 0
			return func() error {
				run++
				path := filepath.Join(dir, fmt.Sprint(run))
				for i := range 4 {
					part := tree.NewDict()
					for j := range n / 4 {
						part.Set(name(i*n+j), tree.NewLeaf(vector(4)))
					}
					if err := partial.Save(tb.Context(), path, part, nil); err != nil {
						return err
					}
				}
				return partial.Finalize(tb.Context(), path, nil)
			}
		}},
		{Name: "checkpoint: replace in parts", N: 40, Prepare: func(tb growth.TB, n int) func() error {
			dir, run := tb.TempDir(), 0
			return func() error {
				run++
				path := filepath.Join(dir, fmt.Sprint(run))
				if err := partial.Save(tb.Context(), path, layered(n), nil); err != nil {
					return err
				}
				if err := partial.Save(tb.Context(), path, layered(n), &partial.SaveOptions{Replace: true}); err != nil {
					return err
				}
				o := &partial.SaveOptions{}
				for i := range n / 4 {
					o.Remove = append(o.Remove, []string{"layers", fmt.Sprintf("layer%d", i), name(0)})
				}
				if err := partial.Save(tb.Context(), path, wide(1), o); err != nil {
					return err
				}
				return partial.Finalize(tb.Context(), path, nil)
			}
		}},
		update("in a database", func(*checkpoint.SaveOptions) {}),
		update("in files", func(o *checkpoint.SaveOptions) { o.Array.Saving.UseOCDBT = options.Off }),
	}
}

// update replaces half of the leaves of a checkpoint.
func update(name string, with func(*checkpoint.SaveOptions)) growth.Op {
	return growth.Op{Name: "checkpoint: update " + name, N: 40, Prepare: func(tb growth.TB, n int) func() error {
		dir, run := tb.TempDir(), 0
		return func() error {
			run++
			path := filepath.Join(dir, fmt.Sprint(run))
			var o checkpoint.SaveOptions
			with(&o)
			if err := checkpoint.Save(tb.Context(), path, arrays(n), &o); err != nil {
				return err
			}
			o.PartialUpdate, o.Overwrite = true, true
			return checkpoint.Save(tb.Context(), path, tree.NewDict().Set("moments", arrays(n).Get("moments")), &o)
		}
	}}
}

func surgeryOps() []growth.Op {
	fill := 0.0
	vectors := func(n int) *tree.Node {
		d := tree.NewDict()
		for i := range n {
			d.Set(fmt.Sprintf("w%d", i), tree.NewLeaf(vector(4)))
		}
		return d
	}
	var ops []growth.Op
	for name, rule := range map[string]surgery.Rule{
		"rename":  surgery.Rename{Match: surgery.Match{Pattern: `w(\d+)`}, To: "layers.v$1"},
		"copy":    surgery.Copy{Match: surgery.Match{Pattern: `w(\d+)`}, To: "v$1"},
		"drop":    surgery.Drop{Match: surgery.Match{Pattern: `w\d*1`}},
		"cast":    surgery.Cast{Match: surgery.Match{Pattern: `w\d+`}, DType: tensor.Float16},
		"stack":   surgery.Stack{Match: surgery.Match{Pattern: `w(\d+)`}, To: "w"},
		"fill":    surgery.Stack{Match: surgery.Match{Pattern: `w(\d+)`}, To: "w", Count: 20_000, Fill: &fill},
		"fuse":    surgery.Fuse{Pattern: `w(\d+)`, To: "w"},
		"split":   surgery.Split{Match: surgery.Match{Pattern: `w(\d+)`}, To: []string{"w${1}a", "w${1}b"}},
		"unstack": surgery.Unstack{Match: surgery.Match{Pattern: `w(\d+)`}, To: "w$1.${index}"},
	} {
		ops = append(ops, growth.Op{Name: "surgery: " + name, N: 400, Prepare: func(_ growth.TB, n int) func() error {
			t := vectors(n)
			return func() error {
				p, err := surgery.Script{Rules: []surgery.Rule{rule}}.Plan([]*tree.Node{t})
				if err == nil {
					_ = p.Steps[0].Changes
				}
				return err
			}
		}})
	}
	return append(ops, growth.Op{Name: "surgery: fuse by keys", N: 400, Prepare: func(_ growth.TB, n int) func() error {
		t := vectors(n)
		return func() error {
			_, err := surgery.Script{Rules: []surgery.Rule{surgery.Fuse{Keys: t.Keys, To: "all"}}}.Plan([]*tree.Node{t})
			return err
		}
	}})
}

// policies keep all of n steps, in different ways.
func policies(n int) map[string]training.PreservationPolicy {
	custom := training.CustomSteps{}
	for i := range n {
		custom = append(custom, int64(i))
	}
	return map[string]training.PreservationPolicy{
		"all": training.PreserveAll{}, "custom": custom, "twice custom": training.AnyPreservation{custom, custom},
		"latest": training.LatestN{N: n + 10}, "best": training.BestN{N: n + 10, Metric: "loss"},
		"every": training.EveryNSteps{Interval: 1}, "closest": training.EveryNStepsClosest{Interval: 1},
		"interval": training.EveryInterval{}, "duration": training.LatestDuration{Duration: time.Hour},
		"all of": training.AllPreservation{training.PreserveAll{}, custom},
	}
}

// verifyRun verifies each of the n steps of a run while it is open, as the command does.
func verifyRun(ctx context.Context, dir string, n int) error {
	sound := 0
	c, err := training.Open(ctx, dir, &training.Options{Inspect: func(ctx context.Context, step training.Info) error {
		r, err := integrity.Verify(ctx, filepath.Join(dir, step.Directory), nil)
		if err == nil && r.Verdict() == integrity.Sound {
			sound++
		}
		return err
	}})
	if err == nil {
		err = c.Close()
	}
	if err == nil && sound != n {
		err = fmt.Errorf("%d of %d steps are sound", sound, n)
	}
	return err
}

func trainingOps() []growth.Op {
	// run is a directory of n steps.
	run := func(tb growth.TB, n int) string {
		dir := tb.TempDir()
		c, err := training.Open(tb.Context(), dir, &training.Options{Save: training.FixedInterval{Steps: 1}})
		if err != nil {
			tb.Fatal(err)
		}
		for i := range n {
			if _, err := c.Save(tb.Context(), int64(i), wide(1), nil); err != nil {
				tb.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			tb.Fatal(err)
		}
		return dir
	}
	ops := []growth.Op{
		{Name: "training: open a run", N: 10, Prepare: func(tb growth.TB, n int) func() error {
			dir := run(tb, n)
			return func() error {
				c, err := training.Open(tb.Context(), dir, nil)
				if err != nil {
					return err
				}
				return c.Close()
			}
		}},
		{Name: "training: verify a run", N: 5, Prepare: func(tb growth.TB, n int) func() error {
			dir := run(tb, n)
			return func() error { return verifyRun(tb.Context(), dir, n) }
		}},
	}
	names := []string{"all", "custom", "twice custom", "latest", "best", "every", "closest", "interval", "duration",
		"all of"}
	for _, name := range names {
		ops = append(ops, growth.Op{Name: "training: preserve " + name, N: 1000,
			Prepare: func(_ growth.TB, n int) func() error {
				p, list := policies(n)[name], make([]training.Info, n)
				for i := range list {
					list[i] = training.Info{Step: int64(i), Time: time.Now()}
				}
				return func() error {
					if got := p.Preserve(list, time.Now()); len(got) != n {
						return fmt.Errorf("%d answers", len(got))
					}
					_, err := training.PreservationSpec(p)
					return err
				}
			}})
		ops = append(ops, growth.Op{Name: "training: save and retain " + name, N: 5,
			Prepare: func(tb growth.TB, n int) func() error {
				dir, step := run(tb, n), int64(n)
				return func() error {
					c, err := training.Open(tb.Context(), dir, &training.Options{Save: training.FixedInterval{Steps: 1},
						Preserve: policies(1000 * n)[name]})
					if err != nil {
						return err
					}
					defer c.Close() //nolint:errcheck // Wait has told
					step++
					if _, err := c.Save(tb.Context(), step, wide(1), nil); err != nil {
						return err
					}
					_ = c.Retention()
					return c.Wait(tb.Context())
				}
			}})
	}
	return ops
}
