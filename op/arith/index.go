package arith

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// Range is an index that takes the elements from Start up to, not including,
// Stop, each Step-th. Each is an int, a value of one integer a sample, or nil: the
// beginning, the end, 1. Numbers below 0 count from the end; a Step below 0 goes
// backwards, from the end to the beginning by default. The zero Range takes all.
type Range struct{ Start, Stop, Step any }

// NewAxis is an index that makes a new axis of length 1, whose letter in the
// layout is Name: of all new axes or of none.
type NewAxis struct{ Name string }

// Step is an operator that a value goes through.
type Step struct {
	Op   string
	Args any // a struct or op.Args
}

// Index returns the operators, one after the other, that take part of each sample as numpy's
// indexing does. An index is an int or op.Value, which takes one element of an axis, a
// [Range] or a [NewAxis]. Axes for which there is no index are taken whole.
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
	case len(axes) == 0 || !isNewAxis(indices[len(indices)-1]): // all whole: check the number of axes
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

// checkIndex refuses what is no index.
func checkIndex(i int, v any) error {
	switch v.(type) {
	case int, op.Value:
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Op: "index", Subject: fmt.Sprintf("index %d", i), Want: "an int, a value per sample, a Range or a NewAxis",
		Got: fmt.Sprintf("%v of type %T", v, v)}
}
