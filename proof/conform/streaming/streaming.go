// Package streaming is the suite of cases that MosaicML Streaming recorded: shuffles, partitions,
// epochs and states.
package streaming

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/streaming"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/rng/numpy"
)

// streamingSuite has one case for each entry of "vectors" in the files that
// MosaicML Streaming made. A file is a family.
var Suite = suite.Suite{Cases: streamingCases, Ignored: map[string]string{"core": "the flag of the case"}}

var streamingFamilies = map[string]func(r *suite.Report, o *suite.Object){
	"shuffle":   compareShuffle,
	"partition": comparePartition,
	"elastic":   compareGlobalBatches,
	"numpy_rng": compareNumPy,
}

func streamingCases(dir string) ([]suite.Case, error) {
	families := maps.Clone(streamingFamilies)
	families["mds"] = func(r *suite.Report, o *suite.Object) { compareMDS(context.Background(), r, o, dir) }
	cases, err := suite.VectorCases(dir, "streaming", families)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	var folders []string
	for _, e := range entries {
		switch {
		case !e.IsDir():
		case strings.HasPrefix(e.Name(), "mds-"):
			folders = append(folders, e.Name())
		default:
			cases = append(cases, suite.Failing(filepath.Base(e.Name()), "unknown layout"))
		}
	}
	return append(cases, unlisted(dir, folders)...), err
}

func shuffleOf(o *suite.Object) streaming.Shuffle {
	return streaming.Shuffle{
		Algorithm: streaming.Algorithm(o.Str("algo")), Shards: o.Numbers("shard_sizes"),
		CanonicalNodes: o.Integer("num_canonical_nodes"),
		Seed:           o.Integer("seed"), Epoch: o.Integer("epoch"), Block: o.Integer("block_size"),
	}
}

// compareShuffle judges get_shuffle.
func compareShuffle(r *suite.Report, o *suite.Object) {
	s := shuffleOf(o)
	got, err := s.Samples()
	if o.Refusal(err) {
		return
	}
	if want := o.Numbers("order"); !slices.Equal(got, want) {
		r.Fail("%s: got %v, want %v", s, got, want)
	}
}

// comparePartition judges get_partitions. The orders of all ranks, and the order of the ranks
// together, must equal the array that it returns.
func comparePartition(r *suite.Report, o *suite.Object) {
	s := streaming.Split{
		Samples: o.Integer("num_samples"), CanonicalNodes: o.Integer("num_canonical_nodes"),
		Nodes: o.Integer("physical_nodes"),
		Ranks: o.Integer("ranks_per_node"), Workers: max(o.Integer("workers_per_rank"),
			1), Batch: o.Integer("batch_size"),
		Drop: o.Integer("drop_first"),
	}
	initial := o.Integer("initial_physical_nodes")
	switch algorithm := o.Str("algo"); algorithm {
	case "relaxed":
		s.InitialNodes = initial
	case "orig": // which has no eye for the nodes at the start
	default:
		r.Fail("unknown partition %q", algorithm)
	}
	p, err := streaming.NewPartition(s)
	if o.Refusal(err) {
		return
	}
	shape := []int64{s.Nodes, s.Ranks, s.Workers, p.Batches(), s.Batch}
	if want := o.Numbers("shape"); !slices.Equal(shape, want) {
		r.Fail("shape %v, want %v", shape, want)
		return
	}
	var flat []int64
	each := make([][]int64, s.Nodes*s.Ranks)
	for rank := range each {
		node, rankOfNode := int64(rank)/s.Ranks, int64(rank)%s.Ranks
		for worker := range s.Workers {
			for batch := range p.Batches() {
				for place := range s.Batch {
					flat = append(flat, p.At(node, rankOfNode, worker, batch, place))
				}
			}
		}
		for turn := range p.Batches() * s.Workers {
			for place := range s.Batch {
				if id := p.At(node, rankOfNode, turn%s.Workers, turn/s.Workers, place); id >= 0 {
					each[rank] = append(each[rank], id)
				}
			}
		}
	}
	if want := o.Numbers("flat"); !slices.Equal(flat, want) {
		r.Fail("got %v, want %v", flat, want)
	}
	epoch := streaming.Unshuffled(s.Samples)
	for rank, want := range each {
		order, err := epoch.Rank(s, int64(rank)/s.Ranks, int64(rank)%s.Ranks)
		if err != nil {
			r.Fail("rank %d: %v", rank, err)
			continue
		}
		compareOrder(r, order, want)
	}
}

