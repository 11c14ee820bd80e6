// Package pipeline turns files into batches. A pipeline is a graph of operators. You declare it
// once, and it is checked before it runs. You can stop its stream of batches anywhere and continue
// exactly.
//
//	def, err := pipeline.Define(pipeline.Options{BatchSize: 64, Seed: 7}, func(p *pipeline.Builder) []pipeline.Node {
//		jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: "train", RandomShuffle: true})
//		images := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})
//		…
//		return []pipeline.Node{images, labels}
//	})
//	pipe, err := def.New(ctx, nil)
//	defer pipe.Close()
//	for batch, err := range pipe.Batches(ctx) { … }
//
// # The stream
//
// A pipeline delivers an endless stream, epoch after epoch. If the reader shuffles, each epoch has
// its own order. The stream is a function of the definition, the data set's fingerprint, the seed
// and the position. Threads, prefetch depth and ranks do not change it. So the state of a stream is
// little more than its position, and seeking takes no longer at position 10^9 than at 0.
//
// Random numbers are keyed by seed, position and the name of the node that draws. Adding an
// operator does not change the numbers of the others.
//
// # Epochs
//
// An epoch is one time through the data set of the graph's first reader. Options.Tail says what
// happens at its end. Further readers deliver their samples at the same positions, in their own
// order. A graph without readers has no epochs.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/stream"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Batch is a batch of samples that a pipeline delivers. The batch and all its memory belong to the
// pipeline. The caller may use them until the next call of Next, SetState, Skip or Close. The build
// tag bivouac_debug helps to find code that uses a batch longer: the memory of such a batch is
// filled with 0xDB, and tensor.Of and Tensor.Check fail with errs.Closed and name both places.
type Batch struct {
	Outputs  []*tensor.Batch // in the order in which the definition returned its nodes
	Epoch    int64           // of the first sample, from 0 on
	Index    int64           // of the batch within its epoch, from 0 on
	Position int64           // of the batch's first sample in the stream, over all ranks
	IDs      []int64         // ids of this rank's samples in the data set of the first reader

	frame *exec.Frame
	fed   *[]*feed // of each input
}

// Detach returns the data of output i, in memory that belongs to the caller from then on: the
// pipeline does not write to it any more. The output has no data any more. Offsets and shapes stay
// valid as long as the batch.
func (b *Batch) Detach(i int) []byte {
	if in, lent := b.frame.Lent(i); lent {
		(*b.fed)[in].gone = true
	}
	return b.frame.Detach(i)
}

// Pipeline is a stream of batches; it implements stream.Stream. Only one goroutine at a time may
// use it. If a method that moves the stream or reads its state, such as Next or AppendState, is
// called during another such call, it fails with errs.Busy and changes nothing.
//
// Next and Batches prefetch batches by themselves. With Begin, Take and Release the caller decides
// when a batch is begun, delivered and given back.
type Pipeline struct {
	options  Options
	graph    *graph.Graph
	seen     *completions // of the definition
	declared declared
	sources  []reader.Source // of the graph's readers

	course  // which samples come, and where batches and epochs begin
	feeding // what external sources give
	making  // the batches ahead of the consumer
	saving  // states
	tally   // what was delivered

	turn flow.Turn
}

var _ stream.Stream[*Batch] = (*Pipeline)(nil)

