package documents_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	ckptoptions "github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/proof/crewtest"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// signer is the key of the signed documents.
var signer = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

func public() ed25519.PublicKey { return signer.Public().(ed25519.PublicKey) }

func ramp(dtype tensor.DType, shape ...int) tensor.Tensor {
	t := tensor.New(dtype, shape...)
	for i := range t.Data {
		t.Data[i] = byte(i*37 + i>>8)
	}
	return t
}

// weights is a small state of a model, with leaves of all kinds.
func weights() map[string]any {
	return map[string]any{
		"params": map[string]any{
			"dense": map[string]any{"w": ramp(tensor.Float32, 12, 10), "b": []float32{0.5, -1, 3}},
			"half":  ramp(tensor.BFloat16, 3, 4),
			"table": ramp(tensor.Int8, 40),
		},
		"list":  []any{1, 2.5, "three", nil, true},
		"empty": map[string]any{},
		"none":  tensor.New(tensor.Float32, 0, 3),
		"rows":  [][]float32{{1, 2}, {3, 4}},
		"step":  int64(640),
	}
}

// counters has fields of all types of integers, small and large.
type counters struct {
	Small, Large uint64
	Signed       int64
	Plain        int
	Eight        uint8
	Sixteen      int16
	ThirtyTwo    uint32
	Unsigned     uint
	Many         []uint64
}

func counted64() counters {
	return counters{Small: 7, Large: math.MaxUint64, Signed: -7, Plain: 3, Eight: 255, Sixteen: -300,
		ThirtyTwo: math.MaxUint32, Unsigned: 12, Many: []uint64{1, 1 << 63}}
}

// leavesOf is what a tree holds.
func leavesOf(n *tree.Node) string {
	s := ""
	for _, e := range tree.Flatten(n) {
		s += fmt.Sprintf("%s: %s", e.Path.Param(), e.Node)
		if t, ok := e.Node.Value.(tensor.Tensor); ok {
			s += fmt.Sprintf(" %x", sha256.Sum256(t.Data))
		}
		s += "\n"
	}
	return s
}

// readCheckpoint verifies and loads one.
func readCheckpoint(o *checkpoint.LoadOptions) func(t *testing.T, path string) string {
	return func(t *testing.T, path string) string {
		n, err := checkpoint.Load(t.Context(), path, o)
		check(t, err)
		return leavesOf(n)
	}
}

