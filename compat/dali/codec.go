package dali

import (
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/rng"
)

// codec reads and writes the checkpoints of one pipeline.
type codec struct {
	entries []entry
	batch   int64
}

// entry is a node of DALI's executor. It has the state of a reader, the state of a random operator,
// or no state.
type entry struct {
	name   string
	former string // its name in checkpoints of Bivouac that had one source for several outputs; empty: the same
	reader *ReaderOrder
	random bool
	seed   uint64
	// counted marks a random operator of a branch. Its state is the number of samples that came to it,
	// which does not tell the position.
	counted bool
}

// newCodec returns the codec of a graph. The executor runs the nodes of the graph, and after each
// output of the pipeline a node that makes it contiguous. They come in the order in which they are
// found from one output after the other.
func newCodec(g *graph.Graph, seeds []uint64, orders map[*graph.Node]*ReaderOrder, counted []bool, batch int64) *codec {
	c := &codec{batch: batch}
	listed := map[graph.Edge]bool{}
	var visit func(e graph.Edge)
	visit = func(e graph.Edge) {
		n := e.Node
		several := n.Fed && len(n.Specs) > 1
		if !several {
			e.Output = 0
		}
		if listed[e] {
			return
		}
		listed[e] = true
		if several { // in DALI a source for each output
			c.entries = append(c.entries, entry{name: sourceName(e), former: n.Name})
			return
		}
		for _, edges := range [][]graph.Edge{n.Inputs, n.Args} {
			for _, from := range edges {
				visit(from)
			}
		}
		r := orders[n]
		c.entries = append(c.entries, entry{name: n.Name, reader: r, random: r == nil && drawsSeed(n), seed: seeds[n.Index],
			counted: counted != nil && counted[n.Index]})
	}
	delivered := map[graph.Edge]bool{}
	for i, e := range g.Outputs {
		visit(e)
		if !delivered[e] {
			delivered[e] = true
			behind := entry{name: stateproto.Contiguous(g.Delivered(i), e.Output, len(e.Node.Specs))}
			if e.Node.Fed && len(e.Node.Specs) > 1 {
				behind = entry{name: stateproto.Contiguous(sourceName(e), 0, 1), former: behind.name}
			}
			c.entries = append(c.entries, behind)
		}
	}
	nodes, run := g.DepthFirst()
	for _, n := range nodes[:run] {
		if !n.Fed || len(n.Specs) == 1 { // of several outputs those are sources that something takes
			visit(graph.Edge{Node: n})
		}
	}
	return c
}

// AppendState implements pipeline.Codec.
func (c *codec) AppendState(dst []byte, at pipeline.Progress) ([]byte, error) {
	var s stateproto.Checkpoint
	for _, e := range c.entries {
		pos := at.Position
		if e.counted {
			pos = at.Came[e.name]
		}
		state, err := e.state(pos)
		if err != nil {
			return nil, errs.Wrap("dali.Checkpoint", "operator "+e.name, err)
		}
		s.Ops = append(s.Ops, stateproto.Op{Name: e.name, State: state.AppendState(nil)})
	}
	s.External = &stateproto.External{Pipeline: stateproto.Progress{Iter: at.Batches, EpochIdx: at.Resets}.Append(nil),
		Iterator: at.Consumer}
	return stateproto.Append(dst, &s), nil
}

// state returns the state of the node after pos samples.
func (e entry) state(pos int64) (stateproto.Snapshot, error) {
	switch {
	case e.reader != nil:
		loader, err := e.reader.State(pos)
		return &stateproto.Reader{Loader: loader}, err
	case e.random:
		return stateproto.Random{Philox: rng.NewPhilox(e.seed, uint64(pos), 0)}, nil
	}
	return stateproto.Stateless{}, nil
}

