package arith_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/arith"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// shapes draws two shapes that broadcast, and the shape of both together.
func shapes(t *rapid.T) (a, b, both tensor.Shape) {
	for range rapid.IntRange(0, 4).Draw(t, "rank") {
		lengths := []int{0, 1, 2, 3, 5}
		if both.Len() <= 5 {
			lengths = append(lengths, 1500)
		}
		n := rapid.SampledFrom(lengths).Draw(t, "length")
		both = append(both, n)
		x, y := n, n
		switch rapid.IntRange(0, 3).Draw(t, "repeats") {
		case 0:
			x = 1
		case 1:
			y = 1
		}
		a, b = append(a, x), append(b, y)
	}
	if len(b) > 0 && rapid.Bool().Draw(t, "shorter") {
		k := rapid.IntRange(0, len(b)).Draw(t, "axes left out")
		for _, n := range b[:k] {
			if n != 1 {
				return a, b, both
			}
		}
		b = b[k:]
	}
	return a, b, both
}

// place returns which element of a tensor of shape own broadcasts to an index of a shape.
func place(own, shape tensor.Shape, flat int) int {
	i, stride := 0, 1
	for d := len(shape) - 1; d >= 0; d-- {
		k := flat % shape[d]
		flat /= shape[d]
		if o := d - len(shape) + len(own); o >= 0 {
			if own[o] > 1 {
				i += k * stride
			}
			stride *= own[o]
		}
	}
	return i
}

func numbers(t *rapid.T, x tensor.Tensor) []float64 {
	f, err := tensor.Cast(tensor.Float64, x)
	if err != nil {
		t.Fatal(err)
	}
	v, err := tensor.Of[float64](f)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func filled(t *rapid.T, d tensor.DType, shape tensor.Shape) tensor.Tensor {
	values, offset := make([]float64, shape.Len()), rapid.IntRange(0, 10).Draw(t, "offset")
	for i := range values {
		values[i] = float64((i*7 + offset) % 11)
		if d == tensor.Bool {
			values[i] = float64(i % 2)
		}
	}
	x, err := tensor.Cast(d, tensor.FromSlice(values))
	if err != nil {
		t.Fatal(err)
	}
	x.Shape = shape
	return x
}

var dtypes = []tensor.DType{tensor.Bool, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Int8, tensor.Int16, tensor.Int32,
	tensor.Int64, tensor.Float32, tensor.Float64}

// Small numbers, of which every type makes the same: each function against its
// definition, in random types and shapes.
func TestDefinitionLaw(t *testing.T) {
	truth := func(b bool) float64 { return map[bool]float64{true: 1}[b] }
	definitions := map[string]func(x, y float64) float64{
		"add": func(x, y float64) float64 { return x + y }, "mul": func(x, y float64) float64 { return x * y },
		"min": math.Min, "max": math.Max, "fdiv": func(x, y float64) float64 { return x / y },
		"eq": func(x, y float64) float64 { return truth(x == y) }, "neq": func(x, y float64) float64 { return truth(x != y) },
		"lt": func(x, y float64) float64 { return truth(x < y) }, "leq": func(x, y float64) float64 { return truth(x <= y) },
		"gt": func(x, y float64) float64 { return truth(x > y) }, "geq": func(x, y float64) float64 { return truth(x >= y) },
	}
	rapid.Check(t, func(t *rapid.T) {
		sa, sb, both := shapes(t)
		a := filled(t, rapid.SampledFrom(dtypes).Draw(t, "type of a"), sa)
		b := filled(t, rapid.SampledFrom(dtypes).Draw(t, "type of b"), sb)
		name := rapid.SampledFrom([]string{"add", "mul", "min", "max", "fdiv", "eq", "neq", "lt", "leq", "gt", "geq"}).Draw(t, "function")
		got, err := compute(name, optest.Samples{a}, optest.Samples{b})
		want, typeErr := arith.ResultType(name, a.DType, b.DType)
		if typeErr != nil {
			if !errors.Is(err, errs.Invalid) {
				t.Fatalf("%v, want an error as %v", err, typeErr)
			}
			return
		}
		if err != nil || got[0].DType != want || !got[0].Shape.Equal(both) {
			t.Fatalf("%v of %v and %v: %v %v, want %v%v", name, a, b, got, err, want, both)
		}
		xs, ys, results := numbers(t, a), numbers(t, b), numbers(t, got[0])
		for i, v := range results {
			x, y := xs[place(sa, both, i)], ys[place(sb, both, i)]
			exact := definitions[name](x, y)
			if want == tensor.Float32 {
				exact = float64(float32(exact))
			}
			if v != exact && !(math.IsNaN(v) && math.IsNaN(exact)) {
				t.Fatalf("%s(%g, %g) at %d: %g, want %g", name, x, y, i, v, exact)
			}
		}
	})
}

// An expression of several functions gives what they give one after the other,
// to the bit, whatever the block that a sample is in.
func TestFusionLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sa, sb, _ := shapes(t)
		number := rapid.SampledFrom(dtypes[1:])
		a, b := optest.Samples{filled(t, number.Draw(t, "type of a"), sa)}, optest.Samples{filled(t, number.Draw(t, "type of b"), sb)}
		function := rapid.SampledFrom([]string{"add", "sub", "mul", "min", "max", "fdiv", "pow", "lt", "eq"})
		f, g := function.Draw(t, "outer"), function.Draw(t, "inner")
		inner, err := compute(g, a, b)
		if err != nil {
			t.Fatal(err)
		}
		negative, err := compute("minus", a)
		if err != nil {
			t.Fatal(err)
		}
		want, err := compute(f, inner, negative)
		if err != nil {
			t.Fatal(err)
		}
		got, err := run(op.Args{"expression_desc": fmt.Sprintf("%s(%s(&0 &1) minus(&0))", f, g)}, []op.Value{a, b})
		if err != nil || !got[0].Equal(want[0]) {
			t.Fatalf("%v %v, want %v: %v", got[0], got[0].Data, want[0].Data, err)
		}
	})
}

