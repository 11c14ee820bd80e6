// Graph runs a serialized pipeline in Go, for bench/python/pipelines.py.
//
//	go run ./bench/python/graph FILE BATCHES
//
// It prints the seconds that the batches took, after as many batches that warm it up.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/compat/dali"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/python/graph:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want FILE BATCHES, got %d arguments", len(args))
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
