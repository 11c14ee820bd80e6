package torchdata

import (
	"bytes"
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// anyOrder draws a sampler of any kind.
func anyOrder(t *rapid.T) epochs {
	g := NewGenerator(rapid.Uint64().Draw(t, "seed"))
	n := rapid.Int64Range(1, 70).Draw(t, "n")
	num := rapid.Int64Range(1, 150).Draw(t, "num")
	var o epochs
	var err error
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		o, err = NewRandom(RandomOptions{N: n, NumSamples: num, Generator: &g, Torch: rapid.Bool().Draw(t, "torch"),
			BaseSeeds: anyBaseSeeds.Draw(t, "seeds"), Resumed: rapid.Bool().Draw(t, "resumed")})
	case 1:
		o, err = NewRandom(RandomOptions{N: n, NumSamples: num, Generator: &g, Replacement: true,
			Torch:     rapid.Bool().Draw(t, "torch"),
			BaseSeeds: anyBaseSeeds.Draw(t, "seeds"), Resumed: rapid.Bool().Draw(t, "resumed")})
	case 2:
		o, err = NewSubsetRandom(make([]int64, n), &g)
	case 3:
		weights := rapid.SliceOfN(rapid.Float64Range(0.1, 10), int(n), int(n)).Draw(t, "weights")
		without := rapid.Bool().Draw(t, "without")
		if without {
			num = min(num, n)
		}
		o, err = NewWeighted(WeightedOptions{Weights: weights, NumSamples: num, WithoutReplacement: without, Generator: &g})
	default:
		replicas := rapid.Int64Range(1, 9).Draw(t, "replicas")
		o, err = NewDistributed(DistributedOptions{N: n, Replicas: replicas,
			Rank: rapid.Int64Range(0, replicas-1).Draw(t, "rank"),
			Seed: rapid.Int64Range(0, math.MaxInt64).Draw(t, "seed"), Sequential: rapid.Bool().Draw(t, "sequential"),
			DropLast: rapid.Bool().Draw(t, "drop"), Fixed: rapid.Bool().Draw(t, "fixed")})
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

var anyBaseSeeds = rapid.SampledFrom([]BaseSeeds{NoBaseSeeds, TorchLoader, StatefulLoader, StatefulWorkers})

// An order is a function of the position: blocks of any size at any place, in any
// sequence, agree with one long block.
func TestOrdersArePure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyOrder(t)
		whole := make([]int64, 3*o.EpochLen()+5)
		whole = whole[:o.Fill(0, whole)]
		if n, ok := o.Len(); !ok && len(whole) < 3 || ok && (n != 0 || len(whole) != 0) {
			t.Fatalf("%v: %d positions, Len %d %t", o, len(whole), n, ok)
		}
		for range 10 {
			pos := rapid.IntRange(0, len(whole)).Draw(t, "pos")
			block := make([]int64, rapid.IntRange(0, len(whole)-pos).Draw(t, "length"))
			if n := o.Fill(int64(pos), block); n != len(block) {
				t.Fatalf("%v: %d of %d at %d", o, n, len(block), pos)
			}
			for i, id := range block {
				if id != whole[pos+i] {
					t.Fatalf("%v: %d at %d, was %d", o, id, pos+i, whole[pos+i])
				}
			}
		}
		if n := o.Fill(-1, make([]int64, 1)); n != 0 {
			t.Fatalf("%v: %d positions before the first", o, n)
		}
	})
}

