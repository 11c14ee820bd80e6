package checkpoint

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// request is LoadOptions.Abstract matched with a saved item: what is wanted of each leaf, and the
// tree to return.
type request struct {
	leaves  []layout.Leaf
	at      map[*tree.Node]int // the indices of leaves, by node
	wants   map[*layout.Leaf]Want
	partial bool
	keep    bool // the destination has values for leaves that are not read
	report  *LoadReport

	noEmpties bool // the layout does not record empty containers

	handlers *handler.LeafRegistry // may be nil
}

// newRequest matches abstract with the saved leaves.
func newRequest(abstract, saved *tree.Node, entries []tree.Entry, leaves []layout.Leaf, ld *loading) (*request, error) {
	r := &request{leaves: leaves, at: make(map[*tree.Node]int, len(entries)),
		wants:   make(map[*layout.Leaf]Want, len(leaves)),
		partial: ld.partial, keep: ld.into != nil, report: &ld.report, noEmpties: ld.noEmpties, handlers: ld.handlers}
	for i, e := range entries {
		r.at[e.Node] = i
	}
	if err := r.compare(abstract, saved); err != nil {
		return nil, err
	}
	return r, r.match(abstract, saved, nil)
}

// compare returns an error if the abstract tree has another structure than the saved one.
func (r *request) compare(abstract, saved *tree.Node) error {
	left := tree.Structure(structureOf(abstract), saved)
	if r.partial {
		left = slices.DeleteFunc(left, func(d tree.Difference) bool {
			return d.Kind == tree.Extra || d.Kind == tree.Missing && r.isConcrete(abstract.At(d.Path))
		})
	}
	if r.noEmpties {
		left = slices.DeleteFunc(left, func(d tree.Difference) bool {
			return d.Kind == tree.Missing && isHollow(abstract.At(d.Path))
		})
	}
	if len(left) == 0 {
		return nil
	}
	remedy := ""
	if !r.partial && !slices.ContainsFunc(left, func(d tree.Difference) bool { return d.Kind != tree.Extra }) {
		remedy = "Options.PyTree.Loading.PartialLoad loads what is asked for only"
	}
	return &errs.Error{Kind: errs.Mismatch, Subject: "LoadOptions.Abstract", Remedy: remedy,
		Want: "the structure that was saved",
		Got: "another structure (- asked for, not saved; + saved, not asked for; " +
			"~ of another kind):\n" + tree.Summary(left, 0)}
}

// isHollow reports whether a tree has empty containers only.
func isHollow(n *tree.Node) bool {
	return n != nil && !slices.ContainsFunc(tree.Flatten(n), func(e tree.Entry) bool { return !e.Node.IsEmpty() })
}

// structureOf returns the tree with nil in place of each Placeholder: both match any leaf or tree.
func structureOf(n *tree.Node) *tree.Node {
	if n.Kind == tree.Leaf {
		if n.Value == any(Placeholder{}) {
			return &tree.Node{}
		}
		return n
	}
	c := *n
	c.Items = make([]*tree.Node, len(n.Items))
	for i, child := range n.Items {
		c.Items[i] = structureOf(child)
	}
	return &c
}

// isConcrete reports whether the tree contains only values, and nothing abstract.
func (r *request) isConcrete(n *tree.Node) bool {
	return n != nil && !slices.ContainsFunc(tree.Flatten(n), func(e tree.Entry) bool {
		if r.handlers.ForValue(e.Node.Value) != nil {
			return false
		}
		return e.Node.Check() != nil || e.Node.Kind == tree.Leaf && e.Node.Value == nil
	})
}

