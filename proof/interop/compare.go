package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// tally counts what was compared of one library and layout.
type tally struct {
	name                       string
	trees, leaves, differences int
}

// compareAll compares every case below root, in the order of their names.
func compareAll(ctx context.Context, root string, out io.Writer) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	var tallies []*tally
	wrong := 0
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		c, err := readCase(dir)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%-26s %-12s", c.Library, c.Layout)
		if len(tallies) == 0 || tallies[len(tallies)-1].name != name {
			tallies = append(tallies, &tally{name: name})
		}
		t := tallies[len(tallies)-1]
		t.trees++
		t.leaves += len(c.Leaves)
		for _, d := range compare(ctx, dir, c) {
			fmt.Fprintf(out, "DIFFERENT %s %s %s: %s\n", c.Library, c.Layout, dir, d)
			t.differences++
			wrong++
		}
	}
	for _, t := range tallies {
		fmt.Fprintf(out, "%s → bivouac: %4d trees, %6d leaves, %d differences\n", t.name, t.trees, t.leaves, t.differences)
	}
	switch {
	case wrong > 0:
		return fmt.Errorf("%d differences", wrong)
	case len(tallies) == 0:
		return errors.New("nothing to compare")
	}
	return nil
}

// compare loads a case and returns what differs; an error is a difference.
func compare(ctx context.Context, dir string, c testCase) []string {
	path := filepath.Join(dir, filepath.FromSlash(c.Path))
	if c.Kind == "run" {
		path = filepath.Join(path, strconv.FormatInt(c.Step, 10))
	}
	var got *tree.Node
	var err error
	switch c.Kind {
	case "array":
		got, err = loadArray(ctx, path, c)
	case "handled":
		got, err = loadHandled(ctx, path)
	default:
		got, err = checkpoint.Load(ctx, path, nil)
	}
	if err != nil {
		return []string{err.Error()}
	}
	diff := differences(c.Leaves, describe(got))
	switch c.Kind {
	case "array":
		return diff
	case "unmerged":
		diff = append(diff, merge(ctx, path, c)...)
	}
	r, err := integrity.Verify(ctx, path, nil)
	if err != nil {
		return append(diff, "verify: "+err.Error())
	}
	for _, p := range r.Problems {
		diff = append(diff, "verify: "+p.Error())
	}
	if c.Kind == "tree" && strings.HasPrefix(c.Library, "orbax") {
		diff = append(diff, adopt(ctx, path, c)...)
	}
	return diff
}

// adopt gives a checkpoint of Orbax a manifest, and compares it again.
func adopt(ctx context.Context, path string, c testCase) []string {
	r, err := integrity.Adopt(ctx, path, nil)
	if err != nil {
		return []string{"adopt: " + err.Error()}
	}
	var out []string
	if r.Verdict() != integrity.Sound {
		out = append(out, fmt.Sprintf("adopted: %v", r.Verdict()))
	}
	got, err := checkpoint.Load(ctx, path, nil)
	if err != nil {
		return append(out, "adopted: "+err.Error())
	}
	for _, d := range differences(c.Leaves, describe(got)) {
		out = append(out, "adopted: "+d)
	}
	return out
}

// merge has Repair merge the databases of a checkpoint, and compares it again.
func merge(ctx context.Context, path string, c testCase) []string {
	r, err := integrity.Repair(ctx, path, &integrity.RepairOptions{Apply: true})
	if err != nil {
		return []string{"repair: " + err.Error()}
	}
	var out []string
	merged := func(a integrity.RepairAction) bool { return a.Kind == integrity.RepairMerge && a.Done }
	if !slices.ContainsFunc(r.Actions, merged) {
		out = append(out, "repair: nothing was merged")
	}
	for _, p := range r.Problems {
		out = append(out, "repair: "+p.Error())
	}
	got, err := checkpoint.Load(ctx, path, nil)
	if err != nil {
		return append(out, "merged: "+err.Error())
	}
	for _, d := range differences(c.Leaves, describe(got)) {
		out = append(out, "merged: "+d)
	}
	return out
}

// loadArray reads a single zarr array from a directory or a database.
func loadArray(ctx context.Context, path string, c testCase) (*tree.Node, error) {
	var kv zarr.KV = zarr.NewFiles(folder(path))
	if strings.HasPrefix(c.Layout, "ocdbt") {
		db, err := ocdbt.Open(ctx, folder(path), ocdbt.Options{})
		if err != nil {
			return nil, err
		}
		kv = db.Values()
	}
	name := c.Leaves[0].Keys[0]
	a, err := zarr.Open(ctx, kv, name)
	if err != nil {
		return nil, err
	}
	m := a.Metadata()
	t := tensor.New(m.DType, m.Shape...)
	if err := a.ReadBox(ctx, zarr.WholeBox(m.Shape), t.Data, &zarr.ReadOptions{FillMissing: true}); err != nil {
		return nil, err
	}
	return tree.NewDict().Set(name, tree.NewLeaf(t)), nil
}

// folder reads the files below a directory for the format packages.
type folder string

func (f folder) path(name string) string {
	return filepath.Join(string(f), filepath.FromSlash(name))
}

// ReadFile implements ocdbt.Files and zarr.Directory.
func (f folder) ReadFile(_ context.Context, name string) ([]byte, error) {
	b, err := os.ReadFile(f.path(name))
	return b, missing(name, err)
}

// ReadAt implements ocdbt.Files and zarr.Directory.
func (f folder) ReadAt(_ context.Context, name string, p []byte, off int64) error {
	file, err := os.Open(f.path(name))
	if err != nil {
		return missing(name, err)
	}
	defer file.Close() //nolint:errcheck // it was read
	_, err = file.ReadAt(p, off)
	return err
}

// Size implements ocdbt.Files and zarr.Directory.
func (f folder) Size(_ context.Context, name string) (int64, error) {
	info, err := os.Stat(f.path(name))
	if err != nil {
		return 0, missing(name, err)
	}
	return info.Size(), nil
}

func missing(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &errs.Error{Kind: errs.NotFound, Subject: name, Err: err}
	}
	return err
}
