package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/tensor"
)

type ids = loader.Loader[int64, tensor.Tensor]

// open returns a loader of n ids.
func open(n int64, batch, workers int) (*ids, error) {
	data := loader.Func(n, func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil })
	return loader.New(data, loader.Options[int64, tensor.Tensor]{BatchSize: batch, Workers: workers, Shuffle: true, Seed: 1})
}

func begin(ctx context.Context, r turns.Request) (turns.Runner, error) {
	kind, size, _ := strings.Cut(r.Case, "-")
	n := 0
	if size != "" {
		if _, err := fmt.Sscan(size, &n); err != nil {
			return nil, err
		}
	}
	switch kind {
	case "batch":
		return batches(256_000, n, 0, r.Who == "states")
	case "workers":
		return batches(256_000, n, 2, r.Who == "states")
	case "flat":
		return batches(power(n), 64, 0, true)
	case "state":
		return states(ctx)
	case "resume":
		return resumes(ctx, power(n))
	case "py1e", "py1s":
		if r.Who == "exact" {
			return exactOrders(kind, power(n)), nil
		}
		return ownOrders(power(n)), nil
	case "index", "indices", "epoch":
		return indices(kind), nil
	}
	return nil, fmt.Errorf("no case %q", r.Case)
}

func power(exponent int) int64 {
	n := int64(1)
	for range exponent {
		n *= 10
	}
	return n
}

// batches reads batches, with the state of each if save is true.
func batches(samples int64, size, workers int, save bool) (turns.Runner, error) {
	l, err := open(samples, size, workers)
	if err != nil {
		return nil, err
	}
	count := 2_000_000 / (size + 60)
	var buf []byte
	return func(ctx context.Context) (int, uint64, error) {
		digest := uint64(0)
		for done := 0; done < count; {
			b, err := l.Next(ctx)
			if err == io.EOF {
				continue
			}
			if err != nil {
				return 0, 0, err
			}
			digest ^= uint64(b.Data[0])
			done++
			if save {
				if buf, err = l.AppendState(buf[:0]); err != nil {
					return 0, 0, err
				}
				digest ^= uint64(len(buf))
			}
		}
		return count, digest, nil
	}, nil
}

// states takes states of a loader in the middle of an epoch.
func states(ctx context.Context) (turns.Runner, error) {
	l, err := open(2_000_000, 1000, 0)
	if err != nil {
		return nil, err
	}
	for range 1000 {
		if _, err := l.Next(ctx); err != nil {
			return nil, err
		}
	}
	return turns.States(100_000, l.AppendState), nil
}

// resumes makes loaders that continue from a state in the middle of an epoch. The state comes from
// a short run, because the cost does not depend on the position.
func resumes(ctx context.Context, samples int64) (turns.Runner, error) {
	l, err := open(samples, int(samples/2_000), 0)
	if err != nil {
		return nil, err
	}
	for range 1000 {
		if _, err := l.Next(ctx); err != nil {
			return nil, err
		}
	}
	state, err := l.AppendState(nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (int, uint64, error) {
		const times = 200
		digest := uint64(0)
		for range times {
			l, err := open(samples, 100, 0)
			if err != nil {
				return 0, 0, err
			}
			if err := l.SetState(state); err != nil {
				return 0, 0, err
			}
			b, err := l.Next(ctx)
			if err != nil {
				return 0, 0, err
			}
			digest ^= uint64(b.Data[0])
			if err := l.Close(); err != nil {
				return 0, 0, err
			}
		}
		return times, digest, nil
	}, nil
}

// indices draws from an order: one by one, in blocks, or at a place of an epoch that
// was not entered before.
func indices(kind string) turns.Runner {
	epoch := int64(0)
	return func(context.Context) (int, uint64, error) {
		const count = 1 << 20
		epoch++
		digest := int64(0)
		switch kind {
		case "index":
			p := order.NewPermutation(1_000_000_000, uint64(epoch))
			for i := range int64(count) {
				digest ^= p.At(i)
			}
			return count, uint64(digest), nil
		case "indices":
			p := order.NewPermutation(1_000_000_000, uint64(epoch))
			block := make([]int64, 4096)
			for i := int64(0); i < 8*count; i += int64(len(block)) {
				p.Fill(i, block)
				digest ^= block[0]
			}
			return 8 * count, uint64(digest), nil
		}
		const places = 100_000
		var id [1]int64
		s := order.NewShuffled(10_000_000, uint64(epoch), "loader")
		for i := range int64(places) {
			s.Fill(i*10_000_000+i*97, id[:])
			digest ^= id[0]
		}
		return places, uint64(digest), nil
	}
}
