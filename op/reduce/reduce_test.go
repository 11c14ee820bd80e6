package reduce

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// row is a call of an operator with the result of DALI 2.4.0, or with an error.
type row = optest.Row

func inputs(t ...tensor.Tensor) []tensor.Tensor { return t }

func floats(v ...float32) tensor.Tensor { return tensor.FromSlice(v) }

// same compares with a tolerance of some units of the last place of float32; NaN equals NaN.
func same(got, want tensor.Tensor) bool {
	if got.DType != want.DType || got.Layout != want.Layout || !got.Shape.Equal(want.Shape) {
		return false
	}
	for i := range got.Len() {
		a, _ := got.Float64(i)
		b, _ := want.Float64(i)
		if a != b && !(a != a && b != b) && !(got.DType == tensor.Float32 && math.Abs(a-b) <= 1e-6*math.Abs(b)) {
			return false
		}
	}
	return true
}

func checkAll(t *testing.T, rows []row) {
	t.Helper()
	optest.CheckRows(t, rows, same)
}

func TestReductions(t *testing.T) {
	hw := inputs(optest.Of("HW", []int{2, 3}, float32(0), 1, 2, 3, 4, 5))
	none := inputs(optest.Of("", []int{0, 3}, []float32{}...))
	bytes := func(v ...uint8) []tensor.Tensor { return inputs(tensor.FromSlice(v)) }
	ints := func(v ...int32) []tensor.Tensor { return inputs(tensor.FromSlice(v)) }
	nan := float32(math.NaN())
	checkAll(t, []row{
		{Op: "reductions.sum", Inputs: hw, Args: op.Args{"axes": []int{-1}}, Want: optest.Of("H", []int{2}, float32(3), 12)},
		{Op: "reductions.sum", Inputs: hw, Args: op.Args{"axes": []int{1}, "keep_dims": true}, Want: optest.Of("HW", []int{2, 1}, float32(3), 12)},
		{Op: "reductions.sum", Inputs: hw, Args: op.Args{"axis_names": "H"}, Want: optest.Of("W", []int{3}, float32(3), 5, 7)},
		{Op: "reductions.sum", Inputs: hw, Args: op.Args{"keep_dims": true}, Want: optest.Of("HW", []int{1, 1}, float32(15))},
		{Op: "reductions.sum", Inputs: hw, Args: op.Args{"axes": []int{}}, Want: hw[0]},
		{Op: "reductions.sum", Inputs: hw, Args: op.Args{"axis_names": ""}, Want: hw[0]},
		{Op: "reductions.sum", Inputs: hw, Args: op.Args{"axes": []int{1, 1}}, Fails: true},
		{Op: "reductions.sum", Inputs: hw, Args: op.Args{"axes": []int{2}}, Fails: true},
		{Op: "reductions.sum", Inputs: hw, Args: op.Args{"axes": []int{1}, "axis_names": "H"}, Fails: true},
		{Op: "reductions.sum", Inputs: hw, Args: op.Args{"axis_names": "C"}, Fails: true},
		{Op: "reductions.sum", Inputs: inputs(optest.Of("", nil, float32(2))), Want: optest.Of("", nil, float32(2))},
		{Op: "reductions.sum", Inputs: none, Want: optest.Of("", nil, float32(0))},
		{Op: "reductions.sum", Inputs: none, Args: op.Args{"axes": []int{0}}, Want: floats(0, 0, 0)},
		{Op: "reductions.sum", Inputs: inputs(tensor.FromSlice([]float64{1})), Fails: true},
		{Op: "reductions.sum", Inputs: inputs(tensor.FromSlice([]bool{true})), Fails: true},
		{Op: "reductions.sum", Inputs: bytes(200, 200, 200, 200), Want: optest.Of("", nil, uint64(800))},
		{Op: "reductions.sum", Inputs: bytes(200, 200, 200, 200), Args: op.Args{"dtype": tensor.Uint8}, Want: optest.Of("", nil, uint8(32))},
		{Op: "reductions.sum", Inputs: bytes(1, 200, 3), Args: op.Args{"dtype": tensor.Float32}, Want: optest.Of("", nil, float32(204))},
		{Op: "reductions.sum", Inputs: bytes(1, 200, 3), Args: op.Args{"dtype": tensor.Int32}, Fails: true},
		{Op: "reductions.sum", Inputs: ints(math.MaxInt32, math.MaxInt32), Want: optest.Of("", nil, int64(2*math.MaxInt32))},
		{Op: "reductions.sum", Inputs: inputs(tensor.FromSlice([]int64{1 << 62, 1 << 62, 1 << 62, 1 << 62})), Want: optest.Of("", nil, int64(0))},
		{Op: "reductions.sum", Inputs: inputs(tensor.FromSlice([]int64{1})), Args: op.Args{"dtype": tensor.Float32}, Fails: true},

		{Op: "reductions.mean", Inputs: bytes(1, 0, 3), Want: optest.Of("", nil, float32(4.0/3))},
		{Op: "reductions.mean", Inputs: bytes(200, 200), Args: op.Args{"dtype": tensor.Uint8}, Want: optest.Of("", nil, uint8(72))},
		{Op: "reductions.mean", Inputs: bytes(1, 2, 2), Args: op.Args{"dtype": tensor.Uint8}, Want: optest.Of("", nil, uint8(1))},
		{Op: "reductions.mean", Inputs: inputs(tensor.FromSlice([]int8{-1, -2})), Args: op.Args{"dtype": tensor.Int8}, Want: optest.Of("", nil, int8(-1))},
		{Op: "reductions.mean", Inputs: ints(math.MaxInt32, math.MaxInt32), Args: op.Args{"dtype": tensor.Int32}, Want: optest.Of("", nil, int32(-1))},
		{Op: "reductions.mean", Inputs: none, Want: optest.Of("", nil, nan)},
		{Op: "reductions.mean", Inputs: ints(), Args: op.Args{"dtype": tensor.Int32}, Fails: true},
		{Op: "reductions.mean", Inputs: bytes(1), Args: op.Args{"dtype": tensor.Uint64}, Fails: true},

		{Op: "reductions.mean_square", Inputs: bytes(1, 200, 3), Want: optest.Of("", nil, float32(40010.0/3))},
		{Op: "reductions.mean_square", Inputs: bytes(1, 200, 3), Args: op.Args{"dtype": tensor.Uint64}, Want: optest.Of("", nil, uint64(13336))},
		{Op: "reductions.mean_square", Inputs: bytes(1, 1, 0), Args: op.Args{"dtype": tensor.Uint64}, Want: optest.Of("", nil, uint64(0))},
		{Op: "reductions.mean_square", Inputs: bytes(1), Args: op.Args{"dtype": tensor.Uint8}, Fails: true},
		{Op: "reductions.rms", Inputs: bytes(1, 200, 3), Want: optest.Of("", nil, float32(115.48448944091797))},
		{Op: "reductions.rms", Inputs: bytes(1, 200, 3), Args: op.Args{"dtype": tensor.Uint8}, Want: optest.Of("", nil, uint8(4))},
		{Op: "reductions.rms", Inputs: ints(2, 2, 2, 1), Args: op.Args{"dtype": tensor.Int32}, Want: optest.Of("", nil, int32(1))},

		{Op: "reductions.min", Inputs: none, Want: optest.Of("", nil, float32(math.MaxFloat32))},
		{Op: "reductions.max", Inputs: none, Args: op.Args{"axes": []int{1}}, Want: floats()},
		{Op: "reductions.max", Inputs: inputs(floats(1, nan, 2)), Want: optest.Of("", nil, float32(2))},
		{Op: "reductions.min", Inputs: inputs(floats(nan, 1, 2)), Want: optest.Of("", nil, float32(1))},
		{Op: "reductions.min", Inputs: ints(), Want: optest.Of("", nil, int32(math.MaxInt32))},
		{Op: "reductions.max", Inputs: inputs(tensor.FromSlice([]float64{1})), Fails: true},
	})
}