func checkpointSpecimens() []specimen {
	var all []specimen
	save := func(name string, state any, o checkpoint.SaveOptions, load *checkpoint.LoadOptions) {
		all = append(all, specimen{
			name:  "checkpoint/" + name,
			write: func(t *testing.T, path string) { check(t, checkpoint.Save(t.Context(), path, state, &o)) },
			read:  readCheckpoint(load),
		})
	}
	save("default", weights(), checkpoint.SaveOptions{Custom: map[string]any{"note": "of the run"}}, nil)
	for _, l := range []ckptoptions.Layout{ckptoptions.OCDBTZarr3, ckptoptions.OCDBTZarr2, ckptoptions.PlainZarr3, ckptoptions.PlainZarr2, ckptoptions.SafetensorsLayout} {
		state := weights()
		if l == ckptoptions.SafetensorsLayout {
			state = map[string]any{"a": ramp(tensor.Float32, 12, 10), "b": ramp(tensor.BFloat16, 3, 4)}
		}
		var o checkpoint.SaveOptions
		o.Layout = l
		save("layout-"+l.String(), state, o, nil)
		if l == ckptoptions.SafetensorsLayout {
			continue
		}
		o.Compression = ckptoptions.Zstd
		save("compressed-"+l.String(), state, o, nil)
	}
	var small checkpoint.SaveOptions
	small.Array.Saving.Storage.ChunkByteSize = 64
	save("chunks", map[string]any{"w": ramp(tensor.Float32, 12, 10)}, small, nil)

	var signed checkpoint.SaveOptions
	signed.Signing, signed.Label = signer, "the first"
	var verified checkpoint.LoadOptions
	verified.Verification, verified.Label = public(), "the first"
	save("signed", weights(), signed, &verified)
	signed.Layout = ckptoptions.PlainZarr3
	save("signed-plain", weights(), signed, &verified)

	many := map[string]any{}
	for i := range 40 {
		many[fmt.Sprintf("n%02d", i)] = i
	}
	save("scalars", many, checkpoint.SaveOptions{}, nil)
	save("key", map[string]any{"rng": checkpoint.Key{Impl: "threefry2x32", Data: tensor.FromSlice([]uint32{0, 42}, 2)}},
		checkpoint.SaveOptions{}, nil)

	for name, l := range map[string]ckptoptions.Layout{"linked": ckptoptions.OCDBTZarr3, "linked-plain": ckptoptions.PlainZarr3, "linked-safetensors": ckptoptions.SafetensorsLayout} {
		all = append(all, specimen{
			name: "checkpoint/" + name,
			write: func(t *testing.T, path string) {
				check(t, os.MkdirAll(path, 0o777))
				first, second := filepath.Join(path, "first"), filepath.Join(path, "second")
				o := checkpoint.SaveOptions{Base: first}
				o.Layout = l
				state := weights()
				if l == ckptoptions.SafetensorsLayout {
					state = map[string]any{"a": ramp(tensor.Float32, 12, 10), "b": ramp(tensor.BFloat16, 3, 4)}
				}
				check(t, checkpoint.Save(t.Context(), first, state, &o))
				state["step"] = int64(641)
				check(t, checkpoint.Save(t.Context(), second, state, &o))
			},
			read: func(t *testing.T, path string) string {
				load := readCheckpoint(nil)
				return load(t, filepath.Join(path, "first")) + load(t, filepath.Join(path, "second"))
			},
		})
	}

	all = append(all, specimen{
		name: "checkpoint/integers",
		write: func(t *testing.T, path string) {
			c := counted64()
			check(t, checkpoint.Save(t.Context(), path, &c, nil))
		},
		read: func(t *testing.T, path string) string {
			var c counters
			check(t, checkpoint.LoadInto(t.Context(), path, &c, nil))
			return fmt.Sprintf("%+v\n", c)
		},
	}, specimen{
		name: "checkpoint/partial",
		write: func(t *testing.T, path string) {
			for i := range 3 {
				check(t, partial.Save(t.Context(), path, map[string]any{fmt.Sprintf("layer%d", i): ramp(tensor.Float32, 3+i)}, nil))
			}
			check(t, partial.Finalize(t.Context(), path, nil))
		},
		read: readCheckpoint(nil),
	}, specimen{
		name: "checkpoint/updated",
		write: func(t *testing.T, path string) {
			check(t, checkpoint.Save(t.Context(), path, map[string]any{"a": ramp(tensor.Float32, 5)}, nil))
			check(t, checkpoint.Save(t.Context(), path, map[string]any{"b": ramp(tensor.Int32, 5)},
				&checkpoint.SaveOptions{PartialUpdate: true}))
		},
		read: readCheckpoint(nil),
	}, specimen{
		// Keys of arrays whose names end in a slash had one slash more than TensorStore's keys, so that
		// "tail" and "tail/" could coexist.
		name: "checkpoint/two-slashes",
		write: func(t *testing.T, path string) {
			check(t, checkpoint.Save(t.Context(), path, map[string]any{
				"tail/": ramp(tensor.Float32, 5), "tail": ramp(tensor.Float32, 5, 2), "/": ramp(tensor.Int32, 4), "a/": map[string]any{"b/": ramp(tensor.Int32, 400)},
			}, nil))
		},
		read: readCheckpoint(nil),
	}, specimen{
		name: "checkpoint/several-processes",
		write: func(t *testing.T, path string) {
			barrier := crewtest.NewBarrier(2, nil)
			for _, err := range crewtest.Run(2, func(p int) error {
				half := tensor.FromSlice([]float32{float32(10 * p), float32(10*p + 1)}, 1, 2)
				var o checkpoint.SaveOptions
				o.Multiprocessing = ckptoptions.Multiprocessing{PrimaryHost: new(ckptoptions.Host(0)), ProcessIndex: new(ckptoptions.Host(p)), ProcessCount: 2, Barrier: barrier.Of(p)}
				return checkpoint.Save(t.Context(), path, map[string]any{
					"step": 7,
					"w":    checkpoint.Shards{DType: tensor.Float32, Shape: tensor.Shape{2, 2}, Parts: []checkpoint.Shard{{Origin: []int{p, 0}, Data: half}}},
				}, &o)
			}) {
				check(t, err)
			}
		},
		read: readCheckpoint(nil),
	}, specimen{
		name: "checkpoint/items",
		write: func(t *testing.T, path string) {
			check(t, checkpoint.SaveCheckpointables(t.Context(), path, map[string]any{
				"model": weights(), "ema": map[string]any{"w": ramp(tensor.Float32, 4)}, "notes": json.RawMessage(`{"epoch": 3, "lr": 0.125}`),
			}, nil))
		},
		read: func(t *testing.T, path string) string {
			items, err := checkpoint.LoadCheckpointables(t.Context(), path, nil)
			check(t, err)
			s := ""
			for _, name := range sortedKeys(items) {
				if n, ok := items[name].(*tree.Node); ok {
					s += name + "\n" + leavesOf(n)
					continue
				}
				s += fmt.Sprintf("%s\n%s\n", name, items[name])
			}
			return s
		},
	})
	return all
}

// Every version of the manifest is among the documents.
func TestManifestsOfEveryVersion(t *testing.T) {
	var seen []string
	check(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "bivouac.manifest" {
			line := string(readFile(t, path)[:len("bivouac.manifest 1")])
			if !slices.Contains(seen, line) {
				seen = append(seen, line)
			}
		}
		return err
	}))
	for version := 1; version <= 4; version++ {
		if want := fmt.Sprint("bivouac.manifest ", version); !slices.Contains(seen, want) {
			t.Errorf("no document has %q", want)
		}
	}
}
