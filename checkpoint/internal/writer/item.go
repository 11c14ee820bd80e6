package writer

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/fold"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Item is one checkpointable: a tree of arrays, one JSON file, or the output of a handler.
type Item struct {
	Name    string
	Handler string          // type string recorded for it
	Rich    *orbax.Rich     // types of the containers of Tree that are recorded; nil records no types
	Tree    *tree.Node      // or
	Commit  handler.Commit  // from the handler, which has isolated the value, or from the leaf handlers of Foreign; or
	JSON    json.RawMessage // written unchanged
	File    string          // file of the JSON, relative to the directory of the item
	// Foreign are the leaves of Tree that Commit writes, with their type strings.
	Foreign map[*tree.Node]string
}

// Handlers find the handler of an item. The zero value has the handlers of handler.Global.
type Handlers struct {
	Items  *handler.Registry     // nil is handler.Global()
	Leaves *handler.LeafRegistry // for leaves in trees; nil has no handlers
}

// Collect turns named values into items in the order of their names, each by its
// handler. Trees of arrays are written by a Writer, not by their handler. Handlers
// have isolated their values when Collect returns. values is not changed.
func (h Handlers) Collect(ctx context.Context, values map[string]any) ([]Item, error) {
	if len(values) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Got: "nothing to save"}
	}
	items := make([]Item, 0, len(values))
	for _, n := range slices.Sorted(maps.Keys(values)) {
		err := checkName(n)
		var it Item
		if err == nil {
			it, err = h.collectItem(ctx, n, values[n])
		}
		if err != nil {
			return nil, errs.Wrap("", "item "+strconv.Quote(n), err)
		}
		items = append(items, it)
	}
	return items, CheckNames(items)
}

func (h Handlers) collectItem(ctx context.Context, name string, v any) (Item, error) {
	if raw, ok := v.(json.RawMessage); ok && !json.Valid(raw) {
		return Item{}, &errs.Error{Kind: errs.Invalid, Want: "valid JSON"}
	}
	registry := h.Items
	if registry == nil {
		registry = handler.Global()
	}
	by, err := h.handlerOf(registry, name, v)
	if err != nil {
		return Item{}, explain(v, err)
	}
	it := Item{Name: name, Handler: by.TypeString()}
	if _, ok := by.(handler.Tree); ok {
		return h.CollectTree(ctx, name, v)
	}
	it.Commit, err = handler.Save(ctx, by, v)
	return it, err
}

// explain returns why a value without a handler is not a tree, if that is known.
func explain(v any, err error) error {
	if errs.KindOf(err) != errs.NotFound {
		return err
	}
	n, reason := TreeOf(v)
	if reason == nil {
		reason = CheckLeaves(n)
	}
	if reason != nil {
		return reason
	}
	return err
}

// CheckLeaves returns an error for a tree with a leaf of a type that no leaf can have.
func CheckLeaves(n *tree.Node) error {
	for _, e := range tree.Flatten(n) {
		value := e.Node.Value
		if o, ok := value.(tree.Opaque); ok { // in a node that the caller made
			value = o.TreeLeaf()
		}
		switch value.(type) {
		case nil, bool, int64, uint64, float64, complex128, string, tensor.Tensor, Key, Lazy, Parts:
			continue
		}
		if _, err := newLeaf(e, new(orbax.Entry)); err != nil {
			if len(e.Path) == 0 { // the item itself
				return err
			}
			return errs.Wrap("", e.Path.String(), err)
		}
	}
	return nil
}

// TreeOf returns v as a tree whose leaves can be saved, or says why it cannot be.
func TreeOf(v any) (*tree.Node, error) {
	return tree.Options{KeepUnknown: true}.From(v)
}

// reserved are names of files beside the items, and names that Orbax reserves.
var reserved = []string{
	orbax.MarkerFile, orbax.CheckpointFile, orbax.CommitFile, orbax.TreeFile, manifest.Name,
	orbax.AnnotationsFile, orbax.MetricsItem, "AUTO", "_CHECKPOINT_DELETION",
}

// CheckNames returns an error if two item names differ only in case.
func CheckNames(items []Item) error {
	seen := make(map[string]string, len(items))
	for _, it := range items {
		folded := fold.Name(it.Name)
		if other, ok := seen[folded]; ok {
			return NameClash(it.Name, other)
		}
		seen[folded] = it.Name
	}
	return nil
}

// NameClash returns the error for two item names that differ only in case.
func NameClash(item, other string) error {
	return &errs.Error{Kind: errs.Invalid, Subject: "item " + strconv.Quote(item),
		Want: "a name that differs from " + strconv.Quote(other) + " in more than case", Got: "a name that differs only in case",
		Remedy: "some file systems would take both for one directory"}
}

func checkName(name string) error {
	e := &errs.Error{Kind: errs.Invalid, Want: "a plain directory name"}
	switch {
	case slices.Contains(reserved, name):
		e.Want, e.Got = "another name", "a reserved name"
		if name == orbax.MetricsItem {
			e.Remedy = "metrics of a step are SaveOptions.Metrics"
		}
	case name != "" && !strings.ContainsAny(name, "/\\") && !store.IsStaging(name) && store.CheckName("item", name) == nil:
		return nil
	}
	return e
}

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

// without returns the tree with nil in place of each leaf of a leaf handler; has is true if there
// is such a leaf.
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

// inOrder returns one commit that runs several in order.
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
