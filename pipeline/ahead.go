package pipeline

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
)

// This file makes batches one step at a time. It is for consumers that decide themselves when to
// begin, take and release a batch. [Pipeline.Next] and [Pipeline.Batches] do the same in one call.

// Begin begins to make one more batch, after the batches in the making. It reports whether it did.
// It returns false at the end of an epoch, and after a batch that could not be begun; Take returns
// the error of that batch. If wait is true, Begin waits until the sources have the data or ctx
// ends. If wait is false, Begin returns false for a source that is not ready. A source that was not
// fed is an error of kind errs.Invalid.
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

// Take waits for the oldest batch that was begun and returns it. The batch is the caller's until
// Release, Next, Reset, SetState, Skip or Close. If no batch was begun, Take returns io.EOF. An
// error leaves the position where it was, like an error of Next.
func (p *Pipeline) Take(ctx context.Context) (*Batch, error) {
	const what = "pipeline.Take"
	if err := p.turn.Enter(what); err != nil {
		return nil, err
	}
	defer p.turn.Leave()
	began, watcher := watch(ctx)
	s, ok, err := p.oldest(ctx, p.ring.Share)
	if !ok && err == nil {
		return nil, io.EOF
	}
	b, err := p.deliver(ctx, what, s, ok, err)
	if watcher != nil {
		tellBatch(ctx, watcher, b, err, time.Since(began))
	}
	return b, err
}

// Peek waits for the i-th batch in flight, the oldest one with i = 0, and returns it, but does not
// deliver it: state, position and digest stay where they are, and Take returns the batch in its
// turn. The caller may use it like a batch of Take, until it is released. If an output is detached,
// the batch of Take has no data there. If fewer batches are in flight, Peek returns io.EOF. If the
// oldest batch failed, Peek returns what Take returns. If another one failed, nothing changes.
func (p *Pipeline) Peek(ctx context.Context, i int) (*Batch, error) {
	const what = "pipeline.Peek"
	if err := p.turn.Enter(what); err != nil {
		return nil, err
	}
	defer p.turn.Leave()
	peek := func(ctx context.Context) (*slot, bool, error) { return p.ring.Peek(ctx, i) }
	if i > 0 {
		s, ok, err := peek(ctx)
		return p.peeked(s, ok, errs.Wrap(what, "", err))
	}
	s, ok, err := p.oldest(ctx, peek)
	if err != nil {
		return p.deliver(ctx, what, s, false, err)
	}
	return p.peeked(s, ok, nil)
}

// Ready reports whether Peek(i) returns a batch, or its error, without waiting for it. A batch that
// takes a few microseconds, which Peek makes itself, is ready too.
func (p *Pipeline) Ready(i int) bool {
	if err := p.turn.Enter("pipeline.Ready"); err != nil {
		return false
	}
	defer p.turn.Leave()
	s, ok := p.ring.At(i)
	return ok && (s.err != nil || s.frame.Inline() || s.exec.Ready(s.frame))
}

// peeked returns the batch of the slot, or io.EOF without one.
func (p *Pipeline) peeked(s *slot, ok bool, err error) (*Batch, error) {
	if !ok {
		return nil, cmp.Or(err, io.EOF)
	}
	p.tellTolerated(s)
	return &s.batch, nil
}

// oldest returns the oldest batch that was begun. If it turns out that the graph describes it
// wrongly, the batches in the making are begun again.
func (p *Pipeline) oldest(
	ctx context.Context, get func(context.Context) (*slot, bool, error),
) (s *slot, ok bool, err error) {
	flight := p.ring.InFlight()
	s, ok, err = get(ctx)
	for err != nil && p.late.nodes {
		again, failed := p.redescribe(err)
		if err = failed; !again {
			break
		}
		for p.ring.InFlight() < flight && p.ring.Schedule(ctx, true) == flow.Started {
		}
		s, ok, err = get(ctx)
	}
	return s, ok, err
}

// Release gives back the batch that the caller has held longest. If the caller holds no batch,
// Release does nothing.
func (p *Pipeline) Release() error {
	if err := p.turn.Enter("pipeline.Release"); err != nil {
		return err
	}
	defer p.turn.Leave()
	p.ring.Release()
	return nil
}

// InFlight returns the number of batches that were begun and are not yet delivered.
func (p *Pipeline) InFlight() int { return p.ring.InFlight() }
