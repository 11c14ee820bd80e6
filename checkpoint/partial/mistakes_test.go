package partial_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/proof/mistake"
)

// begun is a directory with the session "s", which has the leaves "a" and "l/x".
type begun struct {
	*testing.T
	dir string
}

func (b *begun) path(name string) string { return filepath.Join(b.dir, name) }

func (b *begun) save(state any) error { return partial.Save(b.Context(), b.path("s"), state, nil) }

func (b *begun) finalize(name string) error { return partial.Finalize(b.Context(), b.path(name), nil) }

// must fails the test where what comes before the mistake does not succeed.
func (b *begun) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// texts puts strings into two parts of the session, and finalizes it.
func (b *begun) texts() error {
	for _, k := range []string{"s1", "s2"} {
		b.must(b.save(map[string]any{k: "text"}))
	}
	return b.finalize("s")
}

// mistakes are the mistakes of testdata/mistakes.json.
var mistakes = map[string]func(*begun) error{
	"partial.save onto a finished checkpoint": func(b *begun) error {
		b.must(b.finalize("s"))
		return b.save(map[string]any{"z": 1})
	},
	"partial.save of the same key again":            func(b *begun) error { return b.save(map[string]any{"a": 2}) },
	"partial.save of a key below an existing leaf":  func(b *begun) error { return b.save(map[string]any{"a": map[string]any{"b": 2}}) },
	"partial.save of a leaf where a subtree exists": func(b *begun) error { return b.save(map[string]any{"l": 2}) },
	"partial.save of an empty tree":                 func(b *begun) error { return b.save(map[string]any{}) },
	"load of a partial session": func(b *begun) error {
		_, err := checkpoint.Load(b.Context(), b.path("s.partial_save"), nil)
		return err
	},
	"partial.finalize":                   func(b *begun) error { return b.finalize("s") },
	"partial.finalize without a session": func(b *begun) error { return b.finalize("never") },
	"partial.finalize twice": func(b *begun) error {
		b.must(b.finalize("s"))
		return b.finalize("s")
	},
	"partial.finalize with strings in two parts": (*begun).texts,
	"... partial.save into that session afterwards": func(b *begun) error {
		b.must(b.texts())
		return b.save(map[string]any{"z": 1})
	},
	"... finalize again": func(b *begun) error {
		b.must(b.texts())
		return b.finalize("s")
	},
	"... what is left": func(b *begun) error {
		b.must(b.texts())
		n, err := checkpoint.Load(b.Context(), b.path("s"), nil)
		b.must(err)
		if n.Get("s1").Value != "text" || n.Get("s2").Value != "text" {
			return mistake.Another("the strings are lost")
		}
		if _, err := os.Stat(b.path("s.partial_save")); err == nil {
			return mistake.Another("the session is there")
		}
		return nil
	},
}

// TestMistakes makes each mistake that testdata/mistakes.json lists, and compares the outcome with
// the table.
func TestMistakes(t *testing.T) {
	makers := map[string]mistake.Maker{}
	for name, do := range mistakes {
		makers[name] = func(t *testing.T) error {
			b := &begun{t, t.TempDir()}
			b.must(b.save(map[string]any{"a": 1, "l": map[string]any{"x": []float32{1}}}))
			return do(b)
		}
	}
	mistake.Check(t, filepath.Join("testdata", "mistakes.json"), makers)
}
