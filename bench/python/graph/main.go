// Graph runs a serialized pipeline in Go, for bench/python/pipelines.py.
//
//	go run ./bench/python/graph FILE BATCHES
//	go run ./bench/python/graph photos DIR
//
// It prints the seconds that the batches took, after as many batches that warm it up. With the word
// photos it makes the JPEG files of bench/pipeline in DIR.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/proof/photos"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/python/graph:", err)
		os.Exit(1)
	}
}

// images is how many files are made: as many as in bench/pipeline.
const images = 512

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want FILE BATCHES, got %d arguments", len(args))
	}
	if args[0] == "photos" {
		return photos.Write(args[1], images)
	}
	batches, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	d, err := dali.DeserializeFile(args[0], nil)
	if err != nil {
		return err
	}
	pipe, err := d.New(ctx, nil)
	if err != nil {
		return err
	}
	defer pipe.Close() //nolint:errcheck // nothing is kept
	var began time.Time
	for i := range 2 * batches {
		if i == batches {
			began = time.Now()
		}
		if _, err := pipe.Run(ctx, nil); err != nil {
			return err
		}
	}
	fmt.Println(time.Since(began).Seconds())
	return nil
}
