package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// What is written is what is read, by the same rules that the libraries are held to.
func TestOwnRoundTrip(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	if err := writeAll(ctx, root, 7, 1); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := compareAll(ctx, root, &out); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if got, want := strings.Count(out.String(), " 0 differences"), 5+2+2; got != want { // layouts; of several processes; of meshes
		t.Errorf("%d lines, want %d\n%s", got, want, out.String())
	}
}

func TestSeedDecides(t *testing.T) {
	var first []leaf
	for range 2 {
		dir := t.TempDir()
		if err := writeAll(context.Background(), dir, 3, 1); err != nil {
			t.Fatal(err)
		}
		c, err := readCase(filepath.Join(dir, "00-000"))
		if err != nil {
			t.Fatal(err)
		}
		if first != nil {
			if d := differences(first, c.Leaves); len(d) > 0 {
				t.Errorf("another tree from the same seed: %q", d)
			}
		}
		first = c.Leaves
	}
}

// Every kind of deviation must be told: a comparison that finds nothing proves nothing.
func TestDifferencesAreTold(t *testing.T) {
	wrote := func() []leaf {
		v := tensor.New(tensor.Float32, 2, 1)
		return describe(tree.NewDict().
			Set("list", tree.NewList(tree.NewLeaf(v), tree.NewLeaf("text"))).
			Set("number", tree.NewLeaf(1.5)).
			Set("nothing", tree.NewLeaf(nil)).
			Set("empty", tree.NewDict()))
	}
	if d := differences(wrote(), wrote()); len(d) > 0 {
		t.Fatalf("equal trees differ: %q", d)
	}
	other := "other"
	for name, change := range map[string]func(l []leaf) []leaf{
		"a bit":          func(l []leaf) []leaf { l[0].Data[7] ^= 1; return l },
		"dtype":          func(l []leaf) []leaf { l[0].DType = "int32"; return l },
		"shape":          func(l []leaf) []leaf { l[0].Shape = []int{1, 2}; return l },
		"kind of key":    func(l []leaf) []leaf { l[0].Kinds[1] = "dict"; return l },
		"text":           func(l []leaf) []leaf { l[1].Text = &other; return l },
		"scalar as such": func(l []leaf) []leaf { l[2].Kind = "array"; return l },
		"None":           func(l []leaf) []leaf { l[3].Kind = "empty_dict"; return l },
		"missing":        func(l []leaf) []leaf { return l[1:] },
		"added":          func(l []leaf) []leaf { return append(l, leaf{Keys: []string{"new"}, Kind: "none"}) },
	} {
		if d := differences(wrote(), change(wrote())); len(d) != 1 {
			t.Errorf("%s: got %d differences, want 1: %q", name, len(d), d)
		}
	}
}

func TestCompareFails(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	if err := compareAll(ctx, root, &bytes.Buffer{}); err == nil {
		t.Error("nothing to compare passed")
	}
	dir := filepath.Join(root, "case")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	none := testCase{Kind: "tree", Path: "checkpoint"}
	if err := errors.Join(none.write(dir), os.Mkdir(filepath.Join(dir, "checkpoint"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := compareAll(ctx, root, &bytes.Buffer{}); err == nil {
		t.Error("a directory that is no checkpoint passed")
	}
}
