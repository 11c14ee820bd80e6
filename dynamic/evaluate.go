package dynamic

import (
	"context"
	"errors"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/ahead"
)

// wait waits until the call is computed, successfully or not, and returns nil. If ctx ends before,
// it returns the error of ctx.
func (k *call) wait(ctx context.Context) error {
	if k.finished() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return canceled(ctx)
	}
	if ctx.Done() == nil || k.quick() { // do the work instead of waiting
		k.evaluate()
		if k.finished() {
			return nil
		}
	}
	if k.mode == Deferred && k.state.Load() == fresh {
		k.e.enqueue(k)
	}
	select {
	case <-k.doneChannel():
		return nil
	case <-ctx.Done():
		return canceled(ctx)
	}
}

// quick reports whether the caller probably computes the call faster than the background goroutine.
// Then it is enough to check the context afterwards.
func (k *call) quick() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, in := range k.inputs {
		if c := in.origin(); c != nil && !c.finished() {
			return false
		}
	}
	k.e.mu.Lock()
	p := k.operator.last
	k.e.mu.Unlock()
	const handingOver = 20 * time.Microsecond
	return p != nil && p.capacity == capacity(k.samples) && time.Duration(p.cost.Load()) < handingOver && p.cost.Load() > 0
}

func canceled(ctx context.Context) error {
	return &errs.Error{Kind: errs.Canceled, Op: "dynamic", Err: context.Cause(ctx)}
}

// doneChannel returns a channel that is closed when the call is computed.
func (k *call) doneChannel() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.done == nil {
		k.done = make(chan struct{})
		if k.finished() {
			close(k.done)
		}
	}
	return k.done
}

// evaluate computes a call after the calls that it needs, unless another goroutine does. Chains may
// be long, so evaluate keeps the calls on its own stack. A goroutine that has claimed a call waits
// only for calls that this call needs. No call needs itself, so there is no deadlock.
func (k *call) evaluate() {
	if k.claim() {
		k.evaluateClaimed()
	}
}

// evaluateClaimed computes a call that the caller has claimed.
func (k *call) evaluateClaimed() {
	stack := append(make([]*call, 0, 8), k)
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		if need := top.claimNeed(); need != nil {
			stack = append(stack, need)
			continue
		}
		stack[len(stack)-1] = nil // a call that is computed keeps its values
		stack = stack[:len(stack)-1]
		top.run()
	}
}

// ahead reports whether the program has not made the call yet.
func (k *call) ahead() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ctx != nil && ahead.Pending(k.ctx)
}

// claim claims the call for the caller. It returns false if another goroutine has claimed it.
func (k *call) claim() bool { return k.state.CompareAndSwap(fresh, claimed) }

// claimNeed claims and returns a call that the claimed call k needs and that is not claimed yet. It
// returns nil if there is no such call.
func (k *call) claimNeed() *call {
	for _, in := range k.inputs {
		if c := in.origin(); c != nil && c.claim() {
			return c
		}
	}
	return nil
}

// run computes a claimed call. The calls that it needs are computed or claimed.
func (k *call) run() {
	err := k.compute()
	if err != nil {
		for _, r := range k.outs {
			r.err = err
		}
	}
	k.finish()
}

// finish ends a call whose outputs have their samples or its error.
func (k *call) finish() {
	for _, in := range k.inputs {
		in.drop()
	}
	if k.mode == Sync {
		return
	}
	// The call drops its results before a waiting goroutine continues: Release must be able to give
	// the memory of a computed value back before it returns.
	for _, r := range k.outs {
		r.drop()
	}
	k.mu.Lock()
	k.ctx, k.inputs, k.args, k.few = nil, nil, arguments{}, [len(k.few)]*result{}
	k.state.Store(finished)
	if k.done != nil {
		close(k.done)
	}
	k.mu.Unlock()
}

// abandon ends a deferred call whose values nobody can ask for any more, unless it has effects or
// is being computed. So the memory of its inputs can be used again.
func (k *call) abandon() {
	if k.mode != Deferred || k.operator.schema.Keep {
		return
	}
	for _, r := range k.outs {
		if !r.released.Load() || !r.holders.only() {
			return
		}
	}
	if !k.claim() {
		return
	}
	for _, r := range k.outs {
		r.err = errReleased()
	}
	k.finish()
}

// compute fills the outputs. An error of an input becomes the error of the call.
func (k *call) compute() error {
	for _, in := range k.inputs {
		if err := in.wait(context.Background()); err != nil {
			return err
		}
	}
	if k.ctx.Err() != nil {
		return k.fail(canceled(k.ctx))
	}
	p, err := k.e.takePlan(k)
	if err != nil {
		return k.fail(err)
	}
	defer k.e.leavePlan()
	if err := p.run(k); err != nil {
		return k.fail(err)
	}
	return nil
}

// fail makes err the error of the call.
func (k *call) fail(err error) error {
	if k.mode == Sync {
		k.site.capture(3)
	}
	err = k.wrap(err)
	if k.mode != Sync && !errors.Is(err, errs.Canceled) {
		e, number := k.e, k.number
		ahead.Report(k.ctx, func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.failed.note(number, err)
		})
	}
	return err
}

// takePlan returns the plan for a call: a kept plan for such calls, or a new plan. Close waits
// until leavePlan.
func (e *EvalContext) takePlan(k *call) (*plan, error) {
	e.mu.Lock()
	if err := e.enter(); err != nil {
		e.mu.Unlock()
		return nil, err
	}
	p := e.plans.find(e, k)
	e.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := newPlan(e, k)
	if err != nil {
		e.leavePlan()
		return nil, err
	}
	e.mu.Lock()
	e.plans.add(p)
	e.mu.Unlock()
	return p, nil
}

// enter makes Close wait until leavePlan. The caller holds the lock.
func (e *EvalContext) enter() error {
	for e.closing {
		e.idle.Wait()
	}
	if e.closed {
		return errClosed()
	}
	e.active++
	return nil
}

func errClosed() error {
	return &errs.Error{Kind: errs.Closed, Op: "EvalContext", Remedy: "evaluate values before Close"}
}

func (e *EvalContext) leavePlan() {
	e.mu.Lock()
	e.active--
	if e.active == 0 {
		e.idle.Broadcast()
	}
	e.mu.Unlock()
}
