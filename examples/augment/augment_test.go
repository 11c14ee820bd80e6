package main

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/pipeline"
)

// The sheet is the same for any batch and number of workers, and every row changes the pictures.
func TestSheet(t *testing.T) {
	want, err := draw(t.Context(), pipeline.Options{BatchSize: 4, Seed: 7}, "rounded")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []pipeline.Options{{BatchSize: 1, Seed: 7, Workers: 1}, {BatchSize: 9, Seed: 7, Workers: 3}} {
		got, err := draw(t.Context(), o, "rounded")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Pix, want.Pix) {
			t.Errorf("batches of %d give another sheet", o.BatchSize)
		}
	}
	others, err := draw(t.Context(), pipeline.Options{BatchSize: 4, Seed: 7}, "truncated")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(others.Pix, want.Pix) {
		t.Error("truncated pixels are the same")
	}
	row := func(i int) []byte { return want.Pix[i*(side+gap)*want.Stride:][:side*want.Stride] }
	for i := 1; i < len(magnitudes); i++ {
		if bytes.Equal(row(i), row(i-1)) {
			t.Errorf("rows %d and %d are alike", i-1, i)
		}
	}
}

// The guide shows the sheet that the program writes.
func TestGuide(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sheet.png")
	if err := write(path, "rounded", 7); err != nil {
		t.Fatal(err)
	}
	if !samePicture(t, path, filepath.Join("..", "..", "docs", "guide", "augmentation.png")) {
		t.Error("run: go run ./examples/augment -out docs/guide/augmentation.png")
	}
	if err := write(filepath.Join(path, "nowhere.png"), "rounded", 7); err == nil {
		t.Error("a folder that is a file: no error")
	}
	if err := write(path, "exact", 7); err == nil {
		t.Error("unknown pixels: no error")
	}
}

func samePicture(t *testing.T, a, b string) bool {
	t.Helper()
	var pictures [2]image.Image
	for i, path := range []string{a, b} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if pictures[i], err = png.Decode(f); err != nil {
			t.Fatal(err)
		}
	}
	if pictures[0].Bounds() != pictures[1].Bounds() {
		return false
	}
	for y := range pictures[0].Bounds().Dy() {
		for x := range pictures[0].Bounds().Dx() {
			if pictures[0].At(x, y) != pictures[1].At(x, y) {
				return false
			}
		}
	}
	return true
}
