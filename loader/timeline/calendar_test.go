package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// drawPacks draws packs of 40 samples over an order with epochs, one that ends, or one
// without end.
func drawPacks(t *rapid.T) (order.Order, []order.Table) {
	const n = 40
	lengths := rapid.SliceOfN(rapid.Int32Range(1, 30), n, n).Draw(t, "lengths")
	table := make(order.Table, n)
	for i, l := range lengths {
		table[i] = int64(l)
	}
	l, err := order.NewLengths(lengths)
	if err != nil {
		t.Fatal(err)
	}
	below := order.Order(order.NewShuffled(n, 7, "loader"))
	switch rapid.IntRange(0, 2).Draw(t, "below") {
	case 0:
		below = order.NewPermutation(n, 3)
	case 1:
		below, err = order.NewMixture([]order.Source{{Order: order.NewShuffled(30, 7, "a"), Weight: .7},
			{Order: order.NewCycle(10), Weight: .3}}, order.CycleOn)
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := order.NewPacks(below, l, order.PackOptions{Capacity: rapid.Int64Range(20, 90).Draw(t, "capacity"), Block: 16,
		Padded: rapid.Bool().Draw(t, "padded")})
	if err != nil {
		t.Fatal(err)
	}
	return p, []order.Table{table}
}

// A state of batches of packs tells what a run did and what it does, which rank has which
// packs, and where a sample is.
func TestTimelineOfBatchesOfPacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, tables := drawPacks(t)
		opt := loader.Options[int64, []int64]{Order: o, Seed: 3, Tail: order.DropLast(rapid.Bool().Draw(t, "drop")),
			CollatePacks: func(packs [][]int64) ([]int64, error) { return slices.Concat(packs...), nil }}
		var legs []leg
		for range rapid.IntRange(1, 4).Draw(t, "legs") {
			world := rapid.IntRange(1, 3).Draw(t, "world")
			legs = append(legs, leg{rapid.IntRange(world, 6).Draw(t, "global"), world, rapid.IntRange(1, 9).Draw(t, "steps")})
		}
		r := play(t, opt, 40, legs)
		// The state with which the last leg began tells of all the steps of that leg, too.
		last := len(r.states) - 1
		for _, at := range []int{last, last - legs[len(legs)-1].steps} {
			l, err := timeline.Open([]byte(r.states[at]), timeline.Options{Tables: tables, Description: o.String(),
				Tail: opt.Tail})
			if err != nil {
				t.Fatalf("%s: %v", r.states[at], err)
			}
			if l.FirstStep() != 0 {
				t.Fatalf("it begins with step %d: %s", l.FirstStep(), r.states[at])
			}
			for i := range r.batches {
				step := (i + at) % len(r.batches) // what comes first, then what was
				if at < last && legs[max(0, len(legs)-2)].global != legs[len(legs)-1].global && step >= at {
					continue // the size changed behind the state
				}
				checkPackedStep(t, l, r, step)
			}
			if _, err := l.Verify(t.Context(), nil); err != nil {
				t.Fatalf("%s: %v", r.states[at], err)
			}
			step := rapid.Int64Range(0, int64(at)).Draw(t, "step")
			moved, err := l.Seek(t.Context(), step, nil)
			if err != nil {
				t.Fatal(err)
			}
			again, err := timeline.Open(moved, timeline.Options{Tables: tables, Description: o.String(), Tail: opt.Tail})
			if err == nil {
				_, err = again.Verify(t.Context(), nil)
			}
			if err != nil {
				t.Fatalf("%s: %v", moved, err)
			}
			if p, err := l.PlaceOf(step); err != nil || again.Here() != p {
				t.Fatalf("it stands at %+v, want %+v (%v)", again.Here(), p, err)
			}
		}
	})
}

func checkPackedStep(t *rapid.T, l *timeline.Timeline, r run, step int) {
	b, err := l.Batch(int64(step))
	if err != nil || b.Epoch != r.epochs[step] || !slices.Equal(b.IDs, r.batches[step]) {
		t.Fatalf("step %d: %+v (%v), want %v of epoch %d", step, b, err, r.batches[step], r.epochs[step])
	}
	world := len(r.ranks[step])
	for rank, part := range r.ranks[step] {
		if !slices.Equal(b.Rank(rank, world), part) {
			t.Fatalf("step %d rank %d of %d: %v, want %v", step, rank, world, b.Rank(rank, world), part)
		}
		if packs := b.PacksOf(rank, world); !slices.Equal(slices.Concat(packs...), part) ||
			len(packs) != max(1, len(b.Packs)*(rank+1)/world-len(b.Packs)*rank/world) {
			t.Fatalf("step %d rank %d of %d: packs %v, want %v", step, rank, world, packs, part)
		}
	}
	for row, id := range b.IDs[:min(3, len(b.IDs))] {
		if l.EpochLen() > 1000 {
			break // a sample of a mixture without end comes without end
		}
		all, err := l.All(t.Context(), b.Epoch, id, 1000)
		at := slices.IndexFunc(all, func(s timeline.Seen) bool { return s.Step == int64(step) && s.Row == row })
		if err != nil || at < 0 {
			t.Fatalf("sample %d: %+v (%v), want row %d of step %d", id, all, err, row, step)
		}
		if rank, _ := all[at].Rank(world); !slices.Contains(r.ranks[step][rank], id) {
			t.Fatalf("sample %d is not of rank %d", id, rank)
		}
	}
}