// The state that an epoch begins with makes the rest of the order.
func TestOrdersContinueFromGenerators(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := RandomOptions{N: rapid.Int64Range(1, 50).Draw(t, "n"), NumSamples: rapid.Int64Range(1, 120).Draw(t, "num"),
			Replacement: rapid.Bool().Draw(t, "replacement"), Torch: rapid.Bool().Draw(t, "torch"),
			BaseSeeds: anyBaseSeeds.Draw(t, "seeds")}
		all, err := NewRandom(o)
		if err != nil {
			t.Fatal(err)
		}
		epoch := rapid.Int64Range(0, 40).Draw(t, "epoch")
		g, ok := all.Generator(epoch)
		if !ok {
			t.Fatal("no generator")
		}
		b, err := g.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var read Generator
		if err := read.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		o.Generator, o.Resumed = &read, o.BaseSeeds == TorchLoader ||
			o.BaseSeeds == StatefulWorkers // their seeds are before the state
		rest, err := NewRandom(o)
		if err != nil {
			t.Fatal(err)
		}
		x, y := make([]int64, 200), make([]int64, 200)
		if n, m := all.Fill(epoch*all.EpochLen(), x), rest.Fill(0, y); n != len(x) || m != len(y) {
			t.Fatal(n, m)
		}
		for i := range x {
			if x[i] != y[i] {
				t.Fatalf("%+v: %d at %d, want %d", o, y[i], i, x[i])
			}
		}
	})
}

// Every permutation is one, and discarding is the same as drawing.
func TestGeneratorLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewGenerator(rapid.Uint64().Draw(t, "seed"))
		n := rapid.Int64Range(0, 3000).Draw(t, "n")
		other := g
		ids, err := Randperm(n, &g)
		if err != nil {
			t.Fatal(err)
		}
		seen := make([]bool, n)
		for _, id := range ids {
			if id < 0 || id >= n || seen[id] {
				t.Fatalf("%d twice or out of %d", id, n)
			}
			seen[id] = true
		}
		other.Discard(wordsOfRandperm(n))
		x, _ := g.MarshalBinary()
		y, _ := other.MarshalBinary()
		if !bytes.Equal(x, y) {
			t.Fatalf("after randperm(%d) and its words the states differ", n)
		}
	})
}

// A leap ends where passing over the words does, at any place in the engine's
// words, with the same state.
func TestLeaps(t *testing.T) {
	for i, words := range []uint64{leapFrom, leapFrom + 1, leapFrom + 367, leapFrom + 623, 3*leapFrom + 13} {
		leapt := NewGenerator(uint64(i))
		leapt.Discard(uint64(311 * i))
		passed := leapt
		leapt.Discard(words)
		for ; words > 0; words -= min(words, leapFrom-1) {
			passed.Discard(min(words, leapFrom-1))
		}
		if leapt != passed {
			t.Errorf("case %d: the generators differ", i)
		}
	}
}

// Epochs are exact however far away.
func TestFarEpochs(t *testing.T) {
	const n, epoch = 1000, 1 << 40
	o, err := NewRandom(RandomOptions{N: n})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]int64, n)
	o.Fill(epoch*n, got)
	g := NewGenerator(DefaultSeed)
	for range 1 << 4 { // in steps of another size
		g.Discard((n - 1) << 36)
	}
	want, err := Randperm(n, &g)
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("epoch %d: %v", epoch, err)
	}
}

// torch 2.15: DataLoader(range(7), shuffle=True, generator=Generator().manual_seed(42)).
func TestTorchLoaderWithOneGenerator(t *testing.T) {
	g := NewGenerator(42)
	o, err := NewRandom(RandomOptions{N: 7, Generator: &g, Torch: true, BaseSeeds: TorchLoader})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]int64, 14)
	o.Fill(0, got)
	if d := cmp.Diff([]int64{4, 5, 3, 6, 1, 0, 2, 6, 2, 4, 5, 3, 1, 0}, got); d != "" {
		t.Error(d)
	}
}

// What torch does from 214,748,364 elements on, with fewer.
func TestShuffledInsideOut(t *testing.T) {
	g := NewGenerator(5)
	want := []uint32{16, 17, 4, 11, 18, 0, 15, 13, 1, 19, 9, 8, 7, 2, 14, 5, 12, 10, 6, 3}
	if d := cmp.Diff(want, shuffledInsideOut(20, &g)); d != "" {
		t.Error(d)
	}
	if n := wordsOfRandperm(largePermutation); n != 2*largePermutation {
		t.Errorf("%d words", n)
	}
	if n := wordsOfRandperm(largePermutation - 1); n != largePermutation-2 {
		t.Errorf("%d words", n)
	}
}

