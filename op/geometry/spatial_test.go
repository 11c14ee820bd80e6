package geometry

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

var targets = []string{"image", "mask", "bboxes", "keypoints"}

// scene is an image with a filled rectangle in its mask, the box of the rectangle, and points.
func scene(h, w int, box [4]int, points ...float32) [][]tensor.Tensor {
	image, mask := tensor.New(tensor.Uint8, h, w, 3), tensor.New(tensor.Int32, h, w)
	image.Layout, mask.Layout = "HWC", "HW"
	for i := range image.Data {
		image.Data[i] = byte(i*i + i*29)
	}
	for y := box[1]; y < box[3]; y++ {
		for x := box[0]; x < box[2]; x++ {
			copy(mask.Data[4*(y*w+x):], []byte{0x12, 0x34, 0x56, 0x01})
		}
	}
	boxes := tensor.FromSlice([]float32{float32(box[0]), float32(box[1]), float32(box[2]), float32(box[3])}, 1, 4)
	return [][]tensor.Tensor{{image}, {mask}, {boxes}, {tensor.FromSlice(points, len(points)/3, 3)}}
}

func spatialCase(in [][]tensor.Tensor, more op.Args) optest.Case {
	args := op.Args{"targets": targets[:len(in)], "normalized": false}
	for k, v := range more {
		args[k] = v
	}
	return optest.Case{Op: "spatial", Inputs: in, Args: args}
}

// TestSpatialIdentity: without arguments, and with arguments that change nothing, each byte stays.
func TestSpatialIdentity(t *testing.T) {
	in := scene(9, 7, [4]int{1, 2, 4, 7}, 3.3, 4.7, 1, 0.1, 8.9, 2)
	for name, args := range map[string]op.Args{
		"nothing": {}, "zeros": {"angle": 0.0, "corners": make([]float64, 8), "size": []int{9, 7}},
		"a turn":  {"angle": 360.0},
		"window":  {"crop_anchor": []float64{0, 0}, "crop_shape": []float64{1, 1}},
		"nearest": {"interp_type": op.InterpNN},
	} {
		r := optest.MustRun(t, spatialCase(in, args))
		for i, out := range r.Outputs {
			if !bytes.Equal(out[0].Data, in[i][0].Data) || out[0].Layout != in[i][0].Layout {
				t.Errorf("%s: %s differ: got %s", name, targets[i], out[0])
			}
		}
	}
}

