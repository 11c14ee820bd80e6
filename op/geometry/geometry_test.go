package geometry

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// row is a call of an operator with the result of DALI 2.4.0, or with an error.
type row = optest.Row

func inputs(t ...tensor.Tensor) []tensor.Tensor { return t }

func sample(t tensor.Tensor) optest.Samples { return optest.Samples{t} }

func floats(v ...float32) tensor.Tensor { return tensor.FromSlice(v) }

// matrix is a transform of n dimensions.
func matrix(n int, v ...float32) tensor.Tensor { return optest.Of(layoutMatrix, []int{n, n + 1}, v...) }

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
	optest.CheckRows(t, rows, same)
}

func TestTransforms(t *testing.T) {
	m := optest.Of("", []int{2, 3}, float32(1), 2, 3, 4, 5, 6)
	list := func(v ...float64) []float64 { return v }
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	checkAll(t, []row{
		{Op: "transforms.translation", Args: op.Args{"offset": 2.0}, Want: matrix(1, 1, 2)},
		{Op: "transforms.translation", Args: op.Args{"offset": list(3, 4)}, Want: matrix(2, 1, 0, 3, 0, 1, 4)},
		{Op: "transforms.translation", Args: op.Args{"offset": list(1, 1, 1, 1, 1, 1, 1)}, Fails: true},
		{Op: "transforms.translation", Args: op.Args{"offset": list()}, Fails: true},
		{Op: "transforms.translation", Fails: true},
		{Op: "transforms.translation", Inputs: inputs(m), Args: op.Args{"offset": list(1, 2)}, Want: matrix(2, 1, 2, 4, 4, 5, 8)},
		{Op: "transforms.translation", Inputs: inputs(m), Args: op.Args{"offset": list(1, 2), "reverse_order": true}, Want: matrix(2, 1, 2, 8, 4, 5, 20)},
		{Op: "transforms.translation", Inputs: inputs(m), Args: op.Args{"offset": list(1)}, Fails: true},
		{Op: "transforms.translation", Inputs: inputs(optest.Of("", []int{2, 2}, float32(1), 2, 3, 4)), Args: op.Args{"offset": list(1, 2)}, Fails: true},
		{Op: "transforms.translation", Inputs: inputs(floats(1, 2, 3, 4, 5, 6)), Args: op.Args{"offset": list(1, 2)}, Fails: true},
		{Op: "transforms.translation", Inputs: inputs(optest.Of("", []int{1, 2}, 1.0, 2)), Args: op.Args{"offset": 1.0}, Fails: true},
		{Op: "transforms.translation", Args: op.Args{"offset": sample(floats(1, 2))}, Want: matrix(2, 1, 0, 1, 0, 1, 2)},
		{Op: "transforms.translation", Args: op.Args{"offset": sample(tensor.New(tensor.Float32, 50))}, Fails: true},

		{Op: "transforms.scale", Args: op.Args{"scale": 2.0}, Want: matrix(1, 2, 0)},
		{Op: "transforms.scale", Args: op.Args{"scale": 2.0, "ndim": 2}, Want: matrix(2, 2, 0, 0, 0, 2, 0)},
		{Op: "transforms.scale", Args: op.Args{"scale": list(2, 3), "ndim": 3}, Want: matrix(2, 2, 0, 0, 0, 3, 0)},
		{Op: "transforms.scale", Args: op.Args{"scale": 2.0, "ndim": -1}, Want: matrix(1, 2, 0)},
		{Op: "transforms.scale", Args: op.Args{"scale": 2.0, "ndim": 7}, Fails: true},
		{Op: "transforms.scale", Args: op.Args{"scale": 2.0, "center": list(1, 2)}, Fails: true},
		{Op: "transforms.scale", Args: op.Args{"scale": list(2, 3), "center": 1.0}, Want: matrix(2, 2, 0, -1, 0, 3, -2)},
		{Op: "transforms.scale", Inputs: inputs(m), Args: op.Args{"scale": 2.0, "ndim": 3}, Want: matrix(2, 2, 4, 6, 8, 10, 12)},
		{Op: "transforms.scale", Inputs: inputs(m), Args: op.Args{"scale": list(2, 3, 4)}, Fails: true},

		{Op: "transforms.rotation", Args: op.Args{"angle": 90.0}, Want: matrix(2, -4.371138828673793e-08, -1, 0, 1, -4.371138828673793e-08, 0)},
		{Op: "transforms.rotation", Args: op.Args{"angle": 400.0}, Want: matrix(2, 0.7660444378852844, -0.6427876353263855, 0, 0.6427876353263855, 0.7660444378852844, 0)},
		{Op: "transforms.rotation", Args: op.Args{"angle": 30.0, "center": 1.0}, Want: matrix(2, 0.8660253882408142, -0.5, 0.6339746117591858, 0.5, 0.8660253882408142, -0.366025447845459)},
		{Op: "transforms.rotation", Args: op.Args{"angle": 30.0, "axis": list(1, 0)}, Fails: true},
		{Op: "transforms.rotation", Args: op.Args{"angle": 30.0, "axis": list(0, 0, 0)}, Want: matrix(3, nan, nan, nan, 0, nan, nan, nan, 0, nan, nan, nan, 0)},
		{Op: "transforms.rotation", Args: op.Args{"angle": 30.0, "axis": list(0, 0, 2), "center": list(1, 2, 3)},
			Want: matrix(3, 0.8660253882408142, -0.5, 0, 1.133974552154541, 0.5, 0.8660253882408142, 0, -0.23205089569091797, 0, 0, 1, 0)},
		{Op: "transforms.rotation", Args: op.Args{"angle": 77.0, "axis": list(1, 2, 3), "center": list(.1, .2, .3)},
			Want: matrix(3, 0.280311644077301, -0.6705127358436584, 0.6869046092033386, 0, 0.8919553160667419, 0.44639354944229126, 0.07175245881080627, 0,
				-0.35474079847335815, 0.592575192451477, 0.7231967449188232, 0)},
		{Op: "transforms.rotation", Args: op.Args{"angle": 30.0, "axis": list(0, 0, 2), "center": list(1, 2)}, Fails: true},
		{Op: "transforms.rotation", Inputs: inputs(matrix(3, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0)), Args: op.Args{"angle": 30.0}, Fails: true},
		{Op: "transforms.rotation", Args: op.Args{"angle": sample(optest.Of("", nil, float32(20)))}, Want: matrix(2, 0.9396926164627075, -0.3420201241970062, 0, 0.3420201241970062, 0.9396926164627075, 0)},

		{Op: "transforms.shear", Fails: true},
		{Op: "transforms.shear", Args: op.Args{"shear": 1.0}, Fails: true},
		{Op: "transforms.shear", Args: op.Args{"shear": list(1, 2, 3)}, Fails: true},
		{Op: "transforms.shear", Args: op.Args{"shear": list(1, 2), "angles": list(1, 2)}, Fails: true},
		{Op: "transforms.shear", Args: op.Args{"shear": list(1, 2, 3, 4, 5, 6), "center": list(1, 2, 3)}, Want: matrix(3, 1, 1, 2, -8, 3, 1, 4, -15, 5, 6, 1, -17)},
		{Op: "transforms.shear", Args: op.Args{"angles": list(10, 20, 30, 40, 50, 60)}, Want: matrix(3, 1, 0.17632697522640228, 0.36397022008895874, 0,
			0.5773503184318542, 1, 0.8390995860099792, 0, 1.191753625869751, 1.732050895690918, 1, 0)},
		{Op: "transforms.shear", Args: op.Args{"angles": list(90, 20)}, Want: matrix(2, 1, -22877334, 0, 0.36397022008895874, 1, 0)},
		{Op: "transforms.shear", Args: op.Args{"shear": sample(optest.Of("", []int{3, 2}, float32(1), 2, 3, 4, 5, 6))}, Want: matrix(3, 1, 1, 2, 0, 3, 1, 4, 0, 5, 6, 1, 0)},

		{Op: "transforms.crop", Want: matrix(1, 1, 0)},
		{Op: "transforms.crop", Args: op.Args{"from_start": list(0, 0, 0), "to_end": list(1, 2)}, Fails: true},
		{Op: "transforms.crop", Args: op.Args{"from_start": list(1, 1), "from_end": list(1, 2)}, Want: matrix(2, inf, 0, -inf, 0, 1, -1)},
		{Op: "transforms.crop", Args: op.Args{"from_start": list(1, 5), "from_end": list(3, 2), "to_end": list(4, 5)}, Want: matrix(2, 2, 0, -2, 0, -5.0/3, 25.0/3)},
		{Op: "transforms.crop", Args: op.Args{"from_start": list(1, 5), "from_end": list(3, 2), "to_end": list(4, 5), "absolute": true}, Want: matrix(2, 2, 0, -2, 0, 5.0/3, -10.0/3)},
		{Op: "transforms.crop", Args: op.Args{"from_start": list(.1, .2), "from_end": list(.7, .9), "to_start": list(3, -1), "to_end": list(10, 2.5)},
			Want: matrix(2, 11.666666984558105, 0, 1.8333332538604736, 0, 5, -2)},
		{Op: "transforms.crop", Inputs: inputs(m), Args: op.Args{"to_end": list(2)}, Fails: true},
		{Op: "transforms.crop", Inputs: inputs(m), Args: op.Args{"to_end": list(2, 3)}, Want: matrix(2, 2, 4, 6, 12, 15, 18)},

		{Op: "transforms.combine", Inputs: inputs(m, matrix(2, 0, 1, 2, 3, 1, 4)), Want: matrix(2, 4, 5, 8, 7, 11, 19)},
		{Op: "transforms.combine", Inputs: inputs(m, matrix(2, 0, 1, 2, 3, 1, 4), matrix(2, 2, 1, 2, 3, 5, 4)), Want: matrix(2, 15, 21, 37, 47, 70, 123)},
		{Op: "transforms.combine", Inputs: inputs(m, matrix(2, 0, 1, 2, 3, 1, 4), matrix(2, 2, 1, 2, 3, 5, 4)), Args: op.Args{"reverse_order": true}, Want: matrix(2, 21, 21, 37, 57, 60, 100)},
		{Op: "transforms.combine", Inputs: inputs(m, matrix(1, 1, 2)), Fails: true},
		{Op: "transforms.combine", Inputs: inputs(m, optest.Of("", []int{2, 3}, 1.0, 2, 3, 4, 5, 6)), Fails: true},
		{Op: "transforms.combine", Inputs: inputs(optest.Of("", nil, float32(1)), m), Fails: true},
	})
}