// torch 2.15: randint(n, (4,)) of seed 5, on both sides of 2^28; as an order, the
// last of them is found by itself.
func TestWideDraws(t *testing.T) {
	for n, want := range map[int64][]int64{
		1<<28 - 1: {148147046, 236996814, 250105852, 80864970},
		1 << 28:   {236996814, 80864957, 220060790, 180152393},
		1 << 32:   {236996814, 3570525885, 1562238070, 4206684233},
	} {
		g := NewGenerator(5)
		o, err := NewRandom(RandomOptions{N: n, Replacement: true, Generator: &g})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]int64, 4)
		for i := len(got) - 1; i >= 0; i-- {
			o.Fill(int64(i), got[i:i+1])
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("n = %d: %s", n, d)
		}
	}
}

// Orders that differ in anything have different names.
func TestNames(t *testing.T) {
	g := NewGenerator(1)
	names := map[string]bool{}
	add := func(o epochs, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if names[o.String()] {
			t.Errorf("%s twice", o)
		}
		names[o.String()] = true
	}
	for _, o := range []RandomOptions{{N: 5}, {N: 6}, {N: 5, NumSamples: 6}, {N: 5, Generator: &g},
		{N: 5, Replacement: true}, {N: 5, Torch: true},
		{N: 5, BaseSeeds: TorchLoader}, {N: 5, BaseSeeds: StatefulLoader}, {N: 5, BaseSeeds: StatefulLoader, Resumed: true}} {
		add(NewRandom(o))
	}
	for _, o := range []WeightedOptions{{Weights: []float64{1, 2}, NumSamples: 2},
		{Weights: []float64{2, 1}, NumSamples: 2}, {Weights: []float64{1, 2}, NumSamples: 1},
		{Weights: []float64{1, 2}, NumSamples: 2, WithoutReplacement: true},
		{Weights: []float64{1, 2}, NumSamples: 2, Generator: &g}} {
		add(NewWeighted(o))
	}
	for _, ids := range [][]int64{nil, {1, 2}, {2, 1}} {
		add(NewSubsetRandom(ids, nil))
	}
	add(NewSubsetRandom([]int64{1, 2}, &g))
	for _, o := range []DistributedOptions{{N: 5, Replicas: 2}, {N: 6, Replicas: 2}, {N: 5, Replicas: 3},
		{N: 5, Replicas: 2, Rank: 1}, {N: 5, Replicas: 2, Sequential: true},
		{N: 5, Replicas: 2, Seed: 1}, {N: 5, Replicas: 2, DropLast: true}, {N: 5, Replicas: 2, Fixed: true}} {
		add(NewDistributed(o))
	}
}

// A subset and weighted samples go on from the generator of an epoch, too.
func TestGeneratorsOfEpochs(t *testing.T) {
	weights := []float64{3, 1, 2, 5}
	type generators interface {
		epochs
		Generator(epoch int64) (Generator, bool)
	}
	for name, start := range map[string]func(g *Generator) (generators, error){
		"subset": func(g *Generator) (generators, error) { return NewSubsetRandom([]int64{4, 9, 7, 7, 1}, g) },
		"replacement": func(g *Generator) (generators, error) {
			return NewWeighted(WeightedOptions{Weights: weights, NumSamples: 9, Generator: g})
		},
		"without": func(g *Generator) (generators, error) {
			return NewWeighted(WeightedOptions{Weights: weights, NumSamples: 3, Generator: g, WithoutReplacement: true})
		},
	} {
		all, err := start(nil)
		if err != nil {
			t.Fatal(err)
		}
		g, ok := all.Generator(17)
		if !ok {
			t.Fatalf("%s: no generator", name)
		}
		rest, err := start(&g)
		if err != nil {
			t.Fatal(err)
		}
		want, got := make([]int64, 30), make([]int64, 30)
		all.Fill(17*all.EpochLen(), want)
		rest.Fill(0, got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if _, ok := all.Generator(-1); ok {
			t.Errorf("%s: a generator of epoch -1", name)
		}
	}
	empty, err := NewSubsetRandom(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := empty.Generator(0); ok || empty.Fill(0, make([]int64, 1)) != 0 {
		t.Error("an empty subset has samples")
	}
}

func TestConcurrentUse(t *testing.T) {
	o, err := NewRandom(RandomOptions{N: 97, NumSamples: 200})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]int64, 2000)
	o.Fill(0, want)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			got := make([]int64, 10)
			for pos := 10 * w; pos+len(got) <= len(want); pos += 40 {
				o.Fill(int64(pos), got)
				for i, id := range got {
					if id != want[pos+i] {
						t.Errorf("position %d: %d, want %d", pos+i, id, want[pos+i])
					}
				}
				if _, ok := o.Generator(int64(pos) / 200); !ok {
					t.Error("no generator")
				}
			}
		})
	}
	wg.Wait()
}

