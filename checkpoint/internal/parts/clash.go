package parts

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"path"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/internal/fold"
	"github.com/bivouac-ml/bivouac/tree"
)

// Tree returns the present tree of an item; ok is false if the item is not a tree or does not
// exist.
func (a *Assembly) Tree(item string) (t orbax.Tree, ok bool, err error) {
	doc, ok := a.docs[path.Join(item, orbax.TreeFile)]
	if !ok || a.own[item] {
		return t, false, nil
	}
	t, err = orbax.ParseTree(doc)
	return t, true, err
}

// Layout returns how the trees are stored; known is false if there are no trees.
func (a *Assembly) Layout() (l options.Layout, known bool) {
	for name, doc := range a.docs {
		item, below, _ := strings.Cut(name, "/")
		if below != orbax.TreeFile || a.own[item] {
			continue
		}
		t, err := orbax.ParseTree(doc)
		if err != nil {
			continue // complete returns the error
		}
		_, database := a.links[path.Join(item, ocdbt.ManifestName)]
		switch {
		case database && t.UseZarr3:
			return options.OCDBTZarr3, true
		case database:
			return options.OCDBTZarr2, true
		case t.UseZarr3:
			return options.PlainZarr3, true
		}
		return options.PlainZarr2, true
	}
	return 0, false
}

// Has reports whether the item exists.
func (a *Assembly) Has(item string) bool {
	for name := range a.docs {
		if strings.HasPrefix(name, item+"/") {
			return true
		}
	}
	for name := range a.links {
		if strings.HasPrefix(name, item+"/") {
			return true
		}
	}
	return false
}

// Like returns an item whose name differs from the given one in case only, or "": some file systems
// would take both for one directory.
func (a *Assembly) Like(item string) string {
	folded := fold.Name(item)
	for _, names := range []iter.Seq[string]{maps.Keys(a.docs), maps.Keys(a.links)} {
		for name := range names {
			other, _, below := strings.Cut(name, "/")
			if below && other != item && fold.Name(other) == folded {
				return other
			}
		}
	}
	return ""
}

// HasStrings reports whether the item holds strings.
func (a *Assembly) HasStrings(item string) bool {
	_, ok := a.docs[path.Join(item, orbax.StringsFile)]
	return ok
}

// Clash returns the key names of leaves that conflict with new entries of a tree: the same leaves,
// leaves above them and leaves below them. An empty container conflicts with nothing.
func Clash(old orbax.Tree, added []tree.Entry) (paths [][]string) {
	leaves, above, told := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, e := range old.Entries {
		if isEmpty(e.ValueType) {
			continue
		}
		names := keyNames(e.Path)
		leaves[joined(names)] = true
		for n := range names {
			above[joined(names[:n])] = true
		}
	}
	for _, e := range added {
		if e.Node.Kind != tree.Leaf {
			continue
		}
		names := keyNames(e.Path)
		if key := joined(names); leaves[key] || above[key] {
			paths = append(paths, names)
			continue
		}
		for n := range names {
			if key := joined(names[:n]); leaves[key] && !told[key] {
				told[key] = true
				paths = append(paths, names[:n])
			}
		}
	}
	return paths
}

func isEmpty(valueType string) bool {
	switch valueType {
	case orbax.TypeDict, orbax.TypeList, orbax.TypeTuple, orbax.TypeNamedTuple:
		return true
	}
	return false
}

func keyNames(p tree.Path) []string {
	names := make([]string, len(p))
	for i, k := range p {
		names[i] = k.Name
	}
	return names
}

// joined joins names so that different lists give different strings.
func joined(names []string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteString(strings.ReplaceAll(n, "\x00", "\x00\x01"))
		b.WriteString("\x00\x00")
	}
	return b.String()
}

// Differing returns the first of the files whose bytes differ between a and b.
func Differing(ctx context.Context, names []string, a, b handler.Reader) (string, error) {
	for _, name := range names {
		x, err := a.ReadFile(ctx, name)
		if err != nil {
			return "", err
		}
		y, err := b.ReadFile(ctx, name)
		if err != nil {
			return "", err
		}
		if !bytes.Equal(x, y) {
			return name, nil
		}
	}
	return "", nil
}
