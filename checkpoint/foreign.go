package checkpoint

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// foreign holds the leaves that leaf handlers read: one element for each handler and tree, with its
// leaves in their order.
type foreign []*handledLeaves

// handledLeaves are the leaves of one handler in one tree.
type handledLeaves struct {
	by     *handler.AnyLeaf
	of     *layout.OpenTree
	wanted []handler.Wanted[any]
	at     []int // the indices of the leaves among the loaded entries
}

// add plans that a handler reads a leaf.
func (f *foreign) add(by *handler.AnyLeaf, from origin, abstract *any, at int) {
	i := slices.IndexFunc(*f, func(h *handledLeaves) bool { return h.by == by && h.of == from.tree })
	if i < 0 {
		i = len(*f)
		*f = append(*f, &handledLeaves{by: by, of: from.tree})
	}
	h := (*f)[i]
	h.wanted, h.at = append(h.wanted, handler.Wanted[any]{Path: from.path, Abstract: abstract}), append(h.at, at)
}

// each calls a method of each handler for its leaves and passes on the results.
func (f foreign) each(ctx context.Context, read func(*handler.AnyLeaf, context.Context, handler.Reader,
	[]handler.Wanted[any]) ([]any, error), give func(at int, v any)) error {
	for _, h := range f {
		values, err := read(h.by, ctx, h.of.Directory(), h.wanted)
		if err != nil {
			return err
		}
		for k, i := range h.at {
			give(i, values[k])
		}
	}
	return nil
}

// readForeign calls leaf handlers to read the leaves of their types, all leaves of one type at
// once. A wanted leaf without a handler is errs.Unsupported.
func (ld *loading) readForeign(ctx context.Context, t *layout.OpenTree, entries []tree.Entry) error {
	var f foreign
	for i := range t.Leaves {
		l := &t.Leaves[i]
		if l.Kind != layout.Foreign {
			continue
		}
		w := ld.want(l)
		if w.Skip {
			entries[i].Node.Value = ld.keptForeign(l)
			if ld.request == nil {
				ld.told(l, w, tensor.Spec{})
			}
			continue
		}
		if w.Boxes != nil || w.Shape != nil || w.DType != tensor.Invalid {
			return &errs.Error{Kind: errs.Invalid, Subject: "leaf " + strconv.Quote(l.Param),
				Want: "an array, because Boxes, DType or Shape are set", Got: l.ValueType}
		}
		by := w.by
		if by == nil {
			by = ld.handlers.ForType(l.ValueType)
		}
		if by == nil {
			return foreignError(l)
		}
		from, made := ld.origins[l]
		if !made {
			from = origin{t, l.Path}
		}
		f.add(by, from, w.abstract, i)
	}
	return f.each(ctx, (*handler.AnyLeaf).Deserialize, func(i int, v any) { entries[i].Node.Value = v })
}

// keptForeign returns the value of a leaf that is not read: the value that the destination has
// there.
func (ld *loading) keptForeign(l *layout.Leaf) any {
	if ld.into == nil {
		return Placeholder{}
	}
	n, err := tree.Options{KeepUnknown: true, IsLeaf: ld.handlers.Handles}.From(ld.into.dst)
	if err != nil {
		return nil // nothing to keep
	}
	if n = n.At(l.Path); n == nil {
		return nil
	}
	return n.Value
}

// describeForeign asks leaf handlers to describe their leaves. Leaves without a handler are
// described by their type string alone.
func describeForeign(ctx context.Context, t *layout.OpenTree, handlers *handler.LeafRegistry, leaves []LeafInfo) error {
	var f foreign
	for i := range t.Leaves {
		l := &t.Leaves[i]
		if by := handlers.ForType(l.ValueType); l.Kind == layout.Foreign && by != nil {
			f.add(by, origin{t, l.Path}, nil, i)
		}
	}
	return f.each(ctx, (*handler.AnyLeaf).Metadata, func(i int, v any) { leaves[i].Abstract = v })
}

// wantForeign returns what an abstract value wants of a leaf that a leaf handler reads. If the
// value is a leaf itself or asks for the type of the leaf, it wants the whole leaf. Otherwise the
// handler interprets the value.
func (r *request) wantForeign(v any, l *layout.Leaf) (Want, error) {
	by := r.handlers.ForWanted(l.ValueType, v)
	if by == nil {
		return Want{}, foreignError(l)
	}
	w := Want{by: by}
	if asked, ok := v.(LeafType); ok && by.AbstractType() != reflect.TypeFor[LeafType]() {
		if asked.form != asSaved && asked.goType != by.LeafType() {
			return w, foreignMismatch(by, l, asked.name)
		}
		return w, nil
	}
	t := reflect.TypeOf(v)
	if a, ok := converted(v, by.AbstractType()); ok {
		w.abstract = &a
		return w, nil
	}
	if _, ok := converted(v, by.LeafType()); !ok {
		return w, foreignMismatch(by, l, t.String())
	}
	return w, nil
}

// converted returns v as a value of type t: v itself, or a number, string or bool
// that trees have widened and t can hold.
func converted(v any, t reflect.Type) (any, bool) {
	x := reflect.ValueOf(v)
	if x.Type().AssignableTo(t) {
		return v, true
	}
	switch {
	case x.CanInt() && reflect.Zero(t).CanInt():
		if t := reflect.Zero(t); t.OverflowInt(x.Int()) {
			return nil, false
		}
	case x.CanUint() && reflect.Zero(t).CanUint():
		if reflect.Zero(t).OverflowUint(x.Uint()) {
			return nil, false
		}
	case x.CanInt() && reflect.Zero(t).CanUint():
		if x.Int() < 0 || reflect.Zero(t).OverflowUint(uint64(x.Int())) {
			return nil, false
		}
	case x.Kind() != t.Kind() && !(x.CanFloat() && reflect.Zero(t).CanFloat()), x.Kind() > reflect.Complex128 &&
		x.Kind() != reflect.String:
		return nil, false
	}
	return x.Convert(t).Interface(), true
}

func foreignMismatch(by *handler.AnyLeaf, l *layout.Leaf, got string) error {
	return &errs.Error{Kind: errs.Mismatch, Want: fmt.Sprintf("nil, a %v or a %v for a leaf of type %s",
		by.LeafType(), by.AbstractType(), l.ValueType), Got: got}
}

func foreignError(l *layout.Leaf) error {
	return &errs.Error{Kind: errs.Unsupported, Subject: "leaf " + strconv.Quote(l.Param),
		Want:   "a type with a leaf handler",
		Got:    l.ValueType,
		Remedy: "add its handler to Options.PyTree.LeafHandlers, or skip the leaf (Placeholder, Want.Skip)"}
}

// notForeign returns the error for a value that describes leaves of a handled type but is asked of
// another leaf. It returns nil for other values.
func (r *request) notForeign(v any, l *layout.Leaf) error {
	if v == nil || !r.handlers.Describes(reflect.TypeOf(v)) {
		return nil
	}
	by := r.handlers.ForAbstract(v)
	if by == nil {
		by = r.handlers.ForValue(v)
	}
	return &errs.Error{Kind: errs.Mismatch, Want: "a leaf of type " + by.TypeString(), Got: savedAs(l)}
}
