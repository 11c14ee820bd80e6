package layout

import (
	"context"
	"path"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// IsRoot reports whether a directory has the file that every checkpoint of ours and of
// Orbax has at its root. What cannot be looked at has none.
func IsRoot(ctx context.Context, st store.Store, dir string) bool {
	_, err := st.Stat(ctx, path.Join(dir, orbax.CheckpointFile))
	return err == nil
}

// wrongLevel says that a directory lies in a checkpoint and names that. It returns nil
// when neither of the two directories above is one or an item.
func (c *Checkpoint) wrongLevel(ctx context.Context) error {
	for name := c.name; name != ""; {
		if name = path.Dir(name); name == "." {
			name = ""
		}
		remedy := "open "
		if !IsRoot(ctx, c.st, name) {
			if _, err := c.st.Stat(ctx, path.Join(name, orbax.TreeFile)); err != nil {
				continue
			}
			remedy = "open the checkpoint above "
		}
		return &errs.Error{Kind: errs.Invalid, Op: "checkpoint.Open", Subject: c.name, Want: "a checkpoint", Got: "a part of one",
			Remedy: remedy + path.Join(strings.TrimPrefix(c.st.Properties().Name, "local:"), name) + ", and name the item in the options of the load"}
	}
	return nil
}