func TestComparisonOfSigns(t *testing.T) {
	big, small := optest.Samples{tensor.FromSlice([]uint64{1 << 63, 5, 5})}, optest.Samples{tensor.FromSlice([]int64{-1, 5, 6})}
	for name, want := range map[string][2][]byte{
		"lt": {{0, 0, 1}, {1, 0, 0}}, "leq": {{0, 1, 1}, {1, 1, 0}}, "gt": {{1, 0, 0}, {0, 0, 1}},
		"geq": {{1, 1, 0}, {0, 1, 1}}, "eq": {{0, 1, 0}, {0, 1, 0}}, "neq": {{1, 0, 1}, {1, 0, 1}},
	} {
		for i, operands := range [][]any{{big, small}, {small, big}} {
			if got, err := compute(name, operands...); err != nil || string(got[0].Data) != string(want[i]) {
				t.Errorf("%s: %v %v, want %v", name, got, err, want[i])
			}
		}
	}
}

func TestIntegers(t *testing.T) {
	i32 := func(v ...int32) optest.Samples { return optest.Samples{tensor.FromSlice(v)} }
	for _, c := range []struct {
		function   string
		a, b, want optest.Samples
	}{
		{"pow", i32(2, 1, -1, 0, 3, -2), i32(-1, -2, -3, -1, 2, 3), i32(0, 0, 0, 0, 9, -8)},
		{"lshift", i32(1, -8, 5, 1, 1), i32(3, 1, 31, 32, -1), i32(8, -16, math.MinInt32, 1, math.MinInt32)},
		{"rshift", i32(1, -8, 5, 1, 1), i32(3, 1, 31, 32, -1), i32(0, -4, 0, 1, 0)},
		{"mod", i32(7, -7, 7, -7), i32(3, 3, -3, -3), i32(1, -1, 1, -1)},
		{"div", i32(7, -7, 7, math.MinInt32), i32(2, 2, -2, -1), i32(3, -3, -3, math.MinInt32)},
	} {
		got, err := compute(c.function, c.a, c.b)
		if err != nil || !got[0].Equal(c.want[0]) {
			t.Errorf("%s: %v %v, want %v", c.function, got[0].Data, err, c.want[0].Data)
		}
	}
	for _, f := range []string{"div", "mod"} {
		if _, err := compute(f, i32(1), i32(0)); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s by zero: %v", f, err)
		}
	}
}

