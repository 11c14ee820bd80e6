package layout

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// ItemKind says how an item is stored.
type ItemKind uint8

// The kinds of items.
const (
	Unknown ItemKind = iota
	Tree
	JSON
	Proto
)

var itemKinds = [...]string{"unknown", "tree", "json", "proto"}

// String returns the kind in words.
func (k ItemKind) String() string { return itemKinds[k] }

// Handler returns the type string of the handler for items whose files show their kind, or "" for
// other kinds.
func (k ItemKind) Handler() string {
	return map[ItemKind]string{Tree: orbax.HandlerTree, JSON: orbax.HandlerJSON, Proto: orbax.HandlerProto}[k]
}

// Item is one checkpointable.
type Item struct {
	Name    string // "" in a flat checkpoint
	Kind    ItemKind
	Handler string // type string recorded for it, may be empty
	File    string // of a JSON or Proto item, below the checkpoint

	lenient bool // of a tree: see Describe
	salvage bool // of a tree: see Salvage
}

// itemFiles are files that show the kind of an item, in the order in which they are looked for.
var itemFiles = []struct {
	file string
	kind ItemKind
}{
	{orbax.TreeFile, Tree}, {orbax.JSONFile, JSON}, {orbax.ProtoFile, Proto}, {orbax.JSONFileV0, JSON},
}

// Items describes the items in the order of their names.
func (c *Checkpoint) Items(ctx context.Context) ([]Item, error) {
	out := make([]Item, 0, len(c.items))
	for _, n := range c.items {
		it, err := c.Item(ctx, n)
		if err != nil {
			return nil, err
		}
		out = append(out, it)
	}
	return out, nil
}

// Has reports whether there is an item of that name.
func (c *Checkpoint) Has(item string) bool { return slices.Contains(c.items, item) }

// Item describes one item. A missing item is errs.NotFound.
func (c *Checkpoint) Item(ctx context.Context, name string) (Item, error) {
	if !c.Has(name) {
		return Item{}, &errs.Error{Kind: errs.NotFound, Op: "checkpoint", Subject: c.name,
			Want: "item " + strconv.Quote(name), Got: "items " + quoted(c.items), Remedy: errs.DidYouMean(name, c.items)}
	}
	if c.once == nil {
		return c.kind.item(c, ctx, name)
	}
	return c.once.item(name, func() (Item, error) { return c.kind.item(c, ctx, name) })
}

// Tree opens a tree item. The caller must close it.
func (c *Checkpoint) Tree(ctx context.Context, name string) (*OpenTree, error) {
	return c.openTree(ctx, name, func(*Item) {})
}

// Describe works like Tree, but records what is wrong with a single leaf in Leaf.Err. Such a leaf
// has no array.
func (c *Checkpoint) Describe(ctx context.Context, name string) (*OpenTree, error) {
	return c.openTree(ctx, name, func(it *Item) { it.lenient = true })
}

// Salvage works like Describe and also finds the whole leaves of a damaged database. It compares
// each node with its own checksum, and the leaves below a damaged node get the error as their Err.
// If nothing of the database can be found, all its leaves get it. With a key Salvage is the same as
// Describe, because only signed bytes count.
func (c *Checkpoint) Salvage(ctx context.Context, name string) (*OpenTree, error) {
	return c.openTree(ctx, name, func(it *Item) { it.lenient, it.salvage = true, true })
}

func (c *Checkpoint) openTree(ctx context.Context, name string, how func(*Item)) (*OpenTree, error) {
	it, err := c.Item(ctx, name)
	if err != nil {
		return nil, err
	}
	if it.Kind != Tree {
		return nil, &errs.Error{Kind: errs.Mismatch, Op: "checkpoint", Subject: c.path(name), Want: "a tree of arrays",
			Got: it.Kind.String()}
	}
	how(&it)
	t, err := c.kind.tree(c, ctx, it)
	if err != nil || !it.lenient {
		return t, err
	}
	for i := range t.Leaves {
		if strange := t.Leaves[i].Err; strange != nil {
			if gone := c.Explain(ctx, strange); gone != strange {
				return nil, joinClose(gone, t) // the whole checkpoint is gone, not just this leaf
			}
			break
		}
	}
	return t, nil
}

// orbaxItem determines the kind of an item from the files in its directory.
func (c *Checkpoint) orbaxItem(ctx context.Context, name string) (Item, error) {
	it := Item{Name: name, Handler: c.Meta.Handlers[name]}
	if name == "" {
		it.Handler = c.Meta.Flat
	}
	if own, err := c.isOwn(ctx, it); own || err != nil {
		return it, err
	}
	candidates := itemFiles
	if name == orbax.MetricsItem {
		candidates = append(slices.Clone(itemFiles), itemFiles[0])
		candidates[len(candidates)-1].file, candidates[len(candidates)-1].kind = orbax.MetricsFile, JSON
	}
	for _, f := range candidates {
		file := path.Join(name, f.file)
		info, err := c.st.Stat(ctx, c.path(file))
		if err == nil && !info.Dir {
			it.Kind, it.File = f.kind, file
			break
		}
		if err != nil && errs.KindOf(err) != errs.NotFound {
			return it, err
		}
		if c.Manifest != nil {
			if _, listed := c.Manifest.File(file); listed {
				return it, missingFile(file, err)
			}
		}
	}
	return it, nil
}

