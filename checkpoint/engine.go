package checkpoint

import (
	"context"
	"encoding/json"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/plan"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/provided"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

func init() { provided.Enter(provided.Trees, engine{}) }

// engine is the implementation behind handler.Tree, for handlers that keep a tree in a part of
// their item. Trees that are items themselves do not use it.
type engine struct{}

// Handles is what handler.Tree calls.
func (engine) Handles(v any) bool {
	if encodesItself(v) {
		return false
	}
	n, err := writer.TreeOf(v)
	return err == nil && writer.CheckLeaves(n) == nil
}

// HandlesAbstract is what handler.Tree calls.
func (engine) HandlesAbstract(a any) bool {
	if encodesItself(a) {
		return false
	}
	switch a.(type) {
	case *Info, Info, *ItemInfo, ItemInfo:
		return true
	}
	n, err := tree.Options{KeepUnknown: true}.From(a)
	if err != nil {
		return false
	}
	return writer.CheckLeaves(replaced(n, func(leaf *tree.Node) any {
		switch leaf.Value.(type) {
		case Abstract, LeafType, Placeholder:
			return nil
		}
		return leaf.Value
	})) == nil
}

// encodesItself reports whether v has its own JSON encoding, as which it is then saved.
func encodesItself(v any) bool {
	switch v.(type) {
	case *tree.Node, tensor.Tensor, *tensor.Tensor, tree.Opaque:
		return false
	case json.Marshaler:
		return true
	}
	return false
}

// Save is what handler.Tree calls.
func (engine) Save(ctx context.Context, v any) (handler.Commit, error) {
	o, err := options.Resolve(ctx, options.Options{}, options.Options{})
	if err != nil {
		return nil, err
	}
	io, err := plan.Save(o)
	if err != nil {
		return nil, err
	}
	if io.Layout == options.SafetensorsLayout { // this layout cannot hold items
		io.Layout = options.OCDBTZarr3
	}
	it, err := writer.Handlers{Leaves: o.PyTree.LeafHandlers}.CollectTree(ctx, orbax.StateItem, v)
	if err != nil {
		return nil, err
	}
	io.Style, io.Signing = writer.Pending, nil // the checkpoint is signed
	w, err := writer.Plan([]writer.Item{it}, writer.Copy, io)
	if err != nil {
		return nil, err
	}
	if err := w.Snapshot(); err != nil {
		return nil, err
	}
	return func(ctx context.Context, dir handler.Writer) error {
		_, err := w.Write(ctx, &nested{dir: dir})
		w.Close()
		return err
	}, nil
}

// Load is what handler.Tree calls.
func (engine) Load(ctx context.Context, dir handler.Reader, abstract any) (any, error) {
	c, err := layout.Open(ctx, directoryStore{dir: dir}, "")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return loadTree(ctx, c, "", nil, &LoadOptions{Abstract: abstract})
}

// Metadata is what handler.Tree calls; it returns an ItemInfo.
func (engine) Metadata(ctx context.Context, dir handler.Reader) (any, error) {
	c, err := layout.Open(ctx, directoryStore{dir: dir}, "")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	o, err := options.Resolve(ctx, options.Options{}, options.Options{})
	if err != nil {
		return nil, err
	}
	info := ItemInfo{Kind: layout.Tree.String(), Handler: orbax.HandlerTree}
	err = describeTree(ctx, c.Describe, "", o.PyTree.LeafHandlers, &info)
	return info, err
}
