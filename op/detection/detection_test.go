package detection

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func boxes(rows ...[4]float32) tensor.Tensor {
	t := tensor.New(tensor.Float32, len(rows), 4)
	v, _ := tensor.Of[float32](t)
	for i, r := range rows {
		copy(v[4*i:], r[:])
	}
	return t
}

func labels(v ...int32) tensor.Tensor {
	t := tensor.FromSlice(v, len(v))
	t.Shape = tensor.Shape{len(v)}
	return t
}

func picture(h, w int) tensor.Tensor {
	t := tensor.New(tensor.Uint8, h, w, 3)
	for i := range t.Data {
		t.Data[i] = byte(i * 7)
	}
	t.Layout = "HWC"
	return t
}

var one = boxes([4]float32{0.1, 0.2, 0.5, 0.6}, [4]float32{0.3, 0.3, 0.9, 0.8})

// cases has each operator with arguments that work.
func cases(n int) []optest.Case {
	many := func(t tensor.Tensor) []tensor.Tensor {
		all := make([]tensor.Tensor, n)
		for i := range all {
			all[i] = t
		}
		return all
	}
	b, l := many(one), many(labels(1, 2))
	turn := op.Args{"angle": 30.0, "input_shape": []int{40, 60}, "keep_size": true, "mode": "halfway"}
	anchors := op.Args{"anchors": []float64{0, 0, 0.5, 0.5, 0.2, 0.2, 0.9, 0.8}, "offset": true}
	return []optest.Case{
		{Op: "bb_flip", Inputs: [][]tensor.Tensor{b}, Args: op.Args{"ltrb": true, "vertical": 1}},
		{Op: "bbox_paste", Inputs: [][]tensor.Tensor{b}, Args: op.Args{"ratio": 2.0}},
		{Op: "bbox_rotate", Inputs: [][]tensor.Tensor{b, l}, Args: turn},
		{Op: "box_encoder", Inputs: [][]tensor.Tensor{b, l}, Args: anchors},
		{Op: "ssd_random_crop", Inputs: [][]tensor.Tensor{many(picture(20, 30)), b, l}, Args: op.Args{"num_attempts": 20}},
	}
}

func TestNoAllocations(t *testing.T) { optest.CheckAllocations(t, cases(9)) }

// A sample does not depend on the block that it is in, nor on the samples before it.
func TestBlocksChangeNothing(t *testing.T) {
	for i := range cases(1) {
		whole, single := cases(257)[i], cases(257)[i]
		single.Block = 1
		a, b := optest.MustRun(t, whole), optest.MustRun(t, single)
		for o := range a.Outputs {
			for s := range a.Outputs[o] {
				x, y := a.Outputs[o][s], b.Outputs[o][s]
				if !x.Shape.Equal(y.Shape) || !bytes.Equal(x.Data, y.Data) {
					t.Fatalf("%s: output %d of sample %d is %v, alone %v", whole.Op, o, s, x, y)
				}
			}
		}
		late := cases(2)[i]
		late.First = 255
		c := optest.MustRun(t, late)
		for o := range a.Outputs {
			if x, y := a.Outputs[o][255], c.Outputs[o][0]; !bytes.Equal(x.Data, y.Data) {
				t.Fatalf("%s: output %d at position 255 is %v, after a resume %v", whole.Op, o, x, y)
			}
		}
	}
}

// Boxes that are mirrored twice are where they were.
func TestFlipTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args := op.Args{"ltrb": rapid.Bool().Draw(t, "ltrb"), "horizontal": rapid.IntRange(0, 1).Draw(t, "h"),
			"vertical": rapid.IntRange(0, 1).Draw(t, "v")}
		x := rapid.Float32Range(0, 1)
		in := boxes([4]float32{x.Draw(t, "0"), x.Draw(t, "1"), x.Draw(t, "2"), x.Draw(t, "3")})
		out := in
		for range 2 {
			r, err := optest.Run(optest.Case{Op: "bb_flip", Args: args, Inputs: optest.Inputs(out)})
			if err != nil || r.Errors[0] != nil {
				t.Fatal(err, r.Errors)
			}
			out = r.Outputs[0][0]
		}
		a, _ := tensor.Of[float32](in)
		b, _ := tensor.Of[float32](out)
		for i := range a {
			if math.Abs(float64(a[i]-b[i])) > 1e-6 {
				t.Fatalf("%v became %v", a, b)
			}
		}
	})
}

