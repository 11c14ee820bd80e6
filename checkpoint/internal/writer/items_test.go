package writer

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
)

// testItems are trees and JSON as package checkpoint has them saved, which is
// what handler.Tree works by in programs.
func testItems(values map[string]any) ([]Item, error) {
	var trees []Item
	rest := maps.Clone(values)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := values[name].(json.RawMessage); ok {
			continue
		}
		delete(rest, name)
		n, err := TreeOf(values[name])
		if err != nil {
			return nil, err
		}
		trees = append(trees, Item{Name: name, Handler: orbax.HandlerTree, Tree: n})
	}
	if len(rest) == 0 {
		return trees, nil
	}
	registry := &handler.Registry{}
	if err := registry.Add(handler.JSON{}, ""); err != nil {
		return nil, err
	}
	items, err := Handlers{Items: registry}.Collect(context.Background(), rest)
	return append(trees, items...), err
}

// snapshot is Plan and Snapshot.
func snapshot(items []Item, how Mode, o Options) (*Writer, error) {
	w, err := Plan(items, how, o)
	if err == nil {
		err = w.Snapshot()
	}
	return w, err
}
