package torchdata

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// tdSampler is the description of a sampler.
type tdSampler struct {
	Kind        string          `json:"kind"`
	Seed        *int64          `json:"seed"`
	Replacement *bool           `json:"replacement"`
	NumSamples  *int64          `json:"num_samples"`
	Indices     []int64         `json:"indices"`
	Weights     []float64       `json:"weights"`
	NumReplicas int64           `json:"num_replicas"`
	Rank        int64           `json:"rank"`
	Shuffle     *bool           `json:"shuffle"`
	DSeed       int64           `json:"dseed"`
	DropLast    bool            `json:"drop_last"`
	List        json.RawMessage `json:"list"`
	Sampler     json.RawMessage `json:"sampler"`
	BatchSize   int             `json:"batch_size"`
}

// strictly reads a description, all of whose members must be known. A wrong type is
// errs.Invalid, which is how configurations are refused.
func strictly(raw json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &errs.Error{Kind: errs.Invalid, Op: "conform", Err: err}
	}
	return nil
}

// generator returns torch.Generator().manual_seed(seed), nil for no seed.
func tdGeneratorOf(seed *int64) *torchdata.Generator {
	if seed == nil {
		return nil
	}
	return new(torchdata.NewGenerator(uint64(*seed)))
}

// tdSamplerOf returns the sampler of a description.
func tdSamplerOf(raw json.RawMessage, data torchdata.Samples, global *torchdata.Generator) (order.Sampler, error) {
	var s tdSampler
	if err := strictly(raw, &s); err != nil {
		return nil, err
	}
	own := tdGeneratorOf(s.Seed)
	random := torchdata.RandomSamplerOptions{Replacement: s.Replacement != nil && *s.Replacement, NumSamples: s.NumSamples,
		Generator: own, Global: global}
	ranks := torchdata.DistributedOptions{Replicas: s.NumReplicas, Rank: s.Rank,
		Sequential: s.Shuffle != nil && !*s.Shuffle, Seed: s.DSeed, DropLast: s.DropLast}
	if own == nil {
		own = global
	}
	switch s.Kind {
	case "sequential":
		return torchdata.NewSequentialSampler(data), nil
	case "random":
		return torchdata.NewRandomSampler(data, random)
	case "torch_random":
		return torchdata.NewTorchRandomSampler(data, random)
	case "subset_random":
		return torchdata.NewSubsetRandomSampler(s.Indices, own), nil
	case "weighted":
		o := torchdata.WeightedOptions{Weights: s.Weights, WithoutReplacement: s.Replacement != nil && !*s.Replacement,
			Generator: own}
		if s.NumSamples != nil {
			o.NumSamples = *s.NumSamples
		}
		return torchdata.NewWeightedSampler(o)
	case "distributed":
		return torchdata.NewStatefulDistributedSampler(data, ranks)
	case "torch_distributed":
		return torchdata.NewDistributedSampler(data, ranks)
	}
	return listSampler[int64](&s)
}

// tdBatchSamplerOf returns the batch sampler of a description.
func tdBatchSamplerOf(raw json.RawMessage, data torchdata.Samples, global *torchdata.Generator) (order.BatchSampler, error) {
	var s tdSampler
	if err := strictly(raw, &s); err != nil {
		return nil, err
	}
	if s.Kind != "batch" && s.Kind != "torch_batch" {
		return listSampler[[]int64](&s)
	}
	of, err := tdSamplerOf(s.Sampler, data, global)
	if err != nil {
		return nil, err
	}
	if s.Kind == "batch" {
		return torchdata.NewBatchSampler(of, s.BatchSize, s.DropLast)
	}
	return torchdata.NewTorchBatchSampler(of, s.BatchSize, s.DropLast)
}

// lister is a sampler of ids or of batches of them.
type lister[T any] interface {
	Open() order.Cursor[T]
	Len() int64
}

// listSampler returns a sampler of the vectors' own.
func listSampler[T any](s *tdSampler) (lister[T], error) {
	var list []T
	if err := json.Unmarshal(s.List, &list); err != nil {
		return nil, fmt.Errorf("sampler %q: %w", s.Kind, err)
	}
	switch s.Kind {
	case "list", "plain_list":
		return torchdata.ListSampler[T](list), nil
	case "stateful_list":
		return &statefulList[T]{list: list}, nil
	case "iter_stateful_list":
		return iterStatefulList[T](list), nil
	}
	return nil, fmt.Errorf("unknown sampler %q", s.Kind)
}

// placed is a state {"i": …}.
type placed struct{ i int }

func (p *placed) AppendState(b []byte) ([]byte, error) { return fmt.Appendf(b, `{"i":%d}`, p.i), nil }

func (p *placed) SetState(b []byte) error {
	var s struct{ I int }
	err := json.Unmarshal(b, &s)
	p.i = s.I
	return err
}

// statefulList has its state on the sampler; its cursors are generators that begin
// there and clear it at the end.
type statefulList[T any] struct {
	placed
	list []T
}

func (s *statefulList[T]) Len() int64            { return int64(len(s.list)) }
func (s *statefulList[T]) Open() order.Cursor[T] { return &statefulListing[T]{of: s} }

type statefulListing[T any] struct {
	of    *statefulList[T]
	ended bool
}

func (c *statefulListing[T]) Next() (v T, ok bool, err error) {
	switch s := c.of; {
	case c.ended:
	case s.i < len(s.list):
		s.i++
		return s.list[s.i-1], true, nil
	default:
		s.i, c.ended = 0, true
	}
	return v, false, nil
}

// iterStatefulList has its state on the cursor.
type iterStatefulList[T any] []T

func (s iterStatefulList[T]) Len() int64            { return int64(len(s)) }
func (s iterStatefulList[T]) Open() order.Cursor[T] { return &placedListing[T]{list: s} }

type placedListing[T any] struct {
	placed
	list []T
}

func (c *placedListing[T]) Next() (v T, ok bool, err error) {
	if c.i >= len(c.list) {
		return v, false, nil
	}
	c.i++
	return c.list[c.i-1], true, nil
}
