package order

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// take returns count ids from pos on, in blocks of the given size.
func take(o Order, pos, count, block int64) []int64 {
	var ids []int64
	for int64(len(ids)) < count {
		dst := make([]int64, min(block, count-int64(len(ids))))
		n := o.Fill(pos+int64(len(ids)), dst)
		ids = append(ids, dst[:n]...)
		if n < len(dst) {
			break
		}
	}
	return ids
}

func TestOrders(t *testing.T) {
	shard := func(o Order, batch, rank, world int) Order {
		s, err := NewShard(o, batch, rank, world)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		o    Order
		pos  int64
		want []int64 // at most 7
		name string
		len  int64
		ends bool
	}{
		{Sequential(5), 3, []int64{3, 4}, "sequential(n=5)", 5, true},
		{Sequential(5), 5, nil, "sequential(n=5)", 5, true},
		{Sequential(-1), 0, nil, "sequential(n=-1)", 0, true},
		{Sequential(5), -1, nil, "sequential(n=5)", 5, true},
		{NewCycle(3), 2, []int64{2, 0, 1, 2, 0, 1, 2}, "cycle(n=3)", 0, false},
		{NewCycle(0), 2, nil, "cycle(n=0)", 0, true},
		{NewCycle(1), math.MaxInt64 - 2, []int64{0, 0}, "cycle(n=1)", 0, false},
		{NewShuffled(0, 1, ""), 0, nil, `shuffled(v2 n=0 seed=1 domain="")`, 0, true},
		{NewShuffled(1, 1, "x y"), 9, []int64{0, 0, 0, 0, 0, 0, 0}, `shuffled(v2 n=1 seed=1 domain="x y")`, 0, false},
		{NewShuffled(3, 1, ""), -4, nil, `shuffled(v2 n=3 seed=1 domain="")`, 0, false},
		{shard(Sequential(11), 4, 1, 2), 0, []int64{2, 3, 6, 7, 10}, "shard(batch=4 rank=1/2 of sequential(n=11))", 5, true},
		{shard(Sequential(11), 5, 0, 2), 0, []int64{0, 1, 5, 6, 10}, "shard(batch=5 rank=0/2 of sequential(n=11))", 5, true},
		{shard(Sequential(11), 2, 1, 2), 1, []int64{3, 5, 7, 9}, "shard(batch=2 rank=1/2 of sequential(n=11))", 5, true},
		{shard(NewCycle(3), 2, 1, 2), 0, []int64{1, 0, 2, 1, 0, 2, 1}, "shard(batch=2 rank=1/2 of cycle(n=3))", 0, false},
		{shard(NewCycle(3), 2, 1, 2), math.MaxInt64, nil, "shard(batch=2 rank=1/2 of cycle(n=3))", 0, false},
		{shard(NewCycle(3), 2, 1, 2), -1, nil, "shard(batch=2 rank=1/2 of cycle(n=3))", 0, false},
		{NewPermutation(0, 1), 0, nil, "permutation(v2 n=0 key=0000000000000001)", 0, true},
		{NewPermutation(1, 1), 0, []int64{0}, "permutation(v2 n=1 key=0000000000000001)", 1, true},
	} {
		if diff := cmp.Diff(c.want, take(c.o, c.pos, 7, 3)); diff != "" {
			t.Errorf("%s at %d: %s", c.o, c.pos, diff)
		}
		if n, ok := c.o.Len(); n != c.len || ok != c.ends || c.o.String() != c.name {
			t.Errorf("%s: Len %d, %v", c.o, n, ok)
		}
	}
	for _, c := range [][3]int{{2, 0, 3}, {4, 2, 2}, {4, -1, 2}, {4, 0, 0}, {math.MaxInt, 0, 2}} {
		if _, err := NewShard(Sequential(9), c[0], c[1], c[2]); !errors.Is(err, errs.Invalid) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// Every epoch is a permutation that differs from the epoch before. Blocks, seeking and the
// permutations of the epochs agree.
func TestShuffledLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 600).Draw(t, "n")
		s := NewShuffled(n, rapid.Uint64().Draw(t, "seed"), rapid.String().Draw(t, "domain"))
		epoch := rapid.Int64Range(0, math.MaxInt64/n-3).Draw(t, "epoch")
		all := take(s, epoch*n, 2*n, 2*n)
		for e, ids := range [][]int64{all[:n], all[n:]} {
			for i, id := range ids {
				if p := s.Epoch(epoch + int64(e)); p.At(int64(i)) != id || p.Inverse(id) != int64(i) {
					t.Fatalf("epoch %d position %d: %d", e, i, id)
				}
			}
			sorted := slices.Sorted(slices.Values(ids))
			if diff := cmp.Diff(take(Sequential(n), 0, n, n), sorted); diff != "" {
				t.Fatal(diff)
			}
		}
		if n > 12 && slices.Equal(all[:n], all[n:]) {
			t.Fatal("two epochs are alike")
		}
		pos := rapid.Int64Range(0, 2*n-1).Draw(t, "position")
		block := rapid.Int64Range(1, 3*n).Draw(t, "block")
		if diff := cmp.Diff(all[pos:], take(s, epoch*n+pos, 2*n-pos, block)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// All ranks together see each position once, for any world size and wherever the world size
// changes.
func TestShardLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		batch := rapid.IntRange(1, 20).Draw(t, "batch")
		n := rapid.Int64Range(1, 200).Draw(t, "n")
		var o Order = Sequential(n)
		steps := (n + int64(batch) - 1) / int64(batch)
		if rapid.Bool().Draw(t, "endless") {
			o = NewShuffled(n, 3, "")
		}
		end := steps * int64(batch)
		want := take(o, 0, end, end)
		var got []int64
		for step := range steps {
			world := rapid.IntRange(1, batch).Draw(t, "world")
			for rank := range world {
				s, err := NewShard(o, batch, rank, world)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, take(s, step*s.full, s.full, rapid.Int64Range(1, 30).Draw(t, "block"))...)
				if n, ok := s.Len(); ok && n != int64(len(take(s, 0, end, 7))) {
					t.Fatalf("%s: Len %d", s, n)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The order is a promise: these numbers change only with Version. They were checked against a
// second implementation, in Python, of the comments of Permutation and Key.
func TestGoldenOrders(t *testing.T) {
	if Version != 2 {
		t.Fatal("new version: make new golden numbers, keep the old ones")
	}
	if got := fmt.Sprintf("%016x %016x", Key(0, 0, ""), Key(7, 3, "train")); got != "d58ff719840054d1 4083bace165f9d8e" {
		t.Errorf("keys %s", got)
	}
	type golden struct {
		n      int64
		seed   uint64
		pos    int64
		first  []int64
		digest string // SHA-256 of the first 5,000 ids from pos, 8 bytes each
	}
	for version, list := range [][]golden{1: {
		{2, 0, 0, []int64{1, 0, 0, 1}, "bee33e29fd97e8cf"},
		{7, 1, 0, []int64{4, 5, 0, 6}, "47b5399e0cd55572"},
		{33, 2, 0, []int64{28, 3, 8, 16}, "3f2b50e492a1cb57"},
		{100, 3, 0, []int64{64, 52, 19, 38}, "617f6e7311aafe87"},
		{1797, 7, 0, []int64{1730, 636, 213, 1200}, "aa0bc63f54072d01"},
		{65536, 7, 0, []int64{53950, 22350, 45119, 57081}, "da8917982f9efa67"},
		{65537, 7, 0, []int64{22553, 25753, 57194, 48617}, "f93389bc2e277594"},
		{1_000_000_007, 42, 1 << 40, []int64{369032397, 391459761, 800633493, 71142739}, "9b389a0d47468aee"},
		{1 << 50, 42, 1 << 55, []int64{235523014334547, 396819883329867, 556811935609807, 586948297232419}, "e16b7393b4e86d99"},
	}, 2: {
		{2, 0, 0, []int64{0, 1, 0, 1}, "65e657d6a340df93"},
		{7, 1, 0, []int64{3, 4, 1, 5}, "d9468d8df12ef339"},
		{33, 2, 0, []int64{26, 11, 17, 31}, "ac3df08fa39527c0"},
		{100, 3, 0, []int64{17, 83, 96, 1}, "ba49a79725c465ec"},
		{1797, 7, 0, []int64{447, 1735, 1687, 1661}, "28c1ed61a965d3ec"},
		{65536, 7, 0, []int64{47069, 37185, 47344, 3437}, "8911d8168faa4218"},
		{65537, 7, 0, []int64{27645, 28766, 26860, 34956}, "f525910e8e792fa5"},
		{1_000_000_007, 42, 1 << 40, []int64{291169765, 574588552, 587568505, 346266493}, "4bd1b1bca38ccda9"},
		{1 << 50, 42, 1 << 55, []int64{587930733181210, 808956450186280, 467775860440492, 863482548651299}, "8c7543f4beb0ea64"},
		{math.MaxInt64, 42, 0, []int64{3820135234858647237, 9201798962328351522, 7692362904047155339, 1809255493367501105}, "3222643276106434"},
	}} {
		for _, c := range list {
			ids := take(At(NewShuffled(c.n, c.seed, "train"), version), c.pos, 5000, 5000)
			h := sha256.New()
			for _, id := range ids {
				h.Write(binary.LittleEndian.AppendUint64(nil, uint64(id)))
			}
			digest := fmt.Sprintf("%x", h.Sum(nil)[:8])
			if !slices.Equal(ids[:4], c.first) || digest != c.digest {
				t.Errorf("version %d: {%d, %d, %d, %#v, %q},", version, c.n, c.seed, c.pos, ids[:4], digest)
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	dst := make([]int64, 500)
	for _, o := range []Order{NewPermutation(1e6, 1), NewShuffled(100, 1, ""), NewShuffled(1e6, 1, ""), NewCycle(7), Sequential(1e6)} {
		var pos int64
		if allocs := testing.AllocsPerRun(100, func() { o.Fill(pos, dst); pos += 500 }); allocs != 0 {
			t.Errorf("%s: %v allocations", o, allocs)
		}
	}
}
