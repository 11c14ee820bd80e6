package augment

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// recipeImage is image k of tools/recipes/images.py.
func recipeImage(k int) tensor.Tensor {
	size := [][2]int{{24, 32}, {17, 13}, {2, 2}, {1, 1}, {31, 20}, {3, 50}}[k%6]
	h, w := size[0], size[1]
	t := tensor.New(tensor.Uint8, h, w, 3)
	t.Layout = "HWC"
	i := 0
	for y := range h {
		for x := range w {
			for c := range 3 {
				v := [...]int{
					x*255/max(w-1, 1)/(c+1) + y*3, (x*7 + y*13 + c*29 + x*y*5 + k*31) ^ (x * (c + 3)),
					100 + (x+y*2+c)%7*9, 40 + 50*c + k, (x*x + y*y*3 + 17*c) % 251,
				}[k%5]
				t.Data[i] = byte(v)
				i++
			}
		}
	}
	return t
}

// TestRecorded: with the draws of torchvision and timm, the pixels "truncated" are what they make
// of images of Pillow.
func TestRecorded(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "recipes", "augment.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Suites map[string][]string
		Cases  []struct {
			Of             string
			Image, Bins    int
			Nearest, Cubic bool
			Fill           []float64
			Steps          [][3]any
		}
		Images []byte
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	r, err := zlib.NewReader(bytes.NewReader(file.Images))
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 150 {
		t.Fatalf("%d cases", len(file.Cases))
	}
	seen := map[string]bool{}
	for i, c := range file.Cases {
		suite := file.Suites[c.Of]
		parsed, err := parseSuite(suite)
		if err != nil {
			t.Fatal(err)
		}
		var operations, signs []int32
		var levels []float32
		for _, s := range c.Steps {
			at := slices.IndexFunc(parsed, func(a augmentation) bool { return a.name() == s[0] })
			operations, signs = append(operations, int32(at)), append(signs, int32(s[2].(float64)))
			levels = append(levels, float32(s[1].(float64)))
			seen[c.Of+" "+s[0].(string)] = true
		}
		n := len(c.Steps)
		list := func(v tensor.Tensor) optest.Samples { return optest.Samples{v} }
		interp := op.InterpLinear
		if c.Nearest {
			interp = op.InterpNN
		} else if c.Cubic {
			interp = op.InterpCubic
		}
		in := recipeImage(c.Image)
		got := run(t, optest.Case{Op: "_augment.rand_augment", Inputs: [][]tensor.Tensor{{in}}, Args: op.Args{
			"n": n, "m": 0, "num_magnitude_bins": c.Bins, "augmentations": suite, "pixels": "truncated", "interp_type": interp,
			"fill_value": c.Fill, "operations": list(tensor.FromSlice(operations, n)), "signs": list(tensor.FromSlice(signs, n)),
			"magnitudes": list(tensor.FromSlice(levels, n)),
		}}).Outputs[0][0].Data
		worst, differ := 0, 0
		for j, v := range got {
			if d := max(int(v)-int(want[j]), int(want[j])-int(v)); d > 0 {
				worst, differ = max(worst, d), differ+1
			}
		}
		if worst > 0 {
			t.Errorf("case %d, %s %v image %d %v: %d of %d bytes differ, by up to %d", i, c.Of, c.Steps, c.Image,
				in.Shape, differ,
				len(got), worst)
		}
		want = want[len(got):]
	}
	if len(seen) < 50 {
		t.Errorf("only %d augmentations", len(seen))
	}
}
