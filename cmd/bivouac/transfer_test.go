package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

func TestPlaces(t *testing.T) {
	for _, c := range []struct{ at, below, joined, base, parent string }{
		{"run", "5", "run/5", "run", "."},
		{"/a/run/", "5/x", "/a/run/5/x", "run", "/a"},
		{"s3://b", "5", "s3://b/5", "b", "s3://b"},
		{"s3://b?region=x", "5", "s3://b/5?region=x", "b", "s3://b?region=x"},
		{"s3://b/run/?endpoint=http://h/", "5", "s3://b/run/5?endpoint=http://h/", "run", "s3://b?endpoint=http://h/"},
		{"s3://b/a%2Fb/c#1", "d", "s3://b/a%2Fb/c#1/d", "c#1", "s3://b/a%2Fb"},
	} {
		p := place(c.at)
		if p.join(c.below) != c.joined || p.base() != c.base || p.parent() != c.parent {
			t.Errorf("%s: %s, %s, %s", c.at, p.join(c.below), p.base(), p.parent())
		}
	}
	for _, c := range []struct {
		p, q   place
		inside bool
	}{
		{"run", "run", true}, {"run/5", "run", true}, {"run5", "run", false}, {"run", "run/5", false},
		{"s3://b/run/5", "s3://b/run", true}, {"s3://b/run", "s3://b", true}, {"s3://b/run5", "s3://b/run", false},
		{"s3://c/run", "s3://b", false}, {"s3://b/run", "run", false},
	} {
		if c.p.inside(c.q) != c.inside {
			t.Errorf("%s inside %s: want %v", c.p, c.q, c.inside)
		}
	}
}

// A byte that changed on the way is found, wherever it is, and so is a file that became shorter.
func TestCopyIsCompared(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	src, dst := place(filepath.Join(dir, "src")), place(filepath.Join(dir, "dst"))
	big := make([]float32, 5<<20) // more than two pieces
	for i := range big {
		big[i] = float32(i)
	}
	if err := checkpoint.Save(ctx, string(src), map[string][]float32{"big": big, "none": {}}, nil); err != nil {
		t.Fatal(err)
	}
	files, err := src.files(ctx)
	if err != nil {
		t.Fatal(err)
	}
	quiet := func(done, total int64) {
		if done > total {
			t.Errorf("%d of %d bytes", done, total)
		}
	}
	made, err := newTransfer(ctx, src, dst, files)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.run(ctx, false, quiet); err != nil {
		t.Fatal(err)
	}
	if err := made.compare(ctx, quiet); err != nil {
		t.Fatal(err)
	}
	if same, err := made.present(ctx, quiet); err != nil || !same {
		t.Fatal(same, err)
	}
	for _, f := range files {
		if f.Bytes == 0 {
			continue
		}
		name := dst.join(f.Name)
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int64{0, f.Bytes / 2, f.Bytes - 1} {
			whole[at] ^= 1
			write(t, name, whole)
			if err := made.compare(ctx, quiet); errs.KindOf(err) != errs.Corrupt {
				t.Errorf("byte %d of %s changed: %v", at, f.Name, err)
			}
			whole[at] ^= 1
		}
		write(t, name, whole[:f.Bytes-1])
		if err := made.compare(ctx, quiet); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s is shorter: %v", f.Name, err)
		}
		if same, err := made.present(ctx, quiet); err != nil || same {
			t.Errorf("%s is shorter: %v, %v", f.Name, same, err)
		}
		write(t, name, whole)
	}
}

// A copy whose context ends leaves nothing.
func TestCopyIsCancelled(t *testing.T) {
	dir := t.TempDir()
	src, dst := place(filepath.Join(dir, "src")), place(filepath.Join(dir, "dst"))
	state := map[string][]float32{"w": make([]float32, 8<<20)}
	if err := checkpoint.Save(t.Context(), string(src), state, nil); err != nil {
		t.Fatal(err)
	}
	files, err := src.files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made, err := newTransfer(t.Context(), src, dst, files)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = made.run(ctx, false, func(int64, int64) { cancel() })
	if errs.KindOf(err) != errs.Canceled && err != context.Canceled {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
}

func write(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
}
