package recipes_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/recipes"
	"github.com/bivouac-ml/bivouac/tensor"
)

// mixCase is a case of testdata/recipes/mixes.json.
type mixCase struct {
	What          string
	Image         int
	Size          []int
	Batch         int
	Ratio         float64
	Place         []int
	Shorter, Crop int
	Flip          int
	Top, Left     int
	Draws         []float64
	Window        []int
	Results       [][]any

	results []tensor.Tensor
	boxes   []float32 // of all cases, in pixels
}

// readMixes returns the cases of a kind with their results.
func readMixes(t *testing.T, what string) (list []mixCase) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "recipes", "mixes.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Boxes [][]float32
		Cases []mixCase
		Data  []byte
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	r, err := zlib.NewReader(bytes.NewReader(file.Data))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		for _, r := range c.Results {
			d, err := tensor.ParseDType(r[0].(string))
			if err != nil {
				t.Fatal(err)
			}
			var shape tensor.Shape
			for _, n := range r[1].([]any) {
				shape = append(shape, int(n.(float64)))
			}
			v := tensor.New(d, shape...)
			data = data[copy(v.Data, data):]
			c.results = append(c.results, v)
		}
		c.boxes = slices.Concat(file.Boxes...)
		if c.What == what {
			list = append(list, c)
		}
	}
	if len(list) == 0 || len(data) > 0 {
		t.Fatalf("%d cases of %s, %d bytes too many", len(list), what, len(data))
	}
	return list
}

// pass returns what a graph makes of one sample.
func pass(t *testing.T, in []tensor.Tensor, graph func(b *pipeline.Builder, in []pipeline.Node) []pipeline.Node) (
	out []tensor.Tensor, err error) {
	t.Helper()
	def, err := pipeline.Define(pipeline.Options{BatchSize: 1, Seed: 3}, func(b *pipeline.Builder) []pipeline.Node {
		specs := make([]tensor.Spec, len(in))
		for i := range in {
			specs[i] = in[i].Spec()
		}
		source := pipeline.SampleFunc(func(context.Context, pipeline.SampleInfo) ([]tensor.Tensor, error) { return in, nil })
		return graph(b, pipeline.ExternalSource(b, source, pipeline.SourceOptions{Outputs: len(in), Specs: specs}))
	})
	if err != nil {
		return nil, err
	}
	p, err := def.New(t.Context(), nil)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	batch, err := p.Next(t.Context())
	if err != nil {
		return nil, err
	}
	for _, o := range batch.Outputs {
		out = append(out, o.Sample(0).Clone())
	}
	return out, nil
}

func floats(t *testing.T, v tensor.Tensor) []float32 {
	t.Helper()
	list, err := tensor.Of[float32](v)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// worst returns the largest difference of two lists.
func worst(t *testing.T, got, want []float32) (w float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d numbers, want %d", len(got), len(want))
	}
	for i := range got {
		w = max(w, math.Abs(float64(got[i])-float64(want[i])))
	}
	return w
}

// unit returns an image of floats from 0 to 1.
func unit(k, h, w int) tensor.Tensor {
	pixels, _ := made(k, h, w)
	values := make([]float32, len(pixels))
	for i, v := range pixels {
		values[i] = float32(v) / 255
	}
	img := tensor.FromSlice(values, h, w, 3)
	img.Layout = "HWC"
	return img
}