// compareOrder judges an order from its start and from its middle.
func compareOrder(r *suite.Report, o *streaming.Order, want []int64) {
	for _, pos := range []int{0, len(want) / 2, len(want)} {
		got := make([]int64, len(want)+1)
		if n := o.Fill(int64(pos), got); !slices.Equal(got[:n], want[pos:]) {
			r.Fail("%s from %d: got %v, want %v", o, pos, got[:n], want[pos:])
		}
	}
}

// compareGlobalBatches judges shuffle and partition together.
func compareGlobalBatches(r *suite.Report, o *suite.Object) {
	shuffle := shuffleOf(o)
	shuffle.KeepEmpty = true // the cases call get_shuffle, which no dataset has prepared
	epoch, err := streaming.NewEpoch(shuffle)
	if o.Refusal(err) {
		return
	}
	order, err := epoch.Global(streaming.Split{
		CanonicalNodes: o.Integer("num_canonical_nodes"), Nodes: o.Integer("physical_nodes"),
		Ranks:   o.Integer("ranks_per_node"),
		Workers: 1, Batch: o.Integer("batch_size"), Drop: o.Integer("drop_first"),
		InitialNodes: o.Integer("initial_physical_nodes"),
	})
	if err != nil {
		r.Fail("%v", err)
		return
	}
	var want []int64
	for _, batch := range o.List("global_batches") {
		for _, id := range suite.NumbersOf(r, "global_batches", batch) {
			if id >= 0 {
				want = append(want, id)
			}
		}
	}
	compareOrder(r, order, want)
}

// compareNumPy judges the generators that the orders draw from, by the members that
// name what was drawn.
func compareNumPy(r *suite.Report, o *suite.Object) {
	seed := uint64(o.Integer("seed"))
	for name := range o.Members {
		if name == "seed" {
			continue
		}
		got, known := drawn(name, seed)
		if !known {
			continue // object.done says that
		}
		if want := o.Get(name); fmt.Sprint(got) != fmt.Sprint(want) {
			r.Fail("seed %d, %s: got %v, want %v", seed, name, got, want)
		}
	}
}

// drawn returns what a name of numpy_rng.json stands for.
func drawn(name string, seed uint64) (got any, known bool) {
	g := numpy.DefaultRNG(seed)
	state, inc := numpy.NewPCG64(seed).State()
	switch name {
	case "state":
		return decimal(state), true
	case "inc":
		return decimal(inc), true
	case "pcg64_raw":
		return draws(4, g.Uint64), true
	case "uniform_hex":
		return suite.HexOf(draws(6, func() float64 { return g.Uniform(-1.5, 4) })...), true
	case "choice_10_3":
		return g.Choice(10, 3), true
	case "randomstate_permutation_20":
		return numpy.NewRandomState(uint32(seed)).Permutation(20), true
	case "integers_scalar_then_uniform":
		scalars := draws(3, func() any { return g.Integers(5, 77) })
		return append(scalars, suite.HexOf(draws(3, func() float64 { return g.Uniform(-3, 2.5) })...)), true
	}
	var n, low, high int64
	switch {
	case scan(name, "permutation_%d", &n):
		return g.Permutation(n), true
	case scan(name, "shuffle_%d", &n), scan(name, "shuffle_list_of_%d", &n):
		ids := make([]int64, n)
		for i := range ids {
			ids[i] = int64(i)
		}
		numpy.Shuffle(g, ids)
		return ids, true
	case scan(name, "integers_%d_%d", &low, &high):
		return draws(6, func() int64 { return g.Integers(low, high) }), true
	}
	return nil, false
}

func scan(name, format string, to ...any) bool {
	n, err := fmt.Sscanf(name, format, to...)
	return err == nil && n == len(to)
}

func draws[T any](n int, draw func() T) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = draw()
	}
	return s
}

func decimal(x [2]uint64) string {
	n := new(big.Int).SetUint64(x[0])
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(x[1])).String()
}
