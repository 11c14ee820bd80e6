package parts

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tree"
)

// Removal is what a part takes away from those before it: for each item the key
// names of leaves or of containers with all that is below. The empty path is the
// whole item.
type Removal map[string][][]string

// Append appends the document that a part holds.
func (r Removal) Append(dst []byte) []byte {
	b, err := json.Marshal(map[string]Removal{"remove": r})
	if err != nil {
		panic(err) // strings always encode
	}
	return append(dst, b...)
}

// ParseRemoval reads the document.
func ParseRemoval(b []byte) (Removal, error) {
	var d struct {
		Remove Removal `json:"remove"`
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, &errs.Error{Kind: errs.Corrupt, Subject: RemovalFile, Err: err}
	}
	return d.Remove, nil
}

func readRemoval(ctx context.Context, st store.Store, p Part) (Removal, error) {
	b, err := store.ReadAll(ctx, st, path.Join(p.Dir, RemovalFile))
	if err != nil {
		return nil, err
	}
	return ParseRemoval(b)
}

// matches reports whether a leaf of that path is taken away.
func matches(paths [][]string, p tree.Path) bool {
	return slices.ContainsFunc(paths, func(names []string) bool {
		return len(names) <= len(p) && slices.EqualFunc(names, p[:len(names)], func(n string, k tree.Key) bool { return n == k.Name })
	})
}

// remove takes away.
func (a *Assembly) remove(r Removal) error {
	for _, item := range slices.Sorted(maps.Keys(r)) {
		var err error
		if slices.ContainsFunc(r[item], func(p []string) bool { return len(p) == 0 }) {
			err = a.removeItem(item)
		} else {
			err = a.removeLeaves(item, r[item])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *Assembly) removeItem(item string) (err error) {
	below := func(name string) bool { return strings.HasPrefix(name, item+"/") }
	maps.DeleteFunc(a.docs, func(name string, _ []byte) bool { return below(name) })
	maps.DeleteFunc(a.links, func(name, _ string) bool { return below(name) })
	maps.DeleteFunc(a.records, func(name string, _ manifest.File) bool { return below(name) })
	a.leaves = slices.DeleteFunc(a.leaves, func(l manifest.Leaf) bool { return l.Item == item })
	a.nodes = slices.DeleteFunc(a.nodes, func(n manifest.File) bool { return below(n.Name) })
	delete(a.items, item)
	delete(a.own, item)
	if doc := a.docs[orbax.CheckpointFile]; doc != nil {
		a.docs[orbax.CheckpointFile], err = orbax.RemoveItem(doc, item)
	}
	return err
}

func (a *Assembly) removeLeaves(item string, paths [][]string) error {
	doc, params, err := orbax.RemoveEntries(a.docs[path.Join(item, orbax.TreeFile)], func(p tree.Path) bool { return matches(paths, p) })
	if err != nil {
		return err
	}
	a.docs[path.Join(item, orbax.TreeFile)] = doc
	for name, doc := range a.docs {
		of, below, _ := strings.Cut(name, "/")
		if of != item {
			continue
		}
		switch {
		case below == orbax.StringsFile:
			a.docs[name], err = orbax.RemoveStrings(doc, params)
		case below == orbax.ShardingFile:
			a.docs[name], err = orbax.RemoveSharding(doc, params)
		case path.Dir(below) == orbax.ArraysDir:
			a.docs[name], err = orbax.RemoveArrays(doc, params)
		}
		if err != nil {
			return err
		}
	}
	gone := map[string]bool{}
	for _, p := range params {
		gone[p] = true
	}
	a.leaves = slices.DeleteFunc(a.leaves, func(l manifest.Leaf) bool { return l.Item == item && gone[l.Param] })
	if d := a.items[item]; d != nil {
		d.remove(params)
		return a.dropForeign(item)
	}
	for _, p := range params { // plain arrays lie in directories of their names
		dir := path.Join(item, p) + "/"
		maps.DeleteFunc(a.links, func(name, _ string) bool { return strings.HasPrefix(name, dir) })
		maps.DeleteFunc(a.records, func(name string, _ manifest.File) bool { return strings.HasPrefix(name, dir) })
	}
	return a.dropForeign(item)
}