// A quarter turn of a square image moves a box by its corners.
func TestQuarterTurn(t *testing.T) {
	r := optest.MustRun(t, optest.Case{Op: "bbox_rotate", Inputs: optest.Inputs(boxes([4]float32{0.1, 0.2, 0.4, 0.9})),
		Args: op.Args{"angle": 90.0, "input_shape": []int{50, 50}}})
	got, _ := tensor.Of[float32](r.Outputs[0][0])
	for i, want := range []float32{0.2, 0.6, 0.9, 0.9} {
		if math.Abs(float64(got[i]-want)) > 1e-5 {
			t.Fatalf("%v, want 0.2 0.6 0.9 0.9", got)
		}
	}
}

func TestRefused(t *testing.T) {
	pair := labels(1, 2)
	row := boxes([4]float32{0, 0, 1, 1})
	flat := tensor.New(tensor.Float32, 3, 3)
	doubles := tensor.New(tensor.Float64, 2, 4)
	turn := func(more op.Args) op.Args {
		a := op.Args{"angle": 30.0, "input_shape": []int{40, 60}}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	rows := []optest.Row{
		{Op: "bb_flip", Inputs: []tensor.Tensor{flat}},
		{Op: "bb_flip", Inputs: []tensor.Tensor{doubles}},
		{Op: "bbox_paste", Inputs: []tensor.Tensor{row}},
		{Op: "bbox_paste", Inputs: []tensor.Tensor{flat}, Args: op.Args{"ratio": 2.0}},
		{Op: "bbox_paste", Inputs: []tensor.Tensor{row}, Args: op.Args{"ratio": 0.0}},
		{Op: "bbox_paste", Inputs: []tensor.Tensor{row}, Args: op.Args{"ratio": math.NaN()}},
		{Op: "bbox_rotate", Inputs: []tensor.Tensor{flat}, Args: turn(nil)},
		{Op: "bbox_rotate", Inputs: []tensor.Tensor{row}, Args: turn(op.Args{"angle": math.Inf(1)})},
		{Op: "bbox_rotate", Inputs: []tensor.Tensor{row}, Args: turn(op.Args{"input_shape": []int{-1, 5}})},
		{Op: "bbox_rotate", Inputs: []tensor.Tensor{row}, Args: turn(op.Args{"size": []float64{-1, 5}})},
		{Op: "bbox_rotate", Inputs: []tensor.Tensor{row, pair}, Args: turn(nil)},
		{Op: "box_encoder", Inputs: []tensor.Tensor{row, pair}, Args: op.Args{"anchors": []float64{0, 0, 1, 1}}},
		{Op: "box_encoder", Inputs: []tensor.Tensor{flat, pair}, Args: op.Args{"anchors": []float64{0, 0, 1, 1}}},
		{Op: "box_encoder", Inputs: []tensor.Tensor{row, labels(1)}, Args: op.Args{"anchors": []float64{}}},
		{Op: "ssd_random_crop", Inputs: []tensor.Tensor{row, row, labels(1)}},
		{Op: "ssd_random_crop", Inputs: []tensor.Tensor{picture(2, 2), row, pair}},
		{Op: "ssd_random_crop", Inputs: []tensor.Tensor{picture(2, 2), row, labels(1)}, Args: op.Args{"num_attempts": 0}},
	}
	for i := range rows {
		rows[i].Fails = true
	}
	optest.CheckRows(t, rows, nil)
}

// Nothing that arrives makes an operator panic.
func TestNoPanics(t *testing.T) {
	anything := rapid.OneOf(rapid.Float32(), rapid.Float32Range(-1, 2),
		rapid.SampledFrom([]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, 1}))
	rapid.Check(t, func(t *rapid.T) {
		c := cases(1)[rapid.IntRange(0, 4).Draw(t, "operator")]
		n := rapid.IntRange(0, 4).Draw(t, "boxes")
		rows := tensor.New(tensor.Float32, n, 4)
		v, _ := tensor.Of[float32](rows)
		for i := range v {
			v[i] = anything.Draw(t, "coordinate")
		}
		classes := tensor.New(tensor.Int32, n)
		if len(c.Inputs) < 3 {
			c.Inputs = [][]tensor.Tensor{{rows}, {classes}}[:len(c.Inputs)]
		} else {
			c.Inputs = [][]tensor.Tensor{{picture(rapid.IntRange(0, 3).Draw(t, "h"),
				rapid.IntRange(0, 3).Draw(t, "w"))}, {rows}, {classes}}
		}
		c.Seed = rapid.Uint64().Draw(t, "seed")
		r, err := optest.Run(c)
		for _, e := range r.Errors {
			err = e
		}
		if err != nil && !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Mismatch) {
			t.Fatal(err)
		}
	})
}

