package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

const batchSize = 64

// begin makes the runner of a case for a side: a mode, a compiled loop or a pipeline.
func begin(ctx context.Context, r turns.Request) (turns.Runner, error) {
	if r.Who == "pipeline" {
		return pipelined(ctx, r)
	}
	ctx = dynamic.With(ctx, dynamic.NewEvalContext(dynamic.Options{Workers: r.Threads}))
	isCompiled := r.Who == "compiled"
	if !isCompiled {
		mode, err := dynamic.ParseMode(r.Who)
		if err != nil {
			return nil, err
		}
		ctx = dynamic.WithMode(ctx, mode)
	}
	if r.Case == "decode" {
		return decode(ctx, r.Data, isCompiled)
	}
	if r.Case == "queued" {
		return queued(ctx), nil
	}
	w, ok := work[r.Case]
	if !ok {
		return nil, fmt.Errorf("no case %q", r.Case)
	}
	body := w.body()
	step := func() ([]dynamic.Value, error) { return body(ctx, nil), nil }
	if isCompiled {
		loop, err := dynamic.Compile(ctx, nil, body, dynamic.LoopOptions{})
		if err != nil {
			return nil, err
		}
		step = func() ([]dynamic.Value, error) { return loop.Next(ctx) }
	}
	return func(context.Context) (int, uint64, error) {
		for range w.units {
			values, err := step()
			if err == nil {
				err = values[0].Evaluate(ctx)
			}
			if err != nil {
				return 0, 0, err
			}
			values[0].Release()
		}
		return w.units, 0, nil
	}, nil
}

// work are the cases of tiny operators.
var work = map[string]struct {
	units int
	body  func() dynamic.Body
}{
	"call": {100000, func() dynamic.Body {
		x := dynamic.TensorOf([]float32{0, 1, 2, 3})
		return func(ctx context.Context, _ []dynamic.Value) []dynamic.Value {
			return []dynamic.Value{dynamic.Cast(ctx, x, tensor.Int32)}
		}
	}},
	"uniform": {10000, func() dynamic.Body {
		g := random.New(1)
		return func(ctx context.Context, _ []dynamic.Value) []dynamic.Value {
			return []dynamic.Value{random.UniformBatch(ctx, g, batchSize, random.UniformArgs{Range: op.Const([]float64{0, 1})})}
		}
	}},
	"chain-1": {20000, func() dynamic.Body {
		g := random.New(1)
		return func(ctx context.Context, _ []dynamic.Value) []dynamic.Value {
			x, y := random.Uniform(ctx, g, random.UniformArgs{Range: op.Const([]float64{0, 1})}), random.Normal(ctx, g, random.NormalArgs{})
			return []dynamic.Value{dynamic.Cast(ctx, fn.Add(ctx, fn.Mul(ctx, x, 2), y), tensor.Int32)}
		}
	}},
	"chain-64": {5000, func() dynamic.Body {
		g := random.New(1)
		return func(ctx context.Context, _ []dynamic.Value) []dynamic.Value {
			x := random.UniformBatch(ctx, g, batchSize, random.UniformArgs{Range: op.Const([]float64{0, 1})})
			y := random.NormalBatch(ctx, g, batchSize, random.NormalArgs{})
			return []dynamic.Value{dynamic.Cast(ctx, fn.Add(ctx, fn.Mul(ctx, x, 2), y), tensor.Int32)}
		}
	}},
}

// queued makes many calls before it waits for their results.
func queued(ctx context.Context) turns.Runner {
	x := dynamic.TensorOf([]float32{0, 1, 2, 3})
	results := make([]*dynamic.Tensor, 100)
	return func(context.Context) (int, uint64, error) {
		const rounds = 500
		for range rounds {
			for i := range results {
				results[i] = dynamic.Cast(ctx, x, tensor.Int32)
			}
			for _, v := range results {
				if err := v.Evaluate(ctx); err != nil {
					return 0, 0, err
				}
				v.Release()
			}
		}
		return rounds * len(results), 0, nil
	}
}

// thumbnails is the body of the case of images.
func thumbnails(ctx context.Context, in []dynamic.Value) []dynamic.Value {
	images := fn.DecodersImage(ctx, in[0].(*dynamic.Batch), fn.DecodersImageArgs{})
	small := fn.Resize(ctx, images, fn.ResizeArgs{Size: op.Const([]float64{224, 224})})[0]
	images.Release() // to the next batch, when it is resized
	return []dynamic.Value{small}
}

// decode reads an epoch of images and makes them small.
func decode(ctx context.Context, data string, isCompiled bool) (turns.Runner, error) {
	reader, err := readers.NewFile(opargs.ReadersFile{FileRoot: filepath.Join(data, "train")}, readers.Options{})
	if err != nil {
		return nil, err
	}
	if !isCompiled {
		return func(context.Context) (units int, digest uint64, err error) {
			var before *dynamic.Batch // in the background while the next batch is read
			for batch, err := range reader.NextEpoch(ctx, batchSize) {
				if err != nil {
					return 0, 0, err
				}
				now := thumbnails(ctx, []dynamic.Value{batch[0]})[0].(*dynamic.Batch)
				if err := consume(ctx, before, &units, &digest); err != nil {
					return 0, 0, err
				}
				before = now
			}
			err = consume(ctx, before, &units, &digest)
			return units, digest, err
		}, nil
	}
	loop, err := dynamic.Compile(ctx, reader.Root(batchSize), thumbnails, dynamic.LoopOptions{})
	if err != nil {
		return nil, err
	}
	return func(context.Context) (units int, digest uint64, err error) {
		for {
			values, err := loop.Next(ctx)
			if errors.Is(err, io.EOF) {
				return units, digest, nil
			}
			if err == nil {
				err = consume(ctx, values[0].(*dynamic.Batch), &units, &digest)
			}
			if err != nil {
				return 0, 0, err
			}
		}
	}, nil
}

// consume folds the words of a batch, if there is one, and gives it back.
func consume(ctx context.Context, b *dynamic.Batch, units *int, digest *uint64) error {
	if b == nil {
		return nil
	}
	whole, err := b.Batch(ctx)
	if err != nil {
		return err
	}
	*units += b.Len()
	*digest ^= turns.Fold(whole)
	b.Release()
	return nil
}
