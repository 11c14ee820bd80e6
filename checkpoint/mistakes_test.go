package checkpoint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// mistake is a row of testdata/mistakes.json: what Orbax 0.12.8 was measured to do,
// and what is done here. Bivouac is the kind of the error, or "ok".
type mistake struct {
	Mistake string `json:"mistake"`
	Orbax   string `json:"orbax"`
	Bivouac string `json:"bivouac"`
	Why     string `json:"why"` // "" where both do the same
}

// errAnother is the failure of a row that succeeds with a wrong result.
var errAnother = errors.New("the result is another")

// TestMistakes makes each mistake that testdata/mistakes.json lists, and holds the
// outcome against the table.
func TestMistakes(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "mistakes.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []mistake
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	all := []map[string]func(*blunder) error{loadMistakes, abstractMistakes, saveMistakes, leafMistakes, optionMistakes}
	for _, r := range rows {
		t.Run(r.Mistake, func(t *testing.T) {
			for _, group := range all {
				if do := group[r.Mistake]; do != nil {
					made[r.Mistake] = true
					r.check(t, do(newBlunder(t)))
				}
			}
			if !made[r.Mistake] {
				t.Error("nothing makes this mistake")
			}
		})
	}
	for _, group := range all {
		for name := range group {
			if !made[name] {
				t.Errorf("%q is not in the table", name)
			}
		}
	}
}

func (r mistake) check(t *testing.T, err error) {
	t.Helper()
	got := "ok"
	if err != nil {
		got = errs.KindOf(err).String()
	}
	if got != r.Bivouac || errors.Is(err, errAnother) {
		t.Errorf("got %s: %v; the table says %s", got, err, r.Bivouac)
	}
}

// blunder is a directory with a checkpoint "ok" in it.
type blunder struct {
	*testing.T
	dir string
}

func newBlunder(t *testing.T) *blunder {
	b := &blunder{t, t.TempDir()}
	state := map[string]any{"a": []int32{0, 1, 2, 3}, "b": map[string]any{"c": 1.5, "s": "x"}, "j": []float32{0, 1, 2}}
	if err := checkpoint.Save(t.Context(), b.path("ok"), state, nil); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *blunder) path(name string) string { return filepath.Join(b.dir, name) }

func (b *blunder) load(name string, o *checkpoint.LoadOptions) error {
	_, err := checkpoint.Load(b.Context(), b.path(name), o)
	return err
}

func (b *blunder) save(state any) error {
	return checkpoint.Save(b.Context(), b.path("new"), state, nil)
}

// same saves a leaf, and fails when it does not come back.
func (b *blunder) same(v any) error {
	if err := b.save(map[string]any{"v": v}); err != nil {
		return err
	}
	n, err := checkpoint.Load(b.Context(), b.path("new"), nil)
	if err != nil {
		return err
	}
	want, err := tree.Options{KeepUnknown: true}.From(map[string]any{"v": v})
	if err != nil {
		return err
	}
	if d := tree.Diff(want, n); len(d) > 0 {
		return fmt.Errorf("%w: %s", errAnother, tree.FormatDiff(d))
	}
	return nil
}

// ask loads "ok" with another value for one of its leaves.
func (b *blunder) ask(key string, v any) error {
	abstract := map[string]any{"a": nil, "b": nil, "j": nil}
	if k, sub, ok := strings.Cut(key, "."); ok {
		abstract[k] = map[string]any{"c": nil, "s": nil}
		abstract[k].(map[string]any)[sub] = v
	} else {
		abstract[key] = v
	}
	return b.load("ok", &checkpoint.LoadOptions{Abstract: abstract})
}

