package dalivec

import (
	"slices"

	"github.com/bivouac-ml/bivouac/tensor"
)

// negativeLess: in DALI a negative integer is less than any float, and equal to none.
var negativeLess = divergence{
	name: "compare_negative",
	applies: func(c *Case) bool {
		return len(c.Inputs) == 2 && len(comparisons(c)) > 0 &&
			(negativeInts(c.Inputs[0]) && isFloat(c.Inputs[1]) || negativeInts(c.Inputs[1]) && isFloat(c.Inputs[0]))
	},
	judge: func(s *Set, c *Case, got Results, err error) error {
		if err != nil {
			return err
		}
		inputs, err := s.Inputs(c)
		if err != nil {
			return err
		}
		right := *c
		right.Outputs = slices.Clone(c.Outputs)
		for i := range right.Outputs {
			o := &right.Outputs[i]
			if operator, ok := comparisons(c)[o.Output]; ok {
				o.Data, o.Npy = compareNumbers(operator, inputs[0][o.Sample], inputs[1][o.Sample]), ""
			}
		}
		return s.compareResults(&right, got)
	},
}

// comparisons are the outputs that compare both inputs, with their operators.
func comparisons(c *Case) map[int]string {
	outputs := []any{c.AST}
	if len(c.AST) == 2 && c.AST[0] == "tuple" {
		outputs, _ = c.AST[1].([]any)
	}
	found := map[int]string{}
	for i, x := range outputs {
		n, _ := x.([]any)
		if len(n) == 4 && n[0] == "cmp" && isName(n[2], "a") && isName(n[3], "b") {
			found[i], _ = n[1].(string)
		}
	}
	return found
}

func isName(x any, name string) bool {
	n, _ := x.([]any)
	return len(n) == 2 && n[0] == "name" && n[1] == name
}

func isFloat(samples []Sample) bool {
	d, err := tensor.ParseDType(samples[0].DType)
	return err == nil && d.IsFloat()
}

// negativeInts reports whether there is an integer below 0 among literals.
func negativeInts(samples []Sample) bool {
	return slices.ContainsFunc(samples, func(x Sample) bool {
		t, err := Literal(x.Value, x.DType)
		if err != nil || !t.DType.IsInteger() {
			return false
		}
		for i := range t.Len() {
			if v, _ := t.Float64(i); v < 0 {
				return true
			}
		}
		return false
	})
}

// compareNumbers compares arrays of one shape as the numbers that they are.
func compareNumbers(operator string, a, b tensor.Tensor) []any {
	var out []any
	for i := range a.Len() {
		x, _ := a.Float64(i)
		y, _ := b.Float64(i)
		out = append(out, map[string]bool{"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}[operator])
	}
	return out
}
