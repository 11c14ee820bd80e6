package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// dataItem is the JSON item of every run.
const dataItem = `{"position":[1,2.5,null,"ü"],"nested":{"a":true}}`

// writer writes the cases of one kind and layout.
type writer struct {
	kind   string
	layout checkpoint.Layout
	limits limits
	write  func(ctx context.Context, dir string, t *trees, s storage) (testCase, error)
}

// storage are options of a save, drawn for each.
type storage struct {
	layout      checkpoint.Layout
	compression checkpoint.Compression
	axes        []int
}

func writers() []writer {
	var out []writer
	for _, l := range []checkpoint.Layout{checkpoint.Default, checkpoint.OCDBTZarr2, checkpoint.PlainZarr3, checkpoint.PlainZarr2} {
		limits := zarrLimits(l)
		out = append(out, writer{"tree", l, limits, writeTree}, writer{"run", l, limits, writeRun})
	}
	return append(out,
		writer{"tree", checkpoint.Safetensors, safetensorsLimits(), writeTree},
		writer{"common", checkpoint.Safetensors, commonLimits(), writeTree})
}

func (t *trees) storage(l checkpoint.Layout) storage {
	s := storage{layout: l}
	if l == checkpoint.Safetensors {
		return s
	}
	s.compression = []checkpoint.Compression{checkpoint.Uncompressed, checkpoint.Zstd, checkpoint.ByteSplit}[t.rnd.IntN(3)]
	s.axes = [][]int{nil, {0}, {1}, {0, 2}}[t.rnd.IntN(4)]
	return s
}

// writeAll writes n random trees of every kind and layout below root.
func writeAll(ctx context.Context, root string, seed uint64, n int) error {
	for row, w := range writers() {
		t := newTrees(rand.New(rand.NewPCG(seed, uint64(row))), w.limits)
		for i := range n {
			dir := filepath.Join(root, fmt.Sprintf("%02d-%03d", row, i))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			c, err := w.write(ctx, dir, t, t.storage(w.layout))
			if err != nil {
				return errs.Wrap("interop.write", dir, err)
			}
			c.Kind, c.Layout = w.kind, w.layout.String()
			if err := c.write(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeTree(ctx context.Context, dir string, t *trees, s storage) (testCase, error) {
	n := t.tree()
	err := checkpoint.Save(ctx, filepath.Join(dir, "checkpoint"), n, &checkpoint.SaveOptions{Layout: s.layout, Compression: s.compression, ShardAxes: s.axes})
	return testCase{Path: "checkpoint", Leaves: describe(n)}, err
}

// writeRun writes steps of a training run; the last is compared.
func writeRun(ctx context.Context, dir string, t *trees, s storage) (c testCase, err error) {
	o := &training.Options{Layout: s.layout, Compression: s.compression, ShardAxes: s.axes}
	run, err := training.Open(ctx, filepath.Join(dir, "run"), o)
	if err != nil {
		return c, err
	}
	for step := int64(1); step <= 2; step++ {
		n := t.tree()
		items := map[string]any{"state": n, "data": json.RawMessage(dataItem)}
		if _, err = run.SaveCheckpointables(ctx, step, items, &training.SaveOptions{Metrics: map[string]float64{"loss": 0.5}}); err != nil {
			break
		}
		c = testCase{Path: "run", Step: step, Leaves: describe(n), Data: json.RawMessage(dataItem)}
	}
	if cerr := run.Close(); err == nil {
		err = cerr
	}
	return c, err
}
