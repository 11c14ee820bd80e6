package layout

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/dcp"
	"github.com/bivouac-ml/bivouac/format/pt"
	"github.com/bivouac-ml/bivouac/tree"
)

// A file of torch.save is a checkpoint by itself: one value of Python. Each storage of its tensors
// has a CRC-32, unless the writer left them out.

var ptSuffixes = []string{".pt", ".pth", ".ckpt"}

func isPT(name string) bool { return slices.Contains(ptSuffixes, path.Ext(name)) }

// pt returns the name of the single file, or "" if there is another file.
func (e entries) pt() string {
	for n, dir := range e {
		if len(e) == 1 && !dir && isPT(n) {
			return n
		}
	}
	return ""
}

func (c *Checkpoint) ptTree(ctx context.Context, _ Item) (*OpenTree, error) {
	t := &OpenTree{files: newFiles(c, ""), limit: c.opts.Reads}
	if err := c.fillPT(ctx, t); err != nil {
		return nil, errs.Wrap("", c.path(c.parts[0]), joinClose(err, t))
	}
	return t, nil
}

func (c *Checkpoint) fillPT(ctx context.Context, t *OpenTree) error {
	name := c.parts[0]
	r, size, err := numpyFile{t.files, name}.reader(ctx)
	if err != nil {
		return err
	}
	archive, err := pt.Open(r, size)
	if err != nil {
		return advise(err, "load it with torch if you trust it, and save the tensors by themselves")
	}
	at := tree.Path(nil)
	if archive.Root.Kind == tree.Leaf {
		at = tree.Path{{Name: strings.TrimSuffix(path.Base(name), path.Ext(name))}}
	}
	var b valueTree
	if err := b.addValue(t.files, at, dcp.Chunk{File: name, Length: size}, archive); err != nil {
		return err
	}
	return b.finish(t)
}

// ptKind is the kind of a file of torch.save, which is a checkpoint only as a single file.
var ptKind = &kind{
	name:  "pt",
	sniff: func(e entries) bool { return e.pt() != "" },
	items: func(entries) []string { return []string{orbax.StateItem} },
	meta:  (*Checkpoint).numpyMeta,
	item:  (*Checkpoint).numpyItem,
	tree:  (*Checkpoint).ptTree,
}