// isOwn reports whether an item was written by a handler of the user, which may give its files any
// name. If nothing shows that Bivouac wrote the checkpoint, an item with the document of a tree
// counts as a tree.
func (c *Checkpoint) isOwn(ctx context.Context, it Item) (bool, error) {
	if !orbax.OwnHandler(it.Handler) || c.Manifest != nil {
		return orbax.OwnHandler(it.Handler), nil
	}
	b, err := c.file(ctx, path.Join(it.Name, orbax.TreeFile))
	if errs.KindOf(err) == errs.NotFound {
		return false, nil
	}
	if err == nil {
		_, bad := orbax.ParseTree(b)
		return bad != nil, nil
	}
	return false, err
}

func quoted(names []string) string {
	s := "none"
	for i, n := range names {
		if i == 0 {
			s = strconv.Quote(n)
		} else {
			s += ", " + strconv.Quote(n)
		}
	}
	return s
}

// JSON reads a JSON item.
func (c *Checkpoint) JSON(ctx context.Context, item string) (json.RawMessage, error) {
	b, err := c.document(ctx, item, JSON)
	if err != nil {
		return nil, err
	}
	if !json.Valid(b) {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "checkpoint", Subject: c.path(item), Want: "JSON"}
	}
	return b, nil
}

// Proto reads a protobuf item in text format.
func (c *Checkpoint) Proto(ctx context.Context, item string) ([]byte, error) {
	return c.document(ctx, item, Proto)
}

func (c *Checkpoint) document(ctx context.Context, item string, want ItemKind) ([]byte, error) {
	it, err := c.Item(ctx, item)
	if err != nil {
		return nil, err
	}
	if it.Kind != want {
		return nil, &errs.Error{Kind: errs.Mismatch, Op: "checkpoint", Subject: c.path(item),
			Want: "a " + want.String() + " item", Got: it.Kind.String()}
	}
	return c.file(ctx, it.File)
}

// Document reads a small file by its name relative to the checkpoint. A missing file is
// errs.NotFound, or errs.Corrupt if the manifest lists it.
func (c *Checkpoint) Document(ctx context.Context, name string) ([]byte, error) {
	return c.file(ctx, name)
}

// Names lists the files of a directory of the checkpoint, ascending. A missing directory has no
// files.
func (c *Checkpoint) Names(ctx context.Context, dir string) ([]string, error) {
	return c.list(ctx, dir, false)
}

// Dirs works like Names for the directories in a directory.
func (c *Checkpoint) Dirs(ctx context.Context, dir string) ([]string, error) {
	return c.list(ctx, dir, true)
}

func (c *Checkpoint) list(ctx context.Context, dir string, dirs bool) ([]string, error) {
	var out []string
	for e, err := range c.st.List(ctx, c.path(dir)) {
		if errs.KindOf(err) == errs.NotFound {
			break
		}
		if err != nil {
			return nil, err
		}
		if e.Dir == dirs {
			out = append(out, e.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Default returns the item for an empty name: "state" if it is a tree, else the first tree in the
// order of names.
func (c *Checkpoint) Default(ctx context.Context) (string, error) {
	items, err := c.Items(ctx)
	if err != nil {
		return "", err
	}
	first := ""
	found := false
	for _, it := range items {
		if it.Kind != Tree {
			continue
		}
		if it.Name == orbax.StateItem {
			return it.Name, nil
		}
		if !found {
			first, found = it.Name, true
		}
	}
	if !found {
		return "", &errs.Error{Kind: errs.NotFound, Op: "checkpoint", Subject: c.name, Want: "a tree of arrays",
			Got: "items " + quoted(c.items)}
	}
	return first, nil
}

func sizeError(subject string, want, got int64) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "checkpoint", Subject: subject,
		Want: strconv.FormatInt(want, 10) + " bytes", Got: strconv.FormatInt(got, 10)}
}

// Own works like Files. If a single file was named, it returns that file alone.
func (c *Checkpoint) Own(ctx context.Context) ([]store.Info, error) {
	if !c.alone || c.Manifest != nil {
		return c.Files(ctx)
	}
	var out []store.Info
	for _, name := range c.parts {
		info, err := c.raw.Stat(ctx, c.path(name))
		if err != nil {
			return nil, err
		}
		info.Name = name
		out = append(out, info)
	}
	return out, nil
}

// Files returns all files of the checkpoint in the store, ascending, whether the manifest lists
// them or not.
func (c *Checkpoint) Files(ctx context.Context) ([]store.Info, error) {
	var out []store.Info
	var walk func(dir string) error
	walk = func(dir string) error {
		for e, err := range c.raw.List(ctx, c.path(dir)) {
			if err != nil {
				return err
			}
			e.Name = path.Join(dir, e.Name)
			if e.Dir {
				if err := walk(e.Name); err != nil {
					return err
				}
				continue
			}
			out = append(out, e)
		}
		return nil
	}
	if err := walk(""); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b store.Info) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out, nil
}
