package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"reflect"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
)

// loaderCase is a case.json of tools/interop/loaders.py.
type loaderCase struct {
	Dataset struct {
		Kind     string `json:"kind"`
		N        int64  `json:"n"`
		Stateful bool   `json:"stateful"`
	} `json:"dataset"`
	Loader loaderArguments `json:"loader"`
	Global uint64          `json:"global_seed"`
	Epochs int             `json:"epochs"` // taken whole
	After  int             `json:"after"`  // batches taken of the next one
	State  json.RawMessage `json:"state"`
	Rest   [][][]int64     `json:"rest"`
}

// loaderArguments are the arguments of StatefulDataLoader.
type loaderArguments struct {
	BatchSize     *int         `json:"batch_size"`
	Workers       int          `json:"num_workers"`
	DropLast      bool         `json:"drop_last"`
	Every         *int         `json:"snapshot_every_n_steps,omitempty"`
	Prefetch      *int         `json:"prefetch_factor,omitempty"`
	Persistent    bool         `json:"persistent_workers"`
	Shuffle       bool         `json:"shuffle,omitempty"`
	GeneratorSeed *uint64      `json:"generator_seed,omitempty"`
	Sampler       *caseSampler `json:"sampler,omitempty"`
}

type caseSampler struct {
	Kind        string    `json:"kind"`
	Seed        int64     `json:"seed"`
	Replacement bool      `json:"replacement"`
	NumSamples  int64     `json:"num_samples"`
	Replicas    int64     `json:"num_replicas"`
	Rank        int64     `json:"rank"`
	DropLast    bool      `json:"drop_last"`
	Weights     []float64 `json:"weights"`
}

// squares is the data set of map cases.
type squares int64

func (s squares) Len() int64 { return int64(s) }

func (s squares) At(_ context.Context, i int64, _ loader.Random) (int64, error) { return i * i, nil }

// streamed is the data set of the others: a worker gets every so-manieth item.
type streamed struct {
	n        int64
	stateful bool
}

func (s streamed) Open(ctx context.Context) (loader.Iterator[int64], error) {
	at := &streamPlace{end: s.n, step: 1}
	if w, ok := loader.WorkerInfoOf(ctx); ok {
		at.first, at.step = int64(w.ID), int64(w.N)
	}
	if s.stateful {
		return at, nil
	}
	return struct{ loader.Iterator[int64] }{at}, nil
}

type streamPlace struct{ first, step, end, i int64 }

func (p *streamPlace) Next(context.Context) (int64, error) {
	id := p.first + p.i*p.step
	if id >= p.end {
		return 0, io.EOF
	}
	p.i++
	return id, nil
}

func (p *streamPlace) AppendState(b []byte) ([]byte, error) {
	return fmt.Appendf(b, `{"i":%d}`, p.i), nil
}

func (p *streamPlace) SetState(b []byte) error {
	var s struct{ I int64 }
	err := json.Unmarshal(b, &s)
	p.i = s.I
	return err
}

// sampler makes the sampler of a case, nil where it has none.
func (c *loaderCase) sampler(global *torchdata.Generator) (order.Sampler, error) {
	s := c.Loader.Sampler
	if s == nil {
		return nil, nil
	}
	g, data := torchdata.NewGenerator(uint64(s.Seed)), torchdata.Range(c.Dataset.N)
	switch s.Kind {
	case "random":
		return torchdata.NewRandomSampler(data, torchdata.RandomSamplerOptions{Replacement: s.Replacement,
			NumSamples: &s.NumSamples, Generator: &g, Global: global})
	case "distributed":
		return torchdata.NewStatefulDistributedSampler(data,
			torchdata.DistributedOptions{Replicas: s.Replicas, Rank: s.Rank, Seed: s.Seed, DropLast: s.DropLast})
	case "weighted":
		return torchdata.NewWeightedSampler(torchdata.WeightedOptions{Weights: s.Weights, NumSamples: s.NumSamples,
			Generator: &g})
	}
	return nil, fmt.Errorf("unknown sampler %q", s.Kind)
}