var loadMistakes = map[string]func(*blunder) error{
	"load a path that does not exist": func(b *blunder) error { return b.load("nothing", nil) },
	"load a Checkpointer root instead of a step": func(b *blunder) error {
		_, err := checkpoint.Load(b.Context(), filepath.Join("..", "testdata", "orbax", "trainer-basic", "checkpoint"), nil)
		return err
	},
	"load a file":                           func(b *blunder) error { return b.load("ok/_CHECKPOINT_METADATA", nil) },
	"load with a wrong checkpointable_name": func(b *blunder) error { return b.load("ok", &checkpoint.LoadOptions{Name: "zz"}) },
	"load_checkpointables of a missing item": func(b *blunder) error {
		_, err := checkpoint.LoadCheckpointables(b.Context(), b.path("ok"), &checkpoint.LoadOptions{Abstract: map[string]any{"state": nil, "zz": nil}})
		return err
	},
	"v1.load_async on the Orbax layout": func(b *blunder) error {
		_, err := checkpoint.LoadAsync(b.Context(), b.path("ok"), nil).Result(b.Context())
		return err
	},
	"manifest.ocdbt deleted": func(b *blunder) error {
		if err := os.Remove(b.path("ok/state/manifest.ocdbt")); err != nil {
			return err
		}
		return b.load("ok", nil)
	},
}

var abstractMistakes = map[string]func(*blunder) error{
	"load with a missing key in the abstract tree": func(b *blunder) error {
		return b.load("ok", &checkpoint.LoadOptions{Abstract: map[string]any{"a": nil, "j": nil}})
	},
	"load with an extra key in the abstract tree": func(b *blunder) error { return b.ask("zz", []int32{0}) },
	"load with another container kind":            func(b *blunder) error { return b.ask("b", []any{1.5, "x"}) },
	"load with a wrong (smaller) shape":           func(b *blunder) error { return b.ask("a", make([]int32, 3)) },
	"load with a wrong (larger) shape":            func(b *blunder) error { return b.ask("a", make([]int32, 6)) },
	"load jax leaf with a wrong shape": func(b *blunder) error {
		return b.ask("j", checkpoint.Abstract{DType: tensor.Float32, Shape: tensor.Shape{4}})
	},
	"load with a wrong rank":                               func(b *blunder) error { return b.ask("a", tensor.New(tensor.Int32, 2, 2)) },
	"load with another dtype (int32 -> int8): silent cast": func(b *blunder) error { return b.ask("a", make([]int8, 4)) },
	"load with another dtype that cannot hold the values": func(b *blunder) error {
		if err := checkpoint.Save(b.Context(), b.path("large"), map[string]any{"a": []int32{300}}, nil); err != nil {
			return errAnother
		}
		return b.load("large", &checkpoint.LoadOptions{Abstract: map[string]any{"a": []int8{0}}})
	},
	"float scalar loaded as int":           func(b *blunder) error { return b.ask("b.c", 0) },
	"array loaded as int":                  func(b *blunder) error { return b.ask("a", 0) },
	"string leaf requested as array":       func(b *blunder) error { return b.ask("b.s", checkpoint.Abstract{}) },
	"array requested as str":               func(b *blunder) error { return b.ask("a", "") },
	"unsupported abstract leaf (object())": func(b *blunder) error { return b.ask("a", make(chan int)) },
}

