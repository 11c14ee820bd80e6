package surgery

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

// found is a leaf that a pattern matches.
type found struct {
	at     int // index of the leaf
	leaf   leaf
	re     *regexp.Regexp
	groups []int // the result of FindStringSubmatchIndex of package regexp
}

// compile compiles a pattern that matches whole names.
func compile(pattern string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Subject: "pattern", Want: "a regular expression",
			Got: strconv.Quote(pattern), Err: err}
	}
	return re, nil
}

func (m Match) check() error {
	_, err := compile(m.Pattern)
	return err
}

// find returns the leaves that match, in their order.
func (m Match) find(leaves []leaf) ([]found, error) {
	re, err := compile(m.Pattern)
	if err != nil {
		return nil, err
	}
	var out []found
	for i, l := range leaves {
		if g := re.FindStringSubmatchIndex(l.name); g != nil {
			out = append(out, found{i, l, re, g})
		}
	}
	if len(out) == 0 && !m.Optional {
		return nil, &errs.Error{Kind: errs.NotFound, Subject: "pattern " + strconv.Quote(m.Pattern),
			Want:   "a leaf whose whole name matches",
			Got:    "no match among " + strconv.Itoa(len(leaves)) + examples(leaves),
			Remedy: "correct the pattern, or make the rule optional"}
	}
	return out, nil
}

// examples names a few leaves.
func examples(leaves []leaf) string {
	const most = 3
	var names []string
	for _, l := range leaves[:min(most, len(leaves))] {
		names = append(names, strconv.Quote(l.name))
	}
	if len(leaves) > most {
		names = append(names, "…")
	}
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}

// each makes an edit for each leaf that matches.
func (m Match) each(leaves []leaf, do func(found) ([]leaf, error)) ([]edit, error) {
	matches, err := m.find(leaves)
	if err != nil {
		return nil, err
	}
	edits := make([]edit, len(matches))
	for i, f := range matches {
		out, err := do(f)
		if err != nil {
			return nil, err
		}
		edits[i] = edit{[]int{f.at}, out}
	}
	return edits, nil
}

// together joins leaves: it makes one leaf from all matching leaves to which to gives the same
// name.
func (m Match) together(leaves []leaf, to string, do func(*family) (leaf, error)) ([]edit, error) {
	matches, err := m.find(leaves)
	if err != nil {
		return nil, err
	}
	var edits []edit
	for _, f := range families(matches, to) {
		out, err := do(f)
		if err != nil {
			return nil, err
		}
		edits = append(edits, edit{f.indices(), []leaf{out}})
	}
	return edits, nil
}

// expand returns the new name.
func (f *found) expand(to string) string {
	return string(f.re.ExpandString(nil, to, f.leaf.name, f.groups))
}

// group returns the text that a group captured.
func (f *found) group(i int) string {
	if f.groups[2*i] < 0 {
		return ""
	}
	return f.leaf.name[f.groups[2*i]:f.groups[2*i+1]]
}

// group returns the group of that name, or else the first group.
func group(re *regexp.Regexp, name string) (int, error) {
	if i := re.SubexpIndex(name); i > 0 {
		return i, nil
	}
	if re.NumSubexp() == 0 {
		return 0, &errs.Error{Kind: errs.Invalid, Subject: "pattern", Want: "a group that captures the " + name,
			Got:    "no group",
			Remedy: `such as layers\.(\d+)\.(.*), or (?P<` + name + `>…)`}
	}
	return 1, nil
}

// index reads an index that a group captured.
func (f *found) index(i int) (int, error) {
	s := f.group(i)
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, f.leaf.mismatch("an index", strconv.Quote(s))
	}
	return n, nil
}

// family is the leaves from which one array is made.
type family struct {
	to      string
	members []found
}

// families groups the matches by their new names, in the order in which the names appear.
func families(matches []found, to string) []*family {
	var out []*family
	by := map[string]*family{}
	for _, f := range matches {
		name := f.expand(to)
		if by[name] == nil {
			by[name] = &family{to: name}
			out = append(out, by[name])
		}
		by[name].members = append(by[name].members, f)
	}
	return out
}

// indices returns the indices of the members among the leaves, ascending.
func (f *family) indices() []int {
	out := make([]int, len(f.members))
	for i, m := range f.members {
		out[i] = m.at
	}
	slices.Sort(out)
	return out
}

// along returns the array of the leaf and the axis that n means in it.
func (l leaf) along(n int) (checkpoint.Lazy, int, error) {
	a, err := l.array()
	if err != nil {
		return a, 0, err
	}
	axis, err := l.axis(n, len(a.Shape))
	return a, axis, err
}

// axis returns the axis that n means in an array of that rank; negative numbers count from the last
// axis.
func (l leaf) axis(n, rank int) (int, error) {
	k := n
	if k < 0 {
		k += rank
	}
	if k < 0 || k >= rank {
		return 0, l.mismatch("axis "+strconv.Itoa(n), "an array of rank "+strconv.Itoa(rank))
	}
	return k, nil
}
