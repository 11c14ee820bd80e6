package dynamic

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// runner makes the steps of a loop for its ring: a step is a frame of the executor.
// Its token is the number of the step. Start is for the goroutine of the consumer.
type runner struct {
	pool    *exec.Pool
	config  exec.Config
	graph   *graph.Graph
	exec    *exec.Executor // for the largest steps so far
	inputs  []loopInput
	feeder  *feeder // nil without a root
	size    int     // samples of a step
	fixed   bool    // every step has size samples; otherwise the root decides
	sources []*source
	// starts holds the start of each draw of a step in flight: [step modulo the number of steps in
	// flight][draw].
	starts    [][]rng.Philox
	delivered int64        // steps
	ready     atomic.Int64 // delivered steps that were ready when Next was called
	memory    *memory      // of the delivered values
	outputs   []outlet
	specs     []tensor.Spec // of the graph's outputs
}

// loopInput is an input of the graph: an output of the root, or a value that is the
// same in every step.
type loopInput struct {
	spec     tensor.Spec // every sample must agree with it
	root     int         // index of the root's output; -1: a constant
	constant []tensor.Tensor
	batch    bool // for a constant: one array per sample, not one for all
}

// loopSlot is a step in the making.
type loopSlot struct {
	exec  *exec.Executor // of the frame
	frame *exec.Frame
	fed   [][]tensor.Tensor // of each input
	err   error             // the reason why it was not begun
}

// Start implements flow.Stage.
func (r *runner) Start(ctx context.Context, s *loopSlot, at int64, wait bool) (int64, flow.Outcome) {
	n, item := r.size, (*rootItem)(nil)
	s.err = nil
	if r.feeder != nil {
		var o flow.Outcome
		if item, o = r.feeder.at(ctx, int(at-r.delivered), wait); o != flow.Started {
			return at, o
		}
		if n, s.err = item.size, item.err; s.err == nil {
			s.err = r.checkSize(n)
		}
	}
	for len(s.fed) < len(r.inputs) {
		s.fed = append(s.fed, nil)
	}
	for i := range r.inputs {
		if s.err == nil {
			s.fed[i], s.err = r.inputs[i].samples(s.fed[i], item, n)
		}
	}
	if s.err != nil {
		return at + 1, flow.Started
	}
	r.begin(s, at, n)
	return at + 1, flow.Started
}

// begin starts a frame of n samples.
func (r *runner) begin(s *loopSlot, at int64, n int) {
	if n > r.config.BatchSize {
		r.grow(n)
	}
	if s.exec != r.exec {
		s.exec, s.frame = r.exec, r.exec.NewFrame()
	}
	f := s.frame
	f.Begin(n)
	for i := range n {
		f.Positions[i], f.Slots[i] = at, int32(i)
	}
	starts := r.starts[at%int64(len(r.starts))]
	for _, from := range r.sources {
		from.draw(starts, at)
	}
	for i := range s.fed {
		f.Feed(i, 0, s.fed[i])
	}
	s.exec.Start(f)
}

// grow replaces the executor by one for steps of n samples. Steps under way keep their executor.
func (r *runner) grow(n int) {
	r.config.BatchSize = n
	r.exec = exec.New(r.graph, nil, r.config)
}

func (r *runner) checkSize(n int) error {
	if r.fixed && n != r.size {
		return sizeError(r.size, n)
	}
	return nil
}

// samples returns the n samples of the input in a step. into is memory to reuse.
func (in *loopInput) samples(into []tensor.Tensor, item *rootItem, n int) ([]tensor.Tensor, error) {
	list := in.constant
	if in.root >= 0 {
		list = item.samples[in.root]
		if err := in.check(list); err != nil {
			return into, err
		}
	}
	if in.batch {
		return list, nil
	}
	into = into[:0]
	for range n {
		into = append(into, list[0])
	}
	return into, nil
}

// check returns an error if samples differ in type from the samples with which the loop was
// compiled.
func (in *loopInput) check(list []tensor.Tensor) error {
	for _, t := range list {
		if t.DType != in.spec.DType || len(t.Shape) != len(in.spec.Shape) || t.Layout != in.spec.Layout {
			return specError(in.root, in.spec, t)
		}
	}
	return nil
}

// Wait implements flow.Stage.
func (r *runner) Wait(ctx context.Context, s *loopSlot) error {
	if s.err != nil {
		return nil
	}
	if s.exec.Ready(s.frame) {
		r.ready.Add(1)
	}
	return s.exec.Wait(ctx, s.frame)
}

