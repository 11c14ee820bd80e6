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

// Body is the function that a loop runs in every step. It calls operators with the given ctx and
// values, and returns their results.
//
// Compile calls the body once, with values that have a dtype and no contents. Anything else that
// the body computes in Go, such as the branch of an if statement, is the same in all steps.
// LoopOptions.Verify finds bodies that would act differently in a later step. Values made outside
// the body are constants. A size from Batch.Len is the size of the batches of each step. A call
// that takes a Go value out of a tensor, such as Item, Shape or Evaluate, is an error of Compile
// that names the line.
type Body func(ctx context.Context, in []Value) []Value

// NoPrefetch as LoopOptions.Prefetch turns prefetching off: each step is made when Next asks for
// it.
const NoPrefetch = -1

// LoopOptions say how a loop runs. They do not change results.
type LoopOptions struct {
	// Prefetch is the number of steps in the making or ready while one step is in use. 0 means 2;
	// NoPrefetch turns prefetching off.
	Prefetch int
	// Workers is the number of goroutines that compute; 0 means the Workers of the context's
	// EvalContext.
	Workers int
	// Verify = n > 0 calls the body again before the first step and then every n steps, without
	// computing anything. It compares the body's calls with the calls that Compile saw. If they
	// differ, because the body depends on a Go value that has changed, each further Next fails with
	// errs.Mismatch. The body must allow more than one call.
	Verify int
}

// Loop runs a compiled body ahead of the consumer of its results. Only one goroutine at a time may
// call its methods, except Statistics. A call during another call fails with errs.Busy.
//
// The results equal the results of calling the body in every step, bit for bit. The states of
// generators and root are the states after the last delivered step, even if the loop has run ahead.
// So a checkpoint collected between two steps is exact. You can resume from it with a compiled loop
// or without one. If a generator moves between two steps, because you draw from it or restore a
// checkpoint, the loop follows it and computes the prefetched steps again.
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

// Compile calls body once with values that have no contents, and makes one graph of its calls. The
// graph runs ahead of the consumer of its results:
//
//	loop, err := dynamic.Compile(ctx, reader.Root(64), func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
//		images := fn.DecodersImage(ctx, in[0].(*dynamic.Batch), fn.DecodersImageArgs{})
//		return []dynamic.Value{fn.RandomResizedCrop(ctx, rng, images, args), in[1]}
//	}, dynamic.LoopOptions{})
//	for values, err := range loop.Steps(ctx) {
//
// The loop gives the same results as the calls. Generators and root have the states that the calls
// would have left after the last delivered step, so checkpoints do not differ either.
//
// With a nil root the loop is endless and the body gets no values. Compile reads the first step of
// the root at once, to learn the types of its values. The caller must Close the loop.
//
// Compile fails with the error of a call in the body, which names the line of the program, or with
// the body's panic. It fails with errs.Unsupported if the body takes a Go value out of a tensor, or
// draws from a generator that cannot be moved. It fails with errs.Mismatch if batches have
// different sizes.
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

// begin reads the first step of the root and returns its symbols.
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
			Want: "at least one step", Got: "no step"}
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

// build makes the runner and the ring of the graph.
func (l *Loop) build(e *EvalContext, rec *recording, threads int) {
	r := &runner{feeder: l.feeder, size: rec.size, fixed: rec.fixed, sources: rec.sources,
		starts: make([][]rng.Philox, l.depth+2), memory: &e.memory, outputs: rec.outputs}
	for i := range r.starts {
		r.starts[i] = make([]rng.Philox, len(rec.draws))
	}
	for _, n := range l.graph.Fed() { // inputs that no node needs are left out
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

// Next returns the results of the body in the next step. It returns io.EOF at the end of the root's
// epoch; the call after it begins the next epoch.
//
// The error of a step is the error of its first failed sample. A failed step counts as delivered,
// like a failed call. If ctx ends, Next returns an errs.Canceled and delivers nothing; the work
// that was begun continues.
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

// follow restarts the prefetched steps if the program has moved a generator.
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

// deliver hands a step to the caller, and moves generators and root to the state after it.
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

// LoopStatistics counts the work of a loop since it was compiled.
type LoopStatistics struct {
	Steps int64 // delivered
	// Ready is the number of delivered steps that were ready when Next was called.
	Ready int64
	// Queue is the number of steps in the making or ready after the last delivery. Depth is its
	// maximum.
	Queue, Depth int64
}

// Statistics returns the statistics of the loop. It is safe for concurrent use.
func (l *Loop) Statistics() LoopStatistics {
	return LoopStatistics{Steps: l.steps.Load(), Ready: l.runner.ready.Load(),
		Queue: l.queue.Load(), Depth: int64(l.depth)}
}

// Close ends all work, waits for it and releases everything. The loop has read ahead from the root.
// To continue with the root, restore its state. Close may be called twice.
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
