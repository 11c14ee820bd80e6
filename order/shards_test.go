package order_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// drawShards draws shards of up to 40 samples.
func drawShards(t *rapid.T) order.Shards {
	s := order.Shards{Samples: rapid.Int64Range(1, 40).Draw(t, "samples"), Stick: rapid.Bool().Draw(t, "stick")}
	s.Count = rapid.Int64Range(1, s.Samples).Draw(t, "count")
	s.ID = rapid.Int64Range(0, s.Count-1).Draw(t, "id")
	if rapid.Bool().Draw(t, "padded") {
		s.Pad = rapid.Int64Range(1, 7).Draw(t, "pad")
	}
	return s
}

// Every epoch of all shards together is the data set, each sample once, except for padding.
func TestShardedEpochs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShards(t)
		whole, epoch := order.NewShuffled(s.Samples, 7, "r"), rapid.Int64Range(0, 5).Draw(t, "epoch")
		var all []int64
		for s.ID = range s.Count {
			o, err := order.NewSharded(whole, s)
			if err != nil {
				t.Fatal(err)
			}
			ids := make([]int64, s.EpochLength(epoch))
			if n := o.Fill(s.Begin(epoch), ids); n != len(ids) {
				t.Fatalf("%d of %d ids", n, len(ids))
			}
			size := s.Size(epoch)
			for i, id := range ids[size:] {
				if id != ids[size-1] {
					t.Fatalf("padding %d is %d, the last sample %d", i, id, ids[size-1])
				}
			}
			all = append(all, ids[:size]...)
		}
		slices.Sort(all)
		for i, id := range all {
			if id != int64(i) || len(all) != int(s.Samples) {
				t.Fatalf("the shards have %v", all)
			}
		}
	})
}

// Any cut of the positions gives the same ids, and Locate is the inverse of Begin.
func TestShardedPositions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShards(t)
		o, err := order.NewSharded(order.NewCycle(s.Samples), s)
		if err != nil {
			t.Fatal(err)
		}
		pos := rapid.Int64Range(0, 200).Draw(t, "pos")
		want, got := make([]int64, 30), make([]int64, 30)
		o.Fill(pos, want)
		cut := rapid.IntRange(0, 30).Draw(t, "cut")
		o.Fill(pos, got[:cut])
		o.Fill(pos+int64(cut), got[cut:])
		if !slices.Equal(want, got) {
			t.Fatalf("cut at %d: %v, want %v", cut, got, want)
		}
		epoch, index := s.Locate(pos)
		if s.Begin(epoch)+index != pos || index >= s.EpochLength(epoch) {
			t.Fatalf("position %d is %d of epoch %d, which begins at %d", pos, index, epoch, s.Begin(epoch))
		}
	})
}

func TestShardedRefuses(t *testing.T) {
	for _, s := range []order.Shards{{Samples: 3, Count: 4}, {Samples: 3}, {Samples: 3, Count: 2, ID: 2}, {Samples: 3, Count: 2, ID: -1}, {Samples: 3, Count: 1, Pad: -1}} {
		if _, err := order.NewSharded(order.NewCycle(3), s); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
