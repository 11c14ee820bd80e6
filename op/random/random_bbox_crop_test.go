package random

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
	"github.com/bivouac-ml/bivouac/tensor"
)

// The file has results of DALI 2.4.0 for arguments that no recorded case has, with seed 7 and three
// samples: outputs by sample, or the text of an error.
func TestBoxCropAsked(t *testing.T) {
	file, err := os.ReadFile("testdata/random_bbox_crop.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range bytes.Split(bytes.TrimSpace(file), []byte("\n")) {
		var c struct {
			Args   map[string]any
			Boxes  [][]float64
			Labels any
			Want   any
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		r, err := runBoxCrop(t, c.Args, c.Boxes, c.Labels)
		text, fails := c.Want.(string)
		if (err != nil) != fails {
			t.Errorf("%s\n%v, want %s", line, err, text)
			continue
		}
		if err == nil {
			for i, output := range c.Want.([]any) {
				for s, want := range output.([]any) {
					if got := plain(t, r[i][s]); !near(got, flat(want)) {
						t.Errorf("%v: output %d sample %d: %v, want %v", c.Args, i, s, got, want)
					}
				}
			}
		}
	}
}

func runBoxCrop(t *testing.T, args map[string]any, boxes [][]float64, labels any) ([][]tensor.Tensor, error) {
	t.Helper()
	width := 4
	if len(boxes) > 0 {
		width = len(boxes[0])
	}
	rows, err := tensor.Cast(tensor.Float32, tensor.FromSlice(flat(boxes), len(boxes), width))
	if err != nil {
		t.Fatal(err)
	}
	c := optest.Case{Op: "random_bbox_crop", Args: op.Args{}, Inputs: [][]tensor.Tensor{{rows, rows, rows}}, Keyer: dali{7}}
	if list, ok := labels.([]any); ok {
		values, err := tensor.Cast(tensor.Int32, tensor.FromSlice(flat(list)))
		if err != nil {
			t.Fatal(err)
		}
		if values.Shape = (tensor.Shape{len(list)}); len(values.Data) > 4*len(list) {
			values.Shape = append(values.Shape, len(values.Data)/4/len(list))
		}
		c.Inputs = append(c.Inputs, []tensor.Tensor{values, values, values})
	}
	for name, v := range args {
		switch x := v.(type) {
		case float64:
			if x == math.Trunc(x) && !strings.HasSuffix(name, "threshold") {
				v = int(x)
			}
		case []any:
			v = flat(x)
			if strings.HasSuffix(name, "_shape") {
				var sizes []int
				for _, n := range flat(x) {
					sizes = append(sizes, int(n))
				}
				v = sizes
			}
		}
		c.Args.(op.Args)[name] = v
	}
	r, err := optest.Run(c)
	for _, e := range r.Errors {
		err = e
	}
	return r.Outputs, err
}

// flat returns all numbers of lists of lists.
func flat(v any) []float64 {
	switch v := v.(type) {
	case float64:
		return []float64{v}
	case []any:
		out := []float64{}
		for _, x := range v {
			out = append(out, flat(x)...)
		}
		return out
	case [][]float64:
		out := []float64{}
		for _, row := range v {
			out = append(out, row...)
		}
		return out
	}
	return nil
}

func plain(t *testing.T, x tensor.Tensor) []float64 {
	t.Helper()
	c, err := tensor.Cast(tensor.Float64, x)
	if err != nil {
		t.Fatal(err)
	}
	v, err := tensor.Of[float64](c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func near(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !(math.Abs(a[i]-b[i]) <= 1e-6+1e-5*math.Abs(b[i])) {
			return false
		}
	}
	return true
}

func TestBoxCropRefused(t *testing.T) {
	boxes := [][]float64{{0.1, 0.2, 0.5, 0.6}}
	for _, c := range []struct {
		args   map[string]any
		boxes  [][]float64
		labels any
	}{
		{map[string]any{"crop_shape": []any{500.0, 60.0}, "input_shape": []any{100.0, 120.0}}, boxes, nil},
		{map[string]any{"crop_shape": []any{50.0}, "input_shape": []any{100.0, 120.0}}, boxes, nil},
		{map[string]any{"bbox_prune_threshold": 2.0}, boxes, nil},
		{map[string]any{"shape_layout": "HX", "input_shape": []any{100.0, 120.0}}, boxes, nil},
		{nil, boxes, []any{1.0, 2.0}},
		{nil, [][]float64{{0.1, 0.2, 0.5, 1.6}}, nil},
		{nil, [][]float64{{0.1, 0.2, math.NaN(), 0.6}}, nil},
		// This search never ends in DALI: no window of this size can reach the threshold.
		{map[string]any{"allow_no_crop": false, "thresholds": []any{0.9}, "scaling": []any{0.1, 0.2}}, boxes, nil},
	} {
		if _, err := runBoxCrop(t, c.args, c.boxes, c.labels); !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Mismatch) {
			t.Errorf("%v of %v: %v", c.args, c.boxes, err)
		}
	}
	// Ratios of which one value alone is allowed are made; windows whose ratio rounding moved are
	// drawn again.
	r, err := runBoxCrop(t, map[string]any{"allow_no_crop": false, "aspect_ratio": []any{1.5, 1.5}, "scaling": []any{0.3, 0.9}}, boxes, nil)
	if err != nil {
		t.Fatal(err)
	}
	for s := range r[1] {
		if v := plain(t, r[1][s]); math.Abs(v[0]/v[1]-1.5) > 1e-5 {
			t.Errorf("sample %d: extent %v", s, v)
		}
	}
}

func TestBoxCropLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := boxSearch{
			thresholds: []float32{0, 0.1}, noCrop: rapid.Bool().Draw(t, "no crop"), attempts: rapid.IntRange(1, 4).Draw(t, "attempts"),
			total: 20, byArea: rapid.Bool().Draw(t, "by area"), allBoxes: rapid.Bool().Draw(t, "all boxes"), prune: -1,
			scale: span{0.2, 1}, ratios: []span{{0.5, 2}},
		}
		axes := rapid.IntRange(2, 3).Draw(t, "axes")
		boxes := make([]box, rapid.IntRange(0, 4).Draw(t, "boxes"))
		side := rapid.Float32Range(0, 1)
		for i := range boxes {
			for d := range axes {
				a, b := side.Draw(t, "a"), side.Draw(t, "b")
				boxes[i].lo[d], boxes[i].hi[d] = min(a, b), max(a, b)
			}
		}
		p := rng.NewPhilox(rapid.Uint64().Draw(t, "seed"), 0, 0)
		var w window
		if err := q.find(libstdcxx.Words{Philox: &p}, boxes, axes, &frame{}, &w); err != nil {
			t.Fatal(err)
		}
		if len(w.boxes) != len(w.kept) {
			t.Fatalf("%d boxes, %d numbers", len(w.boxes), len(w.kept))
		}
		for d := range axes {
			if w.crop.lo[d] < 0 || w.crop.hi[d] > 1.00001 || w.crop.lo[d] > w.crop.hi[d] {
				t.Fatalf("window %v", w.crop)
			}
			for i := range w.boxes {
				if b := w.boxes[i]; b.lo[d] < 0 || b.hi[d] > 1 || b.lo[d] > b.hi[d] {
					t.Fatalf("box %v", b)
				}
			}
		}
	})
}
