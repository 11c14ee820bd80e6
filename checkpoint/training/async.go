package training

import (
	"context"
	"errors"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/pending"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// LoadAsync is Load in the background. Latest is resolved to a step at once. Cancel ends the load.
func (c *Checkpointer) LoadAsync(ctx context.Context, step int64,
	o *checkpoint.LoadOptions) *checkpoint.Response[*tree.Node] {
	in, err := c.find("training.LoadAsync", step)
	return inBackground(ctx, func(ctx context.Context) (*tree.Node, error) {
		if err != nil {
			return nil, err
		}
		return c.Load(ctx, in.Step, o)
	})
}

// LoadCheckpointablesAsync is LoadCheckpointables in the background, as LoadAsync.
func (c *Checkpointer) LoadCheckpointablesAsync(ctx context.Context, step int64,
	o *checkpoint.LoadOptions) *checkpoint.Response[map[string]any] {
	in, err := c.find("training.LoadCheckpointablesAsync", step)
	return inBackground(ctx, func(ctx context.Context) (map[string]any, error) {
		if err != nil {
			return nil, err
		}
		return c.LoadCheckpointables(ctx, in.Step, o)
	})
}

// Cancel abandons the save in flight and waits until nothing of it is left. It returns true if that
// was in time: the step does not exist, or is still the step that the save would have overwritten.
// Then the save's own result is errs.Canceled, and no other call returns it. It is false when no
// save was in flight, or the step was already committed.
func (c *Checkpointer) Cancel(ctx context.Context) (bool, error) {
	c.mu.Lock()
	r := c.pending
	flying := c.inFlight()
	c.mu.Unlock()
	if !flying {
		return false, nil
	}
	r.Cancel()
	r.OnComplete(func(_ bool, err error) { // also if no caller waits any more
		if errors.Is(err, errs.Canceled) {
			c.forgive(err)
		}
	})
	select {
	case <-r.Done():
	case <-ctx.Done():
		return false, &errs.Error{Kind: errs.Canceled, Op: "training.Cancel", Subject: c.dir, Err: ctx.Err(),
			Remedy: "the save is being given up; call Wait"}
	}
	_, err := r.Result(ctx)
	if !errors.Is(err, errs.Canceled) {
		return false, nil // its outcome is reported as usual
	}
	return true, nil
}

// inBackground runs fn; see pending.Go.
func inBackground[T any](ctx context.Context, fn func(context.Context) (T, error)) *checkpoint.Response[T] {
	return (*checkpoint.Response[T])(pending.Go(ctx, fn))
}
