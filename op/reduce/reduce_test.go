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
	for _, r := range rows {
		for _, static := range []bool{true, false} {
			c := optest.Case{Op: r.op, Args: r.args, Static: static}
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
				t.Errorf("%s %v of %v: %v %q %v, want %v %q %v", r.op, r.args, r.inputs, res.Outputs[0][0], res.Outputs[0][0].Layout,
					res.Outputs[0][0].Data, r.want, r.want.Layout, r.want.Data)
			}
		}
	}
}

func TestReductions(t *testing.T) {
	hw := inputs(of("HW", []int{2, 3}, float32(0), 1, 2, 3, 4, 5))
	none := inputs(of("", []int{0, 3}, []float32{}...))
	bytes := func(v ...uint8) []tensor.Tensor { return inputs(tensor.FromSlice(v)) }
	ints := func(v ...int32) []tensor.Tensor { return inputs(tensor.FromSlice(v)) }
	nan := float32(math.NaN())
	checkAll(t, []row{
		{op: "reductions.sum", inputs: hw, args: op.Args{"axes": []int{-1}}, want: of("H", []int{2}, float32(3), 12)},
		{op: "reductions.sum", inputs: hw, args: op.Args{"axes": []int{1}, "keep_dims": true}, want: of("HW", []int{2, 1}, float32(3), 12)},
		{op: "reductions.sum", inputs: hw, args: op.Args{"axis_names": "H"}, want: of("W", []int{3}, float32(3), 5, 7)},
		{op: "reductions.sum", inputs: hw, args: op.Args{"keep_dims": true}, want: of("HW", []int{1, 1}, float32(15))},
		{op: "reductions.sum", inputs: hw, args: op.Args{"axes": []int{}}, want: hw[0]},
		{op: "reductions.sum", inputs: hw, args: op.Args{"axis_names": ""}, want: hw[0]},
		{op: "reductions.sum", inputs: hw, args: op.Args{"axes": []int{1, 1}}, fails: true},
		{op: "reductions.sum", inputs: hw, args: op.Args{"axes": []int{2}}, fails: true},
		{op: "reductions.sum", inputs: hw, args: op.Args{"axes": []int{1}, "axis_names": "H"}, fails: true},
		{op: "reductions.sum", inputs: hw, args: op.Args{"axis_names": "C"}, fails: true},
		{op: "reductions.sum", inputs: inputs(of("", nil, float32(2))), want: of("", nil, float32(2))},
		{op: "reductions.sum", inputs: none, want: of("", nil, float32(0))},
		{op: "reductions.sum", inputs: none, args: op.Args{"axes": []int{0}}, want: floats(0, 0, 0)},
		{op: "reductions.sum", inputs: inputs(tensor.FromSlice([]float64{1})), fails: true},
		{op: "reductions.sum", inputs: inputs(tensor.FromSlice([]bool{true})), fails: true},
		{op: "reductions.sum", inputs: bytes(200, 200, 200, 200), want: of("", nil, uint64(800))},
		{op: "reductions.sum", inputs: bytes(200, 200, 200, 200), args: op.Args{"dtype": tensor.Uint8}, want: of("", nil, uint8(32))},
		{op: "reductions.sum", inputs: bytes(1, 200, 3), args: op.Args{"dtype": tensor.Float32}, want: of("", nil, float32(204))},
		{op: "reductions.sum", inputs: bytes(1, 200, 3), args: op.Args{"dtype": tensor.Int32}, fails: true},
		{op: "reductions.sum", inputs: ints(math.MaxInt32, math.MaxInt32), want: of("", nil, int64(2*math.MaxInt32))},
		{op: "reductions.sum", inputs: inputs(tensor.FromSlice([]int64{1 << 62, 1 << 62, 1 << 62, 1 << 62})), want: of("", nil, int64(0))},
		{op: "reductions.sum", inputs: inputs(tensor.FromSlice([]int64{1})), args: op.Args{"dtype": tensor.Float32}, fails: true},

		{op: "reductions.mean", inputs: bytes(1, 0, 3), want: of("", nil, float32(4.0/3))},
		{op: "reductions.mean", inputs: bytes(200, 200), args: op.Args{"dtype": tensor.Uint8}, want: of("", nil, uint8(72))},
		{op: "reductions.mean", inputs: bytes(1, 2, 2), args: op.Args{"dtype": tensor.Uint8}, want: of("", nil, uint8(1))},
		{op: "reductions.mean", inputs: inputs(tensor.FromSlice([]int8{-1, -2})), args: op.Args{"dtype": tensor.Int8}, want: of("", nil, int8(-1))},
		{op: "reductions.mean", inputs: ints(math.MaxInt32, math.MaxInt32), args: op.Args{"dtype": tensor.Int32}, want: of("", nil, int32(-1))},
		{op: "reductions.mean", inputs: none, want: of("", nil, nan)},
		{op: "reductions.mean", inputs: ints(), args: op.Args{"dtype": tensor.Int32}, fails: true},
		{op: "reductions.mean", inputs: bytes(1), args: op.Args{"dtype": tensor.Uint64}, fails: true},

		{op: "reductions.mean_square", inputs: bytes(1, 200, 3), want: of("", nil, float32(40010.0/3))},
		{op: "reductions.mean_square", inputs: bytes(1, 200, 3), args: op.Args{"dtype": tensor.Uint64}, want: of("", nil, uint64(13336))},
		{op: "reductions.mean_square", inputs: bytes(1, 1, 0), args: op.Args{"dtype": tensor.Uint64}, want: of("", nil, uint64(0))},
		{op: "reductions.mean_square", inputs: bytes(1), args: op.Args{"dtype": tensor.Uint8}, fails: true},
		{op: "reductions.rms", inputs: bytes(1, 200, 3), want: of("", nil, float32(115.48448944091797))},
		{op: "reductions.rms", inputs: bytes(1, 200, 3), args: op.Args{"dtype": tensor.Uint8}, want: of("", nil, uint8(4))},
		{op: "reductions.rms", inputs: ints(2, 2, 2, 1), args: op.Args{"dtype": tensor.Int32}, want: of("", nil, int32(1))},

		{op: "reductions.min", inputs: none, want: of("", nil, float32(math.MaxFloat32))},
		{op: "reductions.max", inputs: none, args: op.Args{"axes": []int{1}}, want: floats()},
		{op: "reductions.max", inputs: inputs(floats(1, nan, 2)), want: of("", nil, float32(2))},
		{op: "reductions.min", inputs: inputs(floats(nan, 1, 2)), want: of("", nil, float32(1))},
		{op: "reductions.min", inputs: ints(), want: of("", nil, int32(math.MaxInt32))},
		{op: "reductions.max", inputs: inputs(tensor.FromSlice([]float64{1})), fails: true},
	})
}

