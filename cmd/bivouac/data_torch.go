package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/order"
)

// torchOptions are the flags for values that a state of torchdata does not hold.
type torchOptions struct {
	Samples   int64
	BatchSize int64
	told      bool // the command has flags for them
}

func (o *torchOptions) addTorchFlags(cmd *cobra.Command) {
	o.told = true
	f := cmd.Flags()
	atLeast(f, &o.Samples, "samples", 1, 0, "length of the data set, for a state of torchdata")
	atLeast(f, &o.BatchSize, "batch-size", 1, 0, "size of its batches, likewise")
}

// torchTimeline is the epoch of a state of StatefulDataLoader with shuffle=True: it
// holds the generator as it was before the permutation was drawn.
func (o *torchOptions) torchTimeline(s *saved, opt timeline.Options) (*timeline.Timeline, error) {
	if o.Samples < 1 || o.BatchSize < 1 {
		return nil, usageError{&errs.Error{Kind: errs.Invalid, Op: "data", Subject: "--samples and --batch-size", Want: "the loader's, which a state of torchdata does not hold"}}
	}
	main, delivered := s.tree, integer(s.tree, "_num_yielded")
	if s.form == formWorkers {
		snapshot := member(s.tree, "_snapshot")
		main, delivered = member(snapshot, "_main_snapshot"), integer(snapshot, "_snapshot_step")+integer(s.tree, "_steps_since_snapshot")
	}
	generator := member(member(member(main, "_sampler_iter_state"), "sampler_iter_state"), "generator")
	if generator == nil {
		return nil, &errs.Error{Kind: errs.Unsupported, Want: "the state of a loader with shuffle, which holds a generator", Got: "a sampler that only the program knows"}
	}
	raw, err := json.Marshal(generator)
	if err != nil {
		return nil, err
	}
	g, err := torchdata.DecodeGenerator(raw)
	if err != nil {
		return nil, err
	}
	r, err := torchdata.NewRandom(torchdata.RandomOptions{N: o.Samples, Generator: &g})
	if err != nil {
		return nil, err
	}
	return timeline.OneEpoch(firstEpoch{r}, o.BatchSize, delivered, opt)
}

// firstEpoch is the first epoch of an order without end.
type firstEpoch struct{ *torchdata.Random }

var _ order.Order = firstEpoch{}

func (e firstEpoch) Len() (int64, bool) { return e.EpochLen(), true }

func (e firstEpoch) String() string { return fmt.Sprint("first epoch of ", e.Random) }

func member(m map[string]any, name string) map[string]any {
	v, _ := m[name].(map[string]any)
	return v
}

func integer(m map[string]any, name string) int64 {
	n, _ := m[name].(json.Number)
	i, err := n.Int64()
	if err != nil {
		return -1
	}
	return i
}
