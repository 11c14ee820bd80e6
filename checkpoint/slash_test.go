package checkpoint_test

import (
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

func ascending32(n int, first float32) *tree.Node {
	v := make([]float32, n)
	for i := range v {
		v[i] = first + float32(i)
	}
	return tree.NewLeaf(tensor.FromSlice(v, n))
}

// Names that end in a slash, and empty ones, lie where TensorStore looks for them, and
// come back from databases and from files.
func TestNamesThatEndInASlash(t *testing.T) {
	for _, ocdbt := range []options.Toggle{options.On, options.Off} {
		state := tree.NewDict().
			Set("tail/", ascending32(3, 1)).Set("ok", ascending32(3, 2)).
			Set("a/", tree.NewDict().Set("b/", ascending32(4, 3)).Set("c", ascending32(2, 4)))
		if ocdbt == options.On { // they would be directories "." and ".."
			state.Set("x/", tree.NewDict().Set("", ascending32(2, 5))).Set("..", ascending32(1, 6)).Set("two//",
				ascending32(1, 7))
		}
		var o checkpoint.SaveOptions
		o.Array.Saving.UseOCDBT = ocdbt
		path := filepath.Join(t.TempDir(), "c")
		if err := checkpoint.Save(t.Context(), path, state, &o); err != nil {
			t.Fatal(err)
		}
		got, err := checkpoint.Load(t.Context(), path, nil)
		if err != nil || !tree.Equal(state, got) {
			t.Errorf("database %v: %v\n%s", ocdbt, err, tree.FormatDiff(tree.Diff(state, got)))
		}
		if r, err := integrity.Verify(t.Context(), path, nil); err != nil || !r.OK() {
			t.Errorf("database %v: verify: %+v, %v", ocdbt, r, err)
		}
	}
}

// Two names that a slash at the end alone tells apart would share their keys.
func TestNamesThatShareKeys(t *testing.T) {
	for _, names := range [][2]string{{"tail", "tail/"}, {"", "/"}} {
		state := tree.NewDict().Set(names[0], ascending32(3, 1)).Set(names[1], ascending32(3, 2))
		path := filepath.Join(t.TempDir(), "c")
		if err := checkpoint.Save(t.Context(), path, state, nil); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%q: %v, want errs.Invalid", names, err)
		}
	}
}

// An array that is replaced takes none away whose name begins with its own and a slash.
func TestUpdateBesideLongerNames(t *testing.T) {
	for _, ocdbt := range []options.Toggle{options.On, options.Off} {
		state := tree.NewDict().Set("mlp", ascending32(300, 1)).Set("mlp/x", ascending32(300, 2)).Set("mlp/x/y",
			ascending32(3, 3)).Set("z", ascending32(1, 4))
		var o checkpoint.SaveOptions
		o.Array.Saving.UseOCDBT = ocdbt
		path := filepath.Join(t.TempDir(), "c")
		if err := checkpoint.Save(t.Context(), path, state, &o); err != nil {
			t.Fatal(err)
		}
		o.PartialUpdate, o.Overwrite = true, true
		for _, name := range []string{"mlp", "mlp/x"} {
			changed := ascending32(200, 7)
			if err := checkpoint.Save(t.Context(), path, tree.NewDict().Set(name, changed), &o); err != nil {
				t.Fatal(err)
			}
			state.Set(name, changed)
			got, err := checkpoint.Load(t.Context(), path, nil)
			if err != nil || !tree.Equal(state, got) {
				t.Errorf("database %v, %q replaced: %v\n%s", ocdbt, name, err, tree.FormatDiff(tree.Diff(state, got)))
			}
		}
	}
}
