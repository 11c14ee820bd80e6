package bivouac_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/telemetry"
	"github.com/bivouac-ml/bivouac/tree"
)

// watching is a telemetry.Observer that keeps what it is told. Operations are written as the names
// of their parents and their own.
type watching struct {
	mu      sync.Mutex
	open    int // operations that have not ended
	ended   []string
	out     map[string][]telemetry.Outcome
	batches []telemetry.Batch
	steps   []telemetry.Step
}

type aboveKey struct{}

// Begin implements telemetry.Observer.
func (w *watching) Begin(ctx context.Context, op telemetry.Operation) (context.Context, telemetry.Ending) {
	above, _ := ctx.Value(aboveKey{}).(string)
	name := strings.TrimPrefix(above+"/"+op.Name, "/")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
	return context.WithValue(ctx, aboveKey{}, name), func(o telemetry.Outcome) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open--
		text := name
		if op.Step >= 0 {
			text += fmt.Sprint(" ", op.Step)
		}
		w.ended = append(w.ended, text)
		if w.out == nil {
			w.out = map[string][]telemetry.Outcome{}
		}
		w.out[name] = append(w.out[name], o)
	}
}

// Batch implements telemetry.Observer.
func (w *watching) Batch(_ context.Context, b telemetry.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches = append(w.batches, b)
}

// Step implements telemetry.Observer.
func (w *watching) Step(_ context.Context, s telemetry.Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, s)
}

// numbers are a data set, of which one cannot be read.
type numbers struct{ n, bad int64 }

func (s numbers) Len() int64 { return s.n }

func (s numbers) At(_ context.Context, id int64, _ loader.Random) (int64, error) {
	if id == s.bad {
		return 0, errors.New("no such number")
	}
	return id, nil
}

// TestJobTellsWhatItDoes trains, fails at a sample and goes on in another attempt. The observer of
// the context hears of each operation once, as a part of the operation that it belongs to.
func TestJobTellsWhatItDoes(t *testing.T) {
	dir := t.TempDir()
	attempt := func(bad, steps int64) (*watching, error) {
		w := &watching{}
		ctx := telemetry.With(t.Context(), w)
		data, err := loader.New[int64, []int64](numbers{40, bad}, loader.Options[int64, []int64]{BatchSize: 2,
			Collate: func(list []int64) ([]int64, error) { return slices.Clone(list), nil }})
		if err != nil {
			t.Fatal(err)
		}
		m := newModel()
		job, err := bivouac.Open(ctx, dir, data, bivouac.Options{State: &m, SaveEvery: 4, Steps: steps, NoJournal: true})
		if err != nil {
			t.Fatal(err)
		}
		var failed error
		for b, err := range job.Steps(ctx) {
			if err != nil {
				failed = err
				break
			}
			m.train(b[0])
		}
		if err := job.Close(); err != nil {
			t.Fatal(err)
		}
		if w.open != 0 {
			t.Errorf("%d operations did not end", w.open)
		}
		return w, failed
	}

	first, err := attempt(13, 10) // in the seventh batch
	if err == nil {
		t.Fatal("no error")
	}
	slices.Sort(first.ended)
	want := []string{"open", "save 4", "save/snapshot", "save/write"}
	if d := cmp.Diff(want, first.ended); d != "" {
		t.Error(d)
	}
	if n := len(first.batches); n != 7 || first.batches[6].Err == nil || first.batches[5].Samples != 2 ||
		first.batches[5].Engine != telemetry.Loader {
		t.Errorf("%d batches: %+v", n, first.batches)
	}
	if n := len(first.steps); n != 6 || first.steps[5].Number != 6 || first.steps[5].Took < first.steps[5].Data {
		t.Errorf("%d steps: %+v", n, first.steps)
	}
	if o := first.out["open"][0]; o.Resumed != telemetry.NoStep || o.Err != nil {
		t.Errorf("open: %+v", o)
	}
	if o := first.out["save"][0]; o.Bytes == 0 || o.Files == 0 || o.Blocked == 0 || o.Err != nil {
		t.Errorf("save: %+v", o)
	}

	second, err := attempt(-1, 6)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(second.ended)
	want = []string{"open", "open/load", "save 6", "save/snapshot", "save/write"}
	if d := cmp.Diff(want, second.ended); d != "" {
		t.Error(d)
	}
	if o := second.out["open"][0]; o.Resumed != 4 {
		t.Errorf("open: %+v", o)
	}
	if o := second.out["open/load"][0]; o.Bytes == 0 {
		t.Errorf("load: %+v", o)
	}
	if len(second.steps) != 2 || second.steps[0].Number != 5 {
		t.Errorf("steps: %+v", second.steps)
	}
}

// beginsNone is a store that begins no transaction once it is told to.
type beginsNone struct {
	store.Store
	now bool
}

func (r *beginsNone) Begin(ctx context.Context, name string, o store.TxnOptions) (store.Txn, error) {
	if r.now {
		return nil, errors.New("no space left")
	}
	return r.Store.Begin(ctx, name, o)
}

