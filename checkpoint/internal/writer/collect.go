package writer

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// CollectTree makes the item of a tree. Leaf handlers have isolated the leaves of their
// types when it returns.
func (h Handlers) CollectTree(ctx context.Context, name string, v any) (it Item, err error) {
	it = Item{Name: name, Handler: orbax.HandlerTree}
	if len(h.Leaves.All()) == 0 {
		it.Tree, err = TreeOf(v)
		return it, err
	}
	if it.Tree, err = (tree.Options{KeepUnknown: true, IsLeaf: h.Leaves.Handles}).From(v); err != nil {
		return it, err
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
			return it, err
		}
		if commit != nil {
			steps = append(steps, commit)
		}
		steps = append(steps, by.Finalize)
	}
	if steps != nil {
		it.Commit = inOrder(steps)
	}
	return it, nil
}

// handlerOf finds the handler that saves an item. A tree some of whose leaves belong to leaf
// handlers is still saved as a tree, unless a handler other than handler.JSON takes it.
func (h Handlers) handlerOf(registry *handler.Registry, name string, v any) (handler.CheckpointableHandler, error) {
	by, err := registry.ForSave(name, v)
	if _, isJSON := by.(handler.JSON); err == nil && !isJSON || err != nil && errs.KindOf(err) != errs.NotFound ||
		len(h.Leaves.All()) == 0 {
		return by, err
	}
	n, bad := tree.Options{KeepUnknown: true, IsLeaf: h.Leaves.Handles}.From(v)
	if bad != nil {
		return by, err
	}
	if rest, has := h.without(n); has {
		if as, bad := registry.ForSave(name, rest); bad == nil && as.TypeString() == orbax.HandlerTree {
			return as, nil
		}
	}
	return by, err
}

// without returns the tree with nil for each leaf of a leaf handler, and whether
// there is one.
func (h Handlers) without(n *tree.Node) (rest *tree.Node, has bool) {
	if n.Kind == tree.Leaf {
		if h.Leaves.ForValue(n.Value) != nil {
			return &tree.Node{}, true
		}
		return n, false
	}
	c := *n
	c.Items = make([]*tree.Node, len(n.Items))
	for i, child := range n.Items {
		var below bool
		c.Items[i], below = h.without(child)
		has = has || below
	}
	return &c, has
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
