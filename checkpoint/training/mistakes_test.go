package training_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/proof/mistake"
)

// trainer is a run with the steps 1 and 5.
type trainer struct {
	*testing.T
	*training.Checkpointer
}

func newTrainer(t *testing.T) *trainer {
	c, err := training.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := &trainer{t, c}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, step := range []int64{1, 5} {
		if err := tr.saved(true)(tr.save(step, nil)); err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

func (t *trainer) save(step int64, o *training.SaveOptions) (bool, error) {
	return t.Save(t.Context(), step, map[string]any{"w": []float32{float32(step)}}, o)
}

// saved fails where a save did other than want, which is whether the step is written.
func (t *trainer) saved(want bool) func(bool, error) error {
	return func(got bool, err error) error {
		if err == nil && got != want {
			return mistake.Another("a save that is not wanted, or a wanted one that is not made")
		}
		return err
	}
}

// has fails where the steps are others.
func (t *trainer) has(err error, steps ...int64) error {
	if d := cmp.Diff(steps, t.Steps()); err == nil && d != "" {
		return mistake.Another("steps " + d)
	}
	return err
}

// stepMistakes are made with a run that has steps.
var stepMistakes = map[string]func(*trainer) error{
	"Checkpointer.load of a missing step": func(t *trainer) error {
		_, err := t.Load(t.Context(), 99, nil)
		return err
	},
	"Checkpointer.save step lower than the latest": func(t *trainer) error {
		err := t.saved(false)(t.save(3, nil))
		if _, why := t.ShouldSave(3); why != "not above the latest step, 5" {
			return mistake.Another("the reason is " + why)
		}
		return t.has(err, 1, 5)
	},
	"Checkpointer.save of an existing step":            func(t *trainer) error { return t.saved(true)(t.save(5, nil)) },
	"Checkpointer.save of an existing older step (1)":  func(t *trainer) error { return t.saved(true)(t.save(1, nil)) },
	"Checkpointer.save of an existing step with force": func(t *trainer) error { return t.saved(true)(t.save(5, &training.SaveOptions{Force: true})) },
	"Checkpointer.save of an existing step with force and overwrite": func(t *trainer) error {
		return t.has(t.saved(true)(t.save(5, &training.SaveOptions{Force: true, Overwrite: true})), 1, 5)
	},
	"Checkpointer.save of a lower step with force": func(t *trainer) error {
		return t.has(t.saved(true)(t.save(3, &training.SaveOptions{Force: true})), 1, 3, 5)
	},
	"Checkpointer.save negative step": func(t *trainer) error { return t.saved(true)(t.save(-1, &training.SaveOptions{Force: true})) },
	"Checkpointer.delete of a missing step": func(t *trainer) error {
		_, err := t.Delete(t.Context(), 77, nil)
		return err
	},
	"Checkpointer.delete of step 1": func(t *trainer) error {
		_, err := t.Delete(t.Context(), 1, nil)
		return t.has(err, 5)
	},
	"deletion of the last whole step": func(t *trainer) error {
		if _, err := t.Delete(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		_, err := t.Delete(t.Context(), 5, nil)
		if err == nil {
			return mistake.Another("nothing is left")
		}
		return t.has(err, 5)
	},
	"Checkpointer.load_async": func(t *trainer) error {
		n, err := t.LoadAsync(t.Context(), training.Latest, nil).Result(t.Context())
		if err == nil && n.Get("w") == nil {
			return mistake.Another("not what was saved")
		}
		return err
	},
	"Checkpointer.save after close": func(t *trainer) error {
		if err := t.Close(); err != nil {
			t.Fatal(err)
		}
		return t.saved(true)(t.save(9, nil))
	},
	"save_checkpointables with metrics changes the dictionary": func(t *trainer) error {
		items := map[string]any{"state": map[string]any{"w": []float32{1}}}
		_, err := t.SaveCheckpointables(t.Context(), 9, items, &training.SaveOptions{Metrics: map[string]float64{"loss": 1}})
		if _, changed := items["metrics"]; changed || len(items) != 1 {
			return mistake.Another("the dictionary was changed")
		}
		return err
	},
	"overwrite a step that is no checkpoint": func(t *trainer) error {
		mine := filepath.Join(t.Directory(), "9", "mine")
		if err := os.Mkdir(filepath.Dir(mine), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(mine, []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
		err := t.saved(true)(t.save(9, &training.SaveOptions{Overwrite: true}))
		if _, gone := os.Stat(mine); gone != nil {
			return mistake.Another("it was deleted")
		}
		return err
	},
	"metrics of NaN": func(t *trainer) error {
		return t.saved(true)(t.save(9, &training.SaveOptions{Metrics: map[string]float64{"loss": math.NaN()}}))
	},
	"metrics beside an item of that name": func(t *trainer) error {
		items := map[string]any{"metrics": map[string]any{"w": []float32{1}}}
		_, err := t.SaveCheckpointables(t.Context(), 9, items, &training.SaveOptions{Metrics: map[string]float64{"loss": 1}})
		return err
	},
	"two writers of one run": func(t *trainer) error {
		other, err := training.Open(t.Context(), t.Directory(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close() //nolint:errcheck // it has saved nothing
		_, err = other.Save(t.Context(), 9, map[string]any{"w": []float32{1}}, nil)
		return err
	},
}

// openMistakes are made when a run is opened: its directory, beside a file, and options.
var openMistakes = map[string]func(dir string) (string, training.Options){
	"Checkpointer.load with no steps":       func(dir string) (string, training.Options) { return dir, training.Options{} },
	"a run in a file":                       func(dir string) (string, training.Options) { return dir + "/file", training.Options{} },
	"metadata of the run that is no object": func(dir string) (string, training.Options) { return dir, training.Options{Custom: []int{1}} },
	"EveryNSteps(0)":                        preserving(training.EveryNSteps{}),
	"`LatestN(-2)`":                         preserving(training.LatestN{N: -2}),
	"BestN of no metric":                    preserving(training.BestN{N: 1}),
	"FixedIntervalPolicy(0)": func(dir string) (string, training.Options) {
		return dir, training.Options{Save: training.FixedInterval{}}
	},
	"step names with `../`": func(dir string) (string, training.Options) {
		return dir, training.Options{Names: training.StandardNames{Prefix: new("../step")}}
	},
}

func preserving(p training.PreservationPolicy) func(string) (string, training.Options) {
	return func(dir string) (string, training.Options) { return dir, training.Options{Preserve: p} }
}

// TestMistakes makes each mistake that testdata/mistakes.json lists, and compares the outcome with
// the table.
func TestMistakes(t *testing.T) {
	makers := map[string]mistake.Maker{}
	for name, do := range stepMistakes {
		makers[name] = func(t *testing.T) error { return do(newTrainer(t)) }
	}
	for name, do := range openMistakes {
		makers[name] = func(t *testing.T) error {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o666); err != nil {
				t.Fatal(err)
			}
			at, o := do(dir)
			c, err := training.Open(t.Context(), at, &o)
			if err != nil {
				return err
			}
			defer c.Close() //nolint:errcheck // it has saved nothing
			_, err = c.Load(t.Context(), training.Latest, nil)
			return err
		}
	}
	mistake.Check(t, filepath.Join("testdata", "mistakes.json"), makers)
}
