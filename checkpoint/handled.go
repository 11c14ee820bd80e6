package checkpoint

import (
	"context"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// Handled is a leaf that a leaf handler wrote, in the trees that a Transform takes. A Transform may
// leave it out, move it, and put it in several places. LoadAndTransform lets the handler read the
// leaves in the result. ConvertAndTransform copies the files of the handler. The handler finds its
// leaves in them by their names, so a leaf must keep its name or be left out.
type Handled struct {
	ValueType string // the type string of the handler

	leaf *layout.Leaf
	of   *layout.OpenTree
}

// TreeLeaf makes Handled a leaf of a tree.
func (h Handled) TreeLeaf() any { return h }

// String says what it is.
func (h Handled) String() string { return "leaf of type " + h.ValueType }

// origin tells where to read a leaf that was made from another leaf.
type origin struct {
	tree *layout.OpenTree
	path tree.Path
}

// copied makes an item keep the leaves of leaf handlers that remain in its tree, which was made
// from the tree from. It copies the files of these handlers.
func (c *conversion) copied(ctx context.Context, out *writer.Item, from *layout.OpenTree) error {
	for _, e := range tree.Flatten(out.Tree) {
		h, ok := e.Node.Value.(Handled)
		if !ok {
			continue
		}
		same := slices.EqualFunc(e.Path, h.leaf.Path, func(a, b tree.Key) bool { return a.Name == b.Name })
		if h.of != from || !same {
			return &errs.Error{Kind: errs.Unsupported, Subject: "leaf " + strconv.Quote(e.Path.Param()),
				Want:   h.String() + " under its name in the first source",
				Got:    "a leaf that was " + strconv.Quote(h.leaf.Param),
				Remedy: "drop the leaf; or load it transformed, with its handler, and save the result"}
		}
		if out.Foreign == nil {
			out.Foreign = map[*tree.Node]string{}
		}
		out.Foreign[e.Node] = h.ValueType
	}
	if out.Foreign == nil {
		return nil
	}
	names, err := from.ForeignFiles(ctx)
	out.Commit = c.copies(out.Name, from.Directory(), names)
	return err
}

// copiedItem plans the copy of an item that only its handler understands.
func (c *conversion) copiedItem(ctx context.Context, out *writer.Item, name string) error {
	dir := c.from.Directory(name)
	names, err := dir.List(ctx)
	out.Commit = c.copies(out.Name, dir, names)
	return err
}

// copies writes files of handlers unchanged, with one file in memory at a time, and records them
// for the comparison.
func (c *conversion) copies(item string, from handler.Reader, names []string) handler.Commit {
	c.files = append(c.files, copiedFiles{item, from, names})
	return func(ctx context.Context, dir handler.Writer) error {
		for _, name := range names {
			b, err := from.ReadFile(ctx, name)
			if err == nil {
				err = dir.Put(ctx, name, b)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// copiedFiles are files of handlers that were copied into an item of the destination.
type copiedFiles struct {
	item  string
	from  handler.Reader
	names []string
}

// compare compares the files with the written ones.
func (f copiedFiles) compare(ctx context.Context, to *layout.Checkpoint) error {
	name, err := parts.Differing(ctx, f.names, f.from, to.Directory(f.item))
	if err == nil && name != "" {
		err = &errs.Error{Kind: errs.Corrupt, Subject: name, Got: "different bytes after writing",
			Remedy: "check memory and disk"}
	}
	return err
}