func TestCoordTransform(t *testing.T) {
	p := inputs(optest.Of("NX", []int{2, 2}, float32(1.5), 2, 3, 4))
	list := func(v ...float64) []float64 { return v }
	to := func(columns int, v ...float32) tensor.Tensor { return optest.Of("NX", []int{2, columns}, v...) }
	square := optest.Of("", []int{2, 2}, float32(1), 2, 3, 4)
	checkAll(t, []row{
		{Op: "coord_transform", Inputs: p, Want: p[0]},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"M": list(1, 2, 3, 4)}, Want: to(2, 5.5, 12.5, 11, 25)},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"M": list(1, 2)}, Want: to(1, 5.5, 11)},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"M": list(1, 2, 3, 4, 5, 6)}, Want: to(3, 5.5, 12.5, 19.5, 11, 25, 39)},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"M": list(1, 2, 3)}, Fails: true},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"M": list()}, Fails: true},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"M": 2.0, "T": list(1, 2)}, Want: to(2, 4, 6, 7, 10)},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"T": 2.0}, Want: to(2, 3.5, 4, 5, 6)},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"T": list(1, 2, 3)}, Fails: true},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"M": list(1, 2, 3, 4, 5, 6), "T": list(1, 2)}, Fails: true},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"MT": list(1, 2, 3, 4, 5, 6, 7, 8, 9)}, Want: to(3, 8.5, 22, 35.5, 14, 38, 62)},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"MT": list(1, 2, 3, 4)}, Fails: true},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"MT": 2.0}, Want: to(2, 3, 4, 6, 8)},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"MT": list(1, 2, 3), "T": 1.0}, Fails: true},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"M": sample(square)}, Want: to(2, 5.5, 12.5, 11, 25)},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"M": sample(optest.Of("", []int{2, 3}, float32(1), 2, 3, 3, 4, 6))}, Fails: true},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"MT": sample(optest.Of("", []int{2, 3}, float32(1), 2, 3, 3, 4, 6))}, Want: to(2, 8.5, 18.5, 14, 31)},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"M": sample(tensor.New(tensor.Float32, 100, 2))}, Fails: true},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"T": sample(optest.Of("", nil, float32(1)))}, Want: to(2, 2.5, 3, 4, 5)},
		{Op: "coord_transform", Inputs: p, Args: op.Args{"dtype": tensor.Uint8}, Fails: true},
		{Op: "coord_transform", Inputs: inputs(optest.Of("", []int{1, 2}, uint8(3), 250)), Args: op.Args{"dtype": tensor.Uint8, "T": list(-5, 300)}, Want: optest.Of("", []int{1, 2}, uint8(0), 255)},
		{Op: "coord_transform", Inputs: inputs(optest.Of("", []int{1, 2}, int8(3), 2)), Fails: true},
		{Op: "coord_transform", Inputs: inputs(floats(1, 2)), Fails: true},
		{Op: "coord_transform", Inputs: inputs(optest.Of("", nil, float32(1))), Fails: true},
		{Op: "coord_transform", Inputs: inputs(tensor.New(tensor.Float32, 1, 7)), Fails: true},
		{Op: "coord_transform", Inputs: inputs(tensor.New(tensor.Float32, 0, 2)), Want: optest.Of("", []int{0, 2}, []float32{}...)},
		{Op: "coord_transform", Inputs: inputs(optest.Of("ABC", []int{2, 1, 2}, float32(0), 1, 2, 3)), Args: op.Args{"M": list(1, .5, .5, 1)}, Want: optest.Of("ABC", []int{2, 1, 2}, float32(0.5), 1, 3.5, 4)},
	})
}

