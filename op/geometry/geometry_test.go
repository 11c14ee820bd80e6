package geometry

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// row is a call of an operator with what DALI 2.4.0 gave, or with an error.
type row struct {
	op     string
	args   op.Args
	inputs []tensor.Tensor // one sample each
	want   tensor.Tensor
	fails  bool
}

func of[T tensor.Element](layout string, shape []int, values ...T) tensor.Tensor {
	t := tensor.FromSlice(values, shape...)
	t.Layout, t.Shape = layout, append(tensor.Shape{}, shape...)
	return t
}

func inputs(t ...tensor.Tensor) []tensor.Tensor { return t }

func sample(t tensor.Tensor) optest.Samples { return optest.Samples{t} }

func floats(v ...float32) tensor.Tensor { return tensor.FromSlice(v) }

// matrix is a transform of n dimensions.
func matrix(n int, v ...float32) tensor.Tensor { return of(layoutMatrix, []int{n, n + 1}, v...) }

// same compares within the tolerance that the vectors have for transforms.
func same(got, want tensor.Tensor) bool {
	if got.DType != want.DType || got.Layout != want.Layout || !got.Shape.Equal(want.Shape) {
		return false
	}
	largest := 0.0
	for i := range want.Len() {
		if v, _ := want.Float64(i); math.Abs(v) > largest && !math.IsInf(v, 0) {
			largest = math.Abs(v)
		}
	}
	for i := range got.Len() {
		a, _ := got.Float64(i)
		b, _ := want.Float64(i)
		if a != b && !(a != a && b != b) && !(got.DType == tensor.Float32 && math.Abs(a-b) <= 1e-6+2e-6*largest) {
			return false
		}
	}
	return true
}

func checkAll(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		for _, static := range []bool{true, false} {
			c := optest.Case{Op: r.op, Args: r.args, Static: static, Count: 1}
			for _, in := range r.inputs {
				c.Inputs = append(c.Inputs, []tensor.Tensor{in})
			}
			res, err := optest.Run(c)
			if err == nil {
				err = res.Errors[0]
			}
			switch {
			case r.fails && !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Mismatch) && !errors.Is(err, errs.Unsupported):
				t.Errorf("%s %v of %v: %v, want a refusal", r.op, r.args, r.inputs, err)
			case !r.fails && err != nil:
				t.Errorf("%s %v of %v: %v", r.op, r.args, r.inputs, err)
			case !r.fails && !same(res.Outputs[0][0], r.want):
				got, _ := tensor.Of[float32](res.Outputs[0][0])
				t.Errorf("%s %v of %v: %v %q %v, want %v", r.op, r.args, r.inputs, res.Outputs[0][0], res.Outputs[0][0].Layout, got, r.want)
			}
		}
	}
}

