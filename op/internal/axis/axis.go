// Package axis finds the axes that the arguments of an operator name: by number, or by the letters
// of the layout. Negative numbers count from the end.
package axis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// Params returns the parameters axes and axis_names. perSample says whether axes may differ per
// sample. The operator decides which axes it uses if neither is given.
func Params(perSample bool, what string) []op.Parameter {
	return []op.Parameter{
		{Name: "axes", Type: op.Ints, PerSample: perSample, Doc: what + ", by number; a negative number counts from the end."},
		{Name: "axis_names", Type: op.String, Doc: what + ", by the letters of the layout."},
	}
}

// Set holds the axes that an operator was given.
type Set struct {
	numbers op.Vector[int]
	names   string
	byName  bool
	given   bool
}

// Read reads axes and axis_names, of which at most one is allowed.
func Read(c *op.Config) (Set, error) {
	s := Set{numbers: op.GetVector[int](c, "axes"), names: op.Get[string](c, "axis_names"), byName: c.Given("axis_names")}
	if c.Given("axes") && s.byName {
		return s, c.Invalid("axis_names", "axes or axis_names", "both", "leave one of them out")
	}
	s.given = s.byName || c.Given("axes")
	return s, nil
}

// Given reports whether either argument was set.
func (s Set) Given() bool { return s.given }

// Const reports whether the axes do not differ per sample.
func (s Set) Const() bool {
	_, ok := s.numbers.Const()
	return ok
}

// Of returns the axes of data with the given rank and layout, in the order of the arguments. It
// returns all axes if none were given. It appends to buf, which may be nil. Each axis may be named
// only once. b is needed only if the axes differ per sample.
func (s Set) Of(b *op.Block, sample, rank int, layout string, buf []int) ([]int, error) {
	buf = buf[:0]
	switch {
	case !s.given:
		for i := range rank {
			buf = append(buf, i)
		}
		return buf, nil
	case s.byName:
		for _, name := range []byte(s.names) {
			i := strings.IndexByte(layout, name)
			if i < 0 {
				return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument axis_names",
					Want: fmt.Sprintf("axes of the layout %q", layout), Got: fmt.Sprintf("%q", name)}
			}
			buf = append(buf, i)
		}
	default:
		numbers, err := s.numbers.At(b, sample, buf)
		if err != nil {
			return nil, err
		}
		for k, i := range numbers {
			if i, err = Number(i, rank); err != nil {
				return nil, err
			}
			if k < len(buf) {
				buf[k] = i
			} else {
				buf = append(buf, i)
			}
		}
		buf = buf[:len(numbers)]
	}
	for k, i := range buf {
		if slices.Contains(buf[:k], i) {
			return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument axes", Want: "each axis at most once", Got: fmt.Sprintf("axis %d twice", i)}
		}
	}
	return buf, nil
}

// Number returns the number of axis i of data with the given rank. A negative i counts from the
// end.
func Number(i, rank int) (int, error) {
	if i < -rank || i >= rank {
		return 0, &errs.Error{Kind: errs.Invalid, Subject: "argument axes", Want: fmt.Sprintf("axes from -%d to %d", rank, rank-1), Got: fmt.Sprint(i)}
	}
	if i < 0 {
		i += rank
	}
	return i, nil
}
