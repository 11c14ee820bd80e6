package dynamic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Body is what a loop does in every step: it calls operators with the ctx and the values it is
// given, and returns their results.
//
// Compile calls the body once, with values that have a type and no contents. What the body computes
// in Go from anything else is the same in all steps, such as the branch of an if statement;
// LoopOptions.Verify finds bodies that would do something else in a later step. Values made outside
// the body are constants. A size taken from Batch.Len is the size of the batches of each step. A
// call that takes a Go value out of a tensor, such as Item, Shape or Evaluate, is an error of
// Compile that names the line.
type Body func(ctx context.Context, in []Value) []Value

// NoPrefetch as LoopOptions.Prefetch makes each step when it is asked for.
const NoPrefetch = -1

// LoopOptions say how a loop runs. They do not enter results.
type LoopOptions struct {
	// Prefetch is how many steps are in the making or ready while one is in use;
	// 0 means 2, NoPrefetch none.
	Prefetch int
	// Workers is the number of goroutines that compute; 0 means the Workers of the context's
	// EvalContext.
	Workers int
	// Verify = n > 0 calls the body again before the first step and then every n steps, without
	// computing anything, and compares its calls with the calls that Compile saw. If the body makes
	// other calls, because it depends on a Go value that has changed, each further Next fails with
	// errs.Mismatch. The body must be prepared to be called more than once.
	Verify int
}

// Loop runs a compiled body ahead of the consumer of its results. All methods except Statistics are
// for one goroutine at a time; calls at the same time are errors of kind errs.Busy.
//
// The results equal the results of calling the body in every step, bit for bit. Generators and root
// stand where they would stand then: after the step that was delivered, however far the loop has
// run ahead. So a checkpoint collected between two steps is exact, and goes on in a compiled loop
// as in one that is not compiled. If a generator is moved between two steps, by drawing from it or
// by restoring a checkpoint, the loop follows it and makes the steps made ahead again.
type Loop struct {
	runner *runner
	feeder *feeder
	ring   *flow.Ring[*loopSlot, int64]
	graph  *graph.Graph
	depth  int
	verify *verifier // or nil
	turn   flow.Turn

	steps, queue atomic.Int64
}

// Compile calls body once with values that have no contents, and makes of the calls in it one
// graph, which runs ahead of who takes its results:
//
//	loop, err := dynamic.Compile(ctx, reader.Root(64), func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
//		images := fn.DecodersImage(ctx, in[0].(*dynamic.Batch), fn.DecodersImageArgs{})
//		return []dynamic.Value{fn.RandomResizedCrop(ctx, rng, images, args), in[1]}
//	}, dynamic.LoopOptions{})
//	for values, err := range loop.Steps(ctx) {
//
// The loop gives the same results as the calls. Generators and root stand where the calls would
// have left them after the step that was delivered, so checkpoints do not differ either.
//
// With a nil root the loop is endless and the body is given nothing. The first step of the root is
// asked for at once: for the types of its values. Close must be called.
//
// Compile fails with the error of a call in the body, which names the line of the program, or with
// the body's panic; with errs.Unsupported if the body takes a Go value out of a tensor, or draws
// from a generator that cannot be moved; with errs.Mismatch for batches of several sizes.
func Compile(ctx context.Context, root Root, body Body, o LoopOptions) (*Loop, error) {
	if o.Prefetch < NoPrefetch || o.Prefetch > 1<<10 || o.Workers < 0 || o.Verify < 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "dynamic.Compile", Subject: "LoopOptions",
			Want: "a Prefetch of 1 to 1024, or NoPrefetch, and no negative Workers or Verify",
			Got:  fmt.Sprintf("%+v", o)}
	}
	l := &Loop{depth: 2}
	switch {
	case o.Prefetch == NoPrefetch:
		l.depth = 0
	case o.Prefetch > 0:
		l.depth = o.Prefetch
	}
	if o.Workers == 0 {
		o.Workers = Current(ctx).Workers()
	}
	rec := newRecording()
	in, err := l.begin(ctx, root, rec)
	if err == nil {
		l.graph, err = rec.recordBody(ctx, body, in)
	}
	if err == nil && o.Verify > 0 {
		l.verify = newVerifier(context.WithoutCancel(ctx), body, o.Verify, rec, l.graph)
	}
	if err != nil {
		if l.feeder != nil {
			l.feeder.close()
		}
		return nil, err
	}
	l.build(Current(ctx), rec, o.Workers)
	return l, nil
}

// begin has the root give its first step and returns the symbols of it.
func (l *Loop) begin(ctx context.Context, root Root, rec *recording) ([]Value, error) {
	if root == nil {
		return nil, nil
	}
	var place any
	if r, ok := root.(Resumable); ok {
		place = r.Here()
		r.Show(place)
	}
	l.feeder = newFeeder(ctx, root, l.depth)
	first, outcome := l.feeder.at(ctx, 0, true)
	switch {
	case outcome == flow.Ended:
		return nil, &errs.Error{Kind: errs.Invalid, Op: "dynamic.Compile", Subject: "root",
			Want: "at least one step", Got: "none"}
	case outcome != flow.Started:
		return nil, &errs.Error{Kind: errs.Canceled, Op: "dynamic.Compile", Err: context.Cause(ctx)}
	case first.err != nil:
		return nil, errs.Wrap("dynamic.Compile", "", first.err)
	}
	var specs []tensor.Spec
	if d, ok := root.(interface{ Specs() []tensor.Spec }); ok {
		specs = d.Specs()
	}
	return rec.rootSymbols(first, specs)
}