// TestMixes: given ratio and place, mixup and cutmix are torchvision's MixUp and CutMix to the bit:
// pixels, windows and labels. The partner of a sample is the one before it in the batch.
func TestMixes(t *testing.T) {
	for _, what := range []string{"mixup", "cutmix"} {
		windows := 0
		for i, c := range readMixes(t, what) {
			h, w := c.Size[0], c.Size[1]
			hot := func(k int) tensor.Tensor {
				v := tensor.FromSlice(make([]float32, 3), 3)
				floats(t, v)[k%3] = 1
				return v
			}
			images, labels := floats(t, c.results[0]), floats(t, c.results[1])
			for s := range c.Batch {
				partner := (s + c.Batch - 1) % c.Batch
				in := []tensor.Tensor{unit(c.Image+s, h, w), unit(c.Image+partner, h, w), hot(s), hot(partner)}
				out, err := pass(t, in, func(b *pipeline.Builder, in []pipeline.Node) []pipeline.Node {
					args := op.Args{"ratio": c.Ratio}
					if what == "cutmix" {
						args["even"] = true
						args["centre_x"] = (float64(c.Place[0]) + 0.5) / float64(w)
						args["centre_y"] = (float64(c.Place[1]) + 0.5) / float64(h)
					}
					return b.Op(what, args, in...)
				})
				if err != nil {
					t.Fatal(err)
				}
				n := h * w * 3
				if d := worst(t, floats(t, out[0]), images[s*n:][:n]); d != 0 {
					t.Errorf("%s, case %d, sample %d: pixels differ by up to %g", what, i, s, d)
				}
				if d := worst(t, floats(t, out[1]), labels[s*3:][:3]); d != 0 {
					t.Errorf("%s, case %d, sample %d: labels %v, want %v", what, i, s, floats(t, out[1]), labels[s*3:][:3])
				}
				if !slices.Equal(floats(t, out[0]), floats(t, in[0])) {
					windows++
				}
			}
		}
		if windows < 20 {
			t.Errorf("%s changes only %d samples", what, windows)
		}
	}
}

// TestMixRecipes: the recipes draw the share as torchvision does, one for each sample, and cutmix
// draws the pixel at the centre of its window evenly.
func TestMixRecipes(t *testing.T) {
	for _, name := range []string{"torchvision-mixup", "torchvision-cutmix"} {
		out := run(t, name, map[string]any{"alpha": 8}, pipeline.Options{BatchSize: 50, Seed: 5}, nil, 400)
		sum, low, high := 0.0, 1.0, 0.0
		for _, labels := range out[1] {
			v := float64(floats(t, labels)[0]) // of the sample
			sum, low, high = sum+v, min(low, v), max(high, v)
		}
		if mean := sum / 400; math.Abs(mean-0.5) > 0.06 && name == "torchvision-mixup" || !(low < 0.5 && high > 0.6) {
			t.Errorf("%s: shares from %g to %g, mean %g", name, low, high, mean)
		}
	}
}

// TestSegmentation: given the draws, the recipe cuts what torchvision cuts. Masks are equal, images
// too unless they are resized.
func TestSegmentation(t *testing.T) {
	for i, c := range readMixes(t, "segmentation") {
		h, w := c.Size[0], c.Size[1]
		_, file := made(c.Image, h, w)
		mask := tensor.New(tensor.Uint8, h, w, 1)
		mask.Layout = "HWC"
		for j := range mask.Data {
			mask.Data[j] = byte(j%256/w%3 + j%w/5)
		}
		rh, rw := c.Shorter, c.Shorter*w/h
		if w < h {
			rh, rw = c.Shorter*h/w, c.Shorter
		}
		share := func(at, extent int) []any {
			v := 0.0
			if extent > c.Crop {
				v = float64(at) / float64(extent-c.Crop)
			}
			return []any{max(v-1e-5, 0), max(v, 1e-5)} // of which any number cuts at the same pixel
		}
		rec, err := recipes.Get("torchvision-segmentation")
		if err != nil {
			t.Fatal(err)
		}
		out, err := pass(t, []tensor.Tensor{file, mask}, func(b *pipeline.Builder, in []pipeline.Node) []pipeline.Node {
			return rec.Append(b, map[string]any{"shorter": []any{c.Shorter, c.Shorter + 1}, "size": c.Crop, "flip": c.Flip,
				"left": share(c.Left, rw), "top": share(c.Top, rh)}, in...)
		})
		if err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		if !bytes.Equal(out[1].Data, c.results[1].Data) {
			t.Errorf("case %d, %v to %d, cut %d: masks differ", i, c.Size, c.Shorter, c.Crop)
		}
		got, want := floats(t, out[0]), floats(t, c.results[0])
		most := 2e-6
		if rh != h || rw != w {
			most = 16. / 255 / 0.224 // Pillow's filter ends at the border, ours repeats the border
		}
		if d := worst(t, got, want); d > most {
			t.Errorf("case %d, %v to %d, cut %d: differ by up to %g", i, c.Size, c.Shorter, c.Crop, d)
		}
	}
}