func TestDeviations(t *testing.T) {
	in := of("HW", []int{2, 3}, float32(0), 1, 2, 3, 4, 5)
	of1 := op.Args{"axes": []int{1}}
	with := func(ddof int) op.Args { return op.Args{"axes": []int{1}, "ddof": ddof} }
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	result := func(a, b float32) tensor.Tensor { return of("H", []int{2}, a, b) }
	checkAll(t, []row{
		{op: "reductions.std_dev", inputs: inputs(in, floats(1, 2)), args: of1, want: result(0.8164966106414795, 2.1602470874786377)},
		{op: "reductions.std_dev", inputs: inputs(in, of("", []int{2, 1}, float32(1), 2)), args: of1, want: result(0.8164966106414795, 2.1602470874786377)},
		{op: "reductions.std_dev", inputs: inputs(in, of("", nil, float32(1))), args: of1, want: result(0.8164966106414795, 3.109126329421997)}, // DALI reads what is not there
		{op: "reductions.std_dev", inputs: inputs(in, floats(1, 2, 3)), args: of1, fails: true},
		{op: "reductions.std_dev", inputs: inputs(in, tensor.FromSlice([]float64{1, 2})), args: of1, fails: true},
		{op: "reductions.std_dev", inputs: inputs(tensor.FromSlice([]bool{true}), floats(1)), fails: true},
		{op: "reductions.std_dev", inputs: inputs(in, floats(1, 2)), args: with(3), want: result(inf, inf)},
		{op: "reductions.std_dev", inputs: inputs(in, floats(1, 2)), args: with(4), want: result(nan, nan)},
		{op: "reductions.std_dev", inputs: inputs(in, floats(1, 2)), args: with(-1), want: result(0.7071067690849304, 1.8708287477493286)},
		{op: "reductions.variance", inputs: inputs(of("HW", []int{2, 0}, []float32{}...), floats(1, 2)), args: of1, want: result(nan, nan)},
		{op: "reductions.variance", inputs: inputs(tensor.FromSlice([]uint8{1, 0, 3}), floats(1)), want: of("", nil, float32(5.0/3))},
	})
}

