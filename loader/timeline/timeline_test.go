package timeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/order"
)

// leg is a part of a run: steps batches of a size over world ranks.
type leg struct{ global, world, steps int }

// run is what a run delivered, step by step, and its states before each step.
type run struct {
	batches [][]int64
	ranks   [][][]int64
	epochs  []int64
	states  []string
}

// play runs loaders, each from the state where the one before stopped: rank 0 for
// the state, all for the batches.
func play(t *rapid.T, o loader.Options[int64, []int64], samples int64, legs []leg) run {
	var r run
	var saved []byte
	epoch := int64(0)
	data := loader.Func(samples, func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil })
	for _, g := range legs {
		ranks := make([]*loader.Loader[int64, []int64], g.world)
		for i := range ranks {
			with := o
			with.GlobalBatch, with.Rank, with.World = g.global, i, g.world
			with.Log = slog.New(slog.DiscardHandler)
			if with.CollatePacks == nil {
				with.Collate = func(s []int64) ([]int64, error) { return slices.Clone(s), nil }
			}
			l, err := loader.New(data, with)
			if err == nil && saved != nil {
				err = l.SetState(saved)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			ranks[i] = l
		}
		ended, empty := make([]bool, g.world), 0
		for steps := 0; steps < g.steps; {
			state, err := ranks[0].AppendState(nil)
			if err != nil {
				t.Fatal(err)
			}
			var all []int64
			parts := make([][]int64, g.world)
			for i, l := range ranks {
				if ended[i] {
					continue
				}
				b, err := l.Next(t.Context())
				if ended[i] = err == io.EOF; err != nil && !ended[i] {
					t.Fatal(err)
				}
				if !ended[i] {
					all, parts[i] = append(all, b[l.LastBatch().Repeated:]...), b
				}
			}
			if len(all) == 0 {
				if empty++; empty > 20 {
					t.Skip("no epoch has a whole batch")
				}
				epoch++
				clear(ended)
				continue
			}
			empty = 0
			r.batches, r.ranks, r.epochs, r.states = append(r.batches, all), append(r.ranks, parts), append(r.epochs, epoch),
				append(r.states, string(state))
			steps++
		}
		if ended[0] {
			epoch++
		}
		var err error
		if saved, err = ranks[0].AppendState(nil); err != nil {
			t.Fatal(err)
		}
	}
	r.states = append(r.states, string(saved))
	return r
}

// drawRun draws a run with changes of its batches and ranks.
func drawRun(t *rapid.T) (run, loader.Options[int64, []int64], int64) {
	samples := int64(rapid.IntRange(1, 60).Draw(t, "samples"))
	o := loader.Options[int64, []int64]{Seed: rapid.Uint64().Draw(t, "seed"), Shuffle: rapid.Bool().Draw(t, "shuffle"),
		Tail: order.DropLast(rapid.Bool().Draw(t, "drop"))}
	var legs []leg
	for range rapid.IntRange(1, 5).Draw(t, "legs") {
		world := rapid.IntRange(1, min(4, int(samples))).Draw(t, "world")
		legs = append(legs, leg{rapid.IntRange(world, int(samples)).Draw(t, "global"), world,
			rapid.IntRange(1, 12).Draw(t, "steps")})
	}
	return play(t, o, samples, legs), o, samples
}

