package main

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/streaming"
	"github.com/bivouac-ml/bivouac/rng/numpy"
)

// streamingSuite has one case for each entry of "vectors" in the files that
// MosaicML Streaming made. A file is a family.
var streamingSuite = suite{cases: streamingCases, ignored: map[string]string{"core": "the flag of the case"}}

var streamingFamilies = map[string]func(r *report, o *object){
	"shuffle":   compareShuffle,
	"partition": comparePartition,
	"elastic":   compareGlobalBatches,
	"numpy_rng": compareNumPy,
	"mds":       func(r *report, _ *object) { r.skip = "no reader of MDS files" },
}

func streamingCases(dir string) ([]testCase, error) {
	cases, err := vectorCases(dir, "streaming", streamingFamilies)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), "mds-") {
			cases = append(cases, failing(filepath.Base(e.Name()), "unknown layout"))
		}
	}
	return cases, err
}

func shuffleOf(o *object) streaming.Shuffle {
	return streaming.Shuffle{
		Algorithm: streaming.Algorithm(o.str("algo")), Shards: o.numbers("shard_sizes"), CanonicalNodes: o.integer("num_canonical_nodes"),
		Seed: o.integer("seed"), Epoch: o.integer("epoch"), Block: o.integer("block_size"),
	}
}

// compareShuffle judges get_shuffle.
func compareShuffle(r *report, o *object) {
	s := shuffleOf(o)
	got, err := s.Samples()
	if o.refusal(err) {
		return
	}
	if want := o.numbers("order"); !slices.Equal(got, want) {
		r.fail("%s: got %v, want %v", s, got, want)
	}
}

// comparePartition judges get_partitions, and that the orders of all ranks, and that
// of them together, are the array that it returns.
func comparePartition(r *report, o *object) {
	s := streaming.Split{
		Samples: o.integer("num_samples"), CanonicalNodes: o.integer("num_canonical_nodes"), Nodes: o.integer("physical_nodes"),
		Ranks: o.integer("ranks_per_node"), Workers: max(o.integer("workers_per_rank"), 1), Batch: o.integer("batch_size"), Drop: o.integer("drop_first"),
	}
	initial := o.integer("initial_physical_nodes")
	switch algorithm := o.str("algo"); algorithm {
	case "relaxed":
		s.InitialNodes = initial
	case "orig": // which has no eye for the nodes at the start
	default:
		r.fail("unknown partition %q", algorithm)
	}
	p, err := streaming.NewPartition(s)
	if o.refusal(err) {
		return
	}
	shape := []int64{s.Nodes, s.Ranks, s.Workers, p.Batches(), s.Batch}
	if want := o.numbers("shape"); !slices.Equal(shape, want) {
		r.fail("shape %v, want %v", shape, want)
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
	if want := o.numbers("flat"); !slices.Equal(flat, want) {
		r.fail("got %v, want %v", flat, want)
	}
	epoch := streaming.Unshuffled(s.Samples)
	for rank, want := range each {
		order, err := epoch.Rank(s, int64(rank)/s.Ranks, int64(rank)%s.Ranks)
		if err != nil {
			r.fail("rank %d: %v", rank, err)
			continue
		}
		compareOrder(r, order, want)
	}
}

// compareOrder judges an order from its start and from its middle.
func compareOrder(r *report, o *streaming.Order, want []int64) {
	for _, pos := range []int{0, len(want) / 2, len(want)} {
		got := make([]int64, len(want)+1)
		if n := o.Fill(int64(pos), got); !slices.Equal(got[:n], want[pos:]) {
			r.fail("%s from %d: got %v, want %v", o, pos, got[:n], want[pos:])
		}
	}
}

// compareGlobalBatches judges shuffle and partition together.
func compareGlobalBatches(r *report, o *object) {
	shuffle := shuffleOf(o)
	shuffle.KeepEmpty = true // the cases call get_shuffle, which no dataset has prepared
	epoch, err := streaming.NewEpoch(shuffle)
	if o.refusal(err) {
		return
	}
	order, err := epoch.Global(streaming.Split{
		CanonicalNodes: o.integer("num_canonical_nodes"), Nodes: o.integer("physical_nodes"), Ranks: o.integer("ranks_per_node"),
		Workers: 1, Batch: o.integer("batch_size"), Drop: o.integer("drop_first"), InitialNodes: o.integer("initial_physical_nodes"),
	})
	if err != nil {
		r.fail("%v", err)
		return
	}
	var want []int64
	for _, batch := range o.list("global_batches") {
		for _, id := range numbersOf(r, "global_batches", batch) {
			if id >= 0 {
				want = append(want, id)
			}
		}
	}
	compareOrder(r, order, want)
}

// compareNumPy judges the generators that the orders draw from, by the members that
// name what was drawn.
func compareNumPy(r *report, o *object) {
	seed := uint64(o.integer("seed"))
	for name := range o.m {
		if name == "seed" {
			continue
		}
		got, known := drawn(name, seed)
		if !known {
			continue // object.done says that
		}
		if want := o.get(name); fmt.Sprint(got) != fmt.Sprint(want) {
			r.fail("seed %d, %s: got %v, want %v", seed, name, got, want)
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
		return hexOf(draws(6, func() float64 { return g.Uniform(-1.5, 4) })...), true
	case "choice_10_3":
		return g.Choice(10, 3), true
	case "randomstate_permutation_20":
		return numpy.NewRandomState(uint32(seed)).Permutation(20), true
	case "integers_scalar_then_uniform":
		scalars := draws(3, func() any { return g.Integers(5, 77) })
		return append(scalars, hexOf(draws(3, func() float64 { return g.Uniform(-3, 2.5) })...)), true
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

// hexOf is the hex of the bytes of numbers, little-endian.
func hexOf(numbers ...float64) string {
	var b []byte
	for _, x := range numbers {
		for bits, i := math.Float64bits(x), 0; i < 8; i++ {
			b = append(b, byte(bits>>(8*i)))
		}
	}
	return hex.EncodeToString(b)
}
