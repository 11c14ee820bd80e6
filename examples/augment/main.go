package main

import (
	"context"
	"flag"
	"fmt"
	"image/png"
	"os"

	"github.com/bivouac-ml/bivouac/pipeline"
)

func main() {
	out := flag.String("out", "sheet.png", "file of the sheet")
	pixels := flag.String("pixels", "rounded", `how pixels are computed: "rounded" or "truncated"`)
	seed := flag.Uint64("seed", 7, "seed of the augmentations")
	flag.Parse()
	if err := write(*out, *pixels, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "augment:", err)
		os.Exit(1)
	}
	fmt.Printf("%d magnitudes of %d pictures: %s\n", len(magnitudes), columns, *out)
}

// write draws the sheet and writes it to a file.
func write(path, pixels string, seed uint64) error {
	sheet, err := draw(context.Background(), pipeline.Options{BatchSize: 4, Seed: seed}, pixels)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := png.Encode(f, sheet); err != nil {
		return err
	}
	return f.Close()
}
