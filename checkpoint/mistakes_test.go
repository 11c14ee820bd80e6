package checkpoint_test

import (
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/proof/mistake"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// TestMistakes makes each mistake that testdata/mistakes.json lists, and compares the outcome with
// the table.
func TestMistakes(t *testing.T) {
	makers := map[string]mistake.Maker{}
	for _, group := range []map[string]func(*blunder) error{loadMistakes, abstractMistakes, saveMistakes, leafMistakes, optionMistakes} {
		for name, do := range group {
			makers[name] = func(t *testing.T) error { return do(newBlunder(t)) }
		}
	}
	mistake.Check(t, filepath.Join("testdata", "mistakes.json"), makers)
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

// comes saves a leaf, and fails when something else than want is loaded.
func (b *blunder) comes(v, want any) error {
	if err := b.save(map[string]any{"v": v}); err != nil {
		return err
	}
	n, err := checkpoint.Load(b.Context(), b.path("new"), nil)
	if err != nil {
		return err
	}
	saved, err := tree.From(map[string]any{"v": want})
	if err != nil {
		b.Fatal(err)
	}
	if d := tree.Diff(saved, n); len(d) > 0 {
		return mistake.Another(tree.FormatDiff(d))
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
			return mistake.Another("the directory is not as the mistake needs it")
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
			return mistake.Another("the directory is not as the mistake needs it")
		}
		return b.save(map[string]any{"a": 1})
	},
	"save with overwrite=True onto a directory that is no checkpoint": func(b *blunder) error {
		if err := os.Mkdir(b.path("new"), 0o777); err != nil {
			return mistake.Another("the directory is not as the mistake needs it")
		}
		if err := os.WriteFile(b.path("new/mine"), []byte("x"), 0o666); err != nil {
			return mistake.Another("the directory is not as the mistake needs it")
		}
		err := checkpoint.Save(b.Context(), b.path("new"), map[string]any{"a": 1}, &checkpoint.SaveOptions{Overwrite: true})
		if _, gone := os.Stat(b.path("new/mine")); gone != nil {
			return mistake.Another("the directory is not as the mistake needs it")
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
			return mistake.Another("the directory is not as the mistake needs it")
		}
		list, err := os.ReadDir(b.dir)
		if err == nil && len(list) != 1 {
			return mistake.Another("the directory is not as the mistake needs it")
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

// leafMistakes are of leaves that Orbax does not save; testdata/leaves.json has all leaves.
var leafMistakes = map[string]func(*blunder) error{
	"save a zero-size array": func(b *blunder) error {
		return b.comes(tensor.New(tensor.Float32, 0, 3), tensor.New(tensor.Float32, 0, 3))
	},
	"save complex":         func(b *blunder) error { return b.save(map[string]any{"v": complex(1, 2)}) },
	"save int 2**64":       func(b *blunder) error { return b.save(map[string]any{"v": new(big.Int).Lsh(big.NewInt(1), 64)}) },
	"save np.int64 scalar": func(b *blunder) error { return b.comes(int64(7), 7) },
}

var optionMistakes = map[string]func(*blunder) error{
	"change a Context while it is active": func(b *blunder) error {
		axes := []int{0}
		var o options.Options
		o.Array.Saving.Storage.ShardAxes = axes
		ctx := options.With(b.Context(), o)
		axes[0] = -7
		if got := options.From(ctx).Array.Saving.Storage.ShardAxes; !slices.Equal(got, []int{0}) {
			return mistake.Another("the change reached the context")
		}
		return nil
	},
	"save with the SAFETENSORS layout": func(b *blunder) error {
		var o checkpoint.SaveOptions
		o.CheckpointLayout = options.SafetensorsFile
		if err := checkpoint.Save(b.Context(), b.path("new"), map[string]any{"w": []float32{1}}, &o); err != nil {
			return err
		}
		return b.load("new", nil)
	},
	"load an Orbax checkpoint with the SAFETENSORS layout": func(b *blunder) error {
		var o checkpoint.LoadOptions
		o.CheckpointLayout = options.SafetensorsFile
		return b.load("ok", &o)
	},
	"shard_axes out of range (jax leaf)": func(b *blunder) error {
		return b.stored(func(o *checkpoint.SaveOptions) { o.Array.Saving.Storage.ShardAxes = []int{5} })
	},
	"shard_axes out of range, for one leaf": func(b *blunder) error {
		return b.stored(func(o *checkpoint.SaveOptions) {
			o.LeafStorage = []options.LeafStorage{{Match: "j", Storage: options.Storage{ShardAxes: []int{5}}}}
		})
	},
	"chunk_byte_size smaller than one element": func(b *blunder) error {
		return b.stored(func(o *checkpoint.SaveOptions) { o.Array.Saving.Storage.ChunkByteSize = 2 })
	},
	"chunk_byte_size smaller than one element, for one leaf": func(b *blunder) error {
		return b.stored(func(o *checkpoint.SaveOptions) {
			o.LeafStorage = []options.LeafStorage{{Match: "j", Storage: options.Storage{ChunkByteSize: 2}}}
		})
	},
}

// stored saves a vector, a matrix and a number with options of storage.
func (b *blunder) stored(set func(*checkpoint.SaveOptions)) error {
	var o checkpoint.SaveOptions
	set(&o)
	state := map[string]any{"j": []float32{0, 1, 2}, "m": tensor.New(tensor.Float32, 2, 2), "step": 1}
	return checkpoint.Save(b.Context(), b.path("new"), state, &o)
}
