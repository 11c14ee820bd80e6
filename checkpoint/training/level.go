package training

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/errs"
)

// checkLevel returns an error if the directory is a checkpoint or lies in one: steps that were
// saved there would ruin that checkpoint.
func (c *Checkpointer) checkLevel(ctx context.Context) error {
	dir, up, ok, err := layout.Within(ctx, c.dir, c.opts.Store, 0)
	if !ok {
		return err
	}
	got := "a checkpoint"
	if up > 0 {
		got = "a directory inside of the checkpoint " + dir
	}
	remedy := "open the directory that holds the checkpoint"
	if above, _ := locate.Above(dir, c.opts.Store, 1); above != "" {
		remedy += ", " + above
	}
	return &errs.Error{Kind: errs.Invalid, Want: "the directory of a run", Got: got, Remedy: remedy}
}