// TestSpatialAgrees: the pixel under a keypoint stays under it. The box of a filled rectangle
// of the mask is the box after the transform.
func TestSpatialAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(lo, hi float64, name string) float64 { return rapid.Float64Range(lo, hi).Draw(t, name) }
		h, w := rapid.IntRange(20, 60).Draw(t, "h"), rapid.IntRange(20, 60).Draw(t, "w")
		left, top := rapid.IntRange(0, w-11).Draw(t, "left"), rapid.IntRange(0, h-11).Draw(t, "top")
		box := [4]int{left, top, left + rapid.IntRange(8, 10).Draw(t, "bw"), top + rapid.IntRange(8, 10).Draw(t, "bh")}
		middle := [2]float32{float32(box[0]+box[2]) / 2, float32(box[1]+box[3]) / 2}
		in := scene(h, w, box, middle[0], middle[1], 2)
		args := op.Args{
			"horizontal": rapid.IntRange(0, 1).Draw(t, "flip"), "vertical": rapid.IntRange(0, 1).Draw(t, "vertical"),
			"size": []int{rapid.IntRange(30, 90).Draw(t, "oh"), rapid.IntRange(30, 90).Draw(t, "ow")},
		}
		turned := rapid.Bool().Draw(t, "turned")
		if turned {
			args["angle"] = number(-180, 180, "angle")
			args["scale"] = []float64{number(0.8, 1.5, "sx"), number(0.8, 1.5, "sy")}
			args["shear"] = []float64{number(-20, 20, "shx"), number(-20, 20, "shy")}
			args["translate"] = []float64{number(-0.3, 0.3, "tx"), number(-0.3, 0.3, "ty")}
			corners := make([]float64, 8)
			for i := range corners {
				corners[i] = number(-0.15, 0.15, fmt.Sprint("corner", i))
			}
			args["corners"] = corners
		} else {
			a, b := number(0, 0.5, "x"), number(0, 0.5, "y")
			args["crop_anchor"], args["crop_shape"] = []float64{a, b}, []float64{number(0.3, 1-a, "w"), number(0.3, 1-b, "h")}
		}
		r, err := optest.New(spatialCase(in, args))
		if err == nil {
			err = r.Run()
		}
		if err != nil || r.Result.Errors[0] != nil {
			t.Fatal(err, r.Result.Errors)
		}
		mask, boxes, points := r.Result.Outputs[1][0], r.Result.Outputs[2][0], r.Result.Outputs[3][0]
		oh, ow := mask.Shape[0], mask.Shape[1]
		low, high := [2]int{ow, oh}, [2]int{}
		for y := range oh {
			for x := range ow {
				if v, _ := op.Number(mask, y*ow+x); v == 0x01563412 {
					low, high = [2]int{min(low[0], x), min(low[1], y)}, [2]int{max(high[0], x+1), max(high[1], y+1)}
				} else if v != 0 {
					t.Fatalf("the mask has a new value, %v", v)
				}
			}
		}
		value := func(v tensor.Tensor, i int) float64 { f, _ := op.Number(v, i); return f }
		for i, limit := range [2]int{ow, oh} {
			a := math.Max(value(boxes, i), 0)
			b := math.Min(value(boxes, 2+i), float64(limit))
			if b-a < 3 || low[0] > high[0] {
				return // hardly anything is left of it
			}
			first, last := float64(low[i]), float64(high[i])
			short := math.Abs(a-first) > 1 || math.Abs(b-last) > 1
			// A turned corner is a tip, which may hold no centre of a pixel.
			if first < a-1 || last > b+1 || short && !turned {
				t.Fatalf("axis %d: the box is %v to %v, the mask %d to %d", i, a, b, low[i], high[i])
			}
		}
		x, y, seen := value(points, 0), value(points, 1), value(points, 2) != 0
		if in := x >= 0 && y >= 0 && x <= float64(ow) && y <= float64(oh); in != seen {
			t.Fatalf("point %v, %v of %d x %d has visibility %v", x, y, oh, ow, seen)
		}
		if seen && x < float64(ow) && y < float64(oh) && value(mask, int(y)*ow+int(x)) == 0 {
			t.Fatalf("the mask has nothing under the point %v, %v", x, y)
		}
	})
}

// TestSpatialBlocks: a result does not depend on the samples beside it. It depends on the position.
func TestSpatialBlocks(t *testing.T) {
	one := scene(30, 40, [4]int{5, 5, 20, 20}, 10, 10, 2)
	in := make([][]tensor.Tensor, len(one))
	for i := range one {
		for range 5 {
			in[i] = append(in[i], one[i][0])
		}
	}
	c := spatialCase(in, op.Args{"random_crop": true, "size": []int{16, 16}})
	whole := optest.MustRun(t, c)
	c.Block = 2
	parts := optest.MustRun(t, c)
	different := false
	for i := range whole.Outputs {
		for s := range whole.Outputs[i] {
			if !bytes.Equal(whole.Outputs[i][s].Data, parts.Outputs[i][s].Data) {
				t.Errorf("%s of sample %d differ in blocks of 2", targets[i], s)
			}
			different = different || !bytes.Equal(whole.Outputs[i][s].Data, whole.Outputs[i][0].Data)
		}
	}
	if !different {
		t.Error("all samples have the same window")
	}
}