func TestDeviations(t *testing.T) {
	in := optest.Of("HW", []int{2, 3}, float32(0), 1, 2, 3, 4, 5)
	of1 := op.Args{"axes": []int{1}}
	with := func(ddof int) op.Args { return op.Args{"axes": []int{1}, "ddof": ddof} }
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	result := func(a, b float32) tensor.Tensor { return optest.Of("H", []int{2}, a, b) }
	checkAll(t, []row{
		{Op: "reductions.std_dev", Inputs: inputs(in, floats(1, 2)), Args: of1, Want: result(0.8164966106414795, 2.1602470874786377)},
		{Op: "reductions.std_dev", Inputs: inputs(in, optest.Of("", []int{2, 1}, float32(1), 2)), Args: of1, Want: result(0.8164966106414795, 2.1602470874786377)},
		{Op: "reductions.std_dev", Inputs: inputs(in, optest.Of("", nil, float32(1))), Args: of1, Want: result(0.8164966106414795, 3.109126329421997)}, // DALI reads what is not there
		{Op: "reductions.std_dev", Inputs: inputs(in, floats(1, 2, 3)), Args: of1, Fails: true},
		{Op: "reductions.std_dev", Inputs: inputs(in, tensor.FromSlice([]float64{1, 2})), Args: of1, Fails: true},
		{Op: "reductions.std_dev", Inputs: inputs(tensor.FromSlice([]bool{true}), floats(1)), Fails: true},
		{Op: "reductions.std_dev", Inputs: inputs(in, floats(1, 2)), Args: with(3), Want: result(inf, inf)},
		{Op: "reductions.std_dev", Inputs: inputs(in, floats(1, 2)), Args: with(4), Want: result(nan, nan)},
		{Op: "reductions.std_dev", Inputs: inputs(in, floats(1, 2)), Args: with(-1), Want: result(0.7071067690849304, 1.8708287477493286)},
		{Op: "reductions.variance", Inputs: inputs(optest.Of("HW", []int{2, 0}, []float32{}...), floats(1, 2)), Args: of1, Want: result(nan, nan)},
		{Op: "reductions.variance", Inputs: inputs(tensor.FromSlice([]uint8{1, 0, 3}), floats(1)), Want: optest.Of("", nil, float32(5.0/3))},
	})
}