func TestCoordFlip(t *testing.T) {
	plane := inputs(optest.Of("", []int{1, 2}, float32(.1), .2))
	space := inputs(optest.Of("", []int{1, 3}, float32(.1), .2, .3))
	checkAll(t, []row{
		{Op: "coord_flip", Inputs: plane, Want: optest.Of("", []int{1, 2}, float32(.9), .2)},
		{Op: "coord_flip", Inputs: plane, Args: op.Args{"flip_z": 1}, Want: optest.Of("", []int{1, 2}, float32(.9), .2)},
		{Op: "coord_flip", Inputs: space, Args: op.Args{"flip_z": 1}, Want: optest.Of("", []int{1, 3}, float32(.9), .2, .7)},
		{Op: "coord_flip", Inputs: plane, Args: op.Args{"layout": "yx"}, Want: optest.Of("", []int{1, 2}, float32(.1), .8)},
		{Op: "coord_flip", Inputs: space, Args: op.Args{"layout": "zyx"}, Want: optest.Of("", []int{1, 3}, float32(.1), .2, .7)},
		{Op: "coord_flip", Inputs: plane, Args: op.Args{"layout": "ab"}, Fails: true},
		{Op: "coord_flip", Inputs: plane, Args: op.Args{"flip_x": sample(optest.Of("", nil, int32(1))), "center_x": sample(optest.Of("", nil, float32(7)))}, Want: optest.Of("", []int{1, 2}, float32(13.9), .2)},
		{Op: "coord_flip", Inputs: inputs(optest.Of("", []int{1, 4}, float32(0), 0, 0, 0)), Fails: true},
		{Op: "coord_flip", Inputs: inputs(floats(.1, .2)), Fails: true},
		{Op: "coord_flip", Inputs: inputs(optest.Of("", nil, float32(1))), Fails: true},
		{Op: "coord_flip", Inputs: inputs(optest.Of("", []int{1, 2}, 1.0, 2)), Fails: true},
	})
}