// grow plays a run whose data set grows: a leg with each number of samples.
func grow(t *rapid.T, o loader.Options[int64, []int64], orderOf func(int64) order.Order, samples []int64,
	steps []int) (r run) {
	var saved []byte
	epoch := int64(0)
	for i, n := range samples {
		if orderOf != nil {
			o.Order = orderOf(n)
		}
		o.Log = slog.New(slog.DiscardHandler)
		o.Collate = func(s []int64) ([]int64, error) { return slices.Clone(s), nil }
		l, err := loader.New(loader.Func(n,
			func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil }), o)
		if err == nil && saved != nil {
			err = l.Extend(saved)
		}
		if err != nil {
			t.Fatal(err)
		}
		for step := 0; step < steps[i]; {
			b, err := l.Next(t.Context())
			if err == io.EOF {
				epoch++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			r.batches, r.epochs = append(r.batches, b), append(r.epochs, epoch)
			step++
		}
		if saved, err = l.AppendState(nil); err == nil {
			err = l.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r.states = []string{string(saved)}
	return r
}

// The state of a run whose data set grew tells of all its epochs, in whichever of them it
// stands: of those before, which were shorter, and of those that come.
func TestTimelineOfAGrownDataSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := loader.Options[int64, []int64]{Seed: 3, BatchSize: rapid.IntRange(1, 7).Draw(t, "batch"),
			Tail: order.DropLast(rapid.Bool().Draw(t, "drop"))}
		var orderOf func(int64) order.Order
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			o.Shuffle = true
		case 1:
		case 2:
			orderOf = func(n int64) order.Order { return order.NewShuffled(n, 7, "own") }
		case 3:
			orderOf = func(n int64) order.Order { return windowsOf(t, n) }
		case 4: // without epochs: the data set's length makes them
			m, err := order.NewMixture([]order.Source{{Order: order.NewShuffled(5, 7, "a"), Weight: 2},
				{Order: order.NewCycle(4), Weight: 1}}, order.CycleOn)
			if err != nil {
				t.Fatal(err)
			}
			orderOf = func(int64) order.Order { return m }
		}
		samples, steps := []int64{rapid.Int64Range(9, 30).Draw(t, "samples")}, []int{rapid.IntRange(1, 15).Draw(t, "steps")}
		for range rapid.IntRange(1, 3).Draw(t, "more") {
			samples = append(samples, samples[len(samples)-1]+rapid.Int64Range(0, 9).Draw(t, "grow"))
			steps = append(steps, rapid.IntRange(1, 15).Draw(t, "steps"))
		}
		r := grow(t, o, orderOf, samples, steps)
		sizes := order.Table{}
		for range samples[len(samples)-1] / 4 {
			sizes = append(sizes, 4)
		}
		l, err := timeline.Open([]byte(r.states[0]), timeline.Options{Tail: o.Tail, Tables: []order.Table{sizes}})
		if err != nil {
			t.Fatalf("%s: %v", r.states[0], err)
		}
		for step, want := range r.batches {
			b, err := l.Batch(int64(step))
			if err != nil || b.Epoch != r.epochs[step] || !slices.Equal(b.IDs, want) {
				t.Fatalf("step %d: %+v (%v), want %v of epoch %d\n%s", step, b, err, want, r.epochs[step], r.states[0])
			}
			for row, id := range want {
				all, err := l.All(t.Context(), b.Epoch, id, 1000)
				if err != nil || !slices.ContainsFunc(all,
					func(s timeline.Seen) bool { return s.Step == int64(step) && s.Row == row }) {
					t.Fatalf("sample %d: %+v (%v), want row %d of step %d\n%s", id, all, err, row, step, r.states[0])
				}
			}
		}
		if _, err := l.Verify(t.Context(), nil); err != nil {
			t.Fatalf("%s: %v", r.states[0], err)
		}
		step := rapid.Int64Range(0, int64(len(r.batches))).Draw(t, "step")
		moved, err := l.Seek(t.Context(), step, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := timeline.Open(moved, timeline.Options{Tail: o.Tail, Tables: []order.Table{sizes}})
		if err == nil {
			_, err = again.Verify(t.Context(), nil)
		}
		if err != nil {
			t.Fatalf("%s: %v", moved, err)
		}
	})
}