func TestNormalize(t *testing.T) {
	in := inputs(floats(1, 2, 4))
	grid := inputs(optest.Of("", []int{2, 3}, float32(0), 1, 2, 3, 4, 5))
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	sample := func(t tensor.Tensor) optest.Samples { return optest.Samples{t} }
	three := optest.Of("", []int{1, 3}, float32(1), 2, 3)
	byColumn := optest.Of("", []int{2, 3}, float32(-0.6324554681777954), -0.6324554681777954, -0.6324554681777954, 1.2649109363555908, 1.2649109363555908, 1.2649109363555908)
	checkAll(t, []row{
		{Op: "normalize", Inputs: inputs(tensor.FromSlice([]uint8{1, 0, 3})), Want: floats(-0.267261266708374, -1.069045066833496, 1.3363062143325806)},
		{Op: "normalize", Inputs: inputs(tensor.FromSlice([]uint8{1, 0, 3})), Args: op.Args{"dtype": tensor.Int16}, Want: tensor.FromSlice([]int16{0, -1, 1})},
		{Op: "normalize", Inputs: inputs(tensor.FromSlice([]int64{1})), Fails: true},
		{Op: "normalize", Inputs: in, Args: op.Args{"dtype": tensor.Float16}, Fails: true},
		{Op: "normalize", Inputs: inputs(floats(2, 2)), Args: op.Args{"shift": 4.0}, Want: floats(4, 4)},
		{Op: "normalize", Inputs: inputs(floats(2)), Args: op.Args{"ddof": 1}, Want: floats(0)},
		{Op: "normalize", Inputs: inputs(optest.Of("", nil, float32(3))), Want: optest.Of("", nil, float32(0))}, // DALI reads what is not there
		{Op: "normalize", Inputs: in, Args: op.Args{"ddof": 5}, Want: floats(0, 0, 0)},
		{Op: "normalize", Inputs: in, Args: op.Args{"stddev": 0.0}, Want: floats(-inf, -inf, inf)},
		{Op: "normalize", Inputs: in, Args: op.Args{"stddev": 0.0, "mean": 1.0}, Want: floats(nan, inf, inf)},
		{Op: "normalize", Inputs: in, Args: op.Args{"stddev": 2.0, "epsilon": 1.0}, Want: floats(-0.5962848663330078, -0.14907126128673553, 0.7453559041023254)},
		{Op: "normalize", Inputs: in, Args: op.Args{"mean": 2.0, "ddof": 1}, Want: floats(-0.6324554681777954, 0, 1.2649109363555908)},
		{Op: "normalize", Inputs: in, Args: op.Args{"epsilon": -100.0}, Want: floats(nan, nan, nan)},
		{Op: "normalize", Inputs: inputs(optest.Of("", []int{0, 3}, []float32{}...)), Want: optest.Of("", []int{0, 3}, []float32{}...)},
		{Op: "normalize", Inputs: grid, Args: op.Args{"mean": 2.0, "axes": []int{0}}, Want: optest.Of("", []int{2, 3}, float32(-1.2649109363555908), -0.6324554681777954, 0, 0.6324554681777954, 1.2649109363555908, 1.4142135381698608)},
		{Op: "normalize", Inputs: grid, Args: op.Args{"mean": sample(three), "axes": []int{0}}, Want: byColumn},
		{Op: "normalize", Inputs: grid, Args: op.Args{"mean": sample(three)}, Want: byColumn},
		{Op: "normalize", Inputs: grid, Args: op.Args{"mean": sample(three), "stddev": sample(three)}, Want: optest.Of("", []int{2, 3}, float32(-1), -0.5, -1.0/3, 2, 1, 2.0/3)},
		{Op: "normalize", Inputs: grid, Args: op.Args{"stddev": sample(three)}, Want: optest.Of("", []int{2, 3}, float32(-1.5), -0.75, -0.5, 1.5, 0.75, 0.5)},
		{Op: "normalize", Inputs: grid, Args: op.Args{"mean": sample(grid[0]), "stddev": 1.0}, Want: optest.Of("", []int{2, 3}, float32(0), 0, 0, 0, 0, 0)},
		{Op: "normalize", Inputs: grid, Args: op.Args{"mean": sample(floats(1, 2, 3)), "axes": []int{0}}, Fails: true},
		{Op: "normalize", Inputs: grid, Args: op.Args{"mean": sample(three), "axes": []int{1}}, Fails: true},
		{Op: "normalize", Inputs: grid, Args: op.Args{"mean": sample(optest.Of("", []int{1, 2}, float32(1), 2))}, Fails: true},
		{Op: "normalize", Inputs: grid, Args: op.Args{"axes": []int{}}, Fails: true},
		{Op: "normalize", Inputs: grid, Args: op.Args{"axes": []int{-1}}, Fails: true},
		{Op: "normalize", Inputs: grid, Args: op.Args{"axes": []int{2}}, Fails: true},
		{Op: "normalize", Inputs: grid, Args: op.Args{"axis_names": "C"}, Fails: true},
		{Op: "normalize", Inputs: grid, Args: op.Args{"axis_names": ""}, Fails: true},
		{Op: "normalize", Inputs: grid, Args: op.Args{"mean": sample(optest.Of("", nil, float32(1))), "batch": true}, Fails: true},
	})
}