// TestFailuresOfAJobAreTold fails to save and to open. Each operation ends with the error.
func TestFailuresOfAJobAreTold(t *testing.T) {
	disk, err := local.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	st := &beginsNone{Store: disk}
	w := &watching{}
	ctx := telemetry.With(t.Context(), w)
	m := newModel()
	o := bivouac.Options{State: &m, Steps: 2, SaveEvery: 1, NoJournal: true, Store: st}
	job, err := bivouac.Open(ctx, "run", &counter{Seed: 1}, o)
	if err != nil {
		t.Fatal(err)
	}
	st.now = true
	if err := drive(ctx, job, &m); err == nil {
		t.Fatal("the save did not fail")
	}
	job.Close() //nolint:errcheck // the error of the save again
	o.Identity, st.now = "another", false
	if job, err = bivouac.Open(ctx, "run", &counter{Seed: 1}, o); err != nil {
		t.Fatal(err)
	}
	if err := drive(ctx, job, &m); err != nil {
		t.Fatal(err)
	}
	if err := job.Close(); err != nil {
		t.Fatal(err)
	}
	o.Identity = "a third"
	if _, err := bivouac.Open(ctx, "run", &counter{Seed: 1}, o); err == nil {
		t.Fatal("a run of another identity opens")
	}
	if w.open != 0 {
		t.Errorf("%d operations did not end", w.open)
	}
	for name, failed := range map[string][]bool{"open": {false, false, true}, "save": {true, false, false},
		"save/write": {true, false, false}, "save/snapshot": {false, false, false}} {
		var got []bool
		for _, o := range w.out[name] {
			got = append(got, o.Err != nil)
		}
		if d := cmp.Diff(failed, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestEveryOperationEndsOnce calls the engines so that they succeed, fail and decline. Each
// operation that began ends once, with the error that the caller got.
func TestEveryOperationEndsOnce(t *testing.T) {
	dir := t.TempDir()
	state := map[string]any{"w": []float32{1, 2, 3}}
	at := func(name string) string { return filepath.Join(dir, name) }
	none := func(_ context.Context, sources []*tree.Node) (*tree.Node, error) { return sources[0], nil }
	for _, c := range []struct {
		name string
		do   func(ctx context.Context) error
		want map[string]int // how often operations ended; the names of failures have an exclamation mark
	}{
		{"save", func(ctx context.Context) error { return checkpoint.Save(ctx, at("c"), state, nil) },
			map[string]int{"save": 1, "save/snapshot": 1, "save/write": 1}},
		{"save what is there", func(ctx context.Context) error { return checkpoint.Save(ctx, at("c"), state, nil) },
			map[string]int{"save!": 1, "save/snapshot!": 1}},
		{"save a part", func(ctx context.Context) error { return partial.Save(ctx, at("p"), state, nil) },
			map[string]int{"save": 1, "save/snapshot": 1, "save/write": 1}},
		{"save a part of what is there", func(ctx context.Context) error { return partial.Save(ctx, at("c"), state, nil) },
			map[string]int{"save!": 1}},
		{"load", func(ctx context.Context) error { _, err := checkpoint.Load(ctx, at("c"), nil); return err },
			map[string]int{"load": 1}},
		{"load what is missing", func(ctx context.Context) error { _, err := checkpoint.Load(ctx, at("x"), nil); return err },
			map[string]int{"load!": 1}},
		{"load items", func(ctx context.Context) error {
			_, err := checkpoint.LoadCheckpointables(ctx, at("c"), nil)
			return err
		}, map[string]int{"load": 1}},
		{"transform", func(ctx context.Context) error {
			_, err := checkpoint.LoadAndTransform(ctx, []string{at("c")}, nil, none, nil)
			return err
		}, map[string]int{"load": 1}},
		{"verify", func(ctx context.Context) error { _, err := integrity.Verify(ctx, at("c"), nil); return err },
			map[string]int{"verify": 1}},
		{"verify what is missing", func(ctx context.Context) error { _, err := integrity.Verify(ctx, at("x"), nil); return err },
			map[string]int{"verify!": 1}},
		{"steps and a tier", func(ctx context.Context) error {
			steps, err := training.Open(ctx, at("run"), &training.Options{Save: training.FixedInterval{Steps: 2},
				Tiers: []training.Tier{{Name: "far", Directory: at("far")}}})
			if err != nil {
				return err
			}
			defer steps.Close() //nolint:errcheck // it was drained
			for step := range int64(2) {
				if _, err := steps.Save(ctx, step, state, nil); err != nil {
					return err
				}
			}
			if _, err := steps.Save(ctx, -1, state, nil); err == nil {
				return errors.New("step -1 was saved")
			}
			return steps.Drain(ctx, nil)
		}, map[string]int{"save": 2, "save!": 1, "save/snapshot": 1, "save/write": 1, "copy": 1}},
	} {
		w := &watching{}
		err := c.do(telemetry.With(t.Context(), w))
		got := map[string]int{}
		for name, outs := range w.out {
			for _, o := range outs {
				if o.Err != nil {
					got[name+"!"]++
				} else {
					got[name]++
				}
				if o.Err == nil && o.Bytes == 0 && !o.Declined && !strings.HasSuffix(name, "snapshot") {
					t.Errorf("%s: %s has no bytes: %+v", c.name, name, o)
				}
			}
		}
		if d := cmp.Diff(c.want, got); d != "" || w.open != 0 {
			t.Errorf("%s: %v, %d operations did not end: %s", c.name, err, w.open, d)
		}
	}
}