// windowsOf returns windows of shards of four samples, the last of which may have fewer.
func windowsOf(t *rapid.T, n int64) order.Order {
	var sizes []int64
	for left := n; left > 0; left -= 4 {
		sizes = append(sizes, min(4, left))
	}
	w, err := order.NewWindows(sizes, 2, 7, "shards")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A pipeline over shards of different sizes tells of its steps, although its epochs differ in
// length.
func TestTimelineOfUnequalShards(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x")
	if err := os.WriteFile(file, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, samples := range []int{23, 26} {
		for _, last := range []order.Tail{order.Short, order.Drop, order.Span} {
			for shard := range 4 {
				t.Run(fmt.Sprint(samples, " ", last, " shard ", shard), func(t *testing.T) {
					const batches = 40
					def, err := pipeline.Define(pipeline.Options{BatchSize: 2, Seed: 7, Tail: last},
						func(p *pipeline.Builder) []pipeline.Node {
							_, labels := fn.ReadersFile(p, fn.ReadersFileArgs{Files: slices.Repeat([]string{file}, samples),
								RandomShuffle: true, NumShards: op.Const(4), ShardId: shard})
							return []pipeline.Node{labels}
						})
					if err != nil {
						t.Fatal(err)
					}
					pipe, err := def.New(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					defer pipe.Close()
					var ids [][]int64
					var states []string
					for range batches {
						state, err := pipe.AppendState(nil)
						if err != nil {
							t.Fatal(err)
						}
						states = append(states, string(state))
						b, err := pipe.Next(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						out, err := b.Outputs[0].Tensor()
						if err != nil {
							t.Fatal(err)
						}
						v, err := tensor.Of[int32](out)
						if err != nil {
							t.Fatal(err)
						}
						var own []int64
						for _, id := range v {
							own = append(own, int64(id))
						}
						ids = append(ids, own)
					}
					for _, at := range []int{0, 3, 11, batches - 1} {
						l, err := timeline.Open([]byte(states[at]), timeline.Options{})
						if err != nil {
							t.Fatalf("%s: %v", states[at], err)
						}
						if l.Here().Step != int64(at) {
							t.Fatalf("it stands at step %d, want %d", l.Here().Step, at)
						}
						for step, want := range ids {
							b, err := l.Batch(int64(step))
							if err != nil || !slices.Equal(b.IDs, want) {
								t.Fatalf("step %d: %+v (%v), want %v", step, b, err, want)
							}
						}
						if _, err := l.Verify(t.Context(), nil); err != nil {
							t.Fatalf("%s: %v", states[at], err)
						}
						for step, want := range states {
							if moved, err := l.Seek(t.Context(), int64(step), nil); err != nil || string(moved) != want {
								t.Fatalf("step %d: %v\n%s\n%s", step, err, moved, want)
							}
						}
						if last != order.Span {
							for row, id := range ids[17] {
								b, _ := l.Batch(17)
								all, err := l.All(t.Context(), b.Epoch, id, 10)
								if err != nil || !slices.ContainsFunc(all, func(s timeline.Seen) bool { return s.Step == 17 && s.Row == row }) {
									t.Fatalf("sample %d: %v (%v), want row %d of step 17", id, all, err, row)
								}
							}
						}
					}
				})
			}
		}
	}
}

// Going through packs tells how far it has come, and ends when it is told to.
func TestTimelineOfPacksIsTold(t *testing.T) {
	const n = 200_000
	lengths := make([]int32, n)
	for i := range lengths {
		lengths[i] = 5
	}
	l, err := order.NewLengths(lengths)
	if err != nil {
		t.Fatal(err)
	}
	o, err := order.NewPacks(order.NewShuffled(n, 1, "x"), l, order.PackOptions{Capacity: 5})
	if err != nil {
		t.Fatal(err)
	}
	ld, err := loader.New(loader.Func(n,
		func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil }),
		loader.Options[int64, int]{Order: o, CollatePacks: func(packs [][]int64) (int, error) { return len(packs), nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer ld.Close()
	state, err := ld.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	var told, ended []int64
	tl, err := timeline.Open(state, timeline.Options{Order: o, Walk: func(epoch, done, total int64) error {
		if done == total {
			ended = append(ended, done)
			return nil
		}
		if epoch != 0 || total != n {
			t.Errorf("epoch %d, %d of %d", epoch, done, total)
		}
		if told = append(told, done); len(told) == 2 {
			return enough
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tl.Batch(n + 5); !errors.Is(err, enough) || len(told) != 2 || len(ended) != 0 {
		t.Errorf("%v, told %v", err, told)
	}
	if b, err := tl.Batch(n + 5); err != nil || b.Epoch != 1 || b.Index != 5 {
		t.Errorf("%+v, %v", b, err)
	}
	if len(ended) != 1 || ended[0] != n {
		t.Errorf("it was told that it ended at %v", ended)
	}
	if got, err := tl.Batches(); got != n || err != nil {
		t.Errorf("%d batches (%v), want %d", got, err, n)
	}
	if _, err := tl.Batch(-1); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}
