package checkpoint

import (
	"context"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// loading is the load of one item.
type loading struct {
	*LoadOptions
	into     *destination
	abstract *tree.Node // nil: as saved
	request  *request   // nil without abstract
	report   LoadReport
	reported map[*layout.Leaf]int // the indices in report of arrays that were not loaded as saved
	item     string

	pad, truncate, partial bool

	salvage bool // damaged leaves are left out

	noEmpties bool // the layout does not record empty containers

	handlers *handler.LeafRegistry   // may be nil
	origins  map[*layout.Leaf]origin // of leaves that were made from other leaves
}

// newLoading resolves the options for the load of an item.
func (o *LoadOptions) newLoading(ctx context.Context, item string, into *destination) (*loading, error) {
	scope, err := options.Resolve(ctx, o.Options, options.Options{})
	if err != nil {
		return nil, err
	}
	if o.Abstract != nil && o.Want != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Subject: "LoadOptions", Want: "Abstract or Want", Got: "both"}
	}
	ld := &loading{LoadOptions: o, into: into, item: item, partial: scope.PyTree.Loading.PartialLoad == options.On}
	ld.pad, ld.truncate = scope.Padding()
	ld.handlers = scope.PyTree.LeafHandlers
	ld.abstract, err = abstractTree(o.Abstract, item, ld.handlers)
	return ld, err
}

// bound returns a context that ends at the time limit of the load.
func (o *LoadOptions) bound(ctx context.Context) (context.Context, context.CancelFunc, error) {
	scope, err := options.Resolve(ctx, o.Options, options.Options{})
	if err != nil {
		return ctx, func() {}, err
	}
	limit := scope.Asynchronous.LoadBound()
	if limit == 0 {
		return ctx, func() {}, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		&errs.Error{Kind: errs.Canceled, Want: "a load within " + limit.Round(time.Millisecond).String(),
			Got: "a longer load", Remedy: "raise Options.Asynchronous.LoadTimeout"})
	return ctx, cancel, nil
}

// prepare compares the abstract tree with the saved tree, before its leaves are read.
func (ld *loading) prepare(saved *tree.Node, entries []tree.Entry, leaves []layout.Leaf) error {
	if ld.abstract == nil {
		return nil
	}
	r, err := newRequest(ld.abstract, saved, entries, leaves, ld)
	if err != nil {
		return err
	}
	ld.request = r
	for i := range leaves {
		if l := &leaves[i]; !l.HasArray() && r.wants[l].Skip {
			ld.told(l, Want{Skip: true}, tensor.Spec{})
			if ld.into == nil && (l.Kind == layout.String || l.Kind == layout.None) {
				entries[i].Node.Value = Placeholder{}
			}
		}
	}
	return nil
}

// want returns what is wanted of a leaf that has an array.
func (ld *loading) want(l *layout.Leaf) Want {
	var w Want
	switch {
	case ld.request != nil:
		w = ld.request.wants[l]
	case ld.LoadOptions.Want != nil:
		w = ld.LoadOptions.Want(leafInfo(l))
	}
	t, ok := ld.into.view(l)
	if !ok || w.Skip || w.as != asSaved && w.as != asArray || l.Kind != layout.Array && l.Kind != layout.Scalar {
		return w
	}
	if w.DType == tensor.Invalid {
		w.DType = t.DType
	}
	if w.Shape == nil && w.Boxes == nil {
		w.Shape = append(tensor.Shape{}, t.Shape...)
	}
	w.as = asArray
	return w
}

// fit returns the shape in which a leaf is returned. It fails if the leaf would have to be padded
// or truncated and the options do not allow that.
func (ld *loading) fit(l *layout.Leaf, w Want) (tensor.Shape, error) {
	if w.Shape == nil || w.Shape.Equal(l.Shape) {
		return l.Shape, nil
	}
	fail := func(remedy string) error {
		return &errs.Error{Kind: errs.Mismatch, Want: "shape " + w.Shape.String(), Got: l.Shape.String(), Remedy: remedy}
	}
	if len(w.Shape) != len(l.Shape) || l.Kind != layout.Array {
		return nil, fail("")
	}
	if _, err := w.Shape.Bytes(tensor.Uint8); err != nil {
		return nil, err
	}
	for i, n := range w.Shape {
		if n > l.Shape[i] && !ld.pad || n < l.Shape[i] && !ld.truncate {
			return nil,
				fail("Options.Array.Loading.EnablePaddingAndTruncation pads with zeros and truncates, at the end of each axis")
		}
	}
	return w.Shape, nil
}

// told records in the report how a leaf was loaded.
func (ld *loading) told(l *layout.Leaf, w Want, given tensor.Spec) {
	r := LeafReport{Item: ld.item, Path: l.Path, Saved: tensor.Spec{DType: l.DType, Shape: l.Shape}, Given: given,
		Skipped: w.Skip}
	if !w.Skip {
		r.Cast = given.DType != l.DType
		for i, n := range given.Shape {
			r.Padded = r.Padded || n > l.Shape[i]
			r.Truncated = r.Truncated || n < l.Shape[i]
		}
	}
	n := len(ld.report.Leaves)
	if ld.report.add(r); len(ld.report.Leaves) > n {
		if ld.reported == nil {
			ld.reported = map[*layout.Leaf]int{}
		}
		ld.reported[l] = n
	}
}

// filled records in the report that chunks of a leaf were missing.
func (ld *loading) filled(r *reading) {
	i, known := ld.reported[r.leaf]
	if !known {
		spec := tensor.Spec{DType: r.leaf.DType, Shape: r.leaf.Shape}
		ld.report.add(LeafReport{Item: ld.item, Path: r.leaf.Path, Saved: spec, Given: spec, Filled: true})
		return
	}
	ld.report.Leaves[i].Filled = true
}

// done returns the tree that was read and completes the report.
func (ld *loading) done(saved *tree.Node) *tree.Node {
	if ld.Report != nil {
		for i := range ld.report.Leaves {
			ld.report.Leaves[i].Item = ld.item
		}
		ld.Report.Leaves = append(ld.Report.Leaves, ld.report.Leaves...)
	}
	if ld.request == nil {
		return saved
	}
	return ld.request.assemble(ld.abstract, saved)
}
