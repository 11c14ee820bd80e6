package loader_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
)

// TestEmptyEpochs: a loader whose epochs would have no batch is not made, unless there are no
// samples.
func TestEmptyEpochs(t *testing.T) {
	window, err := order.NewWindows([]int64{5, 5}, 4, 1, "w")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		n    int64
		o    options
		want string // "" for a loader
	}{
		"too few":     {10, options{BatchSize: 32, Tail: order.Drop}, "want a batch of at most 10 samples"},
		"one too few": {31, options{BatchSize: 32, Tail: order.Drop, Shuffle: true}, "at most 31 samples"},
		"all ranks": {10, options{BatchSize: 3, World: 4, Rank: 1, Tail: order.Drop},
			"a batch of all 4 ranks of at most 10"},
		"a global batch": {10, options{GlobalBatch: 11, Tail: order.Drop}, "got 11"},
		"an order":       {10, options{BatchSize: 11, Order: window, Tail: order.Drop}, "at most 10 samples"},
		"a sampler": {40, options{BatchSize: 11, Sampler: &epochSampler{n: 10}, Tail: order.Drop},
			"the samples of the sampler"},
		"just enough":      {32, options{BatchSize: 32, Tail: order.Drop}, ""},
		"short":            {10, options{BatchSize: 32}, ""},
		"nothing":          {0, options{BatchSize: 32, Tail: order.Drop}, ""},
		"a sampler of all": {40, options{BatchSize: 10, Sampler: &epochSampler{n: 10}, Tail: order.Drop}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := loader.New(numbers(c.n), c.o)
			if err == nil {
				defer l.Close()
			}
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "lower BatchSize") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestEmptyEpochsAllowed: with EmptyEpochs there is one warning, the loader has no batches, and its
// states can be set.
func TestEmptyEpochsAllowed(t *testing.T) {
	var said strings.Builder
	o := options{BatchSize: 4, Tail: order.Drop, EmptyEpochs: true, Log: slog.New(slog.NewTextHandler(&said, nil))}
	l, err := loader.New(numbers(3), o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if n, ok := l.Len(); n != 0 || !ok {
		t.Errorf("%d batches, %t", n, ok)
	}
	for range 3 {
		if _, err := l.Next(context.Background()); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	if strings.Count(said.String(), "epochs have no batches") != 1 {
		t.Errorf("%q", said.String())
	}
	state, err := l.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := loader.New(numbers(3), o)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.SetState(state); err != nil {
		t.Error(err)
	}
}