// Err implements flow.Stage. It returns nil: a failed step is delivered as a failure, because
// generators and root have advanced, as after a failed call.
func (r *runner) Err(*loopSlot) error { return nil }

// Abandon implements flow.Stage.
func (r *runner) Abandon(s *loopSlot) {
	if s.frame != nil {
		s.exec.Abandon(s.frame)
	}
	s.err = nil
}

// take returns the values of a finished step; item holds the root's values for it.
func (r *runner) take(s *loopSlot, item *rootItem) ([]Value, error) {
	if s.err == nil {
		s.err = s.exec.Err(s.frame)
	}
	if s.err != nil {
		return nil, errs.Wrap("dynamic.Loop", "", s.err)
	}
	values := make([]Value, len(r.outputs))
	for i, o := range r.outputs {
		switch {
		case o.root >= 0:
			values[i] = item.values[o.root]
		case o.constant != nil:
			values[i] = o.constant
		case o.same < i: // Take gives each output once
			values[i] = values[o.same]
		default:
			values[i] = r.value(s.frame, o)
		}
	}
	return values, nil
}

// close ends the goroutines. No step may be under way.
func (r *runner) close() { r.pool.Close() }

// value makes an output of a frame an independent value.
func (r *runner) value(f *exec.Frame, o outlet) Value {
	v, out := newValue(o.batch)
	out.take(f, o.output, &r.specs[o.output], r.memory)
	if !o.batch {
		out.samples = out.samples[:1]
	}
	out.n = len(out.samples)
	out.seen.Store(true)
	return v
}

// loopKeyer is the rng.Keyer of one node that draws: the position is the number of the step.
type loopKeyer struct {
	r    *runner
	draw int
	// shared says that the node gives one tensor for the whole step: every sample draws the numbers of
	// the first.
	shared bool
}

// Stream implements rng.Keyer.
func (k loopKeyer) Stream(step int64, slot int, node uint64, call uint32) rng.Philox {
	if k.shared {
		slot = 0
	}
	starts := k.r.starts[step%int64(len(k.r.starts))]
	return rng.Forked{Start: starts[k.draw]}.Stream(step, slot, node, call)
}

// source is a generator that a loop draws from.
type source struct {
	rng    Placed
	draws  []int      // numbers of its draws, in their order
	base   rng.Philox // its place before step first
	first  int64
	expect rng.Philox // the place where the loop left it
}

// Placed is a [Draw] that a compiled loop can run ahead of. *random.RNG implements it.
type Placed interface {
	Draw
	// Place returns the place of the generator. Equal places are equal by ==.
	Place() rng.Philox
	// Move moves the generator to a place.
	Move(rng.Philox)
}

// at returns the place of the generator before a step.
func (s *source) at(step int64) rng.Philox {
	p := s.base
	p.Skip(uint64(step-s.first) * uint64(len(s.draws)) * rng.ForkWords)
	return p
}

// draw computes the starts of the draws of a step.
func (s *source) draw(starts []rng.Philox, step int64) {
	p := s.at(step)
	for _, d := range s.draws {
		starts[d] = p.Fork()
	}
}

// moved reports whether the program moved the generator since the loop moved it.
func (s *source) moved() bool { return s.rng.Place() != s.expect }

// begin makes the present place of the generator its place before a step.
func (s *source) begin(step int64) {
	s.base, s.first = s.rng.Place(), step
	s.expect = s.base
}

// deliver moves the generator to its place after a step.
func (s *source) deliver(step int64) {
	s.expect = s.at(step + 1).Canonical()
	s.rng.Move(s.expect)
}

// keyers returns the keyers of the nodes of a graph.
func keyers(g *graph.Graph, r *runner, draws map[string]int, shared map[string]bool) []rng.Keyer {
	list := make([]rng.Keyer, len(g.Nodes))
	for i, n := range g.Nodes {
		list[i] = rng.Forked{}
		if d, ok := draws[n.Name]; ok {
			list[i] = loopKeyer{r: r, draw: d, shared: shared[n.Name]}
		}
	}
	return list
}

func sizeError(want, got int) error {
	return &errs.Error{Kind: errs.Mismatch, Subject: "batch size", Want: fmt.Sprint(want), Got: fmt.Sprint(got),
		Remedy: "a size that the body sets is the size of all steps; use Batch.Len for the size of each step"}
}

func specError(i int, want tensor.Spec, got tensor.Tensor) error {
	return &errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("value %d of the root", i),
		Want: fmt.Sprintf("%s of %d axes %s, as in the first step", want.DType, len(want.Shape), want.Layout),
		Got:  fmt.Sprint(got, got.Layout)}
}