// shares returns boxes in pixels as shares of an image.
func shares(boxes []float32, h, w int) tensor.Tensor {
	list := slices.Clone(boxes)
	for i := range list {
		list[i] /= float32([]int{w, h}[i%2])
	}
	return tensor.FromSlice(list, len(list)/4, 4)
}

// TestDetectionHflip: the recipe is the preset hflip.
func TestDetectionHflip(t *testing.T) {
	rec, err := recipes.Get("torchvision-detection")
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range readMixes(t, "hflip") {
		h, w := c.Size[0], c.Size[1]
		_, file := made(c.Image, h, w)
		out, err := pass(t, []tensor.Tensor{file, shares(c.boxes, h, w)},
			func(b *pipeline.Builder, in []pipeline.Node) []pipeline.Node {
				return rec.Append(b, map[string]any{"flip": c.Flip}, in...)
			})
		if err != nil {
			t.Fatal(err)
		}
		if d := worst(t, floats(t, out[0]), floats(t, c.results[0])); d > 6e-8 {
			t.Errorf("case %d: images differ by up to %g", i, d)
		}
		if d := worst(t, floats(t, out[1]), floats(t, shares(floats(t, c.results[1]), h, w))); d > 2e-7 {
			t.Errorf("case %d: boxes differ by up to %g", i, d)
		}
	}
}

// TestZoomOut: given its draws, the canvas of the recipe for ssd is RandomZoomOut's.
func TestZoomOut(t *testing.T) {
	for i, c := range readMixes(t, "zoom") {
		h, w := c.Size[0], c.Size[1]
		pixels, _ := made(c.Image, h, w)
		img := tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{h, w, 3}, Layout: "HWC", Data: pixels}
		out, err := pass(t, []tensor.Tensor{img, shares(c.boxes, h, w)},
			func(b *pipeline.Builder, in []pipeline.Node) []pipeline.Node {
				place := op.Args{"ratio": 1 + 3*c.Draws[0], "paste_x": c.Draws[1], "paste_y": c.Draws[2]}
				boxes := op.Args{"ltrb": true}
				image := op.Args{"fill_value": []int{123, 117, 104}}
				for k, v := range place {
					boxes[k], image[k] = v, v
				}
				return []pipeline.Node{b.Op("paste", image, in[0])[0], b.Op("bbox_paste", boxes, in[1])[0]}
			})
		if err != nil {
			t.Fatal(err)
		}
		if !out[0].Shape.Equal(c.results[0].Shape) || !bytes.Equal(out[0].Data, c.results[0].Data) {
			t.Errorf("case %d: %v, want %v", i, out[0], c.results[0])
		}
		// A box of bbox_paste is a share of the canvas before its extents are truncated.
		ch, cw := c.results[0].Shape[0], c.results[0].Shape[1]
		if d := worst(t, floats(t, out[1]), floats(t, shares(floats(t, c.results[1]), ch, cw))); d > 1./float64(min(ch, cw)) {
			t.Errorf("case %d: boxes differ by up to %g", i, d)
		}
	}
}