func TestTransforms(t *testing.T) {
	m := of("", []int{2, 3}, float32(1), 2, 3, 4, 5, 6)
	list := func(v ...float64) []float64 { return v }
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	checkAll(t, []row{
		{op: "transforms.translation", args: op.Args{"offset": 2.0}, want: matrix(1, 1, 2)},
		{op: "transforms.translation", args: op.Args{"offset": list(3, 4)}, want: matrix(2, 1, 0, 3, 0, 1, 4)},
		{op: "transforms.translation", args: op.Args{"offset": list(1, 1, 1, 1, 1, 1, 1)}, fails: true},
		{op: "transforms.translation", args: op.Args{"offset": list()}, fails: true},
		{op: "transforms.translation", fails: true},
		{op: "transforms.translation", inputs: inputs(m), args: op.Args{"offset": list(1, 2)}, want: matrix(2, 1, 2, 4, 4, 5, 8)},
		{op: "transforms.translation", inputs: inputs(m), args: op.Args{"offset": list(1, 2), "reverse_order": true}, want: matrix(2, 1, 2, 8, 4, 5, 20)},
		{op: "transforms.translation", inputs: inputs(m), args: op.Args{"offset": list(1)}, fails: true},
		{op: "transforms.translation", inputs: inputs(of("", []int{2, 2}, float32(1), 2, 3, 4)), args: op.Args{"offset": list(1, 2)}, fails: true},
		{op: "transforms.translation", inputs: inputs(floats(1, 2, 3, 4, 5, 6)), args: op.Args{"offset": list(1, 2)}, fails: true},
		{op: "transforms.translation", inputs: inputs(of("", []int{1, 2}, 1.0, 2)), args: op.Args{"offset": 1.0}, fails: true},
		{op: "transforms.translation", args: op.Args{"offset": sample(floats(1, 2))}, want: matrix(2, 1, 0, 1, 0, 1, 2)},
		{op: "transforms.translation", args: op.Args{"offset": sample(tensor.New(tensor.Float32, 50))}, fails: true},

		{op: "transforms.scale", args: op.Args{"scale": 2.0}, want: matrix(1, 2, 0)},
		{op: "transforms.scale", args: op.Args{"scale": 2.0, "ndim": 2}, want: matrix(2, 2, 0, 0, 0, 2, 0)},
		{op: "transforms.scale", args: op.Args{"scale": list(2, 3), "ndim": 3}, want: matrix(2, 2, 0, 0, 0, 3, 0)},
		{op: "transforms.scale", args: op.Args{"scale": 2.0, "ndim": -1}, want: matrix(1, 2, 0)},
		{op: "transforms.scale", args: op.Args{"scale": 2.0, "ndim": 7}, fails: true},
		{op: "transforms.scale", args: op.Args{"scale": 2.0, "center": list(1, 2)}, fails: true},
		{op: "transforms.scale", args: op.Args{"scale": list(2, 3), "center": 1.0}, want: matrix(2, 2, 0, -1, 0, 3, -2)},
		{op: "transforms.scale", inputs: inputs(m), args: op.Args{"scale": 2.0, "ndim": 3}, want: matrix(2, 2, 4, 6, 8, 10, 12)},
		{op: "transforms.scale", inputs: inputs(m), args: op.Args{"scale": list(2, 3, 4)}, fails: true},

		{op: "transforms.rotation", args: op.Args{"angle": 90.0}, want: matrix(2, -4.371138828673793e-08, -1, 0, 1, -4.371138828673793e-08, 0)},
		{op: "transforms.rotation", args: op.Args{"angle": 400.0}, want: matrix(2, 0.7660444378852844, -0.6427876353263855, 0, 0.6427876353263855, 0.7660444378852844, 0)},
		{op: "transforms.rotation", args: op.Args{"angle": 30.0, "center": 1.0}, want: matrix(2, 0.8660253882408142, -0.5, 0.6339746117591858, 0.5, 0.8660253882408142, -0.366025447845459)},
		{op: "transforms.rotation", args: op.Args{"angle": 30.0, "axis": list(1, 0)}, fails: true},
		{op: "transforms.rotation", args: op.Args{"angle": 30.0, "axis": list(0, 0, 0)}, want: matrix(3, nan, nan, nan, 0, nan, nan, nan, 0, nan, nan, nan, 0)},
		{op: "transforms.rotation", args: op.Args{"angle": 30.0, "axis": list(0, 0, 2), "center": list(1, 2, 3)},
			want: matrix(3, 0.8660253882408142, -0.5, 0, 1.133974552154541, 0.5, 0.8660253882408142, 0, -0.23205089569091797, 0, 0, 1, 0)},
		{op: "transforms.rotation", args: op.Args{"angle": 77.0, "axis": list(1, 2, 3), "center": list(.1, .2, .3)},
			want: matrix(3, 0.280311644077301, -0.6705127358436584, 0.6869046092033386, 0, 0.8919553160667419, 0.44639354944229126, 0.07175245881080627, 0,
				-0.35474079847335815, 0.592575192451477, 0.7231967449188232, 0)},
		{op: "transforms.rotation", args: op.Args{"angle": 30.0, "axis": list(0, 0, 2), "center": list(1, 2)}, fails: true},
		{op: "transforms.rotation", inputs: inputs(matrix(3, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0)), args: op.Args{"angle": 30.0}, fails: true},
		{op: "transforms.rotation", args: op.Args{"angle": sample(of("", nil, float32(20)))}, want: matrix(2, 0.9396926164627075, -0.3420201241970062, 0, 0.3420201241970062, 0.9396926164627075, 0)},

		{op: "transforms.shear", fails: true},
		{op: "transforms.shear", args: op.Args{"shear": 1.0}, fails: true},
		{op: "transforms.shear", args: op.Args{"shear": list(1, 2, 3)}, fails: true},
		{op: "transforms.shear", args: op.Args{"shear": list(1, 2), "angles": list(1, 2)}, fails: true},
		{op: "transforms.shear", args: op.Args{"shear": list(1, 2, 3, 4, 5, 6), "center": list(1, 2, 3)}, want: matrix(3, 1, 1, 2, -8, 3, 1, 4, -15, 5, 6, 1, -17)},
		{op: "transforms.shear", args: op.Args{"angles": list(10, 20, 30, 40, 50, 60)}, want: matrix(3, 1, 0.17632697522640228, 0.36397022008895874, 0,
			0.5773503184318542, 1, 0.8390995860099792, 0, 1.191753625869751, 1.732050895690918, 1, 0)},
		{op: "transforms.shear", args: op.Args{"angles": list(90, 20)}, want: matrix(2, 1, -22877334, 0, 0.36397022008895874, 1, 0)},
		{op: "transforms.shear", args: op.Args{"shear": sample(of("", []int{3, 2}, float32(1), 2, 3, 4, 5, 6))}, want: matrix(3, 1, 1, 2, 0, 3, 1, 4, 0, 5, 6, 1, 0)},

		{op: "transforms.crop", want: matrix(1, 1, 0)},
		{op: "transforms.crop", args: op.Args{"from_start": list(0, 0, 0), "to_end": list(1, 2)}, fails: true},
		{op: "transforms.crop", args: op.Args{"from_start": list(1, 1), "from_end": list(1, 2)}, want: matrix(2, inf, 0, -inf, 0, 1, -1)},
		{op: "transforms.crop", args: op.Args{"from_start": list(1, 5), "from_end": list(3, 2), "to_end": list(4, 5)}, want: matrix(2, 2, 0, -2, 0, -5.0/3, 25.0/3)},
		{op: "transforms.crop", args: op.Args{"from_start": list(1, 5), "from_end": list(3, 2), "to_end": list(4, 5), "absolute": true}, want: matrix(2, 2, 0, -2, 0, 5.0/3, -10.0/3)},
		{op: "transforms.crop", args: op.Args{"from_start": list(.1, .2), "from_end": list(.7, .9), "to_start": list(3, -1), "to_end": list(10, 2.5)},
			want: matrix(2, 11.666666984558105, 0, 1.8333332538604736, 0, 5, -2)},
		{op: "transforms.crop", inputs: inputs(m), args: op.Args{"to_end": list(2)}, fails: true},
		{op: "transforms.crop", inputs: inputs(m), args: op.Args{"to_end": list(2, 3)}, want: matrix(2, 2, 4, 6, 12, 15, 18)},

		{op: "transforms.combine", inputs: inputs(m, matrix(2, 0, 1, 2, 3, 1, 4)), want: matrix(2, 4, 5, 8, 7, 11, 19)},
		{op: "transforms.combine", inputs: inputs(m, matrix(2, 0, 1, 2, 3, 1, 4), matrix(2, 2, 1, 2, 3, 5, 4)), want: matrix(2, 15, 21, 37, 47, 70, 123)},
		{op: "transforms.combine", inputs: inputs(m, matrix(2, 0, 1, 2, 3, 1, 4), matrix(2, 2, 1, 2, 3, 5, 4)), args: op.Args{"reverse_order": true}, want: matrix(2, 21, 21, 37, 57, 60, 100)},
		{op: "transforms.combine", inputs: inputs(m, matrix(1, 1, 2)), fails: true},
		{op: "transforms.combine", inputs: inputs(m, of("", []int{2, 3}, 1.0, 2, 3, 4, 5, 6)), fails: true},
		{op: "transforms.combine", inputs: inputs(of("", nil, float32(1)), m), fails: true},
	})
}

