package pipeline

import (
	"context"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
)

// This file makes batches one step at a time, for consumers that decide themselves when a batch is
// begun, taken and released. [Pipeline.Next] and [Pipeline.Batches] do the same in one call.

// Begin begins to make one more batch, behind those that are in the making. It reports whether it
// did: not at the end of an epoch, and not behind a batch that could not be begun, whose error Take
// returns. With wait, it waits until the sources have the data or ctx ends; without, a source that
// is not ready is no error. A source that was not fed is one, of kind errs.Invalid.
func (p *Pipeline) Begin(ctx context.Context, wait bool) (bool, error) {
	const what = "pipeline.Begin"
	if err := p.turn.Enter(what); err != nil {
		return false, err
	}
	defer p.turn.Leave()
	switch p.ring.Schedule(ctx, wait) {
	case flow.Started:
		return true, nil
	case flow.Ended:
		return false, nil
	}
	if p.stuck {
		return false, nil
	}
	if ctx.Err() != nil {
		return false, &errs.Error{Kind: errs.Canceled, Op: what, Err: context.Cause(ctx)}
	}
	if names := p.lacking(p.ring.InFlight() + 1); len(names) > 0 {
		return false, errs.Wrap(what, "", unfed(names))
	}
	return false, nil
}

// Take returns the oldest batch that was begun, when it is made. It is the caller's until Release,
// Next, Reset, SetState, Skip or Close. If no batch was begun it returns io.EOF. An error keeps the
// position, as an error of Next does.
func (p *Pipeline) Take(ctx context.Context) (*Batch, error) {
	const what = "pipeline.Take"
	if err := p.turn.Enter(what); err != nil {
		return nil, err
	}
	defer p.turn.Leave()
	s, ok, err := p.ring.Share(ctx)
	if !ok && err == nil {
		return nil, io.EOF
	}
	return p.deliver(ctx, what, s, ok, err)
}

// Release gives back the batch that the caller has held longest, if there is one.
func (p *Pipeline) Release() error {
	if err := p.turn.Enter("pipeline.Release"); err != nil {
		return err
	}
	defer p.turn.Leave()
	p.ring.Release()
	return nil
}

// InFlight returns how many batches were begun and not delivered yet.
func (p *Pipeline) InFlight() int { return p.ring.InFlight() }