func newPipeline(
	g *graph.Graph, externals map[string]*sourceNode, seen *completions, sources []reader.Source, o Options,
) (*Pipeline, error) {
	a, err := o.compat().Arrange(g, sources, o)
	if err != nil {
		return nil, err
	}
	p := &Pipeline{options: o, graph: g, seen: seen, sources: sources, declared: o.declared()}
	p.saving = saving{codec: a.Codec, noStates: a.NoStates}
	p.course = course{orders: a.Orders, newest: a.Orders,
		schedule: schedule{epochs: a.Epochs, batch: int64(o.BatchSize), tail: a.Tail}}
	if n := p.schedule.length(); len(sources) > 0 && a.Tail == order.Drop && n < int64(o.BatchSize) {
		return nil, invalid("BatchSize", fmt.Sprintf("at most the %d samples of an epoch when the last batch is dropped", n),
			o.BatchSize)
	}
	if len(sources) > 0 {
		p.ids, p.samples = make([]int64, o.BatchSize), sources[0].Info().Samples
	}
	if p.identity, err = newIdentity(g, sources, p.orders, o, false); err != nil {
		return nil, err
	}
	p.counts = len(g.Fed()) > 0 && (a.Epochs == nil || a.Codec != nil)
	if p.codec == nil {
		p.codec = documents{identity: p.identity, schedule: p.schedule, external: p.counts, extended: len(g.Fed()) > 0 || len(exec.Minds(g)) > 0}
	}
	largest := 0
	for n := range o.BatchSize + 1 { // the largest batch does not always give the rank its largest share
		lo, hi := order.Slice(n, o.Rank, o.World)
		largest = max(largest, hi-lo)
	}
	policies, err := o.onError(g.Readers())
	if err != nil {
		return nil, err
	}
	if a.Codec != nil && len(exec.Minds(g)) > 0 && p.noStates == nil {
		p.noStates = &errs.Error{Kind: errs.Unsupported, Want: "states that have room for what functions remember",
			Got: "a function with a State in the mode " + o.compat().String(), Remedy: "leave out State, or the mode"}
	}
	p.config = exec.Config{
		BatchSize: largest, Workers: o.Workers, Fetchers: o.IOWorkers, ReadAhead: o.ReadAheadBytes,
		Keyers: a.Keyers, Counted: a.Counted, OnError: policies, Limits: o.Limits, InFlight: o.ahead() + 1,
		BytesPerSample: o.BytesPerSample, Timing: o.EnableTiming, Memory: o.EnableMemoryStats, Affinity: o.SetAffinity,
	}
	if o.Memory != nil {
		p.config.Allocate, p.config.Free = o.Memory.Allocate, o.Memory.Free
	}
	excused := slices.ContainsFunc(policies, func(e faults.Action) bool { return e != faults.Fail })
	if o.Limits.MaxTime > 0 && slices.Contains(a.Counted, true) && excused {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "pipeline", Subject: "Options.Limits.MaxTime",
			Want: "every OnError to be faults.Fail",
			Got: "random operators in branches, whose numbers depend on how many samples came before: the clock " +
				"would decide them", Remedy: "leave out MaxTime, or let samples fail"}
	}
	if o.OnEvent != nil {
		p.config.Overdue = func(err error) { p.tell(Event{Kind: SampleOverdue, Err: err}) }
	}
	for _, n := range g.Nodes {
		if a.Counted != nil && a.Counted[n.Index] {
			p.counted = append(p.counted, n)
		}
	}
	if err = p.openMinds(); err == nil {
		err = p.openInputs(externals)
	}
	if err != nil {
		p.closeMinds()
		return nil, errors.Join(err, p.closeInputs())
	}
	if p.late.nodes = slices.ContainsFunc(g.Nodes, (*graph.Node).Late); p.late.nodes {
		p.config.Made = exec.NewMade()
	}
	if g.Known() {
		p.begin(g)
	} else if len(p.inputs) == 0 {
		if err := p.specialize(); err != nil {
			return nil, err
		}
	}
	p.ring = flow.NewRing[*slot, Progress](producer{p}, o.ahead(), func() *slot { return &slot{} }, Progress{})
	return p, nil
}

// begin makes the executor of a graph whose nodes are all described.
func (p *Pipeline) begin(g *graph.Graph) {
	p.exec = exec.New(g, p.sources, p.config)
	p.meter.exec.Store(p.exec)
}

// openInputs prepares the external sources.
func (p *Pipeline) openInputs(externals map[string]*sourceNode) error {
	parallel := false
	for _, n := range p.graph.Fed() {
		in := &input{node: n, source: externals[n.Name]}
		if in.source == nil {
			in.source = &sourceNode{}
		}
		if in.source.source.open != nil {
			own, err := in.source.source.opened()
			if err != nil {
				return in.wrap(err)
			}
			in.source = &sourceNode{source: own, options: in.source.options}
		}
		p.inputs = append(p.inputs, in)
		if s := in.source.source.state; s != nil {
			var err error
			if in.state, err = s.AppendState(nil); err != nil {
				return in.wrap(err)
			}
			if _, own := p.codec.(documents); !own && p.noStates == nil {
				p.noStates = in.wrap(&errs.Error{Kind: errs.Unsupported, Want: "states that have room for the state of a source",
					Got:    "a source with a state in the mode " + p.options.compat().String(),
					Remedy: "use a source that is a function of the index, such as BatchFunc, or leave out the mode"})
			}
		}
		parallel = parallel || in.source.options.Parallel
	}
	if parallel && p.options.SourceWorkers > 0 {
		p.calls = flow.NewPool(p.options.SourceWorkers, func(_ int, c call) { c.run() })
	}
	for _, in := range p.inputs {
		in.gives = newGiver(in, p.calls)
	}
	return nil
}

