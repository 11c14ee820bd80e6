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
		in, err := c.find("training.LoadAndTransform", s.Step)
		if err == nil {
			err = c.trusted(ctx, in)
		}
		if err != nil {
			return nil, err
		}
		paths = append(paths, c.place(in))
	}
	return checkpoint.LoadAndTransform(ctx, paths, abstract, fn, &lo)
}
