package torchdata

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shuffledLoader is a recorded loader with shuffle=True and generator=g: A goes
// through two epochs, B goes on from A's state after two batches to the end of the
// epoch and through the next.
type shuffledLoader struct {
	Dataset struct{ N int64 }
	Loader  struct {
		Seed       uint64 `json:"generator_seed"`
		NumWorkers int    `json:"num_workers"`
	}
	Script   [][]any
	Outcomes []struct {
		Batches []any
		State   struct {
			Snapshot struct {
				Main struct {
					BaseSeed *int64 `json:"_base_seed"`
				} `json:"_main_snapshot"`
			} `json:"_snapshot"`
		}
	}
}

// ids are the samples that steps delivered.
func (l *shuffledLoader) ids(t *testing.T, steps ...int) (ids []int64) {
	t.Helper()
	for _, step := range steps {
		for _, b := range l.Outcomes[step].Batches {
			switch b := b.(type) {
			case float64:
				ids = append(ids, int64(b))
			case map[string]any:
				for _, id := range b["values"].([]any) {
					ids = append(ids, int64(id.(float64)))
				}
			default:
				t.Fatalf("batch %T", b)
			}
		}
	}
	return ids
}

// A loader and its sampler that have one generator take turns with it.
func TestLoadersWithOneGenerator(t *testing.T) {
	files, _ := filepath.Glob(sharedVectors + "/S04-gen*.json")
	if len(files) == 0 {
		t.Skip("vectors are absent")
	}
	seeds := 0
	for _, file := range files {
		var l shuffledLoader
		readJSON(t, file, &l)
		g, turn := NewGenerator(l.Loader.Seed), StatefulWorkers
		if l.Loader.NumWorkers == 0 {
			turn = StatefulLoader
		}
		for name, c := range map[string]struct {
			resumed bool
			steps   [2][]int // of an epoch
		}{
			"A": {false, [2][]int{{2, 4}, {16}}},
			"B": {true, [2][]int{{2, 11}, {14}}},
		} {
			start := g
			if c.resumed && turn == StatefulWorkers { // the state is that after A's seed
				start.Discard(wordsOfRandperm(l.Dataset.N) + seedWords)
			}
			o, err := NewRandom(RandomOptions{N: l.Dataset.N, Generator: &start, BaseSeeds: turn, Resumed: c.resumed})
			if err != nil {
				t.Fatal(err)
			}
			for epoch, steps := range c.steps {
				got := make([]int64, l.Dataset.N)
				o.Fill(int64(epoch)*l.Dataset.N, got)
				if d := cmp.Diff(l.ids(t, steps...), got); d != "" {
					t.Errorf("%s: loader %s, epoch %d: %s", file, name, epoch, d)
				}
			}
			if want := l.Outcomes[3].State.Snapshot.Main.BaseSeed; want != nil && !c.resumed {
				seeds++
				if got, ok := o.BaseSeed(0); !ok || got != *want {
					t.Errorf("%s: base seed %d, want %d", file, got, *want)
				}
			}
		}
	}
	if seeds < 3 {
		t.Errorf("%d base seeds", seeds)
	}
	t.Log(len(files), "loaders,", seeds, "base seeds")
}