// The blocks of anchors change nothing: each box and each anchor are compared here.
func TestEncoderLaw(t *testing.T) {
	side := rapid.OneOf(rapid.Float32Range(0, 1), rapid.SampledFrom([]float32{0, 0.25, 0.5, 1, -1, 3,
		float32(math.NaN()), float32(math.Inf(1))}))
	rapid.Check(t, func(t *rapid.T) {
		anchors := make([]float64, 4*rapid.IntRange(1, 100).Draw(t, "anchors"))
		for i := range anchors {
			anchors[i] = float64(side.Draw(t, "anchor"))
		}
		n := rapid.IntRange(1, 4).Draw(t, "boxes")
		in, numbers := tensor.New(tensor.Float32, n, 4), make([]int32, n)
		v, _ := tensor.Of[float32](in)
		for i := range v {
			v[i] = side.Draw(t, "box")
		}
		for i := range numbers {
			numbers[i] = int32(i + 1)
		}
		criteria := rapid.Float64Range(0, 1).Draw(t, "criteria")
		r, err := optest.Run(optest.Case{Op: "box_encoder", Inputs: optest.Inputs(in, labels(numbers...)),
			Args: op.Args{"anchors": anchors, "criteria": criteria}})
		if err != nil || r.Errors[0] != nil {
			t.Fatal(err, r.Errors)
		}
		got, _ := tensor.Of[int32](r.Outputs[1][0])
		if want := matches(v, anchors, float32(criteria)); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// matches returns the labels of anchors by the definition of box_encoder.
func matches(boxes []float32, anchors []float64, criteria float32) []int32 {
	n := len(anchors) / 4
	best, label := make([]float32, n), make([]int32, n)
	for i := 0; i < len(boxes); i += 4 {
		row, top := make([]float32, n), 0
		for a := range row {
			x, y := boxes[i:i+4], [4]float32{}
			for d := range y {
				y[d] = float32(anchors[4*a+d])
			}
			if y[0] < x[2] && x[0] < y[2] && y[1] < x[3] && x[1] < y[3] {
				w, h := min(x[2], y[2])-max(x[0], y[0]), min(x[3], y[3])-max(x[1], y[1])
				row[a] = w * h / ((x[2]-x[0])*(x[3]-x[1]) + (y[2]-y[0])*(y[3]-y[1]) - w*h)
			}
			if row[a] >= row[top] {
				top = a
			}
		}
		row[top] = 2
		for a, v := range row {
			if i == 0 || v >= best[a] {
				best[a], label[a] = v, int32(i/4+1)
			}
		}
	}
	for a := range label {
		if !(best[a] > criteria) {
			label[a] = 0
		}
	}
	return label
}
