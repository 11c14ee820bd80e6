package layout

import (
	"context"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
)

// Unmerged returns the directories, each with a slash at its end, of the
// databases of the processes that wrote an item, where these were never merged
// to one.
func (c *Checkpoint) Unmerged(ctx context.Context, item string) ([]string, error) {
	_, err := c.st.Stat(ctx, c.path(item, ocdbt.ManifestName))
	if errs.KindOf(err) != errs.NotFound {
		return nil, err
	}
	t := OpenTree{files: newFiles(c, item)}
	return t.processes(ctx)
}