func TestNormalizeBatch(t *testing.T) {
	batch := []tensor.Tensor{floats(1, 2), floats(3, 7, 8)}
	for _, c := range []struct {
		args op.Args
		want []tensor.Tensor
	}{
		{nil, []tensor.Tensor{floats(-1.148733139038086, -0.7897540926933289), floats(-0.430774986743927, 1.005141258239746, 1.364120364189148)}},
		{op.Args{"ddof": 1}, []tensor.Tensor{floats(-1.0274581909179688, -0.7063775062561035), floats(-0.38529688119888306, 0.8990257382392883, 1.2201063632965088)}},
		{op.Args{"mean": 2.0}, []tensor.Tensor{floats(-0.28171807527542114, 0), floats(0.28171807527542114, 1.408590316772461, 1.6903084516525269)}},
	} {
		args := op.Args{"batch": true}
		for k, v := range c.args {
			args[k] = v
		}
		r, err := optest.Run(optest.Case{Op: "normalize", Args: args, Inputs: [][]tensor.Tensor{batch}})
		if err != nil || !same(r.Outputs[0][0], c.want[0]) || !same(r.Outputs[0][1], c.want[1]) {
			t.Errorf("%v: %v %v", args, r.Outputs, err)
		}
	}
	uneven := []tensor.Tensor{optest.Of("", []int{1, 2}, float32(1), 2), optest.Of("", []int{1, 3}, float32(1), 2, 3)}
	if _, err := optest.Run(optest.Case{Op: "normalize", Args: op.Args{"batch": true, "axes": []int{0}}, Inputs: [][]tensor.Tensor{uneven}}); !errors.Is(err, errs.Mismatch) {
		t.Errorf("samples of other extents in a kept axis: %v", err)
	}
}

