package checkpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// onTwo is a sharding over two devices.
const onTwo = `{"sharding_type": "NamedSharding", "shape": [2], "axis_names": ["x"], "partition_spec": ["x"]}`

// vector is an array of JAX in one part.
func vector(t tensor.Tensor, sharding string) checkpoint.Shards {
	return checkpoint.Shards{DType: t.DType, Shape: t.Shape, Sharding: sharding,
		Parts: []checkpoint.Shard{{Origin: []int{0}, Data: t}}}
}

// TestArraysOfJAX saves arrays with a sharding. The documents say so, and the options leave them
// out. All arrays load as tensors.
func TestArraysOfJAX(t *testing.T) {
	row := func(i int) checkpoint.Shard {
		return checkpoint.Shard{Origin: []int{i, 0}, Data: tensor.FromSlice([]float32{float32(i), 2, 3}, 1, 3)}
	}
	one := tensor.FromSlice([]int32{1, 2}, 2)
	const first = `{"sharding_type": "SingleDeviceSharding", "device_str": "cpu:0"}`
	state := map[string]any{
		"plain": one,
		"w": checkpoint.Shards{DType: tensor.Float32, Shape: tensor.Shape{2, 3},
			Parts: []checkpoint.Shard{row(0), row(1)}, Sharding: onTwo},
		"one": vector(one, first),
		"key": checkpoint.Key{Impl: "threefry2x32", Data: tensor.FromSlice([]uint32{1, 2}, 2), Sharding: onTwo},
	}
	for _, off := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "ckpt")
		var o checkpoint.SaveOptions
		if off {
			o.Array.Saving.EnableWriteShardingFile, o.Array.Saving.ArrayMetadataStore = options.Off, options.Off
		}
		if err := checkpoint.Save(t.Context(), path, state, &o); err != nil {
			t.Fatal(err)
		}
		text := func(name string) string {
			b, err := os.ReadFile(filepath.Join(path, "state", name))
			if err != nil && !off {
				t.Error(err)
			}
			return string(b)
		}
		tree := text("_METADATA")
		if n := strings.Count(tree, `"jax.Array"`); n != 3 {
			t.Errorf("%d arrays of JAX in %s", n, tree)
		}
		if !strings.Contains(tree, `"write_shape":[1,3]`) || !strings.Contains(tree, `"write_shape":[2]`) {
			t.Errorf("no shapes in %s", tree)
		}
		arrays, sharding := text("array_metadatas/process_0"), text("_sharding")
		record := `{"array_metadata":{"param_name":"w","write_shape":[1,3],"chunk_shape":[1,3],"ext_metadata":null}}`
		if got := strings.Contains(arrays, record); got == off {
			t.Errorf("off %v: %s", off, arrays)
		}
		if !strings.Contains(arrays, `"random_key_impl":"threefry2x32"`) {
			t.Errorf("off %v: no keys in %s", off, arrays)
		}
		if got := strings.Count(sharding, `\"partition_spec\": [\"x\"]`); got != 2 && !off || sharding != "" && off {
			t.Errorf("off %v: %s", off, sharding)
		}
		n, err := checkpoint.Load(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := tensor.Of[float32](n.Get("w").Value.(tensor.Tensor))
		if err != nil || len(w) != 6 || w[3] != 1 {
			t.Error(w, err)
		}
	}
	for _, bad := range []string{"x", "[]", "null"} {
		err := checkpoint.Save(t.Context(), filepath.Join(t.TempDir(), "c"), map[string]any{"w": vector(one, bad)}, nil)
		if errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), "sharding") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestShardingsLeaveWithTheirArrays replaces an array of JAX in a checkpoint. Its name has
// characters that base64 spells differently in URLs.
func TestShardingsLeaveWithTheirArrays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ckpt")
	one := tensor.FromSlice([]int32{1, 2}, 2)
	save := func(sharding string, o checkpoint.SaveOptions) string {
		t.Helper()
		state := map[string]any{"~~~?": vector(one, sharding), "other": 1}
		if err := checkpoint.Save(t.Context(), path, state, &o); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(path, "state", "_sharding"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := save(onTwo, checkpoint.SaveOptions{})
	other := strings.ReplaceAll(onTwo, `"x"`, `"y"`)
	after := save(other, checkpoint.SaveOptions{PartialUpdate: true, Overwrite: true})
	if before == after || strings.Contains(after, `\"x\"`) {
		t.Errorf("before %s, after %s", before, after)
	}
}
