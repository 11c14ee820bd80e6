package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/bivouac-ml/bivouac/compat/streaming"
	"github.com/bivouac-ml/bivouac/order"
)

// streamingCase is a case.json of tools/interop/mds.py.
type streamingCase struct {
	Shards  []int64 `json:"shards"`
	Dataset struct {
		Shuffle   bool                `json:"shuffle"`
		Algorithm streaming.Algorithm `json:"algo"`
		Seed      int64               `json:"seed"`
		Canonical *int64              `json:"canonical_nodes"`
		Block     *int64              `json:"block"`
	} `json:"dataset"`
	Batch   int64           `json:"batch"`
	World   streamingWorld  `json:"world"`
	Epochs  int64           `json:"epochs"`       // of the state
	After   int64           `json:"after"`        // batches of each rank before it
	Nodes   int64           `json:"nodes_before"` // that it was taken on
	State   json.RawMessage `json:"state,omitempty"`
	Before  [][]int64       `json:"before,omitempty"`  // by rank
	Rest    [][][]int64     `json:"rest,omitempty"`    // by epoch and rank
	Refused string          `json:"refused,omitempty"` // what streaming says instead
}

type streamingWorld struct {
	Nodes   int64 `json:"nodes"`
	Ranks   int64 `json:"ranks"`
	Workers int64 `json:"workers"`
}

// epochOf shuffles an epoch of the case.
func (c *streamingCase) epochOf(s streaming.Shuffle) (*streaming.Epoch, error) {
	s.Algorithm, s.Shards = c.Dataset.Algorithm, c.Shards
	if c.Dataset.Block != nil {
		s.Block = *c.Dataset.Block
	}
	if c.Dataset.Shuffle {
		return streaming.NewEpoch(s)
	}
	n, err := s.Size()
	return streaming.Unshuffled(n), err
}

// ranks are the ids of each rank, nil where nothing is left of the epoch.
func (c *streamingCase) ranks(s streaming.Shuffle, split streaming.Split) ([][]int64, error) {
	e, err := c.epochOf(s)
	if err != nil {
		return nil, err
	}
	var all [][]int64
	for rank := range split.Nodes * split.Ranks {
		o, err := e.Rank(split, rank/split.Ranks, rank%split.Ranks)
		if err != nil {
			return nil, err
		}
		all = append(all, filled(o))
	}
	return all, nil
}

// filled are the ids of an order that ends.
func filled(o order.Order) []int64 {
	n, _ := o.Len()
	ids := make([]int64, n)
	return ids[:o.Fill(0, ids)]
}

func (c *streamingCase) split(nodes int64) streaming.Split {
	return streaming.Split{Nodes: nodes, Ranks: c.World.Ranks, Workers: max(c.World.Workers, 1), Batch: c.Batch}
}

// play returns the state that the case says, and what each rank was given of its epoch before it.
func (c *streamingCase) play() (state streaming.State, before [][]int64, err error) {
	canonical := streaming.DefaultCanonicalNodes(c.Dataset.Algorithm, c.Nodes)
	if c.Dataset.Canonical != nil {
		canonical = *c.Dataset.Canonical
	}
	state = streaming.State{Epoch: c.Epochs, CanonicalNodes: canonical, Seed: c.Dataset.Seed, InitialNodes: c.Nodes}
	shuffle, split := state.Resume(streaming.Shuffle{}, c.split(c.Nodes))
	all, err := c.ranks(shuffle, split)
	total := int64(0)
	for i, ids := range all {
		total += int64(len(ids))
		all[i] = ids[:min(c.After*c.Batch, int64(len(ids)))]
	}
	state.SampleInEpoch = min(c.After*c.Batch*c.Nodes*c.World.Ranks, total)
	if c.After == 0 && c.World.Nodes*c.World.Ranks == 1 { // streaming counts an epoch when its first batch is asked for
		if state.Epoch--; state.Epoch >= 0 {
			state.SampleInEpoch = total
		}
	}
	return state, all, err
}