// TestReductionLaw compares all reductions of float32 with their definition in float64.
func TestReductionLaw(t *testing.T) {
	definitions := map[string]func(v []float64) float64{
		"reductions.sum":         sumOf,
		"reductions.mean":        func(v []float64) float64 { return sumOf(v) / float64(len(v)) },
		"reductions.mean_square": func(v []float64) float64 { return squaresOf(v) / float64(len(v)) },
		"reductions.rms":         func(v []float64) float64 { return math.Sqrt(squaresOf(v) / float64(len(v))) },
		"reductions.min":         slices.Min[[]float64], "reductions.max": slices.Max[[]float64],
	}
	names := []string{"reductions.max", "reductions.mean", "reductions.mean_square", "reductions.min", "reductions.rms", "reductions.sum"}
	rapid.Check(t, func(t *rapid.T) {
		shape := tensor.Shape(rapid.SliceOfN(rapid.IntRange(1, 6), 0, 4).Draw(t, "shape"))
		values := rapid.SliceOfN(rapid.Float32Range(-100, 100), shape.Len(), shape.Len()).Draw(t, "values")
		in := optest.Of("", shape, values...)
		axes := []int{}
		kept := tensor.Shape{}
		for i, d := range shape {
			if rapid.Bool().Draw(t, "fold") {
				axes = append(axes, i)
			} else {
				kept = append(kept, d)
			}
		}
		groups := make([][]float64, kept.Len())
		for e, v := range values {
			place, step, rest := 0, 1, e
			for i := len(shape) - 1; i >= 0; i-- {
				if !slices.Contains(axes, i) {
					place += rest % shape[i] * step
					step *= shape[i]
				}
				rest /= shape[i]
			}
			groups[place] = append(groups[place], float64(v))
		}
		name := rapid.SampledFrom(names).Draw(t, "op")
		r, err := optest.Run(optest.Case{Op: name, Args: op.Args{"axes": axes}, Inputs: [][]tensor.Tensor{{in}}})
		if err != nil || r.Errors[0] != nil {
			t.Fatal(err, r.Errors)
		}
		for i, v := range groups {
			got, _ := r.Outputs[0][0].Float64(i)
			if want := definitions[name](v); math.Abs(got-want) > 1e-6*math.Abs(want)+1e-5 {
				t.Fatalf("%s over %v of %v: %g, want %g", name, axes, in, got, want)
			}
		}
	})
}

