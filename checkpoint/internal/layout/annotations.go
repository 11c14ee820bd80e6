package layout

import (
	"context"
	"maps"
	"path"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
)

// Annotations reads the annotations of the checkpoint, or returns nil if it has none. If Orbax made
// the checkpoint from parts, the annotations lie beside the databases of the parts. If two parts
// then differ, it is unknown which part was the later one.
func (c *Checkpoint) Annotations(ctx context.Context) (orbax.Annotations, error) {
	if c.alone {
		return nil, nil // the directory does not belong to the checkpoint
	}
	doc, err := c.annotations(ctx, "")
	if doc != nil || err != nil || c.Manifest != nil || len(c.parts) > 0 {
		return doc, err
	}
	for _, item := range c.items {
		for e, err := range c.st.List(ctx, c.path(item)) {
			if err != nil {
				return nil, err
			}
			if !e.Dir || !ocdbt.IsProcessDir(e.Name) {
				continue
			}
			one, err := c.annotations(ctx, path.Join(item, e.Name))
			if err != nil {
				return nil, err
			}
			if doc == nil {
				doc = one
			} else {
				maps.Copy(doc, one)
			}
		}
	}
	return doc, nil
}

// annotations reads the annotations of one directory.
func (c *Checkpoint) annotations(ctx context.Context, dir string) (orbax.Annotations, error) {
	b, err := c.file(ctx, path.Join(dir, orbax.AnnotationsFile))
	if errs.KindOf(err) == errs.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return orbax.ParseAnnotations(b)
}
