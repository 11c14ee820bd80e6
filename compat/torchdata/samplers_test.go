package torchdata_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

// all returns what is left of a cursor.
func all[T any](t fataler, c order.Cursor[T]) (out []T) {
	t.Helper()
	for {
		v, ok, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return out
		}
		out = append(out, v)
	}
}

// The ranks of a distributed sampler share an epoch: each sample comes once, except at the end,
// which is padded or dropped. Epochs and seeds have orders of their own, the same each time.
func TestRanksShareAnEpoch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, ranks := rapid.Int64Range(1, 307).Draw(t, "n"), rapid.Int64Range(1, 13).Draw(t, "ranks")
		o := torchdata.DistributedOptions{Replicas: ranks, Seed: rapid.Int64Range(0, 1<<40).Draw(t, "seed"),
			DropLast: rapid.Bool().Draw(t, "drop"), Sequential: rapid.Bool().Draw(t, "sequential")}
		epoch := rapid.Int64Range(0, 9).Draw(t, "epoch")
		count, each := map[int64]int{}, (n+ranks-1)/ranks
		if o.DropLast {
			each = n / ranks
		}
		for o.Rank = 0; o.Rank < ranks; o.Rank++ {
			var first []int64
			for range 2 {
				s, err := torchdata.NewStatefulDistributedSampler(torchdata.Range(n), o)
				if err != nil {
					t.Fatal(err)
				}
				s.SetEpoch(epoch)
				ids := all(t, s.Open())
				if first != nil && !slices.Equal(first, ids) {
					t.Fatalf("rank %d: %v, then %v", o.Rank, first, ids)
				}
				first = ids
				if int64(len(ids)) != each || s.Len() != each {
					t.Fatalf("rank %d: %d ids, Len %d, want %d", o.Rank, len(ids), s.Len(), each)
				}
			}
			for _, id := range first {
				count[id]++
			}
		}
		total := 0
		for id, times := range count {
			if id < 0 || id >= n || o.DropLast && times > 1 {
				t.Fatalf("id %d comes %d times", id, times)
			}
			total += times
		}
		if !o.DropLast && int64(len(count)) != n || int64(total) != each*ranks {
			t.Fatalf("%d of %d ids, %d in all", len(count), n, total)
		}
	})
}

// samplersOf are samplers of all kinds that have a state, here or on their cursors.
func samplersOf(t fataler, n int64, seed uint64) map[string]func() order.Sampler {
	must := func(s order.Sampler, err error) order.Sampler {
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	random := func(o torchdata.RandomSamplerOptions) func() order.Sampler {
		return func() order.Sampler {
			g := torchdata.NewGenerator(seed)
			o.Generator = &g
			return must(torchdata.NewRandomSampler(torchdata.Range(n), o))
		}
	}
	return map[string]func() order.Sampler{
		"random": random(torchdata.RandomSamplerOptions{}),
		"more":   random(torchdata.RandomSamplerOptions{NumSamples: new(3*n + 1)}),
		"drawn":  random(torchdata.RandomSamplerOptions{Replacement: true, NumSamples: new(n + 70)}),
		"distributed": func() order.Sampler {
			return must(torchdata.NewStatefulDistributedSampler(torchdata.Range(n), torchdata.DistributedOptions{Replicas: 3, Rank: 1, Seed: int64(seed >> 1)}))
		},
		"sequential": func() order.Sampler { return torchdata.NewSequentialSampler(torchdata.Range(n)) },
		"weighted": func() order.Sampler {
			g := torchdata.NewGenerator(seed)
			return must(torchdata.NewWeightedSampler(torchdata.WeightedOptions{Weights: []float64{1, 2, 0, 4}, NumSamples: n, Generator: &g}))
		},
	}
}

// Batches that go on from a state are those that would have come, and the state
// after k batches is the same whether it was gone on from or not.
func TestBatchesGoOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, size, seed := rapid.Int64Range(1, 97).Draw(t, "n"), rapid.IntRange(1, 12).Draw(t, "size"),
			rapid.Uint64().Draw(t, "seed")
		for name, make := range samplersOf(t, n, seed) {
			open := func() (order.Cursor[[]int64], state.Stateful) {
				b, err := torchdata.NewBatchSampler(make(), size, false)
				if err != nil {
					t.Fatal(err)
				}
				c := b.Open()
				return c, c.(state.Stateful)
			}
			cursor, saved := open()
			for range rapid.IntRange(0, 30).Draw(t, "taken") {
				if _, ok, err := cursor.Next(); !ok || err != nil {
					break
				}
			}
			before, err := saved.AppendState(nil)
			if err != nil {
				t.Fatal(err)
			}
			again, resumed := open()
			if err := resumed.SetState(before); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if d := cmp.Diff(all(t, cursor), all(t, again)); d != "" {
				t.Fatalf("%s: %s", name, d)
			}
		}
	})
}

// The numbers of Python 3.11 and numpy 2.1.
func TestTwisters(t *testing.T) {
	for seed, want := range map[uint64]string{
		0:                   "[3626764237 1654615998 3255389356] 0x1.c7ce0d1aeaa51p-01",
		42:                  "[2746317213 478163327 107420369] 0x1.7bac81d19a149p-01",
		1<<32 - 1:           "[2728839433 2661025012 872737089] 0x1.b905fd9b7c608p-03",
		1 << 32:             "[485306839 1508871100 1794561286] 0x1.de93c9811139cp-01",
		9223372036854775783: "[2278502434 2503726699 3198902172] 0x1.0c6c19344659cp-01",
	} {
		if got := drawn(torchdata.NewPythonRandom(seed)); got != want {
			t.Errorf("seed %d: %s, want %s", seed, got, want)
		}
	}
	long := make([]uint32, 700)
	for i := range long {
		long[i] = uint32(i)
	}
	for _, c := range []struct {
		key  []uint32
		want string
	}{
		{[]uint32{1}, "[577090037 2444712010 3639700191] 0x1.9ac27c70e1aefp-01"},
		{[]uint32{7, 8, 9, 10}, "[680076014 3327917620 3442137216] 0x1.724b41949f8f8p-01"},
		{long, "[3727595200 1914792892 3929396303] 0x1.ad940e9b528bep-01"},
	} {
		if got := drawn(torchdata.NewTwister(c.key)); got != c.want {
			t.Errorf("key of %d words: %s, want %s", len(c.key), got, c.want)
		}
	}
}

func drawn(r *torchdata.Twister) string {
	return fmt.Sprintf("%v %x", []uint32{r.Uint32(), r.Uint32(), r.Uint32()}, r.Float64())
}
