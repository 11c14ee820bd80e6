package window_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// config resolves arguments of an operator that takes params and inputs.
func config(t *testing.T, params []op.Parameter, inputs int, args op.Args) *op.Config {
	t.Helper()
	_, set, err := op.Arguments(args)
	if err != nil {
		t.Fatal(err)
	}
	s := &op.Schema{Name: "w", Params: params, Outputs: []op.Port{{Name: "out"}}}
	c, _, err := op.Resolve(s, "node", inputs, set)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// block has one sample of each input.
func block(inputs ...tensor.Tensor) *op.Block {
	b := &op.Block{}
	x := b.Binding()
	x.Positions, x.Slots, x.Keyer = []int64{0}, []int32{0}, rng.NewKeyer(1)
	for _, in := range inputs {
		x.In = append(x.In, []tensor.Tensor{in})
	}
	return b
}

func TestCrop(t *testing.T) {
	for _, c := range []struct {
		args   op.Args
		policy window.Policy
		want   window.Box // of an image of 20 x 30
		kind   errs.Kind
	}{
		{args: op.Args{}, want: window.Box{D: 1, H: 20, W: 30}},
		{args: op.Args{"crop": []int{10, 0}}, want: window.Box{Y: 5, D: 1, H: 10, W: 30}},
		{args: op.Args{"crop": []int{1, 3, 4}, "crop_pos_x": 1, "crop_pos_y": 0}, want: window.Box{X: 26, D: 1, H: 3, W: 4}},
		{args: op.Args{"crop_h": 15, "crop_w": 29, "crop_pos_y": 0.5, "crop_pos_x": 0.5}, want: window.Box{Y: 3, X: 1, D: 1, H: 15, W: 29}},
		{args: op.Args{"crop_h": 10, "crop_w": 29, "crop_pos_y": 0.95}, want: window.Box{Y: 9, X: 1, D: 1, H: 10, W: 29}}, // the float32 0.95 times 10 is below 9.5
		{args: op.Args{"crop_h": 15, "crop_w": 29, "rounding": "truncate"}, want: window.Box{Y: 2, X: 0, D: 1, H: 15, W: 29}},
		{args: op.Args{"crop": []float64{10.9, 0.7}}, want: window.Box{Y: 5, D: 1, H: 10, W: 30}}, // sizes are truncated, and 0 is the whole axis
		{args: op.Args{"crop": []int{40, 10}}, kind: errs.Invalid},
		{args: op.Args{"crop": []int{40, 10}}, policy: window.Trim, want: window.Box{X: 10, D: 1, H: 20, W: 10}},
		{args: op.Args{"crop": []int{40, 10}}, policy: window.Pad, want: window.Box{Y: -10, X: 10, D: 1, H: 40, W: 10}},
		{args: op.Args{"crop": []int{2, 10, 10}}, kind: errs.Invalid},
	} {
		w, err := window.NewCrop(config(t, window.CropParams(), 1, c.args), c.policy)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.At(block(), 0, 1, 20, 30)
		if got != c.want || (c.kind != 0) != (err != nil) || err != nil && !errors.Is(err, c.kind) {
			t.Errorf("%v: got %+v, %v, want %+v", c.args, got, err, c.want)
		}
		d, h, l := w.Infer(1, 20, 30)
		if box := (window.Box{D: d, H: h, W: l}); err == nil && c.policy != window.Trim && (box.H != got.H || box.W != got.W || box.D != got.D) {
			t.Errorf("%v: inferred %+v, got %+v", c.args, box, got)
		}
	}
	for _, args := range []op.Args{
		{"crop_h": 3}, {"crop_d": 3}, {"crop": []int{1, 2}, "crop_h": 3, "crop_w": 3}, {"crop": 7}, {"rounding": "up"},
	} {
		if _, err := window.NewCrop(config(t, window.CropParams(), 1, args), window.Error); !errors.Is(err, errs.Invalid) {
			t.Errorf("%v: got %v", args, err)
		}
	}
}

func TestSlice(t *testing.T) {
	floats := func(v ...float32) tensor.Tensor { return tensor.FromSlice(v) }
	ints := func(v ...int32) tensor.Tensor { return tensor.FromSlice(v) }
	data := tensor.New(tensor.Uint8, 20, 30, 3)
	for _, c := range []struct {
		args   op.Args
		inputs []tensor.Tensor
		want   []window.Span // of rows and columns
		kind   errs.Kind
	}{
		{args: op.Args{"start": []int{3, 5}}, want: []window.Span{{5, 15}, {3, 27}}},
		{args: op.Args{"start": []int{3, 5}, "shape": []int{7, 9}, "axes": []int{0, 1}}, want: []window.Span{{3, 7}, {5, 9}}},
		{args: op.Args{"rel_start": []float64{0.1, 0.2}, "rel_shape": []float64{0.5, 0.6}}, want: []window.Span{{4, 12}, {3, 15}}},
		{args: op.Args{"rel_start": []float64{0.5, 0}, "end": []int{20, -3}, "axis_names": "WH"}, kind: errs.Invalid},
		{args: op.Args{"start": 2, "rel_end": 0.5, "axis_names": "H"}, want: []window.Span{{2, 8}, {0, 30}}},
		{args: op.Args{"start": 2, "end": 25, "axes": -2}, want: []window.Span{{0, 20}, {2, 23}}},
		{args: op.Args{"start": -2, "end": 25, "axes": 0}, want: []window.Span{{-2, 27}, {0, 30}}},
		{inputs: []tensor.Tensor{floats(.1, .2), floats(.5, .6)}, want: []window.Span{{4, 12}, {3, 15}}},
		{inputs: []tensor.Tensor{ints(1, 2), ints(5, 6)}, want: []window.Span{{2, 6}, {1, 5}}},
		{args: op.Args{"normalized_anchor": false}, inputs: []tensor.Tensor{floats(1.5, 2), floats(.5, .5)}, want: []window.Span{{2, 10}, {2, 15}}},
		{inputs: []tensor.Tensor{ints(1), ints(5, 6)}, kind: errs.Mismatch},
		{args: op.Args{"start": 1, "axes": 3}, kind: errs.Invalid},
		{args: op.Args{"start": 1, "axis_names": "D"}, kind: errs.Invalid},
		{args: op.Args{"start": []int{1, 2, 3}}, kind: errs.Mismatch},
	} {
		w, err := window.NewSlice(config(t, window.SliceParams(), 1+len(c.inputs), c.args))
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.At(block(append([]tensor.Tensor{data}, c.inputs...)...), 0, data.Shape, "HWC", nil)
		if c.kind != 0 {
			if !errors.Is(err, c.kind) {
				t.Errorf("%v: got %v", c.args, err)
			}
			continue
		}
		if d := cmp.Diff(append(c.want, window.Span{Size: 3}), got); err != nil || d != "" {
			t.Errorf("%v: %v\n%s", c.args, err, d)
		}
	}
	for _, args := range []op.Args{
		{}, {"start": 1, "rel_start": 0.1}, {"end": 1, "shape": 1}, {"rel_end": 1, "end": 2},
	} {
		if _, err := window.NewSlice(config(t, window.SliceParams(), 1, args)); !errors.Is(err, errs.Invalid) {
			t.Errorf("%v: got %v", args, err)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		policy window.Policy
		want   []window.Span
	}{{window.Trim, []window.Span{{0, 4}, {3, 2}}}, {window.Pad, []window.Span{{-1, 5}, {3, 9}}}, {window.Error, nil}} {
		spans := []window.Span{{-1, 5}, {3, 9}}
		err := c.policy.Fit(spans, []int{6, 5})
		if c.want == nil {
			if !errors.Is(err, errs.Invalid) {
				t.Errorf("got %v", err)
			}
		} else if d := cmp.Diff(c.want, spans); err != nil || d != "" {
			t.Errorf("policy %d: %v\n%s", c.policy, err, d)
		}
	}
}
