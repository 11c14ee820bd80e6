package checkpoint_test

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// floats is a tensor of numbers that every float type of two bytes has, rounded.
func floats(r *rand.Rand, d tensor.DType, shape ...int) tensor.Tensor {
	x, err := tensor.Cast(d, noise(r, tensor.Int16, shape...))
	if err != nil {
		panic(err)
	}
	return x
}

// Arrays are stored in the type that is asked for, in all layouts and however they
// are saved; numbers keep theirs, and a leaf may have a type of its own.
func TestStorageDType(t *testing.T) {
	for n, o := range storages() {
		t.Run(labelOf(o), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(n), 2))
			state := tree.NewDict().
				Set("w", tree.NewLeaf(floats(r, tensor.Float32, 1100, 1000))).
				Set("small", tree.NewLeaf(floats(r, tensor.Float32, 7))).
				Set("kept", tree.NewLeaf(floats(r, tensor.Float32, 700, 3))).
				Set("none", tree.NewLeaf(floats(r, tensor.Float32, 0, 3))).
				Set("step", tree.NewLeaf(int64(12345)))
			want := tree.NewDict()
			for i, k := range state.Keys {
				x, ok := state.Items[i].Value.(tensor.Tensor)
				if ok && k != "kept" {
					cast, err := tensor.Cast(tensor.BFloat16, x)
					if err != nil {
						t.Fatal(err)
					}
					want.Set(k, tree.NewLeaf(cast))
					continue
				}
				want.Set(k, state.Items[i])
			}
			o.Array.Saving.Storage.DType = tensor.BFloat16
			o.LeafStorage = []options.LeafStorage{{Match: "kept", Storage: options.Storage{DType: tensor.Float32}}}
			for m := range manners {
				o.Store = local.New(vfstest.NewMem(), "/", nil)
				if err := saveIn(t.Context(), m, state, o); err != nil {
					t.Fatal(m, err)
				}
				got, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: o.Store})
				if err != nil {
					t.Fatal(m, err)
				}
				if d := tree.Diff(want, got); len(d) > 0 {
					t.Fatalf("%v: loaded differs:\n%s", m, tree.FormatDiff(d))
				}
				report, err := integrity.Verify(t.Context(), "c", &integrity.VerifyOptions{Store: o.Store})
				if err != nil || !report.OK() {
					t.Fatalf("%v: %+v, %v", m, report, err)
				}
			}
		})
	}
}

// Shards are cast as the array that they make.
func TestStorageDTypeOfShards(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	x := floats(r, tensor.Float64, 600, 700)
	var shards checkpoint.Shards
	shards.DType, shards.Shape = x.DType, x.Shape
	for at := range 3 {
		part := tensor.Tensor{DType: x.DType, Shape: tensor.Shape{200, 700}, Data: x.Data[at*200*700*8 : (at+1)*200*700*8]}
		shards.Parts = append(shards.Parts, checkpoint.Shard{Origin: []int{at * 200, 0}, Data: part})
	}
	want, err := tensor.Cast(tensor.Float16, x)
	if err != nil {
		t.Fatal(err)
	}
	o := checkpoint.SaveOptions{Store: local.New(vfstest.NewMem(), "/", nil)}
	o.Array.Saving.Storage.DType = tensor.Float16
	if err := checkpoint.Save(t.Context(), "c", map[string]any{"x": shards}, &o); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: o.Store})
	if err != nil {
		t.Fatal(err)
	}
	if d := tree.Diff(tree.NewDict().Set("x", tree.NewLeaf(want)), got); len(d) > 0 {
		t.Errorf("loaded differs:\n%s", tree.FormatDiff(d))
	}
}