func TestSpatialRefuses(t *testing.T) {
	nan := float32(math.NaN())
	box := func(v ...float32) func([][]tensor.Tensor) {
		return func(in [][]tensor.Tensor) { in[2][0] = tensor.FromSlice(v, len(v)/4, 4) }
	}
	point := func(v ...float32) func([][]tensor.Tensor) {
		return func(in [][]tensor.Tensor) { in[3][0] = tensor.FromSlice(v, len(v)/3, 3) }
	}
	none := func([][]tensor.Tensor) {}
	for name, c := range map[string]struct {
		change func(in [][]tensor.Tensor)
		args   op.Args
		want   string
	}{
		"inverted box":  {box(5, 5, 2, 7), nil, "input 2 (bboxes): row 0: invalid: want a box with area"},
		"empty box":     {box(1, 1, 2, 2, 5, 5, 5, 7), nil, "row 1"},
		"box outside":   {box(5, 5, 200, 7), nil, "use bbox_prune before"},
		"box of NaN":    {box(nan, 5, 6, 7), nil, "got [NaN 5 6 7]"},
		"point outside": {point(1, 1, 1, 50, 5, 1), nil, "input 3 (keypoints): row 1: invalid: want a point inside"},
		"point of NaN":  {point(nan, 1, 1), nil, "give points outside the visibility 0"},
		"another mask": {func(in [][]tensor.Tensor) { in[1] = scene(9, 8, [4]int{})[1] }, nil,
			"input 1 (mask): mismatch: want the height and width of the image, 9 and 7"},
		"no pixels": {func(in [][]tensor.Tensor) { in[0] = scene(0, 7, [4]int{})[0] }, nil,
			"an image of layout HWC with pixels"},
		"image not first": {none, op.Args{"targets": []string{"mask", "image", "bboxes", "keypoints"}}, "argument targets"},
		"unknown target": {none, op.Args{"targets": []string{"image", "mask", "boxes", "keypoints"}},
			"did you mean \"bboxes\"?"},
		"too few targets": {none, op.Args{"targets": []string{"image"}}, "want 4 names"},
		"crossed corners": {none, op.Args{"corners": []float64{1, 0, -1, 0, 0, 0, 0, 0}},
			"8 numbers that make a convex shape"},
		"no scale":     {none, op.Args{"scale": 0.0}, "argument scale: invalid: want factors above 0"},
		"angle of NaN": {none, op.Args{"angle": math.NaN()}, "a transform that has an inverse"},
		"half a crop":  {none, op.Args{"crop_anchor": []float64{0, 0}}, "give both"},
		"two crops": {none, op.Args{"crop_anchor": []float64{0, 0}, "crop_shape": []float64{1, 1}, "random_crop": true},
			"leave one out"},
		"crop outside": {none, op.Args{"crop_anchor": []float64{0.5, 0}, "crop_shape": []float64{0.7, 1}},
			"a window inside the image"},
		"size of 0": {none, op.Args{"size": []int{0, 5}}, "a height and a width above 0"},
	} {
		t.Run(name, func(t *testing.T) {
			in := scene(9, 7, [4]int{1, 2, 4, 7}, 3, 4, 1)
			c.change(in)
			r, err := optest.New(spatialCase(in, c.args))
			if err == nil {
				err = r.Run()
			}
			if err == nil {
				err = r.Result.Errors[0]
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestSpatialEmpty: no boxes and no keypoints are fine, and points that are not labelled stay.
func TestSpatialEmpty(t *testing.T) {
	in := scene(9, 7, [4]int{1, 2, 4, 7}, 99, -5, 0)
	in[2][0] = tensor.New(tensor.Float32, 0, 4)
	r := optest.MustRun(t, spatialCase(in, op.Args{"horizontal": 1}))
	if r.Outputs[2][0].Shape.Len() != 0 || !bytes.Equal(r.Outputs[3][0].Data, in[3][0].Data) {
		t.Errorf("got %s and %s", r.Outputs[2][0], r.Outputs[3][0])
	}
}
