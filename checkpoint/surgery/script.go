package surgery

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// Script is a list of rules that are applied one after the other.
type Script struct {
	// Sources are the names of the source trees: the leaves of each tree begin with its name. One tree
	// needs no name. Without names the leaves of several trees keep their own names, which must all
	// differ.
	Sources []string
	Rules   []Rule
}

// Plan is the result of a script for given trees.
type Plan struct {
	Steps []Step // one for each rule
	Tree  *tree.Node
}

// Step is what one rule did.
type Step struct {
	Rule    Rule
	Changes []Change // in the order of the leaves
}

// A Change maps leaves to their replacements: a rename, a merge, or a deletion (empty To).
type Change struct {
	From, To []string // names
	Is       []string // what each of To is, such as "float32[2,3]"
}

// Transform makes one tree from the source trees, and reads no array: it is a checkpoint.Transform.
// The sources are not changed.
//
// Its errors name the rule and the leaf. They are errs.Invalid for a script that Check refuses and
// for a number of sources that differs from the number of names, errs.NotFound for a pattern that
// matches nothing, errs.Mismatch for a leaf to which a rule cannot be applied, and errs.Exists for
// a name that is taken.
func (s Script) Transform(_ context.Context, sources []*tree.Node) (*tree.Node, error) {
	p, err := s.Plan(sources)
	if err != nil {
		return nil, err
	}
	return p.Tree, nil
}

// Plan works like Transform and also returns what each rule did.
func (s Script) Plan(sources []*tree.Node) (*Plan, error) {
	const op = "surgery.Transform"
	if err := s.Check(); err != nil {
		return nil, errs.Wrap(op, "", err)
	}
	leaves, err := s.leaves(sources)
	if err != nil {
		return nil, errs.Wrap(op, "sources", err)
	}
	p := &Plan{}
	for i, r := range s.Rules {
		edits, err := r.edits(leaves)
		if err == nil {
			p.Steps = append(p.Steps, Step{r, changes(leaves, edits)})
			leaves, err = apply(leaves, edits)
		}
		if err != nil {
			return nil, errs.Wrap(op, subject(i, r), err)
		}
	}
	p.Tree, err = grow(leaves)
	return p, errs.Wrap(op, "", err)
}

// leaves lists the leaves of all sources.
func (s Script) leaves(sources []*tree.Node) ([]leaf, error) {
	if len(s.Sources) > 0 && len(s.Sources) != len(sources) {
		return nil, &errs.Error{Kind: errs.Invalid, Want: strconv.Itoa(len(s.Sources)) + " sources: " +
			strings.Join(s.Sources, ", "), Got: strconv.Itoa(len(sources))}
	}
	var out []leaf
	for i, n := range sources {
		var at []step
		if len(s.Sources) > 0 {
			at = []step{{name: s.Sources[i]}}
		}
		for _, e := range tree.Flatten(n) {
			out = append(out, newLeaf(at, n, e))
		}
	}
	err := distinct(out)
	if err != nil && len(sources) > 1 && len(s.Sources) == 0 {
		err = &errs.Error{Kind: errs.Exists, Err: err,
			Remedy: "name the sources in the script (sources: [a, b]): their leaves then begin with these names"}
	}
	return out, err
}

// edit replaces leaves, which are given by their indices in ascending order, by other leaves. These
// take the place of the first replaced leaf.
type edit struct {
	in  []int
	out []leaf
}

// apply returns the leaves after the edits. No two edits replace the same leaf.
func apply(leaves []leaf, edits []edit) ([]leaf, error) {
	gone, at := map[int]bool{}, map[int][]leaf{}
	for _, e := range edits {
		for _, i := range e.in {
			gone[i] = true
		}
		at[slices.Min(e.in)] = e.out
	}
	out := make([]leaf, 0, len(leaves))
	for i, l := range leaves {
		out = append(out, at[i]...)
		if !gone[i] {
			out = append(out, l)
		}
	}
	return out, distinct(out)
}

// changes describes the edits.
func changes(leaves []leaf, edits []edit) []Change {
	out := make([]Change, len(edits))
	for i, e := range edits {
		for _, k := range e.in {
			out[i].From = append(out[i].From, leaves[k].name)
		}
		for _, l := range e.out {
			out[i].To, out[i].Is = append(out[i].To, l.name), append(out[i].Is, l.describe())
		}
	}
	return out
}

// distinct returns an error if two leaves have the same name.
func distinct(leaves []leaf) error {
	seen := make(map[string]bool, len(leaves))
	for _, l := range leaves {
		if seen[l.name] {
			return &errs.Error{Kind: errs.Exists, Subject: "leaf " + strconv.Quote(l.name), Want: "one leaf of this name",
				Got: "two leaves"}
		}
		seen[l.name] = true
	}
	return nil
}