// match walks both trees, which have the same structure, and records what is wanted of each leaf.
func (r *request) match(want, saved *tree.Node, at tree.Path) error {
	switch {
	case saved == nil && r.noEmpties && isHollow(want):
		return nil
	case saved == nil:
		for _, e := range tree.Flatten(want) {
			r.report.add(LeafReport{Path: append(slices.Clone(at), e.Path...), Missing: true})
		}
		return nil
	case want == nil || want.Kind == tree.Leaf && want.Value == any(Placeholder{}):
		for _, e := range tree.Flatten(saved) {
			if i, ok := r.at[e.Node]; ok {
				r.wants[&r.leaves[i]] = Want{Skip: true}
			}
		}
		return nil
	case want.Kind == tree.Leaf && want.Value == nil:
		return nil
	case want.Kind == tree.Leaf:
		l := &r.leaves[r.at[saved]]
		w, err := r.wantOf(want.Value, l)
		if err != nil {
			return errs.Wrap("", "leaf "+at.String(), err)
		}
		r.wants[l] = w
		return nil
	}
	for i, child := range want.Items {
		k := want.Key(i)
		if err := r.match(child, saved.Get(k.Name), append(at, k)); err != nil {
			return err
		}
	}
	for i, child := range saved.Items {
		if k := saved.Key(i); want.Get(k.Name) == nil {
			if err := r.match(nil, child, append(at, k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// wantOf returns the Want of a leaf of an abstract tree for the saved leaf l.
func (r *request) wantOf(v any, l *layout.Leaf) (Want, error) {
	if l.Kind == layout.Foreign {
		return r.wantForeign(v, l)
	}
	if err := r.notForeign(v, l); err != nil {
		return Want{}, err
	}
	return wantOf(v, l)
}

// wantOf returns the Want for a leaf of a type that trees have.
func wantOf(v any, l *layout.Leaf) (Want, error) {
	w := Want{as: asArray}
	class := tensor.Invalid
	switch v := v.(type) {
	case Abstract:
		if l.Kind == layout.PRNGKey && v.DType == tensor.Invalid && v.Shape == nil && v.Boxes == nil {
			w.as = asKey
		}
		w.DType, w.Shape, w.Boxes = v.DType, v.Shape, v.Boxes
	case LeafType:
		w.as, w.DType = v.form, v.dtype
		if v.form == asNothing {
			return w, unknownAbstract(v.name)
		}
	case tensor.Tensor:
		w.DType, w.Shape = v.DType, append(tensor.Shape{}, v.Shape...)
	case Key:
		w.as = asKey
		if v.Impl != "" && l.Kind == layout.PRNGKey && v.Impl != l.KeyImpl {
			return w, &errs.Error{Kind: errs.Mismatch, Want: "keys of " + v.Impl, Got: "keys of " + l.KeyImpl}
		}
		if v.Data.Shape != nil {
			w.Shape = v.Data.Shape
		}
	case string:
		w.as = asString
	case bool:
		w.as, class = asScalar, tensor.Bool
	case int64:
		w.as, class = asScalar, tensor.Int64
	case uint64:
		w.as, class = asScalar, tensor.Uint64
	case float64:
		w.as, class = asScalar, tensor.Float64
	case complex64, complex128:
		w.as, class = asScalar, tensor.Complex128
	default:
		return w, unknownAbstract(fmt.Sprintf("%T", v))
	}
	if class != tensor.Invalid && !sameClass(class, l.DType) {
		w.DType = class
	}
	return w, w.as.admits(l)
}

func unknownAbstract(got string) error {
	return &errs.Error{Kind: errs.Unsupported, Want: "Abstract, TypeOf, Placeholder, nil, a tensor, a number or a string",
		Got: got}
}

// sameClass reports whether d is of the same class as widest, Go's widest type of the class: an int
// asks for an integer of any width.
func sameClass(widest, d tensor.DType) bool {
	return widest == d || widest.IsInteger() && d.IsInteger() || widest.IsFloat() && d.IsFloat() || widest.IsComplex() &&
		d.IsComplex()
}

// admits returns an error if the leaf cannot have the form.
func (f form) admits(l *layout.Leaf) error {
	ok := false
	switch l.Kind {
	case layout.Array, layout.Scalar:
		ok = f == asSaved || f == asArray || f == asScalar && len(l.Shape) == 0
	case layout.String:
		ok = f == asSaved || f == asString
	case layout.PRNGKey:
		ok = f == asSaved || f == asKey
	default:
		ok = f == asSaved
	}
	if ok {
		return nil
	}
	return &errs.Error{Kind: errs.Mismatch, Want: f.String(), Got: savedAs(l)}
}

// savedAs describes the saved leaf in words.
func savedAs(l *layout.Leaf) string {
	got := LeafKind(l.Kind).String()
	if l.HasArray() {
		got += " " + l.DType.String() + l.Shape.String()
	}
	return got
}

// assemble returns the requested tree with the loaded leaves. Containers have the kinds and the
// order of want.
func (r *request) assemble(want, saved *tree.Node) *tree.Node {
	switch {
	case saved == nil:
		return want
	case want.Kind != tree.Leaf:
	case want.Value == any(Placeholder{}) && !r.keep:
		return want
	default:
		return saved
	}
	n := &tree.Node{Kind: want.Kind, Type: want.Type, Keys: slices.Clone(want.Keys),
		Items: make([]*tree.Node, len(want.Items))}
	for i, child := range want.Items {
		n.Items[i] = r.assemble(child, saved.Get(want.Key(i).Name))
	}
	return n
}
