package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// dataItem is the JSON item of every run.
const dataItem = `{"position":[1,2.5,null,"ü"],"nested":{"a":true}}`

// smallFiles is how many bytes a data file holds where hardly two arrays share one.
const smallFiles = 3000

// writer writes the cases of one kind and layout.
type writer struct {
	kind   string
	layout options.Layout
	limits limits
	write  func(ctx context.Context, dir string, t *trees, l options.Layout, s storage) (testCase, error)
}

// storage are options of a save, drawn for each.
type storage struct {
	all  options.LeafStorage
	leaf options.LeafFunc // draws the options of a leaf
	most options.FileSize
	link bool // steps are linked

	signing ed25519.PrivateKey // nil signs nothing
}

func writers() []writer {
	var out []writer
	for _, l := range []options.Layout{options.DefaultLayout, options.OCDBTZarr2, options.PlainZarr3, options.PlainZarr2} {
		limits := zarrLimits(l)
		out = append(out, writer{"tree", l, limits, writeTree}, writer{"run", l, limits, writeRun},
			writer{"handled", l, limits, writeHandled})
	}
	return append(out,
		writer{"tree", options.SafetensorsLayout, safetensorsLimits(), writeTree},
		writer{"common", options.SafetensorsLayout, commonLimits(), writeTree},
		writer{"tree", options.DefaultLayout, zarrLimits(options.DefaultLayout), writeSeveral},
		writer{"tree", options.OCDBTZarr2, zarrLimits(options.OCDBTZarr2), writeSeveral},
		writer{"meshed", options.DefaultLayout, zarrLimits(options.DefaultLayout), writeMeshed},
		writer{"meshed", options.OCDBTZarr2, zarrLimits(options.OCDBTZarr2), writeMeshed})
}

func (t *trees) storage(l options.Layout) storage {
	s := storage{link: t.rnd.IntN(2) == 0}
	if t.rnd.IntN(2) == 0 {
		s.signing = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	}
	if l == options.DefaultLayout || l == options.OCDBTZarr2 || l == options.SafetensorsLayout {
		s.most = []options.FileSize{0, smallFiles, 100_000}[t.rnd.IntN(3)]
	}
	if l == options.SafetensorsLayout {
		return s
	}
	s.all = t.leafStorage(1) // what is said for all has to fit one, at least
	if t.rnd.IntN(2) == 0 {
		s.leaf = func(_ tree.Path, leaf any) *options.Storage {
			one := t.leafStorage(len(leaf.(tensor.Spec).Shape)).Storage
			return &one
		}
	}
	return s
}

// options returns the options of a save in the layout.
func (s storage) options(l options.Layout) checkpoint.Options {
	return options.Options{
		Array: options.Array{Saving: options.ArraySaving{OCDBTTargetDataFileSize: s.most, ScopedStorage: s.leaf,
			Storage: s.all.Storage}},
		Bivouac: options.Bivouac{Compression: s.all.Compression, Layout: l, Signing: s.signing},
	}
}

// leafStorage draws what arrays of a rank may have.
func (t *trees) leafStorage(rank int) options.LeafStorage {
	axes := [][]int{nil, {0}, {1}, {0, 2}}
	return options.LeafStorage{
		Compression: []options.Compression{options.Uncompressed, options.Zstd, options.ByteSplit}[t.rnd.IntN(3)],
		Storage: options.Storage{
			ShardAxes:     axes[t.rnd.IntN(min(rank, 3)+1)],
			ChunkByteSize: []int64{0, 0, 300, 5000, 70_000}[t.rnd.IntN(5)],
		},
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
			c, err := w.write(ctx, dir, t, w.layout, t.storage(w.layout))
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

func writeTree(ctx context.Context, dir string, t *trees, l options.Layout, s storage) (testCase, error) {
	n := t.tree()
	err := checkpoint.Save(ctx, filepath.Join(dir, "checkpoint"), n, &checkpoint.SaveOptions{Options: s.options(l)})
	return testCase{Path: "checkpoint", Leaves: describe(n)}, err
}

// writeRun writes steps of a training run; the last is compared. Where steps are
// linked it has all leaves of the first but one.
func writeRun(ctx context.Context, dir string, t *trees, l options.Layout, s storage) (c testCase, err error) {
	linked := 0
	run, err := training.Open(ctx, filepath.Join(dir, "run"),
		&training.Options{Options: s.options(l), Dedup: training.Dedup{On: s.link},
			OnEvent: func(e training.Event) { linked += e.Stats.Linked }})
	if err != nil {
		return c, err
	}
	kept := tree.NewLeaf(tensor.New(tensor.Float32, 7000))
	var n *tree.Node
	for step := int64(1); step <= 2; step++ {
		if step == 2 && s.link {
			n.Set("always", t.array())
		} else {
			n = t.tree().Set("kept", kept)
		}
		items := map[string]any{"state": n, "data": json.RawMessage(dataItem)}
		if _, err = run.SaveCheckpointables(ctx, step, items, &training.SaveOptions{Metrics: map[string]float64{"loss": 0.5}}); err != nil {
			break
		}
		c = testCase{Path: "run", Step: step, Leaves: describe(n), Data: json.RawMessage(dataItem)}
	}
	if cerr := run.Close(); err == nil {
		err = cerr
	}
	// Leaves that draw their storage draw another storage for each step.
	if err == nil && s.link && s.leaf == nil && s.most == smallFiles && linked == 0 {
		err = errors.New("no file of the second step is linked")
	}
	return c, err
}