func TestCoordTransform(t *testing.T) {
	p := inputs(of("NX", []int{2, 2}, float32(1.5), 2, 3, 4))
	list := func(v ...float64) []float64 { return v }
	to := func(columns int, v ...float32) tensor.Tensor { return of("NX", []int{2, columns}, v...) }
	square := of("", []int{2, 2}, float32(1), 2, 3, 4)
	checkAll(t, []row{
		{op: "coord_transform", inputs: p, want: p[0]},
		{op: "coord_transform", inputs: p, args: op.Args{"M": list(1, 2, 3, 4)}, want: to(2, 5.5, 12.5, 11, 25)},
		{op: "coord_transform", inputs: p, args: op.Args{"M": list(1, 2)}, want: to(1, 5.5, 11)},
		{op: "coord_transform", inputs: p, args: op.Args{"M": list(1, 2, 3, 4, 5, 6)}, want: to(3, 5.5, 12.5, 19.5, 11, 25, 39)},
		{op: "coord_transform", inputs: p, args: op.Args{"M": list(1, 2, 3)}, fails: true},
		{op: "coord_transform", inputs: p, args: op.Args{"M": list()}, fails: true},
		{op: "coord_transform", inputs: p, args: op.Args{"M": 2.0, "T": list(1, 2)}, want: to(2, 4, 6, 7, 10)},
		{op: "coord_transform", inputs: p, args: op.Args{"T": 2.0}, want: to(2, 3.5, 4, 5, 6)},
		{op: "coord_transform", inputs: p, args: op.Args{"T": list(1, 2, 3)}, fails: true},
		{op: "coord_transform", inputs: p, args: op.Args{"M": list(1, 2, 3, 4, 5, 6), "T": list(1, 2)}, fails: true},
		{op: "coord_transform", inputs: p, args: op.Args{"MT": list(1, 2, 3, 4, 5, 6, 7, 8, 9)}, want: to(3, 8.5, 22, 35.5, 14, 38, 62)},
		{op: "coord_transform", inputs: p, args: op.Args{"MT": list(1, 2, 3, 4)}, fails: true},
		{op: "coord_transform", inputs: p, args: op.Args{"MT": 2.0}, want: to(2, 3, 4, 6, 8)},
		{op: "coord_transform", inputs: p, args: op.Args{"MT": list(1, 2, 3), "T": 1.0}, fails: true},
		{op: "coord_transform", inputs: p, args: op.Args{"M": sample(square)}, want: to(2, 5.5, 12.5, 11, 25)},
		{op: "coord_transform", inputs: p, args: op.Args{"M": sample(of("", []int{2, 3}, float32(1), 2, 3, 3, 4, 6))}, fails: true},
		{op: "coord_transform", inputs: p, args: op.Args{"MT": sample(of("", []int{2, 3}, float32(1), 2, 3, 3, 4, 6))}, want: to(2, 8.5, 18.5, 14, 31)},
		{op: "coord_transform", inputs: p, args: op.Args{"M": sample(tensor.New(tensor.Float32, 100, 2))}, fails: true},
		{op: "coord_transform", inputs: p, args: op.Args{"T": sample(of("", nil, float32(1)))}, want: to(2, 2.5, 3, 4, 5)},
		{op: "coord_transform", inputs: p, args: op.Args{"dtype": tensor.Uint8}, fails: true},
		{op: "coord_transform", inputs: inputs(of("", []int{1, 2}, uint8(3), 250)), args: op.Args{"dtype": tensor.Uint8, "T": list(-5, 300)}, want: of("", []int{1, 2}, uint8(0), 255)},
		{op: "coord_transform", inputs: inputs(of("", []int{1, 2}, int8(3), 2)), fails: true},
		{op: "coord_transform", inputs: inputs(floats(1, 2)), fails: true},
		{op: "coord_transform", inputs: inputs(of("", nil, float32(1))), fails: true},
		{op: "coord_transform", inputs: inputs(tensor.New(tensor.Float32, 1, 7)), fails: true},
		{op: "coord_transform", inputs: inputs(tensor.New(tensor.Float32, 0, 2)), want: of("", []int{0, 2}, []float32{}...)},
		{op: "coord_transform", inputs: inputs(of("ABC", []int{2, 1, 2}, float32(0), 1, 2, 3)), args: op.Args{"M": list(1, .5, .5, 1)}, want: of("ABC", []int{2, 1, 2}, float32(0.5), 1, 3.5, 4)},
	})
}

