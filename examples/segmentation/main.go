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
	crops := flag.Int("crops", 200, "number of crops to learn from")
	seed := flag.Uint64("seed", 7, "seed of the transforms and crops")
	flag.Parse()
	if err := write(*out, *crops, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "segmentation:", err)
		os.Exit(1)
	}
}

// write trains, writes the sheet to a file and prints the result.
func write(path string, crops int, seed uint64) error {
	r, err := train(context.Background(), pipeline.Options{BatchSize: 8, Seed: seed}, crops)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := png.Encode(f, r.sheet); err != nil {
		return err
	}
	fmt.Printf("%d crops: %.1f %% of the pixels are right: %s\n", crops, 100*r.right, path)
	return f.Close()
}