// What the stored type does not have is refused, naming the leaf; Orbax stores
// something else.
func TestStorageDTypeRefusesLoss(t *testing.T) {
	large := tensor.New(tensor.Int32, 1<<20)
	large.Data[4<<20-2] = 1
	for name, c := range map[string]struct {
		value any
		dtype tensor.DType
	}{
		"fraction":      {[]float32{1, 1.5}, tensor.Int8},
		"out of range":  {[]int32{300}, tensor.Int8},
		"infinite":      {[]float32{math.MaxFloat32}, tensor.Float16},
		"in data files": {large, tensor.Int8},
	} {
		for _, l := range allLayouts {
			o := checkpoint.SaveOptions{Store: local.New(vfstest.NewMem(), "/", nil)}
			o.Layout, o.Array.Saving.Storage.DType = l, c.dtype
			for m := range manners {
				state, err := tree.From(map[string]any{"model": map[string]any{"w": c.value}})
				if err != nil {
					t.Fatal(err)
				}
				err = saveIn(t.Context(), m, state, o)
				if errs.KindOf(err) != errs.Mismatch || !strings.Contains(err.Error(), "model.w") &&
					!strings.Contains(err.Error(), "model/w") {
					t.Errorf("%s, %v, %v: %v", name, l, m, err)
				}
				if checkpoint.IsCheckpoint(t.Context(), "c", &checkpoint.LoadOptions{Store: o.Store}) {
					t.Errorf("%s, %v, %v: a checkpoint is there", name, l, m)
				}
			}
		}
	}
}

// Typed PRNG keys are not cast: Orbax casts them, and cannot load them then.
func TestStorageDTypeLeavesKeys(t *testing.T) {
	key := checkpoint.Key{Impl: "threefry2x32", Data: tensor.New(tensor.Uint32, 2)}
	o := checkpoint.SaveOptions{Store: local.New(vfstest.NewMem(), "/", nil)}
	o.Array.Saving.Storage.DType = tensor.Int8
	if err := checkpoint.Save(t.Context(), "c", map[string]any{"key": key}, &o); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: o.Store})
	if err != nil {
		t.Fatal(err)
	}
	if k, ok := got.Get("key").Value.(checkpoint.Key); !ok || k.Data.DType != tensor.Uint32 {
		t.Errorf("%v", got)
	}
}

// The bytes are those that Orbax stores of the same arrays: the leaves j and n of
// its case v1-cast-on-save.
func TestStorageDTypeAsOrbax(t *testing.T) {
	for given, stored := range map[string]string{
		"55480ac073ee59bf90f5b2bd09f60a3ec49a81bf621eec3d": "0ac05abfb3bd0b3e82bfec3d",
		"9b72d3bdbdeae6bd32f1973e924f6dbe4748173f78ce2dbc": "d3bde7bd983e6dbe173f2ebc",
	} {
		b, err := hex.DecodeString(given)
		if err != nil {
			t.Fatal(err)
		}
		o := checkpoint.SaveOptions{Store: local.New(vfstest.NewMem(), "/", nil)}
		o.Array.Saving.Storage.DType = tensor.BFloat16
		if err := checkpoint.Save(t.Context(), "c", map[string]any{"x": tensor.Tensor{DType: tensor.Float32,
			Shape: tensor.Shape{6}, Data: b}}, &o); err != nil {
			t.Fatal(err)
		}
		got, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: o.Store})
		if err != nil {
			t.Fatal(err)
		}
		x := got.Get("x").Value.(tensor.Tensor)
		if x.DType != tensor.BFloat16 || hex.EncodeToString(x.Data) != stored {
			t.Errorf("%s %x, want %s", x, x.Data, stored)
		}
	}
}

// A conversion casts as a save does, and compares with what was cast.
func TestConvertCasts(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/", nil)
	x := floats(rand.New(rand.NewPCG(1, 4)), tensor.Float32, 500, 700)
	state := map[string]any{"w": x, "step": 12345}
	if err := checkpoint.Save(t.Context(), "c", state, &checkpoint.SaveOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	o := checkpoint.ConvertOptions{Store: st}
	o.Array.Saving.Storage.DType = tensor.BFloat16
	if err := checkpoint.Convert(t.Context(), "c", "d", &o); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.Load(t.Context(), "d", &checkpoint.LoadOptions{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	want, err := tensor.Cast(tensor.BFloat16, x)
	if err != nil {
		t.Fatal(err)
	}
	if d := tree.Diff(tree.NewDict().Set("w", tree.NewLeaf(want)).Set("step", tree.NewLeaf(int64(12345))),
		got); len(d) > 0 {
		t.Errorf("%s", tree.FormatDiff(d))
	}
}