func TestCoordFlip(t *testing.T) {
	plane := inputs(of("", []int{1, 2}, float32(.1), .2))
	space := inputs(of("", []int{1, 3}, float32(.1), .2, .3))
	checkAll(t, []row{
		{op: "coord_flip", inputs: plane, want: of("", []int{1, 2}, float32(.9), .2)},
		{op: "coord_flip", inputs: plane, args: op.Args{"flip_z": 1}, want: of("", []int{1, 2}, float32(.9), .2)},
		{op: "coord_flip", inputs: space, args: op.Args{"flip_z": 1}, want: of("", []int{1, 3}, float32(.9), .2, .7)},
		{op: "coord_flip", inputs: plane, args: op.Args{"layout": "yx"}, want: of("", []int{1, 2}, float32(.1), .8)},
		{op: "coord_flip", inputs: space, args: op.Args{"layout": "zyx"}, want: of("", []int{1, 3}, float32(.1), .2, .7)},
		{op: "coord_flip", inputs: plane, args: op.Args{"layout": "ab"}, fails: true},
		{op: "coord_flip", inputs: plane, args: op.Args{"flip_x": sample(of("", nil, int32(1))), "center_x": sample(of("", nil, float32(7)))}, want: of("", []int{1, 2}, float32(13.9), .2)},
		{op: "coord_flip", inputs: inputs(of("", []int{1, 4}, float32(0), 0, 0, 0)), fails: true},
		{op: "coord_flip", inputs: inputs(floats(.1, .2)), fails: true},
		{op: "coord_flip", inputs: inputs(of("", nil, float32(1))), fails: true},
		{op: "coord_flip", inputs: inputs(of("", []int{1, 2}, 1.0, 2)), fails: true},
	})
}

