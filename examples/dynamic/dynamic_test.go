package main

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/dynamic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(closing{m}) }

// closing ends the goroutines of the default context after the tests.
type closing struct{ *testing.M }

func (c closing) Run() int {
	defer dynamic.Default().Close()
	return c.M.Run()
}

// way is how a program runs.
type way struct {
	mode     dynamic.Mode
	compiled bool
}

var ways = map[string]way{
	"eager": {mode: dynamic.Eager}, "sync": {mode: dynamic.Sync}, "deferred": {mode: dynamic.Deferred}, "compiled": {mode: dynamic.Eager, compiled: true},
}

// run runs a program in dir for up to limit batches, and returns its sheet.
func (w way) run(t *testing.T, dir string, limit int) *sheet {
	t.Helper()
	ctx := context.Background()
	p, err := start(dir, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.run(dynamic.WithMode(ctx, w.mode), w.compiled, limit); err != nil && !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	return p.sheet
}

func same(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// album returns a directory with the pictures of another.
func album(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(root, "pictures"), filepath.Join(dir, "pictures")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A run that is stopped at any batch of two epochs carries on to the same sheet, in every mode and
// in a compiled loop, and from each to the other.
func TestInterruptedAnywhere(t *testing.T) {
	root := t.TempDir()
	if err := writePictures(filepath.Join(root, "pictures")); err != nil {
		t.Fatal(err)
	}
	want := ways["sync"].run(t, album(t, root), 0)
	if len(want.thumbs) != epochs*pictures {
		t.Fatalf("%d pictures", len(want.thumbs))
	}
	const batches = epochs * ((pictures + batchSize - 1) / batchSize)
	next := map[string]string{"eager": "eager", "sync": "sync", "deferred": "deferred", "compiled": "compiled", "eager, then compiled": "compiled", "compiled, then deferred": "deferred"}
	first := map[string]string{"eager, then compiled": "eager", "compiled, then deferred": "compiled"}
	for name, then := range next {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin, ok := first[name]
			if !ok {
				begin = then
			}
			for stop := range batches {
				dir := album(t, root)
				if stop > 0 {
					if got := ways[begin].run(t, dir, stop); !same(got.thumbs, want.thumbs[:len(got.thumbs)]) || len(got.thumbs) == 0 {
						t.Fatalf("stopped after %d batches: other pictures", stop)
					}
				}
				got := ways[then].run(t, dir, 0)
				if !same(got.thumbs, want.thumbs) {
					t.Errorf("stopped after %d batches: %d pictures are not those of a run without a stop", stop, len(got.thumbs))
				}
			}
		})
	}
}

// The program makes its pictures, stops, carries on and writes a sheet.
func TestShow(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	if err := show(ctx, dir, "deferred", false, 1, 2); err != nil {
		t.Fatal(err)
	}
	if err := show(ctx, dir, "eager", true, 2, 0); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "sheet.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it was read
	config, err := png.DecodeConfig(f)
	if err != nil || config.Width != columns*thumbWidth || config.Height != epochs*pictures/columns*thumbHeight {
		t.Errorf("%+v, %v", config, err)
	}
	if err := show(ctx, dir, "soon", false, 1, 0); err == nil {
		t.Error("a mode that there is not")
	}
}