// resumed returns what follows a state: the rest of its epoch, and the next one.
func (c *streamingCase) resumed() (rest [][][]int64, err error) {
	state, err := streaming.ParseState(c.State)
	if err != nil {
		return nil, err
	}
	shuffle, split := state.Resume(streaming.Shuffle{}, c.split(c.World.Nodes))
	for range 2 {
		ids, err := c.ranks(shuffle, split)
		if err != nil {
			return nil, err
		}
		rest = append(rest, ids)
		shuffle.Epoch, split.Drop = shuffle.Epoch+1, 0
	}
	return rest, nil
}

// differs tells how Bivouac's state and what follows it differ from the case, or returns "".
func (c *streamingCase) differs() string {
	state, before, err := c.play()
	rest, err2 := [][][]int64(nil), err
	if c.Refused == "" && err == nil {
		rest, err2 = c.resumed()
	}
	switch {
	case c.Refused != "" && err != nil, c.Refused != "" && c.State == nil:
		return ""
	case c.Refused != "":
		if c.State, err = []byte(state.String()), nil; err == nil {
			_, err = c.resumed()
		}
		if err == nil {
			return "Bivouac goes on, streaming refuses: " + c.Refused
		}
		return ""
	case err2 != nil:
		return fmt.Sprintf("Bivouac refuses: %v", err2)
	case !reflect.DeepEqual(before, c.Before):
		return fmt.Sprintf("Bivouac began with %v, streaming with %v", before, c.Before)
	case !sameStreaming(c.State, state):
		return fmt.Sprintf("Bivouac's state is %s, streaming's %s", state, c.State)
	case !reflect.DeepEqual(rest, c.Rest):
		return fmt.Sprintf("Bivouac goes on with %v, streaming with %v", rest, c.Rest)
	}
	return ""
}

func sameStreaming(text []byte, want streaming.State) bool {
	got, err := streaming.ParseState(text)
	return err == nil && got == want
}

// compareStreaming goes on from the states of streaming.
func compareStreaming(_ context.Context, root string, out io.Writer) error {
	return compareCases(root, out, "Bivouac goes on from streaming", "datasets", (*streamingCase).differs)
}

// randomStreaming draws a case.
func randomStreaming(r *rand.Rand) *streamingCase {
	c := &streamingCase{Batch: 1 + r.Int64N(4), Epochs: r.Int64N(2), After: r.Int64N(8)}
	for range 1 + r.IntN(7) {
		c.Shards = append(c.Shards, max(r.Int64N(45)-15, 0))
	}
	if slices.Max(c.Shards) == 0 {
		c.Shards = append(c.Shards, 1+r.Int64N(29))
	}
	d := &c.Dataset
	d.Shuffle, d.Algorithm, d.Seed = r.IntN(10) > 0, streaming.Algorithms()[r.IntN(5)], r.Int64N(1<<32)
	if n := []int64{0, 1, 2, 4}[r.IntN(4)]; n > 0 {
		d.Canonical = &n
	}
	if n := []int64{0, 8, 40, 300}[r.IntN(4)]; n > 0 {
		d.Block = &n
	}
	c.World, c.Nodes = streamingWorld{1, 1, r.Int64N(3)}, 1
	if r.IntN(10) < 7 {
		c.World = streamingWorld{[]int64{1, 2, 4}[r.IntN(3)], 1 + r.Int64N(3), 1 + r.Int64N(3)}
		if c.Nodes = []int64{1, 2, 4}[r.IntN(3)]; c.World.Nodes*c.World.Ranks == 1 {
			c.Nodes = 1
		}
	}
	return c
}

// writeStreaming writes cases for streaming to go on from.
func writeStreaming(_ context.Context, root string, seed uint64, cases int) error {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := 0; i < cases; {
		c := randomStreaming(r)
		state, _, err := c.play()
		if err == nil {
			c.State = []byte(state.String())
			c.Rest, err = c.resumed()
		}
		if err != nil {
			continue // streaming would refuse it too, which its own cases show
		}
		if err := writeCase(root, i, c); err != nil {
			return err
		}
		i++
	}
	return nil
}