// TestCombineLaw applies transforms one after the other, and what they combine to.
func TestCombineLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, mostDims).Draw(t, "dimensions")
		numbers := func(k int) []float32 { return rapid.SliceOfN(rapid.Float32Range(-2, 2), k, k).Draw(t, "numbers") }
		points := of("", []int{1, n}, numbers(n)...)
		step := points
		var all []tensor.Tensor
		run := func(name string, args op.Args, in ...tensor.Tensor) tensor.Tensor {
			c := optest.Case{Op: name, Args: args}
			for _, x := range in {
				c.Inputs = append(c.Inputs, []tensor.Tensor{x})
			}
			r, err := optest.Run(c)
			if err != nil || r.Errors[0] != nil {
				t.Fatal(err, r.Errors)
			}
			return r.Outputs[0][0]
		}
		for range rapid.IntRange(2, 4).Draw(t, "transforms") {
			m := matrix(n, numbers(n*(n+1))...)
			all = append(all, m)
			step = run("coord_transform", op.Args{"MT": sample(m)}, step)
		}
		whole := run("coord_transform", op.Args{"MT": sample(run("transforms.combine", nil, all...))}, points)
		for i := range n {
			a, _ := step.Float64(i)
			b, _ := whole.Float64(i)
			if math.Abs(a-b) > 1 { // products of up to 4 matrices of 6 dimensions reach 1e5
				t.Fatalf("coordinate %d: %g by steps, %g at once", i, a, b)
			}
		}
	})
}