// A state tells what a run did before it, and what it does with the same batches after it.
func TestTimelineIsTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, o, _ := drawRun(t)
		last := len(r.states) - 1
		l, err := timeline.Open([]byte(r.states[last]), timeline.Options{Tail: o.Tail})
		if err != nil {
			t.Fatalf("%s: %v", r.states[last], err)
		}
		if l.FirstStep() != 0 || l.Here().Step != int64(last) {
			t.Fatalf("steps %d to %d, want 0 to %d: %s", l.FirstStep(), l.Here().Step, last, r.states[last])
		}
		for step, want := range r.batches {
			b, err := l.Batch(int64(step))
			if err != nil || b.Epoch != r.epochs[step] || !slices.Equal(b.IDs, want) {
				t.Fatalf("step %d: %+v (%v), want %v of epoch %d\n%s", step, b, err, want, r.epochs[step], r.states[last])
			}
			world := len(r.ranks[step])
			for rank, part := range r.ranks[step] {
				if !slices.Equal(b.Rank(rank, world), part) {
					t.Fatalf("step %d rank %d of %d: %v, want %v", step, rank, world, b.Rank(rank, world), part)
				}
			}
			for row, id := range want {
				seen, ok, err := l.In(b.Epoch, id)
				if err != nil || !ok || seen.Step != int64(step) || seen.Row != row || seen.Size != len(want) {
					t.Fatalf("sample %d: %+v %t (%v), want row %d of step %d", id, seen, ok, err, row, step)
				}
				rank, i := seen.Rank(world)
				if r.ranks[step][rank][i] != id {
					t.Fatalf("sample %d is not row %d of rank %d", id, i, rank)
				}
			}
		}
		if _, err := l.Verify(t.Context(), nil); err != nil {
			t.Fatalf("%s: %v", r.states[last], err)
		}
	})
}

// A state that Seek makes is one from which the loader goes on as the run did.
func TestSeekIsTheStateOfTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, o, samples := drawRun(t)
		l, err := timeline.Open([]byte(r.states[len(r.states)-1]), timeline.Options{Tail: o.Tail})
		if err != nil {
			t.Fatal(err)
		}
		step := rapid.IntRange(0, len(r.batches)-1).Draw(t, "step")
		moved, err := l.Seek(t.Context(), int64(step), nil)
		if err != nil {
			t.Fatal(err)
		}
		o.GlobalBatch, o.World = len(r.batches[step]), 1
		o.Collate = func(s []int64) ([]int64, error) { return slices.Clone(s), nil }
		on, err := loader.New(loader.Func(samples,
			func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil }), o)
		if err != nil {
			t.Fatal(err)
		}
		defer on.Close()
		if err := on.SetState(moved); err != nil {
			t.Fatalf("%s: %v", moved, err)
		}
		b, err := on.Next(t.Context())
		if err == io.EOF { // dropped: a batch of another size than it was
			return
		}
		if err != nil || !slices.Equal(b, r.batches[step]) {
			t.Fatalf("step %d is %v (%v), want %v: %s", step, b, err, r.batches[step], moved)
		}
		again, err := timeline.Open(moved, timeline.Options{Tail: o.Tail})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := again.Verify(t.Context(), nil); err != nil {
			t.Fatalf("%s: %v", moved, err)
		}
	})
}

