package checkpoint

import (
	"context"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// readForeign has leaf handlers read the leaves of their types, all of one type
// at once. One that is wanted and has no handler is errs.Unsupported.
func (ld *loading) readForeign(ctx context.Context, t *layout.OpenTree, entries []tree.Entry) error {
	wanted, at := map[*handler.AnyLeaf][]handler.Wanted[any]{}, map[*handler.AnyLeaf][]int{}
	for i := range t.Leaves {
		l := &t.Leaves[i]
		if l.Kind != layout.Foreign {
			continue
		}
		if ld.want(l).Skip {
			entries[i].Node.Value = Placeholder{}
			continue
		}
		by := ld.handlers.ForType(l.ValueType)
		if by == nil {
			return foreignError(l)
		}
		wanted[by], at[by] = append(wanted[by], handler.Wanted[any]{Path: l.Path}), append(at[by], i)
	}
	for _, by := range ld.handlers.All() {
		if len(wanted[by]) == 0 {
			continue
		}
		values, err := by.Deserialize(ctx, t.Directory(), wanted[by])
		if err != nil {
			return errs.Wrap("", "leaves of "+by.TypeString(), err)
		}
		for k, i := range at[by] {
			entries[i].Node.Value = values[k]
		}
	}
	return nil
}

func foreignError(l *layout.Leaf) error {
	return &errs.Error{Kind: errs.Unsupported, Subject: "leaf " + strconv.Quote(l.Param), Want: "a type that is known", Got: l.ValueType,
		Remedy: "add its handler to Options.PyTree.LeafHandlers, or leave it out (Placeholder, Want.Skip)"}
}