// loader makes the loader of a case.
func (c *loaderCase) loader() (*torchdata.Loader[int64, []int64], error) {
	global, a := torchdata.NewGenerator(c.Global), c.Loader
	o := torchdata.Options[int64, []int64]{
		BatchSize: loader.NoBatching, NumWorkers: a.Workers, DropLast: a.DropLast, PersistentWorkers: a.Persistent, Shuffle: a.Shuffle,
		CollateFn: func(items []int64) ([]int64, error) { return append([]int64{}, items...), nil },
		Log:       slog.New(slog.DiscardHandler), Global: &global,
	}
	if a.BatchSize != nil {
		o.BatchSize = *a.BatchSize
	}
	if a.Every != nil {
		o.SnapshotEveryNSteps = *a.Every
	}
	if a.Prefetch != nil {
		o.PrefetchFactor = *a.Prefetch
	}
	if a.GeneratorSeed != nil {
		o.Generator = new(torchdata.NewGenerator(*a.GeneratorSeed))
	}
	var err error
	if o.Sampler, err = c.sampler(&global); err != nil {
		return nil, err
	}
	if c.Dataset.Kind == "iter" {
		return torchdata.NewIterable[int64](streamed{c.Dataset.N, c.Dataset.Stateful}, o)
	}
	return torchdata.New(squares(c.Dataset.N), o)
}

// takeBatches takes batches up to the end of an epoch, or that many if most is not negative.
func takeBatches(ctx context.Context, l *torchdata.Loader[int64, []int64], most int) ([][]int64, error) {
	out := [][]int64{}
	for most < 0 || len(out) < most {
		b, err := l.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, b)
	}
	return out, nil
}

// resumed returns three epochs of a new loader that goes on from the state.
func (c *loaderCase) resumed(ctx context.Context) (rest [][][]int64, err error) {
	l, err := c.loader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.LoadStateDict(c.State); err != nil {
		return nil, err
	}
	for range 3 {
		batches, err := takeBatches(ctx, l, -1)
		if err != nil {
			return nil, err
		}
		rest = append(rest, batches)
	}
	return rest, nil
}

// compareLoaders goes on from the states of torchdata.
func compareLoaders(ctx context.Context, root string, out io.Writer) error {
	return compareCases(root, out, "Bivouac goes on from torchdata", "loaders", func(c *loaderCase) string {
		rest, err := c.resumed(ctx)
		if err == nil && reflect.DeepEqual(rest, c.Rest) {
			return ""
		}
		return fmt.Sprintf("Bivouac goes on with %v (%v), torchdata with %v", rest, err, c.Rest)
	})
}

// randomLoader draws a case.
func randomLoader(r *rand.Rand) *loaderCase {
	c := &loaderCase{Global: r.Uint64() >> 1, Epochs: r.IntN(2), After: r.IntN(20)}
	c.Dataset.Kind, c.Dataset.N = "map", 1+r.Int64N(60)
	a := &c.Loader
	a.Workers = []int{0, 0, 1, 2, 3}[r.IntN(5)]
	if size := []int{0, 1, 2, 3, 5, 64}[r.IntN(6)]; size > 0 {
		a.BatchSize, a.DropLast = &size, r.IntN(3) == 0
	}
	if a.Workers > 0 {
		a.Every, a.Prefetch, a.Persistent = new([]int{1, 1, 2, 3, 7}[r.IntN(5)]), new(1+r.IntN(4)), r.IntN(3) == 0
	}
	switch r.IntN(6) {
	case 0, 1:
		c.Dataset.Kind, c.Dataset.Stateful = "iter", r.IntN(3) > 0
	case 2, 3:
		if a.Shuffle = true; r.IntN(2) == 0 {
			a.GeneratorSeed = new(r.Uint64() >> 2)
		}
	case 4:
		a.Sampler = &caseSampler{Kind: "random", Replacement: r.IntN(2) == 0, NumSamples: 1 + r.Int64N(100),
			Seed: r.Int64N(1 << 40)}
	case 5:
		c.Epochs = 0 // torchdata skips again what this sampler gave in the epoch before
		a.Sampler = &caseSampler{Kind: "distributed", Replicas: 3, Rank: r.Int64N(3), DropLast: r.IntN(2) == 0,
			Seed: r.Int64N(1 << 40)}
	}
	return c
}

// writeLoaders writes cases for torchdata to go on from.
func writeLoaders(ctx context.Context, root string, seed uint64, cases int) error {
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range cases {
		c := randomLoader(r)
		if err := c.play(ctx); err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
		if err := writeCase(root, i, c); err != nil {
			return err
		}
	}
	return nil
}

// play takes what a case says, and keeps the state and what comes after it.
func (c *loaderCase) play(ctx context.Context) error {
	l, err := c.loader()
	if err != nil {
		return err
	}
	for range c.Epochs {
		if _, err := takeBatches(ctx, l, -1); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	err = l.Start(ctx)
	if err == nil {
		_, err = takeBatches(ctx, l, c.After)
	}
	if err == nil {
		c.State, err = l.StateDict()
	}
	if err = errors.Join(err, l.Close()); err != nil {
		return err
	}
	c.Rest, err = c.resumed(ctx)
	return err
}
