package loader_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/proof/logtest"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// sentences is a data set of token sequences: sample i has 1 + i*i%7 tokens, all i+1.
func sentences(n int) (loader.Map[[]int32], *order.Lengths) {
	lengths := make([]int32, n)
	for i := range lengths {
		lengths[i] = int32(1 + i*i%7)
	}
	l, err := order.NewLengths(lengths)
	if err != nil {
		panic(err)
	}
	return loader.Func(int64(n), func(_ context.Context, id int64, _ loader.Random) ([]int32, error) {
		return slices.Repeat([]int32{int32(id) + 1}, int(1+id*id%7)), nil
	}), l
}

func packsOf(t testing.TB, n int, lengths *order.Lengths) *order.Packs {
	t.Helper()
	p, err := order.NewPacks(order.NewShuffled(int64(n), 7, "packs"), lengths, order.PackOptions{Capacity: 8, Block: 32})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type tokenOptions = loader.Options[[]int32, loader.Packed]

// packedRanks opens the loaders of ranks of packs, and sets them to a state.
func packedRanks(t *testing.T, n, world int, base tokenOptions,
	saved []byte) (ranks []*loader.Loader[[]int32, loader.Packed]) {
	t.Helper()
	ds, lengths := sentences(n)
	for rank := range world {
		o := base
		o.Order, o.CollatePacks, o.Rank, o.World, o.Log = packsOf(t, n, lengths), loader.PackTokens[int32](8, 0), rank,
			world, slog.New(slog.DiscardHandler)
		l, err := loader.New(ds, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		if saved != nil {
			restore(t, l, saved)
		}
		ranks = append(ranks, l)
	}
	return ranks
}

// rowsUntilEnd returns the rows of batches up to the end of the epoch, or for some steps,
// in the order of ranks, without those that are repeated.
func rowsUntilEnd(t *testing.T, ranks []*loader.Loader[[]int32, loader.Packed], most, steps int) (rows []string) {
	t.Helper()
	for step := 0; step != steps; step++ {
		over := 0
		for _, l := range ranks {
			b, err := l.Next(context.Background())
			if errors.Is(err, io.EOF) {
				over++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := b.Tokens.Shape[0]; n > most || b.Tokens.Shape[1] != 8 {
				t.Fatalf("a batch of %v, want at most %d packs of 8 tokens", b.Tokens.Shape, most)
			}
			if l.LastBatch().Repeated > 0 {
				continue
			}
			for i := range b.Tokens.Shape[0] {
				rows = append(rows, fmt.Sprint(b.Tokens.Data[i*32:(i+1)*32], b.SegmentIDs.Data[i*32:(i+1)*32],
					b.Positions.Data[i*32:(i+1)*32]))
			}
		}
		if over > 0 && over < len(ranks) {
			t.Fatalf("%d of %d ranks end the epoch in step %d", over, len(ranks), step)
		}
		if over > 0 {
			break
		}
	}
	return rows
}

// A pack is never cut: any ranks, sizes, workers and interruptions give the same packs in
// the same order, and ranks end an epoch together.
func TestBatchesArePacks(t *testing.T) {
	const n = 150
	want := rowsUntilEnd(t, packedRanks(t, n, 1, tokenOptions{}, nil), 1, -1)
	_, lengths := sentences(n)
	packs, samples := packsOf(t, n, lengths), int64(0)
	for i := range want {
		_, size, ok := packs.Pack(samples)
		if samples += size; !ok {
			t.Fatalf("there is no pack %d", i)
		}
	}
	if samples != n {
		t.Fatalf("%d packs have %d samples", len(want), samples)
	}
	for world := 1; world <= 5; world++ {
		for _, o := range []tokenOptions{{BatchSize: 1}, {BatchSize: 2, Workers: 2}, {BatchSize: 3}, {GlobalBatch: 7}} {
			per := max(o.BatchSize, (o.GlobalBatch+world-1)/world)
			ranks := packedRanks(t, n, world, o, nil)
			got := rowsUntilEnd(t, ranks, per, 2)
			got = append(got, rowsUntilEnd(t, packedRanks(t, n, 6-world, o, snapshot(t, ranks[0])), max(o.BatchSize, 7), -1)...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d ranks, %+v: %s", world, o.BatchSize, diff)
			}
		}
	}
}

// Len of batches of packs is the number of steps of the epoch in which the loader stands,
// wherever in it, and whatever the size of batches was before. An epoch without end has none.
func TestLenOfPacks(t *testing.T) {
	const n = 150
	var saved []byte
	for i, o := range []tokenOptions{{BatchSize: 1}, {BatchSize: 4, Tail: order.Drop}, {BatchSize: 3},
		{BatchSize: 2, OutOfOrder: true, Workers: 3}} {
		l := packedRanks(t, n, 1, o, saved)[0]
		for range 3 {
			steps := int64(0)
			if saved != nil {
				d, err := state.Unmarshal(saved)
				if err != nil {
					t.Fatal(err)
				}
				steps, saved = d.Batch, nil
			}
			want, known := l.Len()
			for {
				if got, ok := l.Len(); !ok || !known || got != want {
					t.Fatalf("loader %d: %d steps at step %d, and %d before", i, got, steps, want)
				}
				if _, err := l.Next(t.Context()); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				steps++
			}
			if steps != want {
				t.Fatalf("loader %d: %d steps, Len said %d", i, steps, want)
			}
		}
		for range 5 {
			if _, err := l.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		saved = snapshot(t, l)
	}
	ds, lengths := sentences(n)
	endless, err := order.NewMixture([]order.Source{{Order: order.NewCycle(n), Weight: 1}}, order.CycleOn)
	if err != nil {
		t.Fatal(err)
	}
	packs, err := order.NewPacks(endless, lengths, order.PackOptions{Capacity: 8})
	if err != nil {
		t.Fatal(err)
	}
	l, err := loader.New(ds, tokenOptions{Order: packs, CollatePacks: loader.PackTokens[int32](8, 0)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got, known := l.Len(); known {
		t.Errorf("an epoch without end has %d steps", got)
	}
}

// The rows say which tokens belong together.
func TestPackTokens(t *testing.T) {
	b, err := loader.PackTokens[int32](5, -1)([][][]int32{{{7, 8}, {9}}, {{1, 2, 3, 4, 5}}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	check("tokens", values(t, b.Tokens), []int32{7, 8, 9, -1, -1, 1, 2, 3, 4, 5})
	check("segment_ids", values(t, b.SegmentIDs), []int32{1, 1, 2, 0, 0, 1, 1, 1, 1, 1})
	check("positions", values(t, b.Positions), []int32{0, 1, 0, 0, 0, 0, 1, 2, 3, 4})
	p, err := loader.PadTokens[int32](0)([][]int32{{7, 8}, {9}})
	if err != nil {
		t.Fatal(err)
	}
	check("padded tokens", values(t, p.Tokens), []int32{7, 8, 9, 0})
	check("padded segment_ids", values(t, p.SegmentIDs), []int32{1, 1, 1, 0})
	if _, err := loader.PackTokens[int32](2, 0)([][][]int32{{{1, 2, 3}}}); !errors.Is(err, errs.Invalid) ||
		!strings.Contains(err.Error(), "cut longer samples") {
		t.Errorf("a pack that does not fit: %v", err)
	}
}

// What was skipped is missing in its pack, and a pack of which nothing is left in its batch.
func TestPacksWithoutSkippedSamples(t *testing.T) {
	ds, lengths := sentences(40)
	bad := loader.Func(40, func(ctx context.Context, id int64, r loader.Random) ([]int32, error) {
		if id%3 == 0 {
			return nil, errBad
		}
		return ds.At(ctx, id, r)
	})
	packs := packsOf(t, 40, lengths)
	var got [][][]int64
	l, err := loader.New(bad, loader.Options[[]int32, int]{Order: packs, BatchSize: 2,
		OnError: faults.Policy{Action: faults.Skip}, CollatePacks: func(b [][][]int32) (int, error) {
			var batch [][]int64
			for _, p := range b {
				var pack []int64
				for _, s := range p {
					pack = append(pack, int64(s[0])-1)
				}
				batch = append(batch, pack)
			}
			got = append(got, batch)
			return len(b), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, err := range l.Epoch(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var want [][]int64
	all := make([]int64, 40)
	packs.Fill(0, all)
	for pos := int64(0); pos < 40; {
		_, n, _ := packs.Pack(pos)
		if p := slices.DeleteFunc(slices.Clone(all[pos:pos+n]), func(id int64) bool { return id%3 == 0 }); len(p) > 0 {
			want = append(want, p)
		}
		pos += n
	}
	if diff := cmp.Diff(want, slices.Concat(got...)); diff != "" {
		t.Error(diff)
	}
}

// Packs that batches of samples would cut are told of, and so is what to do about samples
// of several lengths.
func TestPacksAndRaggedSamplesAreTold(t *testing.T) {
	ds, lengths := sentences(40)
	var warnings []string
	l, err := loader.New(ds, tokenOptions{Order: packsOf(t, 40, lengths), BatchSize: 4,
		Collate: loader.PadTokens[int32](0), Log: logtest.New(func(m string) { warnings = append(warnings, m) })})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if len(warnings) != 1 || !strings.Contains(warnings[0], "CollatePacks") {
		t.Errorf("%q", warnings)
	}
	take, err := l.Next(context.Background())
	if err != nil || take.Tokens.Shape[0] != 4 {
		t.Error(take, err)
	}
	packed := packedRanks(t, 40, 1, tokenOptions{BatchSize: 4}, nil)[0]
	if err := packed.SetState(snapshot(t, l)); !errors.Is(err, errs.Mismatch) ||
		!strings.Contains(err.Error(), "batches") {
		t.Errorf("the state of batches of samples: %v", err)
	}
	_, err = loader.DefaultCollate[[]int32, any]([][]int32{{1}, {1, 2}})
	for _, word := range []string{"PadTokens", "PackTokens", "NewBuckets"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("ragged samples: %v, want %s", err, word)
		}
	}
	if _, err := loader.New(ds, tokenOptions{CollatePacks: loader.PackTokens[int32](8, 0)}); !errors.Is(err,
		errs.Invalid) {
		t.Errorf("no packs: %v", err)
	}
}

func values(t *testing.T, b tensor.Tensor) []int32 {
	t.Helper()
	v, err := tensor.Of[int32](b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