var saveMistakes = map[string]func(*blunder) error{
	"save onto an existing checkpoint": func(b *blunder) error {
		return checkpoint.Save(b.Context(), b.path("ok"), map[string]any{"a": 1}, nil)
	},
	"save onto an existing empty directory": func(b *blunder) error {
		if err := os.Mkdir(b.path("new"), 0o777); err != nil {
			return errAnother
		}
		return b.save(map[string]any{"a": 1})
	},
	"save with overwrite=True onto a directory that is no checkpoint": func(b *blunder) error {
		if err := os.Mkdir(b.path("new"), 0o777); err != nil {
			return errAnother
		}
		if err := os.WriteFile(b.path("new/mine"), []byte("x"), 0o666); err != nil {
			return errAnother
		}
		err := checkpoint.Save(b.Context(), b.path("new"), map[string]any{"a": 1}, &checkpoint.SaveOptions{Overwrite: true})
		if _, gone := os.Stat(b.path("new/mine")); gone != nil {
			return errAnother
		}
		return err
	},
	"save a relative path": func(b *blunder) error {
		b.Chdir(b.dir)
		if err := checkpoint.Save(b.Context(), "relative", map[string]any{"a": 1}, nil); err != nil {
			return err
		}
		return b.load("relative", nil)
	},
	"save into a missing parent directory": func(b *blunder) error {
		if err := checkpoint.Save(b.Context(), b.path("deep/er/new"), map[string]any{"a": 1}, nil); err != nil {
			return err
		}
		return b.load("deep/er/new", nil)
	},
	"save an empty dict": func(b *blunder) error { return b.save(map[string]any{}) },
	"save None":          func(b *blunder) error { return b.save(nil) },
	"save an object()":   func(b *blunder) error { return b.save(map[string]any{"v": make(chan int)}) },
	"a failed save leaves nothing on disk": func(b *blunder) error {
		if b.save(map[string]any{"v": make(chan int)}) == nil {
			return errAnother
		}
		list, err := os.ReadDir(b.dir)
		if err == nil && len(list) != 1 {
			return errAnother
		}
		return err
	},
	"save a string under a key with '~'": func(b *blunder) error {
		return b.save(map[string]any{"a~b": "text", "a/b": "other", "w": 1})
	},
	"save a string under a key with '/' and a string that is its parent": func(b *blunder) error {
		return b.save(map[string]any{"a": "s", "a/b": "t", "w": 1})
	},
	"colliding names 'a.b'/'c' and 'a'/'b.c'": func(b *blunder) error {
		return b.save(map[string]any{"a.b": map[string]any{"c": []int32{1, 2}}, "a": map[string]any{"b.c": []int32{1, 2, 3}}})
	},
	"colliding names of one shape": func(b *blunder) error {
		return b.save(map[string]any{"a.b": map[string]any{"c": []int32{1, 2}}, "a": map[string]any{"b.c": []int32{3, 4}}})
	},
	"save_checkpointables with reserved name metrics": func(b *blunder) error {
		return checkpoint.SaveCheckpointables(b.Context(), b.path("new"), map[string]any{"metrics": map[string]any{"a": 1}}, nil)
	},
	"save_checkpointables with an empty name": func(b *blunder) error {
		return checkpoint.SaveCheckpointables(b.Context(), b.path("new"), map[string]any{"": map[string]any{"a": 1}}, nil)
	},
	"save_checkpointables with an item no handler takes": func(b *blunder) error {
		return checkpoint.SaveCheckpointables(b.Context(), b.path("new"), map[string]any{"x": make(chan int)}, nil)
	},
	"custom_metadata that is not JSON": func(b *blunder) error {
		return checkpoint.Save(b.Context(), b.path("new"), map[string]any{"a": 1}, &checkpoint.SaveOptions{Custom: map[string]any{"f": func() {}}})
	},
}

// leafMistakes are of leaves that Orbax does not save.
var leafMistakes = map[string]func(*blunder) error{
	"save a zero-size array": func(b *blunder) error { return b.same(tensor.New(tensor.Float32, 0, 3)) },
	"save bytes":             func(b *blunder) error { return b.same([]byte("xyz")) },
	"save complex":           func(b *blunder) error { return b.save(map[string]any{"v": complex(1, 2)}) },
	"save int 2**63":         func(b *blunder) error { return b.same(uint64(1 << 63)) },
	"save int -2**63":        func(b *blunder) error { return b.same(-1 << 63) },
	"save int 2**64":         func(b *blunder) error { return b.save(map[string]any{"v": new(big.Int).Lsh(big.NewInt(1), 64)}) },
	"save np.int64 scalar":   func(b *blunder) error { return b.same(int64(7)) },
	"save uint2":             func(b *blunder) error { return b.same(tensor.New(tensor.Uint2, 3)) },
	"save uint4":             func(b *blunder) error { return b.same(tensor.New(tensor.Uint4, 3)) },
	"save float8_e4m3":       func(b *blunder) error { return b.same(tensor.New(tensor.Float8E4M3, 3)) },
	"save an array of str":   func(b *blunder) error { return b.same([]string{"a", "b"}) },
}

var optionMistakes = map[string]func(*blunder) error{
	"change a Context while it is active": func(b *blunder) error {
		axes := []int{0}
		o := options.Options{Array: options.Array{Saving: options.ArraySaving{Storage: options.Storage{ShardAxes: axes}}}}
		ctx := options.With(b.Context(), o)
		axes[0] = -7
		if got := options.From(ctx).Array.Saving.Storage.ShardAxes; !slices.Equal(got, []int{0}) {
			return errAnother
		}
		return nil
	},
}