func TestRefusals(t *testing.T) {
	g := NewGenerator(1)
	for name, err := range map[string]error{
		"no samples":             second(NewRandom(RandomOptions{})),
		"too many samples":       second(NewRandom(RandomOptions{N: MaxSamples + 1})),
		"negative epoch":         second(NewRandom(RandomOptions{N: 1, NumSamples: -1})),
		"id below 0":             second(NewSubsetRandom([]int64{0, -1}, nil)),
		"no weights":             second(NewWeighted(WeightedOptions{NumSamples: 1})),
		"negative weight":        second(NewWeighted(WeightedOptions{Weights: []float64{2, -1}, NumSamples: 1})),
		"NaN":                    second(NewWeighted(WeightedOptions{Weights: []float64{math.NaN()}, NumSamples: 1})),
		"infinite weight":        second(NewWeighted(WeightedOptions{Weights: []float64{math.Inf(1)}, NumSamples: 1})),
		"infinite sum":           second(NewWeighted(WeightedOptions{Weights: []float64{1e308, 1e308}, NumSamples: 1})),
		"weights of 0":           second(NewWeighted(WeightedOptions{Weights: []float64{0, 0}, NumSamples: 1})),
		"no weighted samples":    second(NewWeighted(WeightedOptions{Weights: []float64{1}})),
		"more than there are":    second(NewWeighted(WeightedOptions{Weights: []float64{1, 0, 1}, NumSamples: 3, WithoutReplacement: true})),
		"rank":                   second(NewDistributed(DistributedOptions{N: 5, Replicas: 2, Rank: 2})),
		"rank below 0":           second(NewDistributed(DistributedOptions{N: 5, Replicas: 2, Rank: -1})),
		"no replicas":            second(NewDistributed(DistributedOptions{N: 5})),
		"N below 0":              second(NewDistributed(DistributedOptions{N: -1, Replicas: 1})),
		"seed below 0":           second(NewDistributed(DistributedOptions{N: 1, Replicas: 1, Seed: -1})),
		"permutation below 0":    second(Randperm(-1, &g)),
		"split of too few":       second(RandomSplit(5, []int64{2, 2}, &g)),
		"split of too many":      second(RandomSplit(5, []int64{2, 4}, &g)),
		"split below 0":          second(RandomSplit(5, []int64{6, -1}, &g)),
		"split of n below 0":     second(RandomSplit(-1, nil, &g)),
		"fractions below 1":      second(SplitLengths(5, []float64{.5, .4})),
		"fraction above 1":       second(SplitLengths(5, []float64{1.5, -.5})),
		"fraction NaN":           second(SplitLengths(5, []float64{math.NaN()})),
		"fractions of n below 0": second(SplitLengths(-1, []float64{1})),
	} {
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Positions too far away to be counted are the end, not a hang or a panic.
func TestFarPositions(t *testing.T) {
	o, err := NewRandom(RandomOptions{N: 1000, NumSamples: 1})
	if err != nil {
		t.Fatal(err)
	}
	if n := o.Fill(math.MaxInt64-1, make([]int64, 4)); n != 0 {
		t.Errorf("%d samples", n)
	}
	if _, ok := o.Generator(math.MaxInt64 - 1); ok {
		t.Error("a generator after 2^63 numbers")
	}
	d, err := NewDistributed(DistributedOptions{N: 10, Replicas: 3, Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	if n := d.Fill(math.MaxInt64-2, make([]int64, 9)); n < 1 || n > 3 {
		t.Errorf("%d samples at the largest positions", n)
	}
}