// example is a state of a run: 3 epochs of 10 samples by 4.
func example(t *testing.T, change func(m map[string]any)) []byte {
	t.Helper()
	l, err := loader.New(loader.Func(10,
		func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil }),
		loader.Options[int64, []int64]{BatchSize: 4, Shuffle: true, Seed: 7,
			Collate: func(s []int64) ([]int64, error) { return s, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 10 {
		if _, err := l.Next(t.Context()); err != nil && err != io.EOF {
			t.Fatal(err)
		}
	}
	b, err := l.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	m["version"] = 1 // without a checksum, which would refuse all changes alike
	delete(m, "checksum")
	change(m)
	if b, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	return b
}

// Verify finds what was changed by hand.
func TestVerifyFindsChanges(t *testing.T) {
	extra := func(m map[string]any) map[string]any { return m["extra"].(map[string]any) }
	for want, change := range map[string]func(m map[string]any){
		"position":    func(m map[string]any) { m["position"] = 27 },
		"digest":      func(m map[string]any) { m["digest"] = strings.Repeat("0", 32) },
		"coverage[1]": func(m map[string]any) { extra(m)["coverage"].([]any)[1].(map[string]any)["xor"] = 1 },
	} {
		l, err := timeline.Open(example(t, change), timeline.Options{})
		if err != nil {
			t.Fatal(want, err)
		}
		if _, err := l.Verify(t.Context(), nil); !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	extra := func(m map[string]any) map[string]any { return m["extra"].(map[string]any) }
	fields := func(m map[string]any) map[string]any { return m["fields"].(map[string]any) }
	for name, c := range map[string]struct {
		kind   errs.Kind
		change func(m map[string]any)
	}{
		"kind":    {errs.Unsupported, func(m map[string]any) { m["kind"] = "pipeline" }},
		"sampler": {errs.Unsupported, func(m map[string]any) { delete(fields(m), "order") }},
		"order":   {errs.Invalid, func(m map[string]any) { fields(m)["order"] = "x" }},
		"samples": {errs.Corrupt, func(m map[string]any) { fields(m)["samples"] = "x" }},
		"window":  {errs.Unsupported, func(m map[string]any) { extra(m)["window"] = map[string]any{} }},
		"history": {errs.Corrupt, func(m map[string]any) { extra(m)["history"] = []any{} }},
		"size":    {errs.Corrupt, func(m map[string]any) { extra(m)["history"] = []any{[]int{0, 0, 0}} }},
		"index":   {errs.Corrupt, func(m map[string]any) { extra(m)["index"] = 11 }},
		"type":    {errs.Corrupt, func(m map[string]any) { extra(m)["index"] = "1" }},
		"version": {errs.Unsupported, func(m map[string]any) { m["version"] = 99 }},
	} {
		if _, err := timeline.Open(example(t, c.change), timeline.Options{}); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v, want %v", name, err, c.kind)
		}
	}
	whole := example(t, func(map[string]any) {})
	if _, err := timeline.Open(whole, timeline.Options{Tail: order.Span}); !errors.Is(err, errs.Invalid) {
		t.Errorf("a tail that a loader does not have: %v", err)
	}
}

// An epoch that was broken off leaves the timeline of the epoch after it.
func TestBrokenOffEpoch(t *testing.T) {
	l, err := loader.New(loader.Func(10,
		func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil }),
		loader.Options[int64, []int64]{BatchSize: 4, Shuffle: true, Seed: 7,
			Collate: func(s []int64) ([]int64, error) { return slices.Clone(s), nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range l.Epoch(t.Context()) {
		break
	}
	var want []int64
	for b, err := range l.Epoch(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		want = b
		break
	}
	s, err := l.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	line, err := timeline.Open(s, timeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := line.Batch(1); err != nil || b.Epoch != 1 || cmp.Diff(want, b.IDs) != "" {
		t.Errorf("step 1: %+v, %v, want %v: %s", b, err, want, s)
	}
	if _, err := line.Batch(0); !errors.Is(err, errs.Invalid) {
		t.Errorf("step 0: %v", err)
	}
}

// A step and a sample are found at once in any epoch of a billion samples.
func TestConstantTime(t *testing.T) {
	const n = 1_000_000_000
	o := order.NewShuffled(n, 3, "loader")
	doc := []byte(`{"config":"x","epoch":1000,"extra":{"history":[[0,0,64]],"index":64,"step":15625000001,"world":8},"fields":{"order":` +
		string(mustJSON(o.String())) +
		`,"samples":"1000000000","seed":"3"},"kind":"loader","position":1000000000064,"version":1}`)
	l, err := timeline.Open(doc, timeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Batch(15625000001)
	if err != nil || b.Epoch != 1000 || b.Index != 64 {
		t.Fatal(b, err)
	}
	seen, ok, err := l.In(1000, b.IDs[5])
	if err != nil || !ok || seen.Step != 15625000001 || seen.Row != 5 {
		t.Error(seen, ok, err)
	}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Documents are anybody's bytes.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"config":"x","extra":{"history":[[0,0,4]],"index":4,"step":1,"world":1},"fields":{"order":"sequential(n=10)","samples":"10","seed":"0"},"kind":"loader","position":4,"version":1}`), int64(2), int64(3))
	f.Fuzz(func(t *testing.T, doc []byte, step, id int64) {
		l, err := timeline.Open(doc, timeline.Options{})
		if err != nil {
			return
		}
		if l.EpochLen() > 1<<20 {
			return
		}
		l.Batch(step)
		l.In(l.Here().Epoch, id)
	})
}
