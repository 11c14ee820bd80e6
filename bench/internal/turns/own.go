package turns

import (
	"context"
	"os"
	"time"

	"github.com/bivouac-ml/bivouac/bench/internal/child"
	"github.com/bivouac-ml/bivouac/rng"
)

// Runner makes units once. It says how many, and what their words fold into.
type Runner func(context.Context) (units int, digest uint64, err error)

// serve is the life of a side that is this program.
func serve(ctx context.Context, begin func(context.Context, Request) (Runner, error)) error {
	var run Runner
	return child.Serve(os.Stdin, os.Stdout, func(r Request) (a Answer, err error) {
		if r.Op == "begin" {
			run, err = begin(ctx, r)
			return a, err
		}
		start, cpu := time.Now(), CPU()
		a.Units, a.Digest, err = run(ctx)
		a.Seconds, a.CPU = time.Since(start).Seconds(), CPU()-cpu
		return a, err
	})
}

// States returns a Runner that takes n states into one buffer.
func States(n int, appendState func([]byte) ([]byte, error)) Runner {
	var buf []byte
	return func(context.Context) (int, uint64, error) {
		for range n {
			var err error
			if buf, err = appendState(buf[:0]); err != nil {
				return 0, 0, err
			}
		}
		return n, uint64(len(buf)), nil
	}
}

// Compute works for about a millisecond, within its cache: a step of a trainer.
func Compute() time.Duration {
	start := time.Now()
	p := rng.NewPhilox(1, 0, 0)
	var sum uint32
	for range 90_000 {
		sum += p.Uint32()
	}
	if sum == 0 {
		return 0 // it is not; the sum must be seen to be used
	}
	return time.Since(start)
}
