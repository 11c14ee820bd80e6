package pipeline_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// once returns the sample 0 of each output of the first batch.
func once(t testing.TB, define func(p *pipeline.Builder) []pipeline.Node) []tensor.Tensor {
	t.Helper()
	d, err := pipeline.Define(pipeline.Options{Workers: 1}, define)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var out []tensor.Tensor
	for _, o := range next(t, p).Outputs {
		s := o.Sample(0)
		out = append(out, tensor.Tensor{DType: s.DType, Shape: append(tensor.Shape{}, s.Shape...), Layout: s.Layout,
			Data: append([]byte(nil), s.Data...)})
	}
	return out
}

// text writes a tensor in full.
func text(t tensor.Tensor) string {
	var list []string
	for i := 0; i < len(t.Data); i += t.DType.Size() {
		b := t.Data[i:]
		switch t.DType {
		case tensor.Bool, tensor.Uint8:
			list = append(list, fmt.Sprint(b[0]))
		case tensor.Int8:
			list = append(list, fmt.Sprint(int8(b[0])))
		case tensor.Int16:
			list = append(list, fmt.Sprint(int16(binary.LittleEndian.Uint16(b))))
		case tensor.Int32:
			list = append(list, fmt.Sprint(int32(binary.LittleEndian.Uint32(b))))
		case tensor.Int64:
			list = append(list, fmt.Sprint(int64(binary.LittleEndian.Uint64(b))))
		case tensor.Float32:
			list = append(list, fmt.Sprint(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		case tensor.Float64:
			list = append(list, fmt.Sprint(math.Float64frombits(binary.LittleEndian.Uint64(b))))
		}
	}
	return fmt.Sprintf("%s%v %s", t.DType, t.Shape, strings.Join(list, " "))
}

func TestArithmetic(t *testing.T) {
	for _, c := range []struct {
		what string
		of   func(x, y, b pipeline.Node) pipeline.Node
		want string
	}{
		{"x + y", func(x, y, b pipeline.Node) pipeline.Node { return x.Add(y) }, "int32[3] 3 -1 10"},
		{"x - 2", func(x, y, b pipeline.Node) pipeline.Node { return x.Sub(2) }, "int32[3] 3 -5 5"},
		{"2 - x", func(x, y, b pipeline.Node) pipeline.Node { return fn.Sub(2, x) }, "int32[3] -3 5 -5"},
		{"x * 1.5", func(x, y, b pipeline.Node) pipeline.Node { return x.Mul(1.5) }, "float32[3] 7.5 -4.5 10.5"},
		{"x / 2", func(x, y, b pipeline.Node) pipeline.Node { return x.Div(2) }, "float32[3] 2.5 -1.5 3.5"},
		{"x // 2", func(x, y, b pipeline.Node) pipeline.Node { return x.FloorDiv(2) }, "int32[3] 2 -1 3"},
		{"x ** 2", func(x, y, b pipeline.Node) pipeline.Node { return x.Pow(2) }, "int32[3] 25 9 49"},
		{"-x", func(x, y, b pipeline.Node) pipeline.Node { return x.Neg().Pos() }, "int32[3] -5 3 -7"},
		{"x < y", func(x, y, b pipeline.Node) pipeline.Node { return x.Less(y) }, "bool[3] 0 1 0"},
		{"x <= -3", func(x, y, b pipeline.Node) pipeline.Node { return x.LessEqual(-3) }, "bool[3] 0 1 0"},
		{"x > y", func(x, y, b pipeline.Node) pipeline.Node { return x.Greater(y) }, "bool[3] 1 0 1"},
		{"x >= 7", func(x, y, b pipeline.Node) pipeline.Node { return x.GreaterEqual(7) }, "bool[3] 0 0 1"},
		{"x == 5", func(x, y, b pipeline.Node) pipeline.Node { return x.Equal(5) }, "bool[3] 1 0 0"},
		{"x != 5", func(x, y, b pipeline.Node) pipeline.Node { return x.NotEqual(5) }, "bool[3] 0 1 1"},
		{"x & 6", func(x, y, b pipeline.Node) pipeline.Node { return x.And(6) }, "int32[3] 4 4 6"},
		{"x | 8", func(x, y, b pipeline.Node) pipeline.Node { return x.Or(8) }, "int32[3] 13 -3 15"},
		{"x ^ 1", func(x, y, b pipeline.Node) pipeline.Node { return x.Xor(1) }, "int32[3] 4 -4 6"},
		{"b & true", func(x, y, b pipeline.Node) pipeline.Node { return b.And(true) }, "bool[2] 1 0"},
		{"a constant's own type", func(x, y, b pipeline.Node) pipeline.Node { return b.Mul(uint8(9)) }, "uint8[2] 9 0"},
		{"a declared type", func(x, y, b pipeline.Node) pipeline.Node {
			return x.Mul(pipeline.Constant{Value: 2, DType: tensor.Float64})
		}, "float64[3] 10 -6 14"},
		{"an array", func(x, y, b pipeline.Node) pipeline.Node {
			return x.Add(pipeline.Constant{Value: []int64{10, 20, 30}})
		}, "int64[3] 15 17 37"},
		{"broadcasting", func(x, y, b pipeline.Node) pipeline.Node {
			return x.Mul(pipeline.Constant{Value: []int{1, 2}, Shape: []int{2, 1}})
		}, "int32[2,3] 5 -3 7 10 -6 14"},
		{"min, max", func(x, y, b pipeline.Node) pipeline.Node { return fn.Max(fn.Min(x, 6), y) }, "int32[3] 5 2 6"},
		{"clamp", func(x, y, b pipeline.Node) pipeline.Node { return fn.Clamp(x, -1, 6) }, "int32[3] 5 -1 6"},
		{"abs", func(x, y, b pipeline.Node) pipeline.Node { return fn.Abs(x) }, "int32[3] 5 3 7"},
		{"sqrt", func(x, y, b pipeline.Node) pipeline.Node { return fn.Sqrt(x.Sub(5).Mul(2).Mul(x.Sub(5))) }, "float32[3] 0 11.313708 2.828427"},
		{"atan2", func(x, y, b pipeline.Node) pipeline.Node { return fn.Atan2(0, x) }, "float32[3] 0 3.1415927 0"},
		{"fpow", func(x, y, b pipeline.Node) pipeline.Node { return fn.Fpow(x, 2) }, "float32[3] 25 9 49"},
	} {
		out := once(t, func(p *pipeline.Builder) []pipeline.Node {
			x := p.Constant(pipeline.Constant{Value: []int{5, -3, 7}})
			y := p.Constant(pipeline.Constant{Value: []int{-2, 2, 3}})
			b := p.Constant(pipeline.Constant{Value: []bool{true, false}})
			return []pipeline.Node{c.of(x, y, b)}
		})
		if got := text(out[0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

func TestConstants(t *testing.T) {
	for _, c := range []struct {
		constant pipeline.Constant
		want     string
	}{
		{pipeline.Constant{Value: 3}, "int32[] 3"},
		{pipeline.Constant{Value: true}, "bool[] 1"},
		{pipeline.Constant{Value: 2.5}, "float32[] 2.5"},
		{pipeline.Constant{Value: float32(2.5)}, "float32[] 2.5"},
		{pipeline.Constant{Value: uint8(3)}, "uint8[] 3"},
		{pipeline.Constant{Value: int16(-3)}, "int16[] -3"},
		{pipeline.Constant{Value: 3, DType: tensor.Float32}, "float32[] 3"},
		{pipeline.Constant{Value: 3, Shape: []int{2, 2}, Layout: "HW"}, "int32[2,2] 3 3 3 3"},
		{pipeline.Constant{Value: []float64{1.5, 2}}, "float32[2] 1.5 2"},
		{pipeline.Constant{Value: []float32{1.5, 2}, DType: tensor.Int32}, "int32[2] 2 2"},
		{pipeline.Constant{Value: []int32{1, 2}, DType: tensor.Uint8}, "uint8[2] 1 2"},
		{pipeline.Constant{Value: []uint8{1, 2, 3, 4}, Shape: []int{2, 2}}, "uint8[2,2] 1 2 3 4"},
	} {
		out := once(t, func(p *pipeline.Builder) []pipeline.Node { return []pipeline.Node{p.Constant(c.constant)} })
		if got := text(out[0]); got != c.want || out[0].Layout != c.constant.Layout {
			t.Errorf("%+v: %s, want %s", c.constant, got, c.want)
		}
	}
	if _, err := pipeline.Define(pipeline.Options{}, func(p *pipeline.Builder) []pipeline.Node {
		return []pipeline.Node{p.Constant(pipeline.Constant{Value: "3"})}
	}); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "constant") {
		t.Error(err)
	}
}

func TestArithmeticMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		of   func(p *pipeline.Builder) pipeline.Node
		says string
	}{
		"bool + bool":  {func(p *pipeline.Builder) pipeline.Node { return coin(p, "a").Add(coin(p, "b")) }, "bool"},
		"float & int":  {func(p *pipeline.Builder) pipeline.Node { return uniform(p, "").And(1) }, "integers or bools"},
		"text":         {func(p *pipeline.Builder) pipeline.Node { return uniform(p, "").Add("1") }, "string"},
		"large number": {func(p *pipeline.Builder) pipeline.Node { return uniform(p, "").Add(1 << 40) }, "int32"},
		"shapes": {func(p *pipeline.Builder) pipeline.Node {
			return fn.RandomUniform(p, fn.RandomUniformArgs{Shape: op.Const([]int{3})}).Add(fn.RandomUniform(p, fn.RandomUniformArgs{Shape: op.Const([]int{2})}))
		}, "3"},
		"nothing": {func(p *pipeline.Builder) pipeline.Node { return pipeline.Node{}.Add(1) }, "output 0"},
		"node of another builder": {func(p *pipeline.Builder) pipeline.Node {
			var other pipeline.Builder
			return uniform(p, "").Add(uniform(&other, ""))
		}, "graph"},
		"an array of no numbers": {func(p *pipeline.Builder) pipeline.Node {
			return uniform(p, "").Add(pipeline.Constant{Value: []string{"1"}})
		}, "constant"},
	} {
		_, err := pipeline.Define(pipeline.Options{},
			func(p *pipeline.Builder) []pipeline.Node { return []pipeline.Node{c.of(p)} })
		if !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want one that says %q", name, err, c.says)
		}
	}
}

// Methods and functions are the same, whichever side a constant is on.
func TestArithmeticIsWhatGoComputes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(-1000, 1000), 1, 6).Draw(r, "values")
		k := rapid.IntRange(1, 9).Draw(r, "constant")
		out := once(t, func(p *pipeline.Builder) []pipeline.Node {
			x := p.Constant(pipeline.Constant{Value: values})
			return []pipeline.Node{x.Mul(k).Add(k).Sub(x), fn.Sub(fn.Add(k, fn.Mul(k, x)), x), x.Less(k), fn.Greater(k, x)}
		})
		for i, v := range values {
			want := int32(v*k + k - v)
			for o := range 2 {
				if got := int32(binary.LittleEndian.Uint32(out[o].Data[4*i:])); got != want {
					r.Fatalf("output %d: %d*%d+%d-%d is %d", o, v, k, k, v, got)
				}
			}
			if less := out[2].Data[i] != 0; less != (v < k) || less != (out[3].Data[i] != 0) {
				r.Fatalf("%d < %d is %v and %v", v, k, less, out[3].Data[i])
			}
		}
	})
}
