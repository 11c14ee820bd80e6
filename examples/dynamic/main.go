package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/dynamic"
)

func main() {
	dir := flag.String("dir", "contact", "directory of pictures, which are made where it has none, checkpoints and the sheet")
	mode := flag.String("mode", "eager", "when operators are computed: eager, sync, deferred")
	compiled := flag.Bool("compiled", false, "compile the loop")
	every := flag.Int("every", 1, "batches between two checkpoints")
	stop := flag.Int("stop", 0, "stop after this number of batches; 0: at the end")
	flag.Parse()
	if err := show(context.Background(), *dir, *mode, *compiled, *every, *stop); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// show runs the program to its end or to where it is to stop.
func show(ctx context.Context, dir, mode string, compiled bool, every, stop int) error {
	m, err := dynamic.ParseMode(mode)
	if err != nil {
		return err
	}
	root := filepath.Join(dir, "pictures")
	if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
		if err := writePictures(root); err != nil {
			return err
		}
	}
	p, err := start(dir, every)
	if err != nil {
		return err
	}
	defer p.close() //nolint:errcheck // what it read is read
	had := len(p.sheet.thumbs)
	err = p.run(dynamic.WithMode(ctx, m), compiled, stop)
	if err != nil && !errors.Is(err, errStopped) {
		return err
	}
	path := filepath.Join(dir, "sheet.png")
	if err := p.sheet.write(path); err != nil {
		return err
	}
	fmt.Printf("%d pictures, %d of them from before: %s\n", len(p.sheet.thumbs), had, path)
	return nil
}