// closeInputs ends the external sources.
func (p *Pipeline) closeInputs() (failed error) {
	for _, in := range p.inputs {
		if in.gives != nil {
			in.gives.stop()
		}
		failed = errors.Join(failed, in.source.source.close())
	}
	return failed
}

// Next returns the next batch of the stream. With a reader the stream never ends. If only external
// sources provide the data, Next returns io.EOF at the end of an epoch, and Reset begins the next
// epoch.
//
// An error leaves the position where it was: state and digest stay as they were after the last
// delivered batch. If a sample failed, the error names operator, file and reason. The next call of
// Next tries the same batch again; Skip skips it. If ctx ends, Next returns at once with an
// errs.Canceled, and the work that was begun continues.
func (p *Pipeline) Next(ctx context.Context) (*Batch, error) {
	if err := p.turn.Enter("pipeline.Next"); err != nil {
		return nil, err
	}
	defer p.turn.Leave()
	began, watcher := watch(ctx)
	s, ok, err := p.ring.Next(ctx)
	for err != nil && p.late.nodes {
		again, failed := p.redescribe(err)
		if err = failed; !again {
			break
		}
		s, ok, err = p.ring.Next(ctx)
	}
	b, err := p.deliver(ctx, "pipeline.Next", s, ok, err)
	if watcher != nil {
		tellBatch(ctx, watcher, b, err, time.Since(began))
	}
	return b, err
}

// deliver hands the slot of the ring to the caller as a Batch.
func (p *Pipeline) deliver(ctx context.Context, what string, s *slot, ok bool, err error) (*Batch, error) {
	switch {
	case err != nil:
		if errs.KindOf(err) != errs.Canceled {
			p.tell(Event{Kind: BatchFailed, Err: err})
		}
		return nil, errs.Wrap(what, "", err)
	case ok:
		for _, in := range p.inputs {
			in.delivered(p.ring.Token().number - 1)
		}
		p.config.Made.Forget(p.ring.Token().Position)
		p.settleFaults(s)
		p.tellTolerated(s)
		if len(p.counted) > 0 {
			p.came = s.frame.Came(p.came[:0])
		}
		for i, b := range s.frame.Remembered() {
			p.remembered[i] = append(p.remembered[i][:0], b...)
		}
		p.turns = slices.DeleteFunc(p.turns, func(number int64) bool { return number < p.ring.Token().number })
		p.count(&s.batch)
		s.lent.Set()
		return &s.batch, nil
	case p.ring.Outcome() == flow.Starved && ctx.Err() != nil:
		return nil, &errs.Error{Kind: errs.Canceled, Op: what, Err: context.Cause(ctx)}
	case p.ring.Outcome() == flow.Starved:
		return nil, errs.Wrap(what, "", unfed(p.lacking(1)))
	}
	return nil, io.EOF
}

// Skip skips the next batch without making it. Its samples do not enter the digest.
func (p *Pipeline) Skip() error {
	if err := p.turn.Enter("pipeline.Skip"); err != nil {
		return err
	}
	defer p.turn.Leave()
	at := p.turned(p.ring.Token())
	n, after := p.schedule.next(at.Position)
	if len(p.inputs) > 0 {
		lo, hi := order.Slice(n, p.options.Rank, p.options.World)
		var s slot
		fed, outcome, err := p.takeInputs(context.Background(), &s, at, span{n: hi - lo, whole: n, slot: lo}, true)
		if err != nil {
			return errs.Wrap("pipeline.Skip", "", err)
		}
		if outcome != flow.Started {
			return nil // there is no batch to skip
		}
		p.dropInputs(&s)
		if len(p.sources) == 0 && p.options.World == 1 {
			after = at.Position + int64(fed)
		}
	}
	at.Position, at.Batches, at.number = after, at.Batches+1, at.number+1
	p.ring.Reset(at)
	p.config.Made.Forget(at.Position)
	p.tell(Event{Kind: Moved, Position: at.Position})
	for _, in := range p.inputs {
		in.delivered(at.number - 1)
	}
	return nil
}