func TestLayouts(t *testing.T) {
	layout := func(l string, shape ...int) optest.Samples {
		x := tensor.New(tensor.Float32, shape...)
		x.Layout = l
		return optest.Samples{x}
	}
	for _, c := range []struct {
		a, b optest.Samples
		want string // "-": an error
	}{
		{layout("HWC", 2, 3, 4), layout("C", 4), "HWC"},
		{layout("C", 4), layout("HWC", 2, 3, 4), "HWC"},
		{layout("HWC", 2, 3, 4), layout("", 2, 3, 4), "HWC"},
		{layout("WC", 3, 4), layout("", 2, 3, 4), ""},
		{layout("HWC", 2, 3, 4), layout("CHW", 2, 3, 4), "-"},
		{layout("HWC", 2, 3, 4), layout("HW", 3, 4), "-"},
	} {
		got, err := compute("add", c.a, c.b)
		if (err != nil) != (c.want == "-") || err == nil && got[0].Layout != c.want {
			t.Errorf("%q and %q: %v %v", c.a[0].Layout, c.b[0].Layout, got, err)
		}
	}
}

func TestRefused(t *testing.T) {
	a := optest.Samples{tensor.FromSlice([]float32{1, 2, 3})}
	for _, args := range []op.Args{
		{"expression_desc": "add(&0"}, {"expression_desc": "add(&0 &1)"}, {"expression_desc": "add(&0 $0:int32)"},
		{"expression_desc": "add(&0 $0:float32)"}, {"expression_desc": "&0"}, {"expression_desc": "plus(&0) " + "x"},
		{"expression_desc": "add(&0 $0:uint8)", "integer_constants": 300}, {"expression_desc": "add(&0)"}, {"expression_desc": ""},
		{"expression_desc": "bitand(&0 &0)"}, {"expression_desc": "add(&0 $0:string)", "integer_constants": 1},
	} {
		if _, err := run(args, []op.Value{a}); !errors.Is(err, errs.Invalid) {
			t.Errorf("%v: %v", args, err)
		}
	}
	b := optest.Samples{tensor.FromSlice([]float32{1, 2})}
	if _, err := compute("add", a, b); !errors.Is(err, errs.Mismatch) {
		t.Errorf("shapes that do not broadcast: %v", err)
	}
	if _, err := optest.Run(optest.Case{Op: arith.Name, Static: true, Args: op.Args{"expression_desc": "add(&0 &1)"},
		Inputs: [][]tensor.Tensor{a, b}}); !errors.Is(err, errs.Mismatch) {
		t.Errorf("shapes that do not broadcast, known before the data: %v", err)
	}
}

func TestNoAllocations(t *testing.T) {
	optest.CheckAllocations(t, []optest.Case{{Op: arith.Name, Args: op.Args{"expression_desc": "mul(add(&0 &1) $0:int32)", "integer_constants": 3},
		Inputs: [][]tensor.Tensor{{tensor.New(tensor.Uint8, 30, 40, 3)}, {tensor.New(tensor.Float32, 30, 1, 3)}}}})
}

func FuzzExpression(f *testing.F) {
	for _, text := range []string{"add(&0 mul(&1 $0:int32))", "clamp(&0 $0:bool $0:float64)", "minus( &1 )", "add(", "((", "$0:int32", "add(&9999999 &0)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := optest.Samples{tensor.FromSlice([]int32{1, 0, -3})}
		args := op.Args{"expression_desc": text, "integer_constants": []int{1, 0}, "real_constants": []float64{0.5}}
		_, err := run(args, []op.Value{a, a})
		var e *errs.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

func BenchmarkExpression(b *testing.B) {
	for name, c := range map[string]optest.Case{
		"same shape":  {Args: op.Args{"expression_desc": "add(&0 &1)"}, Inputs: [][]tensor.Tensor{{tensor.New(tensor.Float32, 224, 224, 3)}, {tensor.New(tensor.Float32, 224, 224, 3)}}},
		"per channel": {Args: op.Args{"expression_desc": "mul(sub(&0 &1) $0:float32)", "real_constants": 0.5}, Inputs: [][]tensor.Tensor{{tensor.New(tensor.Uint8, 224, 224, 3)}, {tensor.New(tensor.Float32, 3)}}},
		"scalars":     {Args: op.Args{"expression_desc": "add(&0 &1)"}, Inputs: [][]tensor.Tensor{{tensor.New(tensor.Float32)}, {tensor.New(tensor.Float32)}}},
		"mask":        {Args: op.Args{"expression_desc": "mul(&0 &1)"}, Inputs: [][]tensor.Tensor{{tensor.New(tensor.Float32, 224, 224, 3)}, {tensor.New(tensor.Float32, 224, 224, 1)}}},
	} {
		b.Run(name, func(b *testing.B) {
			c.Op = arith.Name
			optest.Bench(b, c)
		})
	}
}
