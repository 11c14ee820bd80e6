package conditional_test

import (
	"errors"
	"math"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/op/conditional"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func scalar[T tensor.Element](v T) tensor.Tensor {
	t := tensor.FromSlice([]T{v})
	t.Shape = tensor.Shape{}
	return t
}

func run(t *testing.T, c optest.Case) optest.Result {
	t.Helper()
	r, err := optest.Run(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Whatever the type of a number, not zero is true.
func TestSplitByNumbers(t *testing.T) {
	data := []tensor.Tensor{scalar(uint8(10)), scalar(uint8(20))}
	for name, predicate := range map[string][]tensor.Tensor{
		"bool":    {scalar(true), scalar(false)},
		"int8":    {scalar(int8(-1)), scalar(int8(0))},
		"uint64":  {scalar(uint64(1) << 63), scalar(uint64(0))},
		"float32": {scalar(float32(0.25)), scalar(float32(0))},
		"float64": {scalar(1e-300), scalar(0.0)},
	} {
		r := run(t, optest.Case{Op: "_conditional.split", Args: op.Args{"predicate": optest.Samples(predicate)}, Inputs: [][]tensor.Tensor{data}})
		for s := range data {
			taken, other := r.Outputs[s][s], r.Outputs[1-s][s]
			if len(r.Errors) > 0 || taken.Data[0] != data[s].Data[0] || other.DType.Valid() {
				t.Errorf("%s, sample %d: %v and %v, %v", name, s, taken, other, r.Errors)
			}
		}
	}
	r := run(t, optest.Case{Op: "_conditional.split", Args: op.Args{"predicate": true}, Inputs: [][]tensor.Tensor{data}})
	if r.Outputs[0][1].Data[0] != 20 || r.Outputs[1][1].DType.Valid() {
		t.Errorf("a constant: %v", r.Outputs)
	}
}

func TestPredicatesAreScalars(t *testing.T) {
	data := []tensor.Tensor{scalar(uint8(10))}
	list := optest.Samples{tensor.FromSlice([]bool{true})}
	for _, name := range []string{"_conditional.split", "_conditional.merge"} {
		inputs := [][]tensor.Tensor{data, data}
		if name == "_conditional.split" {
			inputs = inputs[:1]
		}
		r, err := optest.Run(optest.Case{Op: name, Args: op.Args{"predicate": list}, Inputs: inputs})
		if err == nil {
			err = r.Errors[0]
		}
		if !errors.Is(err, errs.Mismatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMerge(t *testing.T) {
	a := []tensor.Tensor{scalar(uint8(1)), {}}
	b := []tensor.Tensor{{}, scalar(uint8(2))}
	a[1].DType, b[0].DType = tensor.Invalid, tensor.Invalid
	a[1].Shape, b[0].Shape = tensor.Shape{}, tensor.Shape{}
	predicate := optest.Samples{scalar(true), scalar(false)}
	b0 := []tensor.Tensor{scalar(uint8(9)), b[1]}
	r := run(t, optest.Case{Op: "_conditional.merge", Args: op.Args{"predicate": predicate}, Inputs: [][]tensor.Tensor{a, b0}})
	if r.Outputs[0][0].Data[0] != 1 || r.Outputs[0][1].Data[0] != 2 || len(r.Errors) > 0 {
		t.Errorf("%v %v", r.Outputs, r.Errors)
	}
	r = run(t, optest.Case{Op: "_conditional.merge", Args: op.Args{"predicate": optest.Samples{scalar(true), scalar(true)}}, Inputs: [][]tensor.Tensor{a, b0}})
	if !errors.Is(r.Errors[1], errs.Mismatch) || r.Errors[0] != nil {
		t.Errorf("a sample that is not there: %v", r.Errors)
	}
}

func TestMergeOfUnlike(t *testing.T) {
	number, list := scalar(uint8(1)), tensor.FromSlice([]uint8{1})
	named := list
	named.Layout = "A"
	for name, other := range map[string]tensor.Tensor{"dtype": scalar(int8(1)), "dimensions": number, "layout": named} {
		_, err := optest.Run(optest.Case{Op: "_conditional.merge", Args: op.Args{"predicate": true}, Inputs: [][]tensor.Tensor{{list}, {other}}})
		if !errors.Is(err, errs.Mismatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Not tells of a number whether it is 0, as DALI's does: NaN is true.
func TestNotOfNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		in   tensor.Tensor
		want byte
	}{
		"0":              {scalar(int32(0)), 1},
		"256":            {scalar(int32(256)), 0},
		"the sign":       {scalar(math.Copysign(0, -1)), 1},
		"NaN":            {scalar(float32(math.NaN())), 0},
		"the top bit":    {scalar(uint64(1) << 63), 0},
		"the least of 8": {scalar(int8(-128)), 0},
	} {
		r := run(t, optest.Case{Op: "_conditional.not_", Inputs: [][]tensor.Tensor{{c.in}}})
		if out := r.Outputs[0][0]; r.Errors[0] != nil || out.DType != tensor.Bool || len(out.Shape) != 0 || out.Data[0] != c.want {
			t.Errorf("not %s: got %v, %v, want %d", name, out, r.Errors[0], c.want)
		}
	}
}

func TestLogical(t *testing.T) {
	values := []tensor.Tensor{scalar(true), scalar(false)}
	names := op.Args{"expression_name": "and", "expression_side": "left"}
	not := run(t, optest.Case{Op: "_conditional.not_", Inputs: [][]tensor.Tensor{values}})
	same := run(t, optest.Case{Op: "_conditional.validate_logical", Args: names, Inputs: [][]tensor.Tensor{values}})
	for s, v := range values {
		if not.Outputs[0][s].Data[0] == v.Data[0] || same.Outputs[0][s].Data[0] != v.Data[0] {
			t.Errorf("sample %d: %v, %v", s, not.Outputs[0][s], same.Outputs[0][s])
		}
	}
	for _, c := range []optest.Case{{Op: "_conditional.not_"}, {Op: "_conditional.validate_logical", Args: names}} {
		for name, in := range map[string]tensor.Tensor{"an int": scalar(int32(1)), "a list": tensor.FromSlice([]bool{true})} {
			if c.Args == nil && name == "an int" {
				continue // see TestNotOfNumbers
			}
			c.Inputs = [][]tensor.Tensor{{in}}
			r, err := optest.Run(c)
			if err == nil {
				err = r.Errors[0]
			}
			if !errors.Is(err, errs.Mismatch) {
				t.Errorf("%s of %s: %v", c.Op, name, err)
			}
		}
	}
}
