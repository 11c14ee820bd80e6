package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/bench/internal/disk"
	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// newState makes n bytes of random float32 in count arrays, all touched.
func newState(n, count int) (state map[string]any, flat [][]byte) {
	state = map[string]any{}
	p := rng.NewPhilox(1, 0, 0)
	for i := range count {
		v := make([]float32, n/count/4)
		for k := range v {
			v[k] = p.Float32()
		}
		t := tensor.FromSlice(v, len(v))
		state[fmt.Sprintf("layer%04d", i)] = t
		flat = append(flat, t.Data)
	}
	return state, flat
}

const gib = 1 << 30

// timed measures one call.
func timed(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}

// steps opens a directory of steps that keeps one, and returns what saves the
// next and what closes it.
func (b *bench) steps(ctx context.Context, name string) (next func() (*checkpoint.Response[bool], error), closing func() error, err error) {
	c, err := training.Open(ctx, filepath.Join(b.dir, name), &training.Options{Preserve: training.LatestN{N: 1}})
	if err != nil {
		return nil, nil, err
	}
	step := int64(0)
	return func() (*checkpoint.Response[bool], error) {
		step++
		return c.SaveAsync(ctx, step, b.state, &training.SaveOptions{Force: true})
	}, c.Close, nil
}

// save compares a durable save with raw writes of the same bytes.
func save(ctx context.Context, b *bench) (measurement, error) {
	next, closing, err := b.steps(ctx, "save")
	if err != nil {
		return measurement{}, err
	}
	path := filepath.Join(b.dir, "single")
	mem, release, err := disk.Gather(b.flat)
	if err != nil {
		return measurement{}, err
	}
	var raws []contender
	for _, w := range disk.Writes(b.dir) {
		raws = append(raws, contender{name: w.Name, baseline: true, once: func(context.Context) (time.Duration, error) { return w.Once(b.dir, mem) }})
	}
	return measurement{
		title: "save, durable", unit: "GiB", amount: float64(b.bytes()) / gib,
		contenders: append(raws,
			contender{name: "step of a Checkpointer", once: func(ctx context.Context) (time.Duration, error) {
				return timed(func() error {
					r, err := next()
					if err == nil {
						_, err = r.Result(ctx)
					}
					return err
				})
			}},
			contender{name: "checkpoint.Save", once: func(ctx context.Context) (time.Duration, error) {
				took, err := timed(func() error { return checkpoint.Save(ctx, path, b.state, nil) })
				if err == nil {
					err = os.RemoveAll(path)
				}
				return took, err
			}},
		),
		close: func() error {
			return errors.Join(release(), closing())
		},
	}, nil
}

// blocked compares the time for which SaveAsync holds the caller up with a
// memcpy into memory that was used before.
func blocked(ctx context.Context, b *bench) (measurement, error) {
	next, closing, err := b.steps(ctx, "blocked")
	if err != nil {
		return measurement{}, err
	}
	warm := make([][]byte, len(b.flat))
	for i, p := range b.flat {
		warm[i] = slices.Clone(p)
	}
	memcpy := func(workers int) contender {
		return contender{name: fmt.Sprintf("memcpy, %d threads", workers), baseline: true, once: func(context.Context) (time.Duration, error) {
			return timed(func() error {
				return disk.Each(workers, len(warm), func(i int) error { copy(warm[i], b.flat[i]); return nil })
			})
		}}
	}
	return measurement{
		title: "caller blocked by SaveAsync, copy and checksum", unit: "GiB", amount: float64(b.bytes()) / gib,
		contenders: []contender{memcpy(disk.Workers()), memcpy(1), {name: "SaveAsync", once: func(ctx context.Context) (time.Duration, error) {
			var r *checkpoint.Response[bool]
			took, err := timed(func() (err error) {
				r, err = next()
				return err
			})
			if err == nil {
				_, err = r.Result(ctx)
			}
			return took, err
		}}},
		close: closing,
	}, nil
}

// restore compares a verified load of a file that is cached with reading its
// bytes to the same place.
func restore(ctx context.Context, b *bench) (measurement, error) {
	path := filepath.Join(b.dir, "restore")
	if err := checkpoint.Save(ctx, path, b.state, nil); err != nil {
		return measurement{}, err
	}
	raw := filepath.Join(b.dir, "raw")
	f, err := os.Create(raw)
	if err != nil {
		return measurement{}, err
	}
	for _, p := range b.flat {
		if _, err := f.Write(p); err != nil {
			return measurement{}, err
		}
	}
	target, flat := newState(b.bytes(), b.arrays)
	read := func(workers int) contender {
		return contender{name: fmt.Sprintf("raw read, %d threads", workers), baseline: true, once: func(context.Context) (time.Duration, error) {
			return timed(func() error {
				return disk.Each(workers, len(flat), func(i int) error {
					_, err := f.ReadAt(flat[i], int64(i)*int64(len(flat[0])))
					return err
				})
			})
		}}
	}
	return measurement{
		title: "restore, warm, verified", unit: "GiB", amount: float64(b.bytes()) / gib,
		contenders: []contender{read(disk.Workers()), read(1),
			{name: "LoadInto", once: func(ctx context.Context) (time.Duration, error) {
				return timed(func() error { return checkpoint.LoadInto(ctx, path, target, nil) })
			}},
			{name: "Load, fresh memory", once: func(ctx context.Context) (time.Duration, error) {
				return timed(func() error {
					_, err := checkpoint.Load(ctx, path, nil)
					return err
				})
			}}},
		close: f.Close,
	}, nil
}
