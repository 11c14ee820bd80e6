package image

import (
	"context"
	"reflect"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/tree"
)

// tree makes the tree of an item, and has leaf handlers isolate the leaves of
// their types.
func (h Handlers) tree(ctx context.Context, it *Item, v any) (err error) {
	if len(h.Leaves.All()) == 0 {
		it.Tree, err = TreeOf(v)
		return err
	}
	isLeaf := func(t reflect.Type) bool { return h.Leaves.Handles(t) }
	if it.Tree, err = (tree.Options{KeepUnknown: true, IsLeaf: isLeaf}).From(v); err != nil {
		return err
	}
	leaves := map[*handler.AnyLeaf][]handler.Saved[any]{}
	for _, e := range tree.Flatten(it.Tree) {
		if e.Node.Kind != tree.Leaf {
			continue
		}
		by := h.Leaves.ForValue(e.Node.Value)
		if by == nil {
			continue
		}
		if it.Foreign == nil {
			it.Foreign = map[*tree.Node]string{}
		}
		it.Foreign[e.Node] = by.TypeString()
		leaves[by] = append(leaves[by], handler.Saved[any]{Path: e.Path, Value: e.Node.Value})
	}
	var steps []handler.Commit
	for _, by := range h.Leaves.All() {
		if len(leaves[by]) == 0 {
			continue
		}
		commit, err := by.Serialize(ctx, leaves[by])
		if err != nil {
			return err
		}
		if commit != nil {
			steps = append(steps, commit)
		}
		steps = append(steps, by.Finalize)
	}
	if steps != nil {
		it.Commit = inOrder(steps)
	}
	return nil
}

// inOrder is one commit of several.
func inOrder(steps []handler.Commit) handler.Commit {
	return func(ctx context.Context, dir handler.Writer) error {
		for _, step := range steps {
			if err := step(ctx, dir); err != nil {
				return err
			}
		}
		return nil
	}
}