func TestNormalize(t *testing.T) {
	in := inputs(floats(1, 2, 4))
	grid := inputs(of("", []int{2, 3}, float32(0), 1, 2, 3, 4, 5))
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	sample := func(t tensor.Tensor) optest.Samples { return optest.Samples{t} }
	three := of("", []int{1, 3}, float32(1), 2, 3)
	byColumn := of("", []int{2, 3}, float32(-0.6324554681777954), -0.6324554681777954, -0.6324554681777954, 1.2649109363555908, 1.2649109363555908, 1.2649109363555908)
	checkAll(t, []row{
		{op: "normalize", inputs: inputs(tensor.FromSlice([]uint8{1, 0, 3})), want: floats(-0.267261266708374, -1.069045066833496, 1.3363062143325806)},
		{op: "normalize", inputs: inputs(tensor.FromSlice([]uint8{1, 0, 3})), args: op.Args{"dtype": tensor.Int16}, want: tensor.FromSlice([]int16{0, -1, 1})},
		{op: "normalize", inputs: inputs(tensor.FromSlice([]int64{1})), fails: true},
		{op: "normalize", inputs: in, args: op.Args{"dtype": tensor.Float16}, fails: true},
		{op: "normalize", inputs: inputs(floats(2, 2)), args: op.Args{"shift": 4.0}, want: floats(4, 4)},
		{op: "normalize", inputs: inputs(floats(2)), args: op.Args{"ddof": 1}, want: floats(0)},
		{op: "normalize", inputs: inputs(of("", nil, float32(3))), want: of("", nil, float32(0))}, // DALI reads what is not there
		{op: "normalize", inputs: in, args: op.Args{"ddof": 5}, want: floats(0, 0, 0)},
		{op: "normalize", inputs: in, args: op.Args{"stddev": 0.0}, want: floats(-inf, -inf, inf)},
		{op: "normalize", inputs: in, args: op.Args{"stddev": 0.0, "mean": 1.0}, want: floats(nan, inf, inf)},
		{op: "normalize", inputs: in, args: op.Args{"stddev": 2.0, "epsilon": 1.0}, want: floats(-0.5962848663330078, -0.14907126128673553, 0.7453559041023254)},
		{op: "normalize", inputs: in, args: op.Args{"mean": 2.0, "ddof": 1}, want: floats(-0.6324554681777954, 0, 1.2649109363555908)},
		{op: "normalize", inputs: in, args: op.Args{"epsilon": -100.0}, want: floats(nan, nan, nan)},
		{op: "normalize", inputs: inputs(of("", []int{0, 3}, []float32{}...)), want: of("", []int{0, 3}, []float32{}...)},
		{op: "normalize", inputs: grid, args: op.Args{"mean": 2.0, "axes": []int{0}}, want: of("", []int{2, 3}, float32(-1.2649109363555908), -0.6324554681777954, 0, 0.6324554681777954, 1.2649109363555908, 1.4142135381698608)},
		{op: "normalize", inputs: grid, args: op.Args{"mean": sample(three), "axes": []int{0}}, want: byColumn},
		{op: "normalize", inputs: grid, args: op.Args{"mean": sample(three)}, want: byColumn},
		{op: "normalize", inputs: grid, args: op.Args{"mean": sample(three), "stddev": sample(three)}, want: of("", []int{2, 3}, float32(-1), -0.5, -1.0/3, 2, 1, 2.0/3)},
		{op: "normalize", inputs: grid, args: op.Args{"stddev": sample(three)}, want: of("", []int{2, 3}, float32(-1.5), -0.75, -0.5, 1.5, 0.75, 0.5)},
		{op: "normalize", inputs: grid, args: op.Args{"mean": sample(grid[0]), "stddev": 1.0}, want: of("", []int{2, 3}, float32(0), 0, 0, 0, 0, 0)},
		{op: "normalize", inputs: grid, args: op.Args{"mean": sample(floats(1, 2, 3)), "axes": []int{0}}, fails: true},
		{op: "normalize", inputs: grid, args: op.Args{"mean": sample(three), "axes": []int{1}}, fails: true},
		{op: "normalize", inputs: grid, args: op.Args{"mean": sample(of("", []int{1, 2}, float32(1), 2))}, fails: true},
		{op: "normalize", inputs: grid, args: op.Args{"axes": []int{}}, fails: true},
		{op: "normalize", inputs: grid, args: op.Args{"axes": []int{-1}}, fails: true},
		{op: "normalize", inputs: grid, args: op.Args{"axes": []int{2}}, fails: true},
		{op: "normalize", inputs: grid, args: op.Args{"axis_names": "C"}, fails: true},
		{op: "normalize", inputs: grid, args: op.Args{"axis_names": ""}, fails: true},
		{op: "normalize", inputs: grid, args: op.Args{"mean": sample(of("", nil, float32(1))), "batch": true}, fails: true},
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
	uneven := []tensor.Tensor{of("", []int{1, 2}, float32(1), 2), of("", []int{1, 3}, float32(1), 2, 3)}
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
		in := of("", shape, values...)
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
			bytes, numbers = append(bytes, of("", []int{rows, columns}, values...)), append(numbers, of("", []int{rows, columns}, floats...))
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