// cutBoxes is the rule of RandomIoUCrop: a box stays if its centre is inside of the window, and is
// cut at the edges of the window. A box is in pixels, and so is the result.
func cutBoxes(boxes []float32, left, top, w, h float32) (kept []float32, labels []int32) {
	for i := 0; i < len(boxes); i += 4 {
		b := boxes[i : i+4]
		x, y := (b[0]+b[2])/2, (b[1]+b[3])/2
		if left < x && x < left+w && top < y && y < top+h {
			kept = append(kept, min(max(b[0]-left, 0), w), min(max(b[1]-top, 0), h), min(max(b[2]-left, 0), w),
				min(max(b[3]-top, 0), h))
			labels = append(labels, int32(i/4))
		}
	}
	return kept, labels
}

// TestWindows: windows of RandomIoUCrop. cutBoxes is what torchvision does with the windows of the
// cases, and random_bbox_crop does the same with the windows that it draws.
func TestWindows(t *testing.T) {
	cases := readMixes(t, "window")
	for i, c := range cases {
		win := c.Window
		boxes, labels := cutBoxes(c.boxes, float32(win[0]), float32(win[1]), float32(win[2]), float32(win[3]))
		want, err := tensor.Of[int64](c.results[2])
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(labels) != fmt.Sprint(want) || worst(t, boxes, floats(t, c.results[1])) != 0 {
			t.Errorf("case %d: %v %v, want %v %v", i, boxes, labels, floats(t, c.results[1]), want)
		}
		pixels, _ := made(c.Image, c.Size[0], c.Size[1])
		img := tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{c.Size[0], c.Size[1], 3}, Layout: "HWC", Data: pixels}
		out, err := pass(t, []tensor.Tensor{img}, func(b *pipeline.Builder, in []pipeline.Node) []pipeline.Node {
			return b.Op("slice", op.Args{"start": []int{win[1], win[0]}, "shape": []int{win[3], win[2]},
				"axis_names": "HW"}, in...)
		})
		if err != nil || !bytes.Equal(out[0].Data, c.results[0].Data) {
			t.Errorf("case %d: images differ, %v", i, err)
		}
	}
	seen := map[int]bool{}
	boxes := shares(cases[0].boxes, 40, 50)
	labels := tensor.FromSlice([]int32{0, 1, 2, 3}, 4)
	for seed := range 40 {
		out, err := pass(t, []tensor.Tensor{boxes, labels}, func(b *pipeline.Builder, in []pipeline.Node) []pipeline.Node {
			return b.Op("random_bbox_crop", op.Args{"thresholds": []float64{0, 0.1, 0.3, 0.5, 0.7, 0.9},
				"all_boxes_above_threshold": false, "scaling": []float64{0.3, 1}, "aspect_ratio": []float64{0.5, 2},
				"num_attempts": 40, "bbox_layout": "xyXY", "seed": seed}, in...)
		})
		if err != nil {
			t.Fatal(err)
		}
		at, extent := floats(t, out[0]), floats(t, out[1])
		want, chosen := cutBoxes(floats(t, boxes), at[0], at[1], extent[0], extent[1])
		for i := range want {
			want[i] /= extent[i%2]
		}
		got, err := tensor.Of[int32](out[3])
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, chosen) {
			t.Errorf("seed %d, window %v %v: labels %v, want %v", seed, at, extent, got, chosen)
		} else if d := worst(t, floats(t, out[2]), want); d > 1e-6 {
			t.Errorf("seed %d: boxes differ by up to %g", seed, d)
		}
		seen[len(got)] = true
	}
	if len(seen) < 3 {
		t.Errorf("windows keep %v boxes", seen)
	}
}

// TestMixesRefused: labels of one sample alone, and samples of two sizes.
func TestMixesRefused(t *testing.T) {
	hot := tensor.FromSlice([]float32{1, 0}, 2)
	for _, in := range [][]tensor.Tensor{{unit(0, 4, 4), unit(1, 4, 4), hot}, {unit(0, 4, 4), unit(1, 4, 5)}} {
		for _, what := range []string{"mixup", "cutmix"} {
			_, err := pass(t, in, func(b *pipeline.Builder, in []pipeline.Node) []pipeline.Node {
				return b.Op(what, op.Args{"ratio": 0.5}, in...)
			})
			if !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Mismatch) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}
