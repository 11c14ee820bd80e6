package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/nodes"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

// nodesCase is a case.json of tools/interop/nodes.py.
type nodesCase struct {
	Graph  *nodesGraph       `json:"graph"`
	Events []any             `json:"events"`
	States []json.RawMessage `json:"states"` // before each event, and behind the last
	At     int               `json:"at"`     // the state to go on from
	Rest   []any             `json:"rest"`   // what comes then, at least
}

// nodesGraph is a node with those below it.
type nodesGraph struct {
	Kind     string        `json:"kind"`
	N        int64         `json:"n,omitempty"`
	Start    int64         `json:"start"`
	Stateful bool          `json:"stateful"`
	Sampler  string        `json:"sampler,omitempty"`
	Seed     int64         `json:"seed"`
	Source   *nodesGraph   `json:"source,omitempty"`
	Workers  int           `json:"workers"`
	Every    int           `json:"every"`
	Prebatch int           `json:"prebatch"`
	Factor   int           `json:"factor"`
	Size     int           `json:"size"`
	Drop     bool          `json:"drop"`
	Stop     nodes.Stop    `json:"stop,omitempty"`
	Rank     int64         `json:"rank"`
	World    int64         `json:"world"`
	Sources  []nodesSource `json:"sources,omitempty"`
}

type nodesSource struct {
	Name   string      `json:"name"`
	Weight float64     `json:"weight"`
	Node   *nodesGraph `json:"node"`
}

// Bounds of a run, as in nodes.py.
const (
	nodesEvents = 120
	nodesRest   = 40
	nodesEnds   = 5
)

// What a graph is below of.
const (
	belowWeighted = "weighted"
	belowAhead    = "ahead"
	belowUnbatch  = "unbatch"
)

// The events that are no values.
const (
	nodesEnd   = "end"
	nodesBegin = "begin" // of the next epoch
)

// nodesCounter is an iterable that counts on where its state says, and begins again once it has
// come to its end.
type nodesCounter struct{ start, n, i int64 }

func (c *nodesCounter) Open(context.Context) (loader.Iterator[any], error) {
	return &nodesCounting{c: c}, nil
}

func (c *nodesCounter) AppendState(dst []byte) ([]byte, error) {
	return fmt.Appendf(dst, `{"i":%d}`, c.i), nil
}

func (c *nodesCounter) SetState(b []byte) error {
	var s struct{ I int64 }
	err := json.Unmarshal(b, &s)
	c.i = s.I
	return err
}

type nodesCounting struct {
	c     *nodesCounter
	ended bool
}

func (g *nodesCounting) Next(context.Context) (any, error) {
	if g.ended {
		return nil, io.EOF
	}
	if g.c.i >= g.c.n {
		g.c.i, g.ended = 0, true
		return nil, io.EOF
	}
	g.c.i++
	return float64(g.c.start + g.c.i - 1), nil
}

// doubled is the function of mappers.
func doubled(ctx context.Context, v any) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return 2 * v.(float64), nil
	}
	out := make([]any, len(list))
	for i := range list {
		out[i], _ = doubled(ctx, list[i]) //nolint:errcheck // it does not fail
	}
	return out, nil
}

// valued is a node whose values are values of JSON.
type valued[S any] struct {
	nodes.Node[S]
	as func(S) any
}

func (n valued[S]) Next(ctx context.Context) (any, error) {
	v, err := n.Node.Next(ctx)
	if err != nil {
		return nil, err
	}
	return n.as(v), nil
}

// lists is a node whose values are lists.
type lists struct{ nodes.Node[any] }

func (n lists) Next(ctx context.Context) ([]any, error) {
	v, err := n.Node.Next(ctx)
	if err != nil {
		return nil, err
	}
	return v.([]any), nil
}

func (g *nodesGraph) sampler() (order.Sampler, error) {
	data := torchdata.Range(g.N)
	switch g.Sampler {
	case "random":
		own := torchdata.NewGenerator(uint64(g.Seed))
		return torchdata.NewRandomSampler(data, torchdata.RandomSamplerOptions{Generator: &own})
	case "distributed":
		return torchdata.NewDistributedSampler(data, torchdata.DistributedOptions{Replicas: 2, Rank: 1, Seed: g.Seed})
	}
	return torchdata.NewSequentialSampler(data), nil
}

