package checkpoint

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/errs"
)

// LoadCheckpointablesAsync loads in the background, as LoadCheckpointables does, in
// every layout. Cancel ends the load. o and what its Abstract holds must not be
// changed before it is done.
func LoadCheckpointablesAsync(ctx context.Context, path string, o *LoadOptions) *Response[map[string]any] {
	return inBackground(ctx,
		func(ctx context.Context) (map[string]any, error) { return LoadCheckpointables(ctx, path, o) })
}

// wantedItems returns the abstract value of each item that Abstract names, or nil for all items as
// saved. An item that the checkpoint does not have is errs.NotFound.
func (o *LoadOptions) wantedItems(has []layout.Item) (map[string]any, error) {
	const subject = "LoadOptions.Abstract"
	var wanted map[string]any
	switch a := o.Abstract.(type) {
	case nil:
		return nil, nil
	case *Info:
		if a == nil {
			return nil, nil
		}
		wanted = make(map[string]any, len(a.Items))
		for i := range a.Items {
			if a.Items[i].Kind == layout.Tree.String() {
				wanted[a.Items[i].Name] = &a.Items[i]
			} else {
				wanted[a.Items[i].Name] = nil
			}
		}
	case map[string]any:
		wanted = make(map[string]any, len(a))
		for name, v := range a {
			if _, none := v.(Placeholder); none {
				v = nil
			}
			wanted[name] = v
		}
	default:
		return nil, &errs.Error{Kind: errs.Invalid, Subject: subject, Want: "a map[string]any of items, or *Info",
			Got: fmt.Sprintf("%T", a)}
	}
	var names []string
	for _, it := range has {
		names = append(names, it.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if !slices.Contains(names, name) {
			return nil, &errs.Error{Kind: errs.NotFound, Subject: "item " + name, Want: "one of " + strings.Join(names, ", "),
				Remedy: errs.DidYouMean(name, names)}
		}
	}
	return wanted, nil
}

// with returns the options with another Abstract.
func (o *LoadOptions) with(abstract any) *LoadOptions {
	c := *o
	c.Abstract = abstract
	return &c
}