// Reset begins the next epoch after io.EOF, and restarts the external sources. Before the end of an
// epoch it does nothing. If batches in flight are not yet delivered, they come first, and the next
// epoch begins behind them. With sources that have callbacks Reset then does nothing.
func (p *Pipeline) Reset() error {
	if err := p.turn.Enter("pipeline.Reset"); err != nil {
		return err
	}
	defer p.turn.Leave()
	if p.ring.Outcome() != flow.Ended {
		return nil
	}
	if p.ring.InFlight() > 0 {
		if !slices.ContainsFunc(p.inputs, func(in *input) bool { return in.gives != nil }) {
			p.turns = append(p.turns, p.ring.Produced().number)
			p.ring.Reopen()
			p.tell(Event{Kind: EpochEnded})
		}
		return nil
	}
	at := p.turned(p.ring.Token())
	at.Resets, at.Batches, at.First, at.number = at.Resets+1, 0, at.Position, 0
	p.tell(Event{Kind: EpochEnded})
	return p.move(at)
}

// turned returns where the batch after at begins: at, or the begin of an epoch there. An epoch
// without batches counts too.
func (p *Pipeline) turned(at Progress) Progress {
	for _, number := range p.turns {
		if number == at.number {
			at.Resets, at.Batches, at.First = at.Resets+1, 0, at.Position
		}
	}
	return at
}

// move moves the stream and its sources to a place, from which no batch was delivered yet.
func (p *Pipeline) move(at Progress) error {
	p.ring.Reset(at)
	p.prepared, p.turns = at.number, nil
	p.config.Made.Forget(math.MaxInt64)
	for _, in := range p.inputs {
		if in.gives == nil {
			in.base = at.number
			continue
		}
		in.clear()
		if err := in.gives.restart(); err != nil {
			return in.wrap(err)
		}
	}
	return nil
}

// Batches yields the batches from the current position to the end of the epoch. At the start of an
// epoch this is the whole epoch. Batches stops after an error, which leaves the position where it
// was, as in Next. A batch counts as delivered when it is yielded, so that another loop after a
// break continues with the batch after it.
func (p *Pipeline) Batches(ctx context.Context) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		for {
			b, err := p.Next(ctx)
			if errors.Is(err, io.EOF) {
				if err := p.Reset(); err != nil {
					yield(nil, err)
				}
				return
			}
			if !yield(b, err) || err != nil {
				return
			}
			if epoch, _ := p.epochAt(p.ring.Token()); epoch > b.Epoch {
				return
			}
		}
	}
}

// Specs describes the samples of the outputs. The Spec of an output that depends on an undeclared
// external source is zero until the first data of the source arrives.
func (p *Pipeline) Specs() []tensor.Spec {
	if p.exec != nil {
		return p.exec.Specs()
	}
	specs := make([]tensor.Spec, len(p.graph.Outputs))
	for i, e := range p.graph.Outputs {
		specs[i] = e.Spec()
	}
	return specs
}

// Options returns the options of the pipeline, with defaults filled in.
func (p *Pipeline) Options() Options { return p.options }

// NumSamples returns the size of the first reader's data set, or 0 if there are no readers.
func (p *Pipeline) NumSamples() int64 { return p.samples }

// EpochSize returns the number of samples that an epoch delivers, over all ranks.
func (p *Pipeline) EpochSize() int64 { return p.schedule.delivered() }

// EpochBatches returns the number of batches of an epoch. With order.Span it returns the number of
// batches of the first epoch.
func (p *Pipeline) EpochBatches() int64 { return p.schedule.batches() }

// Close stops all work, waits for it and releases everything. The pipeline and its batches must not
// be used afterwards. Close may be called twice.
func (p *Pipeline) Close() error {
	if err := p.turn.Take("pipeline.Close"); err != nil {
		return err
	}
	defer p.turn.Leave()
	if !p.turn.Close() {
		return nil
	}
	p.ring.Reset(p.ring.Token())
	p.closeMinds()
	failed := p.closeInputs()
	if p.calls != nil {
		p.calls.Close()
	}
	if p.exec != nil {
		p.exec.Close()
	}
	for _, s := range p.sources {
		failed = errors.Join(failed, s.Close())
	}
	return failed
}
