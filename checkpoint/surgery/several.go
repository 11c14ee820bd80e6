package surgery

import (
	"math"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

func (r Stack) check() error {
	if r.Count < 0 || r.Count > mostParts {
		return negative("count", r.Count)
	}
	if err := r.checkTo(r.To); err != nil {
		return err
	}
	re, err := compile(r.Pattern)
	if err == nil {
		_, err = group(re, "index")
	}
	return err
}

func (r Stack) edits(leaves []leaf) ([]edit, error) {
	return r.together(leaves, r.To, func(f *family) (leaf, error) {
		members, err := r.ordered(f)
		if err != nil {
			return leaf{}, err
		}
		return r.stack(f, members)
	})
}

// ordered returns the members in the order of their indices. A nil member must be filled.
func (r Stack) ordered(f *family) ([]*leaf, error) {
	at, err := f.byIndex()
	if err != nil {
		return nil, err
	}
	n := r.Count
	if n == 0 {
		for i := range at {
			n = max(n, i+1)
		}
	}
	members := make([]*leaf, 0, len(at))
	for i := range n {
		l, ok := at[i]
		if !ok && r.Fill == nil {
			return nil, &errs.Error{Kind: errs.Mismatch, Subject: "leaf " + strconv.Quote(f.to),
				Want: "index " + strconv.Itoa(i) + " of " + strconv.Itoa(n),
				Got:  "no leaf with it", Remedy: "correct the pattern, or set fill"}
		}
		members = append(members, l)
		delete(at, i)
	}
	for i, l := range at {
		return nil, l.mismatch("indices below "+strconv.Itoa(n), "index "+strconv.Itoa(i))
	}
	return members, nil
}

// byIndex finds the members by their indices.
func (f *family) byIndex() (map[int]*leaf, error) {
	g, err := group(f.members[0].re, "index")
	if err != nil {
		return nil, err
	}
	at := map[int]*leaf{}
	for k := range f.members {
		m := &f.members[k]
		i, err := m.index(g)
		switch {
		case err != nil:
			return nil, err
		case i >= mostParts:
			return nil, m.leaf.mismatch("an index below "+strconv.Itoa(mostParts), strconv.Itoa(i))
		case at[i] != nil:
			return nil, m.leaf.mismatch("index "+strconv.Itoa(i)+" once for "+strconv.Quote(f.to),
				"leaf "+strconv.Quote(at[i].name)+", which has it too")
		}
		at[i] = &m.leaf
	}
	return at, nil
}

// stack makes one array from the members.
func (r Stack) stack(f *family, members []*leaf) (leaf, error) {
	first := f.members[0].leaf
	like, err := first.array()
	if err != nil {
		return leaf{}, err
	}
	axis, err := first.axis(r.Axis, len(like.Shape)+1)
	if err != nil {
		return leaf{}, err
	}
	arrays := make([]checkpoint.Lazy, len(members))
	for i, m := range members {
		if m == nil {
			if arrays[i], err = filling(*r.Fill, like); err != nil {
				return leaf{}, err
			}
			continue
		}
		if arrays[i], err = m.array(); err != nil {
			return leaf{}, err
		}
		if arrays[i].DType != like.DType || !arrays[i].Shape.Equal(like.Shape) {
			return leaf{}, m.mismatch(like.String()+", as "+strconv.Quote(first.name), m.describe())
		}
	}
	if _, err := slices.Insert(like.Shape.Clone(), axis, len(arrays)).Bytes(like.DType); err != nil {
		return leaf{}, first.mismatch("arrays that memory can address together",
			strconv.Itoa(len(arrays))+" of "+like.String())
	}
	return first.with(stacked(arrays, axis)).renamed(f.to, 0)
}

// filling returns an array like another one, with x as every element.
func filling(x float64, like checkpoint.Lazy) (checkpoint.Lazy, error) {
	t, err := tensor.Cast(like.DType, tensor.ScalarOf(x))
	if err != nil {
		return checkpoint.Lazy{}, err
	}
	back, err := tensor.Cast(tensor.Float64, t)
	if err != nil {
		return checkpoint.Lazy{}, err
	}
	if v, _ := back.Float64(0); like.DType.IsInteger() && v != x || math.IsInf(v, 0) && !math.IsInf(x, 0) {
		return checkpoint.Lazy{}, &errs.Error{Kind: errs.Mismatch, Subject: "fill", Want: "a value of " + like.DType.String(),
			Got: strconv.FormatFloat(x, 'g', -1, 64)}
	}
	return filled(like.DType, like.Shape, t.Data), nil
}

func (r Fuse) match() Match { return Match{r.Pattern, r.Optional} }

func (r Fuse) check() error {
	switch {
	case (len(r.Keys) > 0) == (r.Pattern != ""):
		return &errs.Error{Kind: errs.Invalid, Want: "keys or a pattern", Got: "both, or neither"}
	case r.To == "":
		return &errs.Error{Kind: errs.Invalid, Subject: "to", Want: "a name", Got: "no name"}
	case len(r.Keys) > 0 && len(r.Parts) > 0:
		return &errs.Error{Kind: errs.Invalid, Subject: "parts", Want: "a pattern with the group part", Got: "keys"}
	}
	for _, list := range [][]string{r.Keys, r.Parts} {
		seen := make(map[string]bool, len(list))
		for _, k := range list {
			if seen[k] {
				return &errs.Error{Kind: errs.Invalid, Subject: strconv.Quote(k), Want: "each key once", Got: "the key twice"}
			}
			seen[k] = true
		}
	}
	if r.Pattern == "" {
		return nil
	}
	re, err := compile(r.Pattern)
	if err == nil {
		_, err = group(re, r.orderedBy())
	}
	return err
}

// orderedBy returns the name of the group that gives the order in which leaves are joined.
func (r Fuse) orderedBy() string {
	if len(r.Parts) > 0 {
		return "part"
	}
	return "index"
}

func (r Fuse) edits(leaves []leaf) ([]edit, error) {
	if len(r.Keys) > 0 {
		return r.byKeys(leaves)
	}
	return r.match().together(leaves, r.To, func(f *family) (leaf, error) {
		members, err := r.ordered(f)
		if err != nil {
			return leaf{}, err
		}
		return r.fuse(members, f.to)
	})
}

// byKeys joins the leaves that Keys names.
func (r Fuse) byKeys(leaves []leaf) ([]edit, error) {
	var members []leaf
	var in []int
	at := make(map[string]int, len(leaves))
	for i, l := range leaves {
		at[l.name] = i
	}
	for _, key := range r.Keys {
		i, there := at[key]
		if !there {
			if r.Optional {
				return nil, nil
			}
			return nil, &errs.Error{Kind: errs.NotFound, Subject: "leaf " + strconv.Quote(key),
				Got: "no such leaf among " + strconv.Itoa(len(leaves)) + examples(leaves)}
		}
		members, in = append(members, leaves[i]), append(in, i)
	}
	out, err := r.fuse(members, r.To)
	slices.Sort(in)
	return []edit{{in, []leaf{out}}}, err
}

// ordered returns the members of a family in the order in which they are joined.
func (r Fuse) ordered(f *family) ([]leaf, error) {
	if len(r.Parts) == 0 {
		all, err := Stack{}.ordered(f)
		out := make([]leaf, len(all))
		for i, l := range all {
			out[i] = *l
		}
		return out, err
	}
	g, err := group(f.members[0].re, "part")
	if err != nil {
		return nil, err
	}
	out, have := make([]leaf, len(r.Parts)), make([]bool, len(r.Parts))
	places := make(map[string]int, len(r.Parts))
	for i, name := range r.Parts {
		places[name] = i
	}
	for _, m := range f.members {
		i, known := places[m.group(g)]
		switch {
		case !known:
			return nil, m.leaf.mismatch("one of the parts", strconv.Quote(m.group(g)))
		case have[i]:
			return nil, m.leaf.mismatch("part "+strconv.Quote(r.Parts[i])+" once for "+strconv.Quote(f.to),
				"leaf "+strconv.Quote(out[i].name)+", which is for it too")
		}
		out[i], have[i] = m.leaf, true
	}
	if i := slices.Index(have, false); i >= 0 {
		return nil, f.members[0].leaf.mismatch("part "+strconv.Quote(r.Parts[i])+" beside it for "+strconv.Quote(f.to),
			"none")
	}
	return out, nil
}

// fuse joins leaves.
func (r Fuse) fuse(members []leaf, to string) (leaf, error) {
	first := members[0]
	like, err := first.array()
	if err != nil {
		return leaf{}, err
	}
	axis, err := first.axis(r.Axis, len(like.Shape))
	if err != nil {
		return leaf{}, err
	}
	arrays := make([]checkpoint.Lazy, len(members))
	sum := like.Shape.Clone()
	sum[axis] = 0
	for i, m := range members {
		a, err := m.array()
		if err != nil {
			return leaf{}, err
		}
		if !joins(like, a, axis) {
			return leaf{}, m.mismatch(like.String()+" except for axis "+strconv.Itoa(axis)+", as "+strconv.Quote(first.name),
				m.describe())
		}
		arrays[i] = a
		sum[axis] += a.Shape[axis]
	}
	if _, err := sum.Bytes(like.DType); err != nil || sum[axis] < 0 {
		return leaf{}, first.mismatch("arrays that memory can address together", sum.String())
	}
	return first.with(concatenated(arrays, axis)).renamed(to, 0)
}

// joins reports whether two arrays differ only in their extent along the axis.
func joins(a, b checkpoint.Lazy, axis int) bool {
	if a.DType != b.DType || len(a.Shape) != len(b.Shape) {
		return false
	}
	for k := range a.Shape {
		if k != axis && a.Shape[k] != b.Shape[k] {
			return false
		}
	}
	return true
}
