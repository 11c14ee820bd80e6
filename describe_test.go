package bivouac_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

// A job over a mixture of many sources keeps the description of the order once, and again
// when the run is extended; its states stay small, and with the description they tell of
// their steps.
func TestJobKeepsTheDescription(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	var list []order.Source
	for i := range 100 {
		list = append(list, order.Source{Order: order.NewShuffled(20, uint64(i), "source"), Weight: 1})
	}
	m, err := order.NewMixture(list, order.CycleOn)
	if err != nil {
		t.Fatal(err)
	}
	more, err := m.Extend(24, order.Extension{Phases: []order.Phase{{From: 30, Weights: append(make([]float64, 99), 1)}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	var states [][]byte
	for i, o := range []order.Order{m, m, more} {
		l, err := loader.New(loader.Map[int64](digits(2000)), loader.Options[int64, []int64]{
			BatchSize: 4, Order: o, Extend: true, Collate: func(b []int64) ([]int64, error) { return slices.Clone(b), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		weights := []float32{0}
		job, err := bivouac.Open(ctx, dir, l, bivouac.Options{State: &weights, SaveEvery: 1, Steps: int64(3 * (i + 1)),
			Grace: bivouac.Never})
		if err != nil {
			t.Fatal(err)
		}
		for batch, err := range job.Steps(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, batch...)
		}
		b, err := l.AppendState(nil)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, b)
		if err := job.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := make([]int64, 36)
	more.Fill(0, want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "metadata", "order-*.txt"))
	if err != nil || len(kept) != 2 {
		t.Fatalf("%v, %v", kept, err)
	}
	told := 0
	for _, b := range states {
		d, err := state.Unmarshal(b)
		if err != nil || len(b) > 600 {
			t.Errorf("%v: %d bytes: %s", err, len(b), b)
		}
		for _, name := range kept {
			description, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if order.IdentityOf(string(description)) != d.Fields["order"] {
				continue
			}
			line, err := timeline.Open(b, timeline.Options{Description: string(description)})
			if err != nil {
				t.Fatal(err)
			}
			batch, err := line.Batch(2)
			if diff := cmp.Diff(want[8:12], batch.IDs); diff != "" || err != nil {
				t.Error(diff, err)
			}
			told++
		}
	}
	if told != len(states) {
		t.Errorf("%d of %d states have a description", told, len(states))
	}
}

// A description that cannot be kept is told by the save that asks for it: the state of the
// step cannot be told of without.
func TestLostDescriptionIsTold(t *testing.T) {
	var list []order.Source
	for i := range 100 {
		list = append(list, order.Source{Order: order.NewShuffled(20, uint64(i), "source"), Weight: 1})
	}
	m, err := order.NewMixture(list, order.CycleOn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := loader.New(loader.Map[int64](digits(2000)), loader.Options[int64, []int64]{
		BatchSize: 4, Order: m, Collate: func(b []int64) ([]int64, error) { return slices.Clone(b), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	d, weights := newDisk(), []float32{0}
	d.before(func(c *vfstest.Call) error {
		if strings.Contains(c.Name+c.To, "/order-") {
			return errDisk
		}
		return nil
	})
	job, err := bivouac.Open(t.Context(), "run", l, bivouac.Options{State: &weights, SaveEvery: 1, Steps: 1,
		Grace: bivouac.Never, Store: d.store()})
	if err != nil {
		t.Fatal(err)
	}
	var told error
	for _, err := range job.Steps(t.Context()) {
		told = errors.Join(told, err)
	}
	if told = errors.Join(told, job.Close()); !errors.Is(told, errDisk) {
		t.Errorf("got %v", told)
	}
	if _, err := d.Stat("/run/1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the step is there without the description: %v", err)
	}
}
