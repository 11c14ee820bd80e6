package training

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// Source is where a transformation reads from.
type Source struct {
	// Step of the run; Latest is the newest. It is ignored if Path is set.
	Step int64
	// Path of a checkpoint outside the run: on the local file system, or a name in Options.Store.
	Path string
}

// LoadAndTransform reads one tree of each source, steps of the run or other
// checkpoints, transformed as checkpoint.LoadAndTransform says: a step of an older
// shape of the model, or weights of another run to begin with. abstract and o are
// as there; with a key all sources must be signed by it, and steps as the steps
// that they are.
func (c *Checkpointer) LoadAndTransform(ctx context.Context, from []Source, abstract any, fn checkpoint.Transform,
	o *checkpoint.LoadOptions) (*tree.Node, error) {
	lo, err := c.merged(ctx, o)
	if err != nil {
		return nil, errs.Wrap("training.LoadAndTransform", c.dir, err)
	}
	lo.Store = c.opts.Store
	var paths []string
	for _, s := range from {
		if s.Path != "" {
			paths = append(paths, s.Path)
			continue
		}
		copies, err := c.copies("training.LoadAndTransform", s.Step)
		if err != nil {
			return nil, err
		}
		nearest := copies[0]
		if nearest.at.store != c.store && (c.opts.Store != nil || nearest.at.opts.Store != nil) {
			return nil, errs.Wrap("training.LoadAndTransform", c.dir, onlyFar(nearest.Step))
		}
		if err := nearest.at.trusted(ctx, nearest.Info); err != nil {
			return nil, err
		}
		paths = append(paths, nearest.at.place(nearest.Info))
	}
	return checkpoint.LoadAndTransform(ctx, paths, abstract, fn, &lo)
}