func sumOf(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

func squaresOf(v []float64) (s float64) {
	for _, x := range v {
		s += x * x
	}
	return s
}

// TestNormalizeLaw normalizes bytes, whose deviations are computed from sums of
// squares, and the same numbers as floats, in samples and in batches.
func TestNormalizeLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(1, 5).Draw(t, "columns")
		args := op.Args{"axes": []int{0}, "batch": rapid.Bool().Draw(t, "batch"), "ddof": rapid.IntRange(0, 1).Draw(t, "ddof")}
		var bytes, numbers []tensor.Tensor
		for range rapid.IntRange(1, 3).Draw(t, "samples") {
			rows := rapid.IntRange(1, 60).Draw(t, "rows")
			values := rapid.SliceOfN(rapid.Uint8(), rows*columns, rows*columns).Draw(t, "values")
			floats := make([]float32, len(values))
			for i, v := range values {
				floats[i] = float32(v)
			}
			bytes, numbers = append(bytes, optest.Of("", []int{rows, columns}, values...)), append(numbers, optest.Of("", []int{rows, columns}, floats...))
		}
		a, err := optest.Run(optest.Case{Op: "normalize", Args: args, Inputs: [][]tensor.Tensor{bytes}})
		if err != nil {
			t.Fatal(err)
		}
		b, err := optest.Run(optest.Case{Op: "normalize", Args: args, Inputs: [][]tensor.Tensor{numbers}})
		if err != nil {
			t.Fatal(err)
		}
		for s := range bytes {
			for i := range bytes[s].Len() {
				x, _ := a.Outputs[0][s].Float64(i)
				y, _ := b.Outputs[0][s].Float64(i)
				if math.Abs(x-y) > 1e-5*max(1, math.Abs(y)) {
					t.Fatalf("sample %d, element %d: %g of bytes, %g of floats", s, i, x, y)
				}
			}
		}
	})
}

func TestVectors(t *testing.T) {
	dalivec.Run(t, "reduce", "reductions.sum", "reductions.mean", "reductions.mean_square", "reductions.rms", "reductions.min", "reductions.max", "normalize")
}

// TestAllocates runs operators repeatedly: a steady state allocates nothing.
func TestAllocates(t *testing.T) {
	image := tensor.New(tensor.Uint8, 20, 30, 3)
	image.Layout = "HWC"
	one := tensor.FromSlice([]float32{1})
	optest.CheckAllocations(t, []optest.Case{
		{Op: "reductions.sum", Inputs: optest.Inputs(image)},
		{Op: "reductions.mean", Args: op.Args{"axes": []int{0, 1}}, Inputs: optest.Inputs(image)},
		{Op: "reductions.mean_square", Args: op.Args{"axis_names": "HW"}, Inputs: optest.Inputs(image)},
		{Op: "reductions.rms", Args: op.Args{"axes": []int{1}}, Inputs: optest.Inputs(image)},
		{Op: "reductions.max", Args: op.Args{"axes": []int{2}, "keep_dims": true}, Inputs: optest.Inputs(image)},
		{Op: "reductions.variance", Inputs: optest.Inputs(image, one)},
		{Op: "normalize", Args: op.Args{"axes": []int{0, 1}}, Inputs: optest.Inputs(image)},
		{Op: "normalize", Args: op.Args{"dtype": tensor.Uint8, "mean": 3.0}, Inputs: optest.Inputs(image)},
		{Op: "normalize", Args: op.Args{"batch": true}, Inputs: optest.Inputs(image)},
	})
}

func BenchmarkReduce(b *testing.B) {
	image := tensor.New(tensor.Uint8, 224, 224, 3)
	floats := tensor.New(tensor.Float32, 3, 224, 224)
	for _, c := range []struct {
		name, op string
		args     op.Args
		in       tensor.Tensor
	}{
		{"mean of uint8", "reductions.mean", nil, image},
		{"mean of channels", "reductions.mean", op.Args{"axes": []int{0, 1}}, image},
		{"mean of float32", "reductions.mean", nil, floats},
		{"max of planes", "reductions.max", op.Args{"axes": []int{1, 2}}, floats},
		{"normalize uint8", "normalize", op.Args{"axes": []int{0, 1}}, image},
		{"normalize float32", "normalize", nil, floats},
	} {
		b.Run(c.name, func(b *testing.B) {
			optest.Bench(b, optest.Case{Op: c.op, Args: c.args, Inputs: [][]tensor.Tensor{{c.in}}})
		})
	}
}