// ParseState implements pipeline.Codec. Every node must be present and at the same position.
func (c *codec) ParseState(b []byte) (pipeline.Progress, error) {
	s, err := stateproto.Parse(b)
	if err != nil {
		return pipeline.Progress{}, err
	}
	at := pipeline.Progress{Position: -1}
	if s.External != nil && len(s.External.Pipeline) > 0 {
		p, err := stateproto.ParseProgress(s.External.Pipeline)
		if err != nil {
			return at, err
		}
		at.Batches, at.Resets = p.Iter, p.EpochIdx
	}
	if at.Batches < 0 || at.Resets < 0 || at.Batches > maxBatches {
		return at, &errs.Error{Kind: errs.Corrupt, Subject: "pipeline_data", Want: "numbers that can be",
			Got: string(s.External.Pipeline)}
	}
	if err := c.checkNames(s); err != nil {
		return at, err
	}
	first := ""
	for _, e := range c.entries {
		o := s.Op(e.name)
		if o == nil {
			o = s.Op(e.former)
		}
		pos, err := e.position(o.Snapshot())
		if err != nil {
			return at, errs.Wrap("", "operator "+e.name, err)
		}
		if e.counted {
			if at.Came == nil {
				at.Came = map[string]int64{}
			}
			at.Came[e.name] = pos
			continue
		}
		switch {
		case pos < 0 || pos == at.Position:
		case at.Position < 0:
			at.Position, first = pos, e.name
		default:
			return at, &errs.Error{Kind: errs.Mismatch, Subject: "operator " + e.name,
				Want: fmt.Sprintf("%d samples, as %s has given", at.Position, first), Got: strconv.FormatInt(pos, 10),
				Remedy: "resume with the data set, seed, shards and batch size of the pipeline that was saved"}
		}
	}
	if at.Position < 0 {
		at.Position = at.Batches * c.batch
	}
	for _, e := range c.entries {
		if e.counted && at.Came[e.name] > at.Position {
			return at, &errs.Error{Kind: errs.Mismatch, Subject: "operator " + e.name,
				Want:   fmt.Sprintf("at most the %d samples that the pipeline has given", at.Position),
				Got:    strconv.FormatInt(at.Came[e.name], 10),
				Remedy: "resume with the batch size and the graph of the pipeline that was saved"}
		}
	}
	at.First = max(0, at.Position-at.Batches*c.batch)
	if s.External != nil && len(s.External.Iterator) > 0 {
		at.Consumer = s.External.Iterator
	}
	return at, nil
}

// Larger numbers do not count anything that ran.
const (
	maxBatches  = 1 << 38
	maxPosition = 1 << 62
)

// checkNames compares the nodes of a checkpoint with the nodes of the pipeline.
func (c *codec) checkNames(s *stateproto.Checkpoint) error {
	known := map[string]bool{}
	for _, e := range c.entries {
		known[e.name] = true
		if s.Op(e.name) != nil {
			continue
		}
		if e.former != "" && s.Op(e.former) != nil {
			known[e.former] = true
			continue
		}
		return &errs.Error{Kind: errs.Mismatch, Subject: "operator " + e.name, Want: "its state", Got: "a checkpoint without",
			Remedy: "resume the pipeline that was saved: the same operators by the same names, and the same outputs"}
	}
	for _, o := range s.Ops {
		if !known[o.Name] {
			return &errs.Error{Kind: errs.Mismatch, Subject: "operator " + strconv.Quote(o.Name),
				Want: "operators of this pipeline", Got: "one that it does not have",
				Remedy: "resume the pipeline that was saved: the same operators by the same names, and the same outputs"}
		}
		known[o.Name] = false // there once
	}
	return nil
}

// position returns how many samples a node had made when it was saved, or -1 if its state does not
// tell.
func (e entry) position(s stateproto.Snapshot) (int64, error) {
	bad := func(want, got string) (int64, error) {
		return -1, &errs.Error{Kind: errs.Mismatch, Want: want, Got: got}
	}
	switch s := s.(type) {
	case *stateproto.Reader:
		if e.reader == nil {
			return bad("a state of another operator", "the state of a reader")
		}
		return e.reader.Position(s.Loader)
	case stateproto.Random:
		pos := s.Sequence()
		switch want := rng.NewPhilox(e.seed, pos, 0).String(); {
		case !e.random:
			return bad("a state of another operator", "the state of random numbers")
		case want != s.String():
			return bad(fmt.Sprintf("seed %d, as in %s", e.seed, want), s.String())
		case pos > maxPosition:
			return bad(fmt.Sprintf("at most %d samples", int64(maxPosition)), s.String())
		}
		return int64(pos), nil
	case stateproto.Opaque:
		return bad("a state of DALI", strconv.Quote(string(s[:min(len(s), 60)])))
	}
	if e.reader != nil || e.random {
		return bad("a state", "none")
	}
	return -1, nil
}