// build makes the node of a graph.
func (g *nodesGraph) build() (nodes.Node[any], error) {
	switch g.Kind {
	case "iterable":
		if g.Stateful {
			return nodes.FromIterable[any](&nodesCounter{start: g.Start, n: g.N}), nil
		}
		values := make([]any, g.N)
		for i := range values {
			values[i] = float64(g.Start + int64(i))
		}
		return nodes.FromSlice(values), nil
	case "sampler", "mapstyle":
		s, err := g.sampler()
		if err != nil {
			return nil, err
		}
		if g.Kind == "sampler" {
			return valued[int64]{nodes.FromSampler[int64](s, nodes.SamplerOptions{}),
				func(id int64) any { return float64(id) }}, nil
		}
		at := func(_ context.Context, id int64) (any, error) { return float64(g.Start + id), nil }
		return nodes.FromMap(at, s, nodes.SamplerOptions{}), nil
	case "weighted":
		var all []nodes.Source[any]
		for _, s := range g.Sources {
			n, err := s.Node.build()
			if err != nil {
				return nil, err
			}
			all = append(all, nodes.Source[any]{Name: s.Name, Node: n, Weight: s.Weight})
		}
		return nodes.Weighted(all, nodes.WeightedOptions{Stop: g.Stop, Draws: torchdata.NewDraws(g.Seed, g.Rank, g.World)})
	}
	below, err := g.Source.build()
	if err != nil {
		return nil, err
	}
	switch g.Kind {
	case "map":
		return nodes.Map(below, doubled), nil
	case "parallel":
		return nodes.ParallelMap(below, doubled, nodes.ParallelOptions{Workers: g.Workers, SnapshotEvery: g.Every,
			Prebatch: g.Prebatch})
	case "prefetch":
		return nodes.Prefetch(below, g.Factor, g.Every)
	case "batch":
		n, err := nodes.Batch(below, g.Size, order.DropLast(g.Drop))
		return valued[[]any]{n, func(v []any) any { return v }}, err
	case "unbatch":
		return nodes.Unbatch[any](lists{below}), nil
	}
	return nil, fmt.Errorf("unknown node %q", g.Kind)
}

// playNodes returns the events of a loader that goes on from a state, if it is not nil, and
// the states before each and behind the last.
func playNodes(ctx context.Context, g *nodesGraph, from []byte, most int, withStates bool) (events []any, states []json.RawMessage, err error) {
	root, err := g.build()
	if err != nil {
		return nil, nil, err
	}
	l := nodes.NewLoader(root, nodes.LoaderOptions{})
	defer func() { err = errors.Join(err, l.Close()) }()
	if from != nil {
		if err := l.SetState(from); err != nil {
			return nil, nil, err
		}
	}
	if err := l.Begin(ctx); err != nil {
		return nil, nil, err
	}
	keep := func() error {
		if !withStates {
			return nil
		}
		b, err := l.AppendState(nil)
		states = append(states, b)
		return err
	}
	for ends := 0; len(events) < most && ends < nodesEnds; {
		if err := keep(); err != nil {
			return nil, nil, err
		}
		v, err := l.Next(ctx)
		if err == nil {
			events = append(events, v)
			continue
		}
		if err != io.EOF {
			return nil, nil, err
		}
		events = append(events, nodesEnd)
		if ends++; len(events) < most && ends < nodesEnds {
			if withStates {
				if err := keep(); err != nil {
					return nil, nil, err
				}
				events = append(events, nodesBegin)
			}
			if err := l.Begin(ctx); err != nil {
				return nil, nil, err
			}
		}
	}
	return events, states, nil
}

// restOf returns what a loader gives that goes on at a place of a run: the end of an epoch
// is the beginning of the next one.
func restOf(events []any, at int) (rest []any) {
	for _, e := range events[at:] {
		if e != nodesBegin {
			rest = append(rest, e)
		}
	}
	if len(rest) > 0 && rest[0] == nodesEnd {
		return rest[1:]
	}
	return rest
}

// differs returns in words how Bivouac's run of a case differs from what it says.
func (c *nodesCase) differs(ctx context.Context) (string, error) {
	events, states, err := playNodes(ctx, c.Graph, nil, nodesEvents, true)
	if err != nil {
		return "", err
	}
	for i := range max(len(events), len(c.Events)) {
		if i >= len(events) || i >= len(c.Events) || !reflect.DeepEqual(events[i], c.Events[i]) {
			return fmt.Sprintf("event %d is %.200v, want %.200v", i, events[min(i, len(events)):],
				c.Events[min(i, len(c.Events)):]), nil
		}
	}
	for i := range states {
		own, err := bareState(states[i])
		if err != nil {
			return "", err
		}
		want, err := bareState(c.States[i])
		if err != nil {
			return "", err
		}
		if string(own) != string(want) {
			return fmt.Sprintf("state %d is %.300s, want %.300s", i, own, want), nil
		}
	}
	rest, _, err := playNodes(ctx, c.Graph, c.States[c.At], nodesRest, false)
	if err != nil {
		return "", err
	}
	rest = restOf(rest, 0)
	if n := min(len(rest), len(c.Rest)); !reflect.DeepEqual(rest[:n], c.Rest[:n]) {
		return fmt.Sprintf("from state %d it goes on with %.300v, want %.300v", c.At, rest[:n], c.Rest[:n]), nil
	}
	return "", nil
}

// bareState is a state without the members that torchdata does not have.
func bareState(saved []byte) ([]byte, error) {
	b, err := state.CheckSeal(saved)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return nil, err
	}
	delete(members, "ended")
	return json.Marshal(members)
}

