package surgery

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

func (r Rename) edits(leaves []leaf) ([]edit, error) {
	return r.each(leaves, func(f found) ([]leaf, error) {
		l, err := f.leaf.renamed(f.expand(r.To), 0)
		return []leaf{l}, err
	})
}

func (r Copy) edits(leaves []leaf) ([]edit, error) {
	return r.each(leaves, func(f found) ([]leaf, error) {
		l, err := f.leaf.renamed(f.expand(r.To), 0)
		return []leaf{f.leaf, l}, err
	})
}

func (r Drop) edits(leaves []leaf) ([]edit, error) {
	return r.each(leaves, func(found) ([]leaf, error) { return nil, nil })
}

// arrays makes an edit for the array of each matching leaf.
func (m Match) arrays(leaves []leaf, do func(leaf, checkpoint.Lazy) (checkpoint.Lazy, error)) ([]edit, error) {
	return m.each(leaves, func(f found) ([]leaf, error) {
		a, err := f.leaf.array()
		if err == nil {
			a, err = do(f.leaf, a)
		}
		return []leaf{f.leaf.with(a)}, err
	})
}

func (r Cast) edits(leaves []leaf) ([]edit, error) {
	return r.arrays(leaves, func(_ leaf, a checkpoint.Lazy) (checkpoint.Lazy, error) { return converted(a, r.DType), nil })
}

func (r Transpose) edits(leaves []leaf) ([]edit, error) {
	return r.arrays(leaves, func(l leaf, a checkpoint.Lazy) (checkpoint.Lazy, error) {
		axes := slices.Clone(r.Axes)
		if len(axes) == 0 {
			for i := range a.Shape {
				axes = append(axes, len(a.Shape)-1-i)
			}
		}
		if len(axes) != len(a.Shape) {
			return a, l.mismatch("an array of rank "+strconv.Itoa(len(axes)), l.describe())
		}
		return transposed(a, axes), nil
	})
}

func (r Repeat) edits(leaves []leaf) ([]edit, error) {
	return r.arrays(leaves, func(l leaf, a checkpoint.Lazy) (checkpoint.Lazy, error) {
		axis, err := l.axis(r.Axis, len(a.Shape))
		if err != nil {
			return a, err
		}
		grown := a.Shape.Clone()
		grown[axis] *= r.Times
		if _, err := grown.Bytes(a.DType); err != nil || grown[axis]/r.Times != a.Shape[axis] {
			return a, l.mismatch("an array that memory can address", l.describe()+", "+strconv.Itoa(r.Times)+" times")
		}
		if r.Whole {
			return tiled(a, axis, r.Times), nil
		}
		return repeated(a, axis, r.Times), nil
	})
}

func (r Unstack) edits(leaves []leaf) ([]edit, error) {
	return r.each(leaves, func(f found) ([]leaf, error) {
		a, axis, err := f.leaf.along(r.Axis)
		if err != nil {
			return nil, err
		}
		n := a.Shape[axis]
		if r.Count > 0 && n != r.Count {
			return nil, f.leaf.mismatch(strconv.Itoa(r.Count)+" along axis "+strconv.Itoa(axis), f.leaf.describe())
		}
		if n == 0 || n > mostParts {
			return nil, f.leaf.mismatch("1 to "+strconv.Itoa(mostParts)+" along axis "+strconv.Itoa(axis), f.leaf.describe())
		}
		name := f.expand(strings.ReplaceAll(r.To, "${index}", indexMark))
		out := make([]leaf, n)
		for i := range out {
			if out[i], err = f.leaf.with(element(a, axis, i)).renamed(name, i); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// mostParts bounds the number of arrays that one array is cut into or made from.
const mostParts = 1 << 20

func (r Split) edits(leaves []leaf) ([]edit, error) {
	return r.each(leaves, func(f found) ([]leaf, error) {
		a, axis, err := f.leaf.along(r.Axis)
		if err != nil {
			return nil, err
		}
		sizes, err := r.sizes(f.leaf, a.Shape[axis])
		if err != nil {
			return nil, err
		}
		out, from := make([]leaf, len(r.To)), 0
		for i, to := range r.To {
			if out[i], err = f.leaf.with(cut(a, axis, from, sizes[i])).renamed(f.expand(to), 0); err != nil {
				return nil, err
			}
			from += sizes[i]
		}
		return out, nil
	})
}

// sizes returns the extents of the parts that an extent of n is cut into.
func (r Split) sizes(l leaf, n int) ([]int, error) {
	if len(r.Sizes) > 0 {
		total := 0
		for _, s := range r.Sizes {
			total += s
		}
		if total != n {
			return nil, l.mismatch(strconv.Itoa(total)+" along axis "+strconv.Itoa(r.Axis)+", as the sizes add up to",
				l.describe())
		}
		return r.Sizes, nil
	}
	if n%len(r.To) != 0 {
		return nil, l.mismatch("a multiple of "+strconv.Itoa(len(r.To))+" along axis "+strconv.Itoa(r.Axis), l.describe())
	}
	return slices.Repeat([]int{n / len(r.To)}, len(r.To)), nil
}

func (r Rename) check() error { return r.checkTo(r.To) }

func (r Copy) check() error { return r.checkTo(r.To) }

func (r Unstack) check() error {
	switch {
	case !strings.Contains(r.To, "${index}"):
		return &errs.Error{Kind: errs.Invalid, Subject: "to", Want: "a name with ${index}", Got: strconv.Quote(r.To)}
	case r.Count < 0:
		return negative("count", r.Count)
	}
	return r.checkTo(r.To)
}

func (r Cast) check() error {
	if !r.DType.Valid() {
		return &errs.Error{Kind: errs.Invalid, Subject: "dtype", Got: r.DType.String()}
	}
	return r.Match.check()
}

func (r Transpose) check() error {
	for i := range r.Axes {
		if !slices.Contains(r.Axes, i) {
			return &errs.Error{Kind: errs.Invalid, Subject: "axes", Want: "each axis once, counted from 0",
				Got: "no axis " + strconv.Itoa(i)}
		}
	}
	return r.Match.check()
}

func (r Repeat) check() error {
	if r.Times < 1 || r.Whole && r.Times > mostParts {
		return &errs.Error{Kind: errs.Invalid, Subject: "times", Want: "at least 1", Got: strconv.Itoa(r.Times)}
	}
	return r.Match.check()
}

func (r Split) check() error {
	if len(r.To) == 0 || len(r.Sizes) > 0 && len(r.Sizes) != len(r.To) {
		return &errs.Error{Kind: errs.Invalid, Subject: "to", Want: "one name per size",
			Got: strconv.Itoa(len(r.To)) + " names, " + strconv.Itoa(len(r.Sizes)) + " sizes"}
	}
	for _, s := range r.Sizes {
		if s < 0 || s > 1<<48 {
			return negative("sizes", s)
		}
	}
	return r.checkTo(r.To...)
}

// checkTo checks the pattern, and that there are names to give.
func (m Match) checkTo(to ...string) error {
	if slices.Contains(to, "") {
		return &errs.Error{Kind: errs.Invalid, Subject: "to", Want: "a name", Got: "no name"}
	}
	return m.check()
}

func negative(what string, n int) error {
	return &errs.Error{Kind: errs.Invalid, Subject: what, Want: "at least 0", Got: strconv.Itoa(n)}
}
