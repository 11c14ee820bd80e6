package arith

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// Range is an index that takes every Step-th element from Start up to, but not including, Stop.
// Each field is an int, a value with one integer per sample, or nil. nil means the beginning, the
// end, and a step of 1. A Start or Stop below 0 counts from the end. A Step below 0 goes backwards,
// by default from the end to the beginning. The zero Range takes all elements.
type Range struct{ Start, Stop, Step any }

// NewAxis is an index that makes a new axis of length 1. Name is the letter of the axis in the
// layout. Either all new axes have a Name, or no new axis has one.
type NewAxis struct{ Name string }

// Step is one operator that computes a part of an index.
type Step struct {
	Op   string
	Args any // a struct or op.Args
}

// Index returns the operators that take a part of each sample, like indexing in numpy, in the order
// in which they run. An index is an int or op.Value, which takes one element of an axis, a [Range]
// or a [NewAxis]. An axis without an index is taken whole.
func Index(indices ...any) ([]Step, error) {
	var numbers subscripts
	if len(indices) > 4 {
		numbers.more = op.Args{}
	}
	var axes []int
	names, numbered, out := "", 0, 0 // out counts axes of the result
	for i, index := range indices {
		switch x := index.(type) {
		case NewAxis:
			axes = append(axes, out)
			names += x.Name
			out++
			continue
		case Range:
			for k, v := range [...]any{x.Start, x.Stop, x.Step} {
				if v == nil {
					continue
				}
				if err := checkIndex(i, v); err != nil {
					return nil, err
				}
				numbers.set(rangeLo+k, numbered, v)
			}
			out++
		default:
			if err := checkIndex(i, index); err != nil {
				return nil, err
			}
			numbers.set(indexAt, numbered, index)
		}
		numbered++
	}
	if names != "" && len(names) != len(axes) {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "index", Subject: "names of new axes", Want: "a letter for each new axis, or no letters",
			Got: fmt.Sprintf("%q for %d axes", names, len(axes))}
	}
	var steps []Step
	switch {
	case numbers.any:
		steps = append(steps, Step{"_tensor_subscript", numbers.args(numbered)})
	case len(axes) == 0 || !isNewAxis(indices[len(indices)-1]): // all axes are whole: check only their number
		steps = append(steps, Step{"_subscript_dim_check", op.Args{"num_subscripts": numbered}})
	}
	if len(axes) == 0 {
		return steps, nil
	}
	expand := op.Args{"axes": axes}
	if names != "" {
		expand["new_axis_names"] = names
	}
	return append(steps, Step{"expand_dims", expand}), nil
}

func isNewAxis(index any) bool {
	_, ok := index.(NewAxis)
	return ok
}

// checkIndex returns an error if v is not an index.
func checkIndex(i int, v any) error {
	switch v.(type) {
	case int, op.Value:
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Op: "index", Subject: fmt.Sprintf("index %d", i), Want: "an int, a value per sample, a Range or a NewAxis",
		Got: fmt.Sprintf("%v of type %T", v, v)}
}