// build makes what runs the graph.
func (l *Loop) build(e *EvalContext, rec *recording, threads int) {
	r := &runner{feeder: l.feeder, size: rec.size, fixed: rec.fixed, sources: rec.sources,
		starts: make([][]rng.Philox, l.depth+2), memory: &e.memory, outputs: rec.outputs}
	for i := range r.starts {
		r.starts[i] = make([]rng.Philox, len(rec.draws))
	}
	for _, n := range l.graph.Fed() { // some of what was brought may be needed by nothing
		r.inputs = append(r.inputs, rec.inputs[n.Name])
	}
	for i := range r.outputs {
		r.outputs[i].same = slices.IndexFunc(r.outputs, func(o outlet) bool {
			return o.made() && l.graph.Outputs[o.output] == l.graph.Outputs[r.outputs[i].output]
		})
	}
	r.graph, r.pool = l.graph, exec.NewPool(threads)
	r.config = exec.Config{Workers: threads, Pool: r.pool,
		Keyers: keyers(l.graph, r, rec.draws, rec.perStep),
		Take:   true, Allocate: e.memory.alloc, Limits: e.limits, InFlight: l.depth + 1}
	r.grow(rec.size)
	r.specs = r.exec.Specs()
	l.runner = r
	l.ring = flow.NewRing(r, l.depth, func() *loopSlot { return &loopSlot{} }, int64(0))
}

// Next returns what the body returns in the next step; io.EOF where the root ends an
// epoch, and the call after it begins the next one.
//
// The error of a step is the error of its first sample that failed. The step counts as delivered,
// as a call that failed does. When ctx ends, Next returns an errs.Canceled and delivers nothing;
// the work that was begun goes on.
func (l *Loop) Next(ctx context.Context) ([]Value, error) {
	if err := l.turn.Enter("dynamic.Loop.Next"); err != nil {
		return nil, err
	}
	defer l.turn.Leave()
	if l.verify != nil {
		if err := l.verify.check(l.runner.delivered); err != nil {
			return nil, errs.Wrap("dynamic.Loop.Next", "", err)
		}
	}
	l.follow()
	s, ok, err := l.ring.Next(ctx)
	l.queue.Store(int64(l.ring.InFlight()))
	switch {
	case err != nil:
		return nil, err
	case ok:
		return l.deliver(s)
	case l.ring.Outcome() == flow.Ended:
		l.feeder.delivered()
		l.ring.Reset(l.ring.Token())
		return nil, io.EOF
	}
	return nil, &errs.Error{Kind: errs.Canceled, Op: "dynamic.Loop.Next", Err: context.Cause(ctx)}
}

// follow goes to where the generators are, when somebody moved one of them.
func (l *Loop) follow() {
	moved := false
	for _, s := range l.runner.sources {
		moved = moved || s.moved()
	}
	if !moved {
		return
	}
	l.ring.Reset(l.ring.Token())
	for _, s := range l.runner.sources {
		s.begin(l.ring.Token())
	}
}

// deliver gives a step to the caller, and moves generators and root to its place.
func (l *Loop) deliver(s *loopSlot) ([]Value, error) {
	for _, from := range l.runner.sources {
		from.deliver(l.ring.Token() - 1)
	}
	var item *rootItem
	if l.feeder != nil {
		item = l.feeder.delivered()
	}
	l.runner.delivered++
	l.steps.Add(1)
	return l.runner.take(s, item)
}

// Steps yields the steps up to the end of the root's epoch; without a root the steps do not end.
// An error ends the iteration.
func (l *Loop) Steps(ctx context.Context) iter.Seq2[[]Value, error] {
	return func(yield func([]Value, error) bool) {
		for {
			values, err := l.Next(ctx)
			if errors.Is(err, io.EOF) || !yield(values, err) || err != nil {
				return
			}
		}
	}
}

// LoopStatistics is what a loop has done since it was compiled.
type LoopStatistics struct {
	Steps int64 // delivered
	// Ready is how many of them were there when they were asked for.
	Ready int64
	// Queue is how many steps were in the making or ready after the last one was delivered, and Depth
	// how many may be.
	Queue, Depth int64
}

// Statistics returns what the loop has done. It is safe for concurrent use.
func (l *Loop) Statistics() LoopStatistics {
	return LoopStatistics{Steps: l.steps.Load(), Ready: l.runner.ready.Load(),
		Queue: l.queue.Load(), Depth: int64(l.depth)}
}

// Close ends all work, waits for it and releases everything. The root was asked ahead, so it stands
// too far on: to go on with the root, restore its state. Close may be called twice.
func (l *Loop) Close() error {
	if err := l.turn.Take("dynamic.Loop.Close"); err != nil {
		return err
	}
	defer l.turn.Leave()
	if !l.turn.Close() {
		return nil
	}
	l.ring.Reset(l.ring.Token())
	if l.feeder != nil {
		l.feeder.close()
	}
	l.runner.close()
	return nil
}
