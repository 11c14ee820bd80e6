package checkpoint_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Casts take little memory beyond the result: elements are cast piece by piece, when
// they are loaded and when they are saved.
func TestCastMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("256 MiB")
	}
	const size, most = 256 << 20, 64 << 20
	dir := t.TempDir()
	x := tensor.New(tensor.Float32, 1<<13, 1<<13)
	layouts := allLayouts
	if os.Getenv("BIVOUAC_LONG") == "" {
		layouts = []options.Layout{options.DefaultLayout, options.PlainZarr2} // and both with zstd
	}
	saves := map[string]checkpoint.SaveOptions{}
	for _, l := range layouts {
		var o checkpoint.SaveOptions
		o.Layout = l
		saves[l.String()] = o
		if l == options.DefaultLayout || l == options.OCDBTZarr3 || l == options.PlainZarr2 {
			o.Compression = options.Zstd
			saves[l.String()+" zstd"] = o
		}
	}
	for name, o := range saves {
		at := filepath.Join(dir, name)
		if err := checkpoint.Save(t.Context(), at, map[string]any{"x": x}, &o); err != nil {
			t.Fatal(err)
		}
		o.Overwrite, o.MemoryBudget = true, 40<<20 // of what is mapped; the rest is in the heap
		o.Array.Saving.Storage.DType = tensor.BFloat16
		if peak := peakOf(t, func() error {
			return checkpoint.Save(t.Context(), at+" cast", map[string]any{"x": x}, &o)
		}); peak > most-40<<20 {
			t.Errorf("%s: a save takes %d MiB of heap", name, peak>>20)
		}
	}
	var b bytes.Buffer
	if err := safetensors.Write(&b, map[string]tensor.Tensor{"x": x}, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "foreign.safetensors"), b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	saves["foreign.safetensors"] = checkpoint.SaveOptions{}
	x, b = tensor.Tensor{}, bytes.Buffer{}
	for name := range saves {
		for _, d := range []tensor.DType{tensor.Float16, tensor.Float64} {
			result := int64(size / 4 * d.Size())
			for what, a := range map[string]checkpoint.Abstract{
				"whole":  {DType: d},
				"halves": {DType: d, Boxes: []checkpoint.Box{{Origin: []int{0, 0}, Shape: []int{1 << 13, 1 << 12}}, {Origin: []int{0, 1 << 12}, Shape: []int{1 << 13, 1 << 12}}}},
			} {
				hard := strings.Contains(name, "zstd") || strings.Contains(name, "foreign")
				if (what == "halves" || d == tensor.Float64) && !hard || what == "halves" && d == tensor.Float64 {
					continue
				}
				if peak := peakOf(t, func() error {
					_, err := checkpoint.Load(t.Context(), filepath.Join(dir, name),
						&checkpoint.LoadOptions{Abstract: map[string]any{"x": a}})
					return err
				}); peak > result+most {
					t.Errorf("%s: %s as %v takes %d MiB beyond the result", name, what, d, (peak-result)>>20)
				}
			}
		}
	}
}
