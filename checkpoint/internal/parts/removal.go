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

// Removal lists what a part removes from earlier parts: for each item the key names of leaves, or
// of containers with everything below. The empty path is the whole item.
type Removal map[string][][]string

// Append appends the document of a part.
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

// Below returns a function that reports whether a leaf lies at or below one of the
// paths.
func Below(paths [][]string) func(tree.Path) bool {
	at := make(map[string]bool, len(paths))
	for _, names := range paths {
		at[joined(names)] = true
	}
	return func(p tree.Path) bool {
		names := keyNames(p)
		for n := range len(names) + 1 {
			if at[joined(names[:n])] {
				return true
			}
		}
		return false
	}
}

// Held returns a function that reports whether a tree has a leaf at or below a path.
func Held(t orbax.Tree) func(names []string) bool {
	at := map[string]bool{}
	for _, e := range t.Entries {
		names := keyNames(e.Path)
		for n := range len(names) + 1 {
			at[joined(names[:n])] = true
		}
	}
	return func(names []string) bool { return at[joined(names)] }
}

// remove removes the leaves and items of r.
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
	doc, params, err := orbax.RemoveEntries(a.docs[path.Join(item, orbax.TreeFile)], Below(paths))
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
		t, err := orbax.ParseTree(doc)
		if err != nil {
			return err
		}
		d.remove(params, t.Arrays())
		return a.dropForeign(item)
	}
	// A plain array lies in a directory of its name, which may also contain arrays that stay.
	t, err := orbax.ParseTree(doc)
	if err != nil {
		return err
	}
	stays := map[string]bool{}
	for _, dirs := range []struct {
		of    []string
		stays bool
	}{{params, false}, {t.Arrays(), true}} {
		for _, p := range dirs.of {
			stays[path.Join(item, p)] = dirs.stays
		}
	}
	goes := func(name string) bool {
		for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if stay, known := stays[dir]; known {
				return !stay
			}
		}
		return false
	}
	maps.DeleteFunc(a.links, func(name, _ string) bool { return goes(name) })
	maps.DeleteFunc(a.records, func(name string, _ manifest.File) bool { return goes(name) })
	return a.dropForeign(item)
}