// compareNodes plays graphs of torchdata.
func compareNodes(ctx context.Context, root string, out io.Writer) error {
	return compareCases(root, out, "Bivouac plays torchdata's nodes", "graphs", func(c *nodesCase) string {
		how, err := c.differs(ctx)
		if err == nil && how == "" {
			return ""
		}
		return fmt.Sprintf("Bivouac: %s (%v)", how, err)
	})
}

// forgets reports whether the state of a graph lacks a generator, so that a later epoch
// cannot be resumed.
func (g *nodesGraph) forgets() bool {
	return g.Sampler == "random" || g.Source != nil && g.Source.forgets() ||
		slices.ContainsFunc(g.Sources, func(s nodesSource) bool { return s.Node.forgets() })
}

// randomNodes draws a graph, below a weighted node, below one that reads ahead in it, or
// below an Unbatch.
//
// Weighted nodes break epochs off. A random sampler and an iterable with a state stay where they
// are then; a source without values ends their epoch, in torchdata; and whether a node counts an
// epoch of which nothing was taken depends, in torchdata, on whether something above has read
// ahead. The state of an Unbatch at the end of an epoch does not bear an iterable that has gone
// back to its beginning by itself.
func randomNodes(r *rand.Rand, depth int, start int64, below string) *nodesGraph {
	g := &nodesGraph{Start: start}
	if depth == 0 || r.IntN(7) == 0 {
		g.Kind, g.N = []string{"iterable", "iterable", "sampler", "mapstyle"}[r.IntN(4)], 1+r.Int64N(12)
		if below == belowAhead {
			g.Kind = "iterable"
		}
		if g.Kind == "iterable" {
			g.Stateful = below == "" && r.IntN(2) == 0
		} else {
			g.Sampler, g.Seed = []string{"sequential", "distributed", "random"}[r.IntN(3)], r.Int64N(1<<40)
			if g.Sampler == "random" && below != "" {
				g.Sampler = "distributed"
			}
		}
		return g
	}
	every := []int{1, 1, 2, 3, 7}[r.IntN(5)]
	g.Kind = []string{"map", "parallel", "prefetch", "batch", "unbatch", "weighted", "weighted"}[r.IntN(7)]
	if g.Kind == "weighted" && below == belowAhead {
		g.Kind = "map"
	}
	if below != "" && (g.Kind == "parallel" || g.Kind == "prefetch") {
		below = belowAhead
	}
	switch g.Kind {
	case "weighted":
		g.Stop = []nodes.Stop{nodes.CycleUntilAll, nodes.CycleUntilAll, nodes.All, nodes.All, nodes.First, nodes.First, nodes.Forever}[r.IntN(7)]
		g.World = []int64{1, 1, 3}[r.IntN(3)]
		g.Seed, g.Rank = r.Int64N(1<<20), r.Int64N(g.World)
		for i := range 1 + r.IntN(3) {
			g.Sources = append(g.Sources, nodesSource{"abc"[i : i+1], []float64{0.1, 0.5, 1, 2.25}[r.IntN(4)],
				randomNodes(r, depth-1, start+100*int64(i+1), belowWeighted)})
		}
		return g
	case "unbatch":
		g.Source = &nodesGraph{Kind: "batch", Size: 1 + r.IntN(4), Drop: below == "" && r.IntN(3) == 0,
			Source: randomNodes(r, depth-1, start, cmp.Or(below, belowUnbatch))}
		return g
	case "parallel":
		g.Workers, g.Every, g.Prebatch = r.IntN(3), every, []int{0, 0, 0, 1, 2, 3}[r.IntN(6)]
	case "prefetch":
		g.Factor, g.Every = 1+r.IntN(3), every
	case "batch":
		g.Size, g.Drop = 1+r.IntN(4), below == "" && r.IntN(3) == 0
	}
	g.Source = randomNodes(r, depth-1, start, below)
	return g
}

// writeNodes writes cases for torchdata to play.
func writeNodes(ctx context.Context, root string, seed uint64, cases int) error {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range cases {
		c := &nodesCase{Graph: randomNodes(r, r.IntN(4), 0, "")}
		var err error
		if c.Events, c.States, err = playNodes(ctx, c.Graph, nil, nodesEvents, true); err != nil {
			return fmt.Errorf("%+v: %w", c.Graph, err)
		}
		c.At = r.IntN(min(len(c.States), nodesEvents-nodesRest))
		if c.Rest = restOf(c.Events, c.At); c.Graph.forgets() {
			if c.Rest, _, err = playNodes(ctx, c.Graph, c.States[c.At], nodesRest, false); err != nil {
				return fmt.Errorf("%+v: %w", c.Graph, err)
			}
			c.Rest = restOf(c.Rest, 0)
		}
		if err := writeCase(root, i, c); err != nil {
			return err
		}
	}
	return nil
}