// TestCombineLaw applies transforms one after the other, and their combination.
func TestCombineLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, mostDims).Draw(t, "dimensions")
		numbers := func(k int) []float32 { return rapid.SliceOfN(rapid.Float32Range(-2, 2), k, k).Draw(t, "numbers") }
		points := optest.Of("", []int{1, n}, numbers(n)...)
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

func TestVectors(t *testing.T) {
	dalivec.Run(t, "geom", "coord_transform", "coord_flip", "warp_affine", "rotate", "paste", "multi_paste", "grid_mask", "water", "sphere", "experimental.warp_perspective")
}

// TestAllocates runs operators repeatedly: a steady state allocates nothing.
func TestAllocates(t *testing.T) {
	m, points := matrix(2, 1, 2, 3, 4, 5, 6), tensor.New(tensor.Float32, 5, 2)
	optest.CheckAllocations(t, []optest.Case{
		{Op: "transforms.translation", Args: op.Args{"offset": []float64{1, 2}}},
		{Op: "transforms.scale", Args: op.Args{"scale": []float64{1, 2}, "center": []float64{1, 2}}, Inputs: optest.Inputs(m)},
		{Op: "transforms.rotation", Args: op.Args{"angle": 20.0, "axis": []float64{1, 2, 3}}},
		{Op: "transforms.shear", Args: op.Args{"shear": []float64{1, 2}}, Inputs: optest.Inputs(m)},
		{Op: "transforms.crop", Args: op.Args{"to_end": []float64{1, 2}}},
		{Op: "transforms.combine", Inputs: optest.Inputs(m, m)},
		{Op: "coord_transform", Args: op.Args{"MT": sample(m)}, Inputs: optest.Inputs(points)},
		{Op: "coord_flip", Inputs: optest.Inputs(points)},
	})
}

// TestPerspective compares warp_perspective with the results of DALI that testdata/dali/ops/pictures
// keeps.
func TestPerspective(t *testing.T) {
	set, err := dalivec.Open("../../testdata/dali")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := set.Cases("pictures")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range cases {
		if c.Op != "experimental.warp_perspective" {
			continue
		}
		if v := set.Run(c); v.Status != dalivec.Passed {
			t.Errorf("%s %v %s: %s", c.Name, c.Args, c.Inputs[0][0].Layout, v.Reason)
		}
		n++
	}
	if n < 60 {
		t.Errorf("%d cases, want at least 60", n)
	}
}
