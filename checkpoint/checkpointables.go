package checkpoint

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/errs"
)

// SaveCheckpointables saves several items as the checkpoint path and returns when it is durable.
// The registry of the options finds the handler of each item (package handler). Trees of arrays are
// items too. If ctx ends first, the save is cancelled and nothing of it is visible.
// SaveOptions.Name is not used.
//
// Errors: Invalid for no items, for names that no directory can have or that Orbax reserves
// ("metrics", "AUTO"), and for leaves that no file can hold, naming them; NotFound for an item that
// no handler takes; Exists for a taken name; errors of handlers and of the store. items is not
// changed.
func SaveCheckpointables(ctx context.Context, path string, items map[string]any, o *SaveOptions) error {
	r, _, err := startSave(ctx, path, items, o, false)
	if err == nil {
		_, err = r.Await(ctx)
	}
	return err
}

// SaveCheckpointablesAsync copies the items and saves the copy in the background, as SaveAsync
// does. When it returns, the caller may change the items.
func SaveCheckpointablesAsync(ctx context.Context, path string, items map[string]any,
	o *SaveOptions) (*Response[SaveStats], error) {
	r, s, err := startSave(ctx, path, items, o, true)
	if err != nil {
		return nil, err
	}
	if s != nil {
		s.Writer.WaitCopied()
	}
	return r, nil
}

// LoadCheckpointables reads all items, each by the handler that the registry of the options finds
// for the type string that it was saved with: trees as *tree.Node, JSON as json.RawMessage, text
// protobufs as ProtoText. It leaves out items that no handler can read. It also leaves out items of
// objects that save themselves; give these objects as LoadOptions.Abstract. Metadata lists the
// items left out. If an item that Abstract names cannot be loaded, the load fails.
func LoadCheckpointables(ctx context.Context, path string, o *LoadOptions) (out map[string]any, err error) {
	const op = "checkpoint.LoadCheckpointables"
	o, err = o.resolve(ctx)
	if err != nil {
		return nil, errs.Wrap(op, path, err)
	}
	ctx, o, told := o.tell(ctx, path)
	defer func() { told(err) }()
	ctx, cancel, err := o.bound(ctx)
	defer cancel()
	if err != nil {
		return nil, errs.Wrap(op, path, err)
	}
	err = o.readTogether(ctx, path, func(o *LoadOptions, c *layout.Checkpoint) (err error) {
		out, err = o.loadItems(ctx, c)
		return o.excused(ctx, c, err)
	})
	if err != nil { // on another process, it may be
		return nil, errs.Wrap(op, path, err)
	}
	return out, nil
}

func (o *LoadOptions) loadItems(ctx context.Context, c *layout.Checkpoint) (map[string]any, error) {
	items, err := c.Items(ctx)
	if err != nil {
		return nil, err
	}
	wanted, err := o.wantedItems(items)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, it := range items {
		abstract, asked := wanted[it.Name]
		if wanted != nil && !asked {
			continue
		}
		tells := abstract // finds the handler; a tree stays a tree whatever is asked of it
		if it.Kind == layout.Tree {
			tells = nil
		}
		by, err := handlerOf(o.Checkpointables.Registry, it, tells)
		if _, object := by.(handler.Objects); !asked && (object || errs.KindOf(err) == errs.NotFound) {
			continue
		}
		var v any
		if err == nil {
			v, err = o.loadItem(ctx, c, it, by, abstract)
		}
		if err != nil {
			return nil, errs.Wrap("", "item "+it.Name, err)
		}
		out[it.Name] = v
	}
	return out, nil
}

// loadItem reads an item with its handler. It reads a tree without a handler and applies the
// options to it.
func (o *LoadOptions) loadItem(ctx context.Context, c *layout.Checkpoint, it layout.Item,
	by handler.CheckpointableHandler, abstract any) (any, error) {
	if _, ok := by.(handler.Tree); ok {
		return loadTree(ctx, c, it.Name, nil, o.with(abstract))
	}
	if abstract == nil {
		switch by.(type) {
		case handler.JSON, handler.Metrics:
			abstract = json.RawMessage(nil)
		}
	}
	return handler.Load(ctx, by, c.Directory(it.Name), abstract)
}

// handlerOf finds the handler that loads an item, or returns errs.NotFound. If no type string is
// recorded, or an unknown one, it uses the type string of the item's kind.
func handlerOf(registry *handler.Registry, it layout.Item, abstract any) (handler.CheckpointableHandler, error) {
	if registry == nil {
		registry = handler.Global()
	}
	own, err := ofType(registry, it.Name, it.Handler)
	if kind := it.Kind.Handler(); err != nil && kind != "" {
		it.Handler = kind
		own, err = ofType(registry, it.Name, kind)
	}
	if abstract == nil {
		return own, err
	}
	if err == nil {
		switch verdict, err := handler.Takes(own, abstract); {
		case err != nil:
			return nil, err
		case verdict == handler.Ask:
			return own, nil // it cannot tell from abstract what it should load
		}
	}
	return registry.ForLoad(it.Name, abstract, it.Handler)
}

// ofType returns the handler that is bound to the name or has the type string.
func ofType(registry *handler.Registry, name, typeString string) (handler.CheckpointableHandler, error) {
	h, err := registry.ForLoad(name, nil, typeString)
	if err != nil || registry.Has(name) || h.TypeString() == typeString ||
		slices.Contains(registry.SecondaryTypeStrings(h), typeString) {
		return h, err
	}
	return nil, &errs.Error{Kind: errs.NotFound, Subject: "handler of item " + name, Want: typeString,
		Remedy: "add the handler that saved it"}
}
