package partial_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/errs"
)

// TestMistakes makes each mistake that testdata/mistakes.json lists, in sessions
// that have the leaves "a" and "l/x", and holds the outcome against the table, which
// is as that of package checkpoint.
func TestMistakes(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "mistakes.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct{ Mistake, Orbax, Bivouac, Why string }
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatal(err)
	}
	save := func(state any) func(dir string) error {
		return func(dir string) error { return partial.Save(t.Context(), filepath.Join(dir, "s"), state, nil) }
	}
	finalize := func(name string) func(dir string) error {
		return func(dir string) error { return partial.Finalize(t.Context(), filepath.Join(dir, name), nil) }
	}
	made := map[string]func(dir string) error{
		"partial.save onto a finished checkpoint": func(dir string) error {
			if err := finalize("s")(dir); err != nil {
				return nil
			}
			return save(map[string]any{"z": 1})(dir)
		},
		"partial.save of the same key again":            save(map[string]any{"a": 2}),
		"partial.save of a key below an existing leaf":  save(map[string]any{"a": map[string]any{"b": 2}}),
		"partial.save of a leaf where a subtree exists": save(map[string]any{"l": 2}),
		"partial.save of an empty tree":                 save(map[string]any{}),
		"partial.finalize":                              finalize("s"),
		"partial.finalize without a session":            finalize("never"),
		"partial.finalize twice":                        func(dir string) error { _ = finalize("s")(dir); return finalize("s")(dir) },
		"partial.finalize with strings in two parts": func(dir string) error {
			for _, k := range []string{"s1", "s2"} {
				if err := save(map[string]any{k: "text"})(dir); err != nil {
					return err
				}
			}
			return finalize("s")(dir)
		},
		"load of a partial session": func(dir string) error {
			_, err := checkpoint.Load(t.Context(), filepath.Join(dir, "s.partial_save"), nil)
			return err
		},
	}
	if len(made) != len(rows) {
		t.Errorf("%d mistakes, %d rows", len(made), len(rows))
	}
	for _, r := range rows {
		dir, do := t.TempDir(), made[r.Mistake]
		if do == nil {
			t.Errorf("nothing makes %q", r.Mistake)
			continue
		}
		if err := save(map[string]any{"a": 1, "l": map[string]any{"x": []float32{1}}})(dir); err != nil {
			t.Fatal(err)
		}
		got, err := "ok", do(dir)
		if err != nil {
			got = errs.KindOf(err).String()
		}
		if got != r.Bivouac {
			t.Errorf("%s: got %s: %v; the table says %s", r.Mistake, got, err, r.Bivouac)
		}
	}
}
