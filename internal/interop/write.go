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
	"github.com/bivouac-ml/bivouac/tensor"
)

// dataItem is the JSON item of every run.
const dataItem = `{"position":[1,2.5,null,"ü"],"nested":{"a":true}}`

// orbaxLimits is what Orbax reads.
func orbaxLimits() limits {
	l := limits{names: awkward, nested: true, scalars: true, zeroSize: true}
	for _, d := range tensor.DTypes() {
		if _, ok := d.Zarr(); ok {
			l.dtypes = append(l.dtypes, d)
		}
	}
	return l
}

// writer writes the cases of one kind and layout.
type writer struct {
	kind, layout string
	limits       limits
	write        func(ctx context.Context, dir string, t *trees) (testCase, error)
}

func writers() []writer {
	return []writer{
		{"tree", "ocdbt-zarr3", orbaxLimits(), writeTree},
		{"run", "ocdbt-zarr3", orbaxLimits(), writeRun},
	}
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
			c, err := w.write(ctx, dir, t)
			if err != nil {
				return errs.Wrap("interop.write", dir, err)
			}
			c.Kind, c.Layout = w.kind, w.layout
			if err := c.write(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeTree(ctx context.Context, dir string, t *trees) (testCase, error) {
	n := t.tree()
	err := checkpoint.Save(ctx, filepath.Join(dir, "checkpoint"), n, nil)
	return testCase{Path: "checkpoint", Leaves: describe(n)}, err
}

// writeRun writes steps of a training run; the last is compared.
func writeRun(ctx context.Context, dir string, t *trees) (c testCase, err error) {
	run, err := training.Open(ctx, filepath.Join(dir, "run"), nil)
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
